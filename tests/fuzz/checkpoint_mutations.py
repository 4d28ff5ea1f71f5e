"""Damage to a checkpoint's files, and what loading makes of it.

    python -m tests.fuzz.checkpoint_mutations --mutations 1000 --seed 1

Damage with the old SHA256SUMS must be refused, or load the same model. Damage that is signed again
is another checkpoint: it must be refused by CheckpointError, or load and be usable. Its self-test
tells some of these from the checkpoint that it was made for.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from model.checking import add_self_test, check_checkpoint
from model.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from tests.fuzz.limits import time_limit
from tests.fuzz.mutations import TRUNCATIONS, mutated, truncated
from tests.fuzz.tiny_server import make_checkpoint, make_tokenizer

SUMS = "SHA256SUMS"
TEXTS = ("图书馆在哪里？", "Where is the library?", "\U0001f600 a\u0301")
_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1.5, 1e308, "", "x", "../x", "/etc/passwd", "\0"),
    *([], {}, [[]], [None], {"a": 1}, "x" * 10_000, [["zh", "en"]] * 3),
)


class Mutation(NamedTuple):
    """A damaged file, and whether SHA256SUMS is made true of it. `detail`: what was changed."""

    kind: str
    file: str
    content: bytes | None
    is_signed: bool
    detail: str = ""


def mutations(directory: Path, seed: int) -> Iterator[Mutation]:
    """Truncations, removed and changed fields, changed shapes; then random damage without end."""
    files = {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
    for (name, content), is_signed in itertools.product(files.items(), (False, True)):
        if name == SUMS and is_signed:
            continue
        for place in range(TRUNCATIONS):
            yield Mutation("truncated", name, truncated(content, place, TRUNCATIONS), is_signed)
        yield Mutation("removed", name, None, False)
    rng = random.Random(seed)
    yield from _changed_fields(files["config.json"], rng)
    yield from _changed_headers(files["model.safetensors"], rng)
    while True:
        name = rng.choice(sorted(files))
        damaged = _flipped(files[name], rng) if rng.random() < 0.4 else mutated(files[name], rng)
        yield Mutation("random", name, damaged, name != SUMS and rng.random() < 0.5)


def _flipped(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def _changed_fields(config: bytes, rng: random.Random) -> Iterator[Mutation]:
    """Every field of config.json removed, and given some wrong values."""
    for keys in _paths(json.loads(config)):
        for value in (..., *rng.sample(_VALUES, 4)):
            raw = json.loads(config)
            _set(raw, keys, value)
            content = json.dumps(raw).encode()
            change = f"{'.'.join(map(str, keys))}: {'removed' if value is ... else repr(value)}"
            yield Mutation("field", "config.json", content, True, change)


def _changed_headers(weights: bytes, rng: random.Random) -> Iterator[Mutation]:
    """Names, types, shapes and offsets in the header of the safetensors file."""
    size = int.from_bytes(weights[:8], "little")
    header, data = json.loads(weights[8 : 8 + size]), weights[8 + size :]
    names = sorted(name for name in header if name != "__metadata__")
    for name in rng.sample(names, min(20, len(names))):
        for key, value in (
            *(("shape", [1]), ("shape", [2**40, 2**40]), ("shape", [-1]), ("shape", "x")),
            *(("dtype", "I64"), ("dtype", "F64"), ("dtype", "F8_E4M3"), ("dtype", 7)),
            *(("data_offsets", [0, 0]), ("data_offsets", [0, 2**60]), ("data_offsets", [8, 4])),
        ):
            raw = json.dumps({**header, name: {**header[name], key: value}}).encode()
            change = f"{key} of {name}: {value!r}"
            yield Mutation("shape", "model.safetensors", _framed(raw, data), True, change)
        raw = json.dumps({other: header[other] for other in header if other != name}).encode()
        yield Mutation("shape", "model.safetensors", _framed(raw, data), True)


def _framed(header: bytes, data: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header + data


def _paths(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if keys:
        yield keys
    children = value.items() if isinstance(value, dict) else ()
    for key, child in children:
        yield from _paths(child, (*keys, key))


def _set(raw: Any, keys: Sequence[Any], value: Any) -> None:
    """`...` removes the field."""
    for key in keys[:-1]:
        raw = raw[key]
    if value is ...:
        del raw[keys[-1]]
    else:
        raw[keys[-1]] = value


def try_mutation(original: Path, scratch: Path, mutation: Mutation, expected: Checkpoint) -> str:
    """Damage a copy and load it -> "refused", "same model", "other model", or "other model, fails
    its check" if `dragoman check` refuses it.

    Raises AssertionError if a model that is not signed again differs, and whatever loading raises
    besides CheckpointError.
    """
    shutil.copytree(original, scratch, dirs_exist_ok=True)
    file = scratch / mutation.file
    if mutation.content is None:
        file.unlink()
    else:
        file.write_bytes(mutation.content)
    if mutation.is_signed:
        _sign(scratch)
    with time_limit():
        try:
            loaded = load_checkpoint(scratch)
        except CheckpointError:
            return "refused"
        is_same = _computed(loaded) == _computed(expected) and loaded.info == expected.info
    assert is_same or mutation.is_signed, f"another model: {mutation.kind} {mutation.file}"
    if is_same:
        return "same model"
    try:
        check_checkpoint(scratch)
    except CheckpointError:
        return "other model, fails its check"
    return "other model"


def difference(original: Path, mutation: Mutation) -> str:
    """How many bytes differ, and the first of them."""
    before, after = (original / mutation.file).read_bytes(), mutation.content or b""
    places = [n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b]
    if not places:
        return f"{len(before)} bytes become {len(after)}"
    first = places[0]
    span = slice(max(0, first - 8), first + 8)
    return f"{len(places)} bytes from {first}: {before[span]!r} becomes {after[span]!r}"


def _sign(directory: Path) -> None:
    names = sorted(path.name for path in directory.iterdir() if path.name != SUMS)
    sums = [hashlib.sha256((directory / name).read_bytes()).hexdigest() for name in names]
    lines = (f"{digest}  {name}\n" for digest, name in zip(sums, names, strict=True))
    (directory / SUMS).write_text("".join(lines), encoding="utf-8")


def _computed(checkpoint: Checkpoint) -> list[Any]:
    """The ids of some texts, their decoded text, and the logits, as a digest of their bytes."""
    found: list[Any] = []
    source, target = checkpoint.info.pairs[0]
    for text in TEXTS:
        ids = checkpoint.tokenizer.encode_source(text, target, source)
        width = checkpoint.info.architecture.src_vocab_size
        with torch.inference_mode():
            tokens = torch.tensor([[min(number, width - 1) for number in ids[:16]]])
            logits = checkpoint.model(tokens, torch.tensor([[1]]))
        digest = hashlib.sha256(logits.numpy().tobytes()).hexdigest()
        found.append((ids, checkpoint.tokenizer.decode(ids), digest))
    return found


def run(
    count: int, seed: int, show: Callable[[str], None], scratch: Path
) -> Counter[tuple[str, str, str]]:
    """Try so many mutations -> how many of each kind, file and outcome there were."""
    tokenizer, original = scratch / "tiny.model", scratch / "original"
    make_tokenizer(tokenizer)
    make_checkpoint(original, tokenizer)
    add_self_test(original)
    expected = load_checkpoint(original)
    outcomes: Counter[tuple[str, str, str]] = Counter()
    for mutation in itertools.islice(mutations(original, seed), count):
        copy = Path(tempfile.mkdtemp(dir=scratch))
        outcome = try_mutation(original, copy, mutation, expected)
        shutil.rmtree(copy)
        signed = "signed again" if mutation.is_signed else "old sums"
        outcomes[mutation.file, signed, outcome] += 1
        if outcome != "refused":
            change = mutation.detail[:80] or difference(original, mutation)
            show(f"loads {outcome}: {mutation.kind} {mutation.file}, {signed}, {change}")
    return outcomes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = run(options.mutations, options.seed, print, Path(scratch))
    for (file, signed, outcome), number in sorted(outcomes.items()):
        print(f"{file:20} {signed:14} {outcome:30} {number:6}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
