"""How far a model of a real size, imported, agrees with transformers: for `make importers-check`.

python -m tests.model.importers.agreement DIRECTORY    # beside which lies DIRECTORY.ours
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from model.checkpoint import Checkpoint, load_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.offline import translate_all
from model.runner import Runner
from tests.model.importers.originals import padded

TINY_PAIRS = Path(__file__).parents[2] / "data" / "tiny.zh-en.tsv"
NUM_SENTENCES, MAX_TOKENS = 20, 16
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Agreement:
    """The greatest differences of states and scores, and the sentences translated alike."""

    encoder: float
    logits: float
    greedy: int
    beam: int


@torch.inference_mode()
def compare(source: Path) -> Agreement:
    """Ours against transformers' with the same weights, on `NUM_SENTENCES` sentences."""
    from transformers import AutoModelForSeq2SeqLM

    theirs = AutoModelForSeq2SeqLM.from_pretrained(source).eval()
    ours = load_checkpoint(source.with_suffix(".ours"))
    texts = [line.split("\t")[1] for line in TINY_PAIRS.read_text("utf-8").splitlines()]
    rows = [ours.tokenizer.encode_source(text, "zh", "en") for text in texts[:NUM_SENTENCES]]
    src = padded(rows, ours.info.architecture.pad_id)
    mask = (src != ours.info.architecture.pad_id).long()
    tgt = torch.randint(4, 250, (len(src), 9), generator=torch.Generator().manual_seed(1))
    tgt[:, 0] = ours.info.architecture.bos_id
    expected = theirs(input_ids=src, attention_mask=mask, decoder_input_ids=tgt)
    states = (ours.model.encode(src) - expected.encoder_last_hidden_state)[mask.bool()]
    logits = ours.model(src, tgt) - expected.logits
    same = [count_same(ours, theirs, rows, beam_size) for beam_size in (1, 4)]
    return Agreement(states.abs().max().item(), logits.abs().max().item(), *same)


def count_same(ours: Checkpoint, theirs: Any, rows: list[list[int]], beam_size: int) -> int:
    """Sentences whose first MAX_TOKENS tokens are `generate`'s, with the same rules."""
    src = padded(rows, ours.info.architecture.pad_id)
    start = ours.tokenizer.target_start("zh")
    generated = theirs.generate(
        input_ids=src,
        attention_mask=(src != ours.info.architecture.pad_id).long(),
        num_beams=beam_size,
        do_sample=False,
        early_stopping="never" if beam_size > 1 else False,
        max_length=None,
        max_new_tokens=MAX_TOKENS,
        forced_bos_token_id=start[0] if start else None,
        forced_eos_token_id=None,
        bad_words_ids=[[token] for token in ours.tokenizer.control_ids()],
        renormalize_logits=True,
    )
    runner = new_runner(ours, len(rows), beam_size)
    options = DecodingOptions(beam_size=beam_size, max_length=MAX_TOKENS, lookahead=None)
    sentences = [SourceSentence(ids, options, prefix=start) for ids in rows]
    found = [result.hypotheses[0].ids for result in translate_all(runner, sentences)]
    return sum(
        ids == row[1 : 1 + len(ids)] for ids, row in zip(found, generated.tolist(), strict=True)
    )


def new_runner(ours: Checkpoint, num_sentences: int, beam_size: int) -> Runner:
    return Runner(
        ours.model,
        ours.tokenizer.control_ids(),
        max_slots=num_sentences,
        max_rows=num_sentences * beam_size,
        max_source_tokens=128,
        max_target_tokens=128,
    )


def main() -> None:
    found = compare(Path(sys.argv[1]))
    print(
        f"{Path(sys.argv[1]).name:<10} against transformers: encoder within {found.encoder:.1e}, "
        f"logits within {found.logits:.1e}; the same tokens, greedy {found.greedy} and "
        f"beam 4 {found.beam} of {NUM_SENTENCES}"
    )
    if max(found.encoder, found.logits) > TOLERANCE:
        sys.exit(f"they differ by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
