"""The self-test of a checkpoint: a few translations recorded when its weights were written.

Checksums verify that the files are unchanged; the self-test verifies the translations. It runs the
reference network in float32, so a server's precision, device and code do not affect it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.checkpoint import CheckpointError, verify_sums
from model.checkpoint.files import SELF_TEST_FILE, SUMS_FILE
from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.checkpoint.saving import add_to_checkpoint
from model.files import FileError, read_json
from model.trials.fast_paths import MOST_SENTENCES, MOST_SOURCE_TOKENS, sample_text
from model.values import is_whole_number, shown

TOLERANCE = 0.05
"""The allowed difference in log-probability; machines differ by about 0.001."""
_MOST_TARGET_TOKENS = 16
_MOST_BYTES = 2**20


@dataclass(frozen=True)
class SelfTestSentence:
    """A sentence as text and as source ids, its greedy translation, the log-probability of each
    token of the translation, and the translation's text."""

    source: str
    target: str
    text: str
    source_ids: list[int]
    target_ids: list[int]
    log_probs: list[float]
    translation: str


@dataclass(frozen=True)
class CheckResult:
    """The result of a successful `check_checkpoint`."""

    name: str
    num_files: int
    num_parameters: int
    num_sentences: int
    largest_difference: float
    has_shortlist: bool


def check_checkpoint(directory: Path) -> CheckResult:
    """Check sums, sizes, types, ids, that every weight is finite, and the self-test. Raises
    CheckpointError."""
    checkpoint = load_checkpoint(directory)
    listed = verify_sums(directory)
    path = directory / SELF_TEST_FILE
    if SELF_TEST_FILE not in listed:
        raise CheckpointError(
            f"{directory} has no {SELF_TEST_FILE} that {SUMS_FILE} lists, so that its translations "
            f"cannot be checked; `dragoman average {directory} NEW` writes a copy that has one"
        )
    sentences = _read(path, checkpoint)
    differences = [_difference(path, checkpoint, sentence) for sentence in sentences]
    return CheckResult(
        name=checkpoint.info.name,
        num_files=len(listed),
        num_parameters=sum(w.numel() for w in checkpoint.model.weights.values()),
        num_sentences=len(sentences),
        largest_difference=max(differences),
        has_shortlist=checkpoint.model.shortlist is not None,
    )


