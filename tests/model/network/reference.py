"""Slow, obvious decoding without a cache, for the fast one to be compared with."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from model.backends.native import NativeNetwork, NativeSearch
from model.backends.pytorch.eager import EagerNetwork
from model.backends.pytorch.search import Search
from model.backends.pytorch.transfer import Transfer
from model.backends.selection import Backend
from model.checkpoint import StoredNetwork
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, Hypothesis, SourceSentence
from model.network.config import AttentionHead, ModelConfig
from model.network.shortlist import Shortlist
from model.network.transformer import Transformer, initialise
from model.runner import Runner

PAD, UNK, BOS, EOS = 0, 1, 2, 3
CONTROL_IDS = (PAD, UNK, BOS)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "activation": "gelu", "d_model": 64, "n_heads": 1},
    {"positions": "alibi", "activation": "silu", "vocab_size": 700},
    {"positions": "learned", "shared_embeddings": "none", "d_model": 80, "n_heads": 5},
    {"norm": "pre", "positions": "learned", "embedding_norm": True, "d_ff": 30},
    {"n_encoder_layers": 4, "n_decoder_layers": 1, "shared_embeddings": "target"},
    {"sinusoids": "tensor2tensor", "position_offset": 2, "n_decoder_layers": 3},
    {
        "norm": "pre",
        "norm_kind": "rms",
        "d_model": 18,
        "d_ff": 30,
        "activation": "gelu_tanh",
        "gated": True,
        "positions": "buckets",
        "distance_buckets": 8,
        "longest_distance": 20,
        "d_head": 12,
        "scale_attention": False,
        "scale_embeddings": False,
        "shared_embeddings": "inputs",
    },
    {"autoregression": "ssru", "d_model": 40, "n_heads": 5, "vocab_size": 40},
    {"autoregression": "ssru", "norm": "pre", "n_decoder_layers": 3, "positions": "alibi"},
    {"autoregression": "ssru", "d_model": 40, "vocab_size": 700, "has_shortlist": True},
]
"""Changes to `tiny_model`: every option of the architecture, and sizes that no vector divides."""


def tiny_model(
    vocab_size: int = 13, seed: int = 0, has_shortlist: bool = False, **changes: Any
) -> Transformer:
    """A random model whose distributions are peaked enough for searches to differ."""
    values: dict[str, Any] = {
        "src_vocab_size": vocab_size,
        "tgt_vocab_size": vocab_size,
        "d_model": 16,
        "n_heads": 2,
        "d_ff": 32,
        "n_encoder_layers": 2,
        "n_decoder_layers": 2,
        "max_positions": 64,
        "output_bias": True,
        **changes,
    }
    torch.manual_seed(seed)
    model = Transformer(ModelConfig.from_dict(values))
    initialise(model, "xavier")
    torch.nn.init.normal_(model.output.weight, std=0.6)
    if has_shortlist:
        model.shortlist = random_shortlist(vocab_size, seed)
    return model.eval()


def random_shortlist(vocab_size: int, seed: int) -> Shortlist:
    """Some tokens for each source token but the last ones."""
    rng = random.Random(seed)
    lists = [rng.sample(range(vocab_size), rng.randint(0, 4)) for _ in range(vocab_size - 2)]
    offsets = np.cumsum([0, *map(len, lists)])
    return Shortlist(2, offsets, np.concatenate(lists).astype(np.int32), vocab_size, EOS)


def tiny_runner(
    model: Transformer | StoredNetwork,
    max_slots: int = 16,
    max_rows: int = 64,
    precision: Precision = "float32",
    backend: Backend | None = None,
    alignment_heads: Sequence[AttentionHead] = (),
    byte_ids: Mapping[int, int] | None = None,
    copied_ids: Mapping[int, int | None] | None = None,
    more_control_ids: Sequence[int] = (),
) -> Runner:
    return Runner(
        model,
        [*CONTROL_IDS, *more_control_ids],
        max_slots=max_slots,
        max_rows=max_rows,
        max_source_tokens=32,
        max_target_tokens=48,
        max_beam_size=64,
        precision=precision,
        backend=backend,
        byte_ids=byte_ids,
        copied_ids=copied_ids,
        alignment_heads=alignment_heads,
    )


def encode(
    network: EagerNetwork | NativeNetwork, slots: Sequence[int], sources: Sequence[Sequence[int]]
) -> None:
    """Encode sources on the CPU, as a runner does when it admits sentences."""
    if isinstance(network, NativeNetwork):
        network.encode(slots, sources)
        return
    transfer = Transfer(torch.device("cpu"))
    network.encode(slots, sources, transfer)
    transfer.run()


def start(
    search: Search | NativeSearch,
    sentences: Sequence[SourceSentence],
    limits: Sequence[int],
) -> None:
    """Start the searches of the first slots, likewise."""
    if isinstance(search, NativeSearch):
        search.admit(range(len(sentences)), sentences, limits, BOS)
        return
    transfer = Transfer(torch.device("cpu"))
    search.admit(range(len(sentences)), sentences, limits, BOS, transfer)
    transfer.run()


@torch.inference_mode()
def log_probs_after(model: Transformer, src: Sequence[int], prefix: Sequence[int]) -> torch.Tensor:
    """Log-probabilities (V,) of the next token, by one teacher-forced pass over the prefix."""
    logits = model(torch.tensor([src]), torch.tensor([[BOS, *prefix]]))[0, -1]
    normalised = logits.log_softmax(-1)
    normalised[list(CONTROL_IDS)] = float("-inf")
    if model.shortlist:
        normalised[np.setdiff1d(np.arange(len(logits)), model.shortlist.of(src))] = float("-inf")
    return normalised - normalised.logsumexp(-1)


def greedy(
    model: Transformer, src: Sequence[int], limit: int, prefix: Sequence[int] = ()
) -> list[int]:
    """The prefix, then the likeliest token each time, until eos (left out) or the limit."""
    tokens = [*prefix]
    while len(tokens) < limit:
        token = int(log_probs_after(model, src, tokens).argmax())
        if token == EOS:
            break
        tokens.append(token)
    return tokens


def teacher_forced(model: Transformer, src: Sequence[int], found: Hypothesis) -> list[float]:
    """The log-probabilities of a hypothesis without a prefix, eos included if it ends with it."""
    tokens = [*found.ids, EOS][: len(found.log_probs)]
    return [
        float(log_probs_after(model, src, tokens[:place])[token])
        for place, token in enumerate(tokens)
    ]


@torch.inference_mode()
def are_tied(
    model: Transformer, src: Sequence[int], one: Sequence[int], other: Sequence[int]
) -> bool:
    """Whether greedy searches that round otherwise may find both: at the first token that differs,
    eos included, both tokens are equally likely. The same tokens are tied too."""
    config = model.config
    pairs = zip([*one, config.eos_id], [*other, config.eos_id], strict=False)
    parted = next((place for place, (a, b) in enumerate(pairs) if a != b), None)
    if parted is None:
        return True
    prefix = torch.tensor([[config.bos_id, *one[:parted]]])
    logits = model(torch.tensor([src]), prefix)[0, -1]
    tokens = [[*ids, config.eos_id][parted] for ids in (one, other)]
    return bool((logits[tokens[0]] - logits[tokens[1]]).abs() < 1e-3)


def penalty(length: int, options: DecodingOptions) -> float:
    """Wu et al. 2016, eq. 14, or the plain power of the length."""
    base = (5 + length) / 6 if options.normalization == "wu" else length
    return float(base**options.length_penalty)


def run_to_end(runner: Runner, sentences: Sequence[SourceSentence]) -> list[Finished]:
    """Admit all at once and step until all are finished -> in the order given."""
    handles = runner.admit(sentences)
    results: dict[int, Finished] = {}
    while runner.num_running:
        results |= {f.handle: f for f in runner.step().finished}
    return [results[handle] for handle in handles]


class RandomRun(NamedTuple):
    """What came of sentences, by their index; the tokens that each step streamed of each."""

    results: dict[int, Finished]
    streamed: dict[int, list[list[int]]]


def run_at_random(
    runner: Runner,
    sentences: Sequence[SourceSentence],
    rng: random.Random,
    share: float = 1.0,
    streamed: float = 0.0,
    abandoned: float = 0.0,
) -> RandomRun:
    """Admit sentences at random steps, while slots and rows last, until all have ended.

    A sentence takes part in this `share` of the steps, if the runner allows it; who takes no part
    sends no token and does not end. In a step a stream of a sentence begins with the probability
    `streamed`, and one is given up with `abandoned`.
    """
    waiting, index_of = list(range(len(sentences))), dict[int, int]()
    run = RandomRun({}, {index: [] for index in waiting})
    while waiting or index_of:
        while waiting and rng.random() < 0.6:
            needed = sentences[waiting[0]].options.beam_size
            if not runner.num_free_slots or runner.num_free_rows < needed:
                break
            index = waiting.pop(0)
            index_of[runner.admit([sentences[index]])[0]] = index
        if index_of and rng.random() < streamed:
            runner.stream(rng.choice(list(index_of)))
        is_partial = share < 1 and runner.can_step_subset
        some = [h for h in index_of if rng.random() < share] if is_partial else None
        result = runner.step(some or None)
        ended = {one.handle for one in result.finished}
        assert ended | result.streamed.keys() <= set(some or index_of)
        for handle, ids in result.streamed.items():
            assert ids
            run.streamed[index_of[handle]].append(list(ids))
        run.results.update((index_of.pop(f.handle), f) for f in result.finished)
        if index_of and rng.random() < abandoned:
            runner.release(handle := rng.choice(list(index_of)))
            del index_of[handle]
    return run


def assert_same(
    found: Sequence[Finished], expected: Sequence[Finished], tolerance: float = 1e-4
) -> None:
    """The same hypotheses or errors, with scores that differ by no more than the tolerance, and as
    floats do if they are large."""
    relative = tolerance / 10
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.error == theirs.error
        assert [h.ids for h in mine.hypotheses] == [h.ids for h in theirs.hypotheses]
        for a, b in zip(mine.hypotheses, theirs.hypotheses, strict=True):
            scores = [b.score, *b.log_probs]
            assert [a.score, *a.log_probs] == pytest.approx(scores, rel=relative, abs=tolerance)
