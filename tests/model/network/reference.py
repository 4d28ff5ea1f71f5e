"""Slow, obvious decoding without a cache, for the fast one to be compared with."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import torch

from model.backends.native import NativeNetwork, NativeSearch
from model.backends.pytorch.eager import EagerNetwork
from model.backends.pytorch.search import Search
from model.backends.pytorch.transfer import Transfer
from model.backends.selection import Backend
from model.checkpoint import StoredModel
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.runner import Runner

PAD, UNK, BOS, EOS = 0, 1, 2, 3
CONTROL_IDS = (PAD, UNK, BOS)


def tiny_model(vocab_size: int = 13, seed: int = 0, **changes: object) -> Transformer:
    """A random model whose distributions are peaked enough for searches to differ."""
    values: dict[str, object] = {
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
    return model.eval()


def tiny_runner(
    model: Transformer | StoredModel,
    max_slots: int = 16,
    max_rows: int = 64,
    precision: Precision = "float32",
    backend: Backend | None = None,
) -> Runner:
    return Runner(
        model,
        CONTROL_IDS,
        max_slots=max_slots,
        max_rows=max_rows,
        max_source_tokens=32,
        max_target_tokens=48,
        max_beam_size=64,
        precision=precision,
        backend=backend,
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
    return normalised - normalised.logsumexp(-1)


def greedy(model: Transformer, src: Sequence[int], limit: int) -> list[int]:
    """The likeliest token each time, until eos (left out) or the limit."""
    tokens: list[int] = []
    while len(tokens) < limit:
        token = int(log_probs_after(model, src, tokens).argmax())
        if token == EOS:
            break
        tokens.append(token)
    return tokens


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


def best_by_enumeration(
    model: Transformer, src: Sequence[int], options: DecodingOptions, limit: int
) -> list[tuple[float, list[int]]]:
    """Every sequence that ends within `limit` tokens, with its score, best first."""
    vocabulary = [t for t in range(model.config.tgt_vocab_size) if t not in (*CONTROL_IDS, EOS)]
    scored = []
    for length in range(limit):
        for tokens in itertools.product(vocabulary, repeat=length):
            total = sum(
                float(log_probs_after(model, src, tokens[:i])[token])
                for i, token in enumerate((*tokens, EOS))
            )
            scored.append((total / penalty(length + 1, options), list(tokens)))
    return sorted(scored, reverse=True)


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


def run_joining_at_random(
    runner: Runner, sentences: Sequence[SourceSentence], rng: random.Random, share: float = 1.0
) -> list[Finished]:
    """Admit sentences at random steps while slots and rows last -> in the order given. With a
    `share` below 1 each sentence takes part in that share of the steps, if the runner allows it."""
    waiting = list(range(len(sentences)))
    index_of: dict[int, int] = {}
    results: dict[int, Finished] = {}
    while waiting or index_of:
        while waiting and rng.random() < 0.6:
            needed = sentences[waiting[0]].options.beam_size
            if not runner.num_free_slots or runner.num_free_rows < needed:
                break
            index = waiting.pop(0)
            index_of[runner.admit([sentences[index]])[0]] = index
        is_partial = share < 1 and runner.can_step_subset
        some = [h for h in index_of if rng.random() < share] if is_partial else None
        for finished in runner.step(some or None).finished:
            results[index_of.pop(finished.handle)] = finished
    return [results[index] for index in range(len(sentences))]