def add_self_test(directory: Path) -> None:
    """Write the self-test of a saved checkpoint; raises CheckpointError or OSError."""
    checkpoint = load_checkpoint(directory)
    pairs = checkpoint.info.pairs
    chosen = [pairs[i * len(pairs) // MOST_SENTENCES] for i in range(MOST_SENTENCES)]
    sentences = [_translated(checkpoint, *pair) for pair in dict.fromkeys(chosen)]
    text = json.dumps([asdict(sentence) for sentence in sentences], ensure_ascii=False)
    lines = text.replace("}, {", "},\n{").replace("[{", "[\n{").replace("}]", "}\n]\n")
    add_to_checkpoint(directory, SELF_TEST_FILE, lines)


def _translated(checkpoint: Checkpoint, source: str, target: str) -> SelfTestSentence:
    tokenizer, limit = checkpoint.tokenizer, checkpoint.info.source_limit(MOST_SOURCE_TOKENS)
    text = sample_text(source)
    while len(ids := tokenizer.encode_source(text, target, source)) > limit and len(text) > 1:
        text = text[: len(text) // 2]
    target_ids, log_probs = _greedy(checkpoint, ids[:limit], tokenizer.target_start(target))
    translation = tokenizer.decode(target_ids)
    return SelfTestSentence(source, target, text, ids, target_ids, log_probs, translation)


@torch.inference_mode()
def _greedy(
    checkpoint: Checkpoint, source: Sequence[int], prefix: Sequence[int]
) -> tuple[list[int], list[float]]:
    """Decode greedily from the required prefix -> ids and log-probabilities of the tokens after
    it, end of sentence included."""
    config = checkpoint.model.config
    most = min(_MOST_TARGET_TOKENS, config.max_positions - 1 - len(prefix))
    score = _scorer(checkpoint, source)
    ids: list[int] = []
    log_probs: list[float] = []
    while len(ids) < most and ids[-1:] != [config.eos_id]:
        scores = score([*prefix, *ids])[-1]
        token = int(scores.argmax())
        ids.append(token)
        log_probs.append(round(float(scores[token]), 4))
    return ids, log_probs


def _scorer(checkpoint: Checkpoint, source: Sequence[int]) -> Callable[[Sequence[int]], Tensor]:
    """A function from a target (T,) to the reference's log-probabilities (T + 1, V) at each
    position; tokens that are never generated have -inf."""
    model, control_ids = checkpoint.model, checkpoint.tokenizer.control_ids()
    src = torch.tensor([source])
    memory, mask = model.encode(src), model.src_mask(src)

    def score(target: Sequence[int]) -> Tensor:
        tgt = torch.tensor([[model.config.bos_id, *target]])
        logits: Tensor = model.output(model.decode(tgt, memory, mask))[0]
        logits[:, control_ids] = float("-inf")
        return logits.log_softmax(-1)

    return score


@torch.inference_mode()
def _difference(path: Path, checkpoint: Checkpoint, sentence: SelfTestSentence) -> float:
    """The largest difference in log-probability; raises CheckpointError if it is too large, if
    another token is likelier, or if the texts have other tokens."""
    source, target = sentence.source, sentence.target
    tokenizer = checkpoint.tokenizer
    if tokenizer.encode_source(sentence.text, target, source) != sentence.source_ids:
        raise CheckpointError(f"{path}: the tokenizer cuts {shown(sentence.text)} otherwise")
    if tokenizer.decode(sentence.target_ids) != sentence.translation:
        raise CheckpointError(
            f"{path}: the tokenizer spells {shown(sentence.translation)} otherwise"
        )
    prefix = tokenizer.target_start(target)
    scores = _scorer(checkpoint, sentence.source_ids)([*prefix, *sentence.target_ids])
    scores = scores[len(prefix) : -1]
    chosen = scores.gather(1, torch.tensor(sentence.target_ids)[:, None])[:, 0]
    differences = (chosen - torch.tensor(sentence.log_probs)).abs()
    shortfalls = scores.max(1).values - chosen
    if not bool((torch.maximum(differences, shortfalls) <= TOLERANCE).all()):
        raise CheckpointError(
            f"{path}: the weights translate {shown(sentence.text)} otherwise than they did when "
            f"they were saved: log-probabilities differ by {float(differences.max()):.2f}, and at "
            f"most {TOLERANCE} is allowed"
        )
    return float(differences.max())


def _read(path: Path, checkpoint: Checkpoint) -> list[SelfTestSentence]:
    try:
        raw = read_json(path, _MOST_BYTES)
    except FileError as error:
        raise CheckpointError(str(error)) from error
    if not isinstance(raw, list) or not 1 <= len(raw) <= MOST_SENTENCES:
        raise CheckpointError(f"{path} must hold a list of 1 to {MOST_SENTENCES} sentences")
    return [_parse(path, sentence, checkpoint) for sentence in raw]


def _parse(path: Path, raw: Any, checkpoint: Checkpoint) -> SelfTestSentence:
    config = checkpoint.model.config
    names = {field.name for field in fields(SelfTestSentence)}
    if not isinstance(raw, dict) or set(raw) != names:
        raise CheckpointError(f"{path}: a sentence must have {sorted(names)}, got {shown(raw)}")
    sentence = SelfTestSentence(**raw)
    texts = (sentence.source, sentence.target, sentence.text, sentence.translation)
    is_right = (
        all(isinstance(text, str) for text in texts)
        and _are_ids(sentence.source_ids, config.src_vocab_size, config.max_positions)
        and _are_ids(sentence.target_ids, config.tgt_vocab_size, config.max_positions - 2)
        and _are_log_probs(sentence.log_probs, len(sentence.target_ids))
    )
    if not is_right:
        raise CheckpointError(
            f"{path}: a sentence must have texts, ids within the vocabularies and as many "
            f"log-probabilities as target ids, got {shown(raw)}"
        )
    return sentence


def _are_ids(value: Any, size: int, most: int) -> bool:
    is_list = isinstance(value, list) and 1 <= len(value) <= most
    return is_list and all(is_whole_number(token) and 0 <= token < size for token in value)


def _are_log_probs(value: Any, count: int) -> bool:
    is_list = isinstance(value, list) and len(value) == count
    return is_list and all(isinstance(number, float) and number <= 0.0 for number in value)
