"""Lexical shortlists of Marian: a text and marian-conv's binary of it are the same lists, which a
checkpoint keeps; whatever is no shortlist of the model is refused with one sentence."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file, save_file

from model.checkpoint import CheckpointError, open_checkpoint, read_sums
from model.checkpoint.files import write_sums
from model.checkpoint.reference import load_checkpoint
from model.checkpoint.shortlist import SHORTLIST_FILE
from model.importers.imported import SourceError
from model.importers.marian_shortlist import (
    ListedTokens,
    ShortlistFile,
    checksum,
    read_shortlist,
)
from model.importers.resolve import import_source
from model.training.averaging import average_checkpoints
from model.trials.checkpoint import check_checkpoint
from tests.model.importers.marian_itself import DATA, our_translations
from tests.model.importers.test_native_marian import BOTH, random_model, write_model

BINARY = DATA / "shortlist" / "lex.16.12.s2t.bin"
Lists = list[list[int]]


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student that Marian trained, with a shortlist that Marian wrote."""
    directory = shutil.copytree(DATA / "ssru", tmp_path_factory.mktemp("student") / "theirs")
    shutil.copyfile(BINARY, directory / BINARY.name)
    import_source(str(directory), directory.parent / "ours", None, BOTH)
    return directory.parent / "ours"


def test_a_student_translates_with_its_shortlist_as_by_marian(student: Path) -> None:
    ours = load_checkpoint(student)
    pairs = json.loads((DATA / "ssru" / "expected.json").read_text(encoding="utf-8"))["pairs"]
    expected = json.loads((DATA / "shortlist" / "expected.json").read_text(encoding="utf-8"))
    assert our_translations(ours, [source for source, _ in pairs], 1) == expected
    assert check_checkpoint(student).has_shortlist


def test_an_average_keeps_the_shortlist(student: Path, tmp_path: Path) -> None:
    average_checkpoints([student], tmp_path / "average")
    kept, before = (path / SHORTLIST_FILE for path in (tmp_path / "average", student))
    assert kept.read_bytes() == before.read_bytes()


def write_binary(path: Path, first: int, lists: Lists) -> None:
    """As marian-conv."""
    offsets = np.cumsum([0, *map(len, lists)])
    tokens = list(itertools.chain(*lists))
    head = np.array([first, 50, len(offsets), len(tokens), *offsets], "<u8").tobytes()
    body = head + np.array(tokens, "<u4").tobytes()
    sums = np.array([0xF11A48D5013417F5, checksum(bytes(16) + body)], "<u8").tobytes()
    path.write_bytes(sums + body)


def lists_in(listed: ListedTokens) -> Lists:
    parts = itertools.pairwise(listed.offsets.tolist())
    return [sorted(listed.tokens[start:end].tolist()) for start, end in parts]


@pytest.mark.parametrize("seed", range(10))
def test_a_text_is_read_as_its_binary_packed_or_not(seed: int, tmp_path: Path) -> None:
    """Its likeliest translations, the later of two lines, of equal ones those with higher ids."""
    rng, best, pieces = random.Random(seed), 3, [*"abcdefghij", "<unk>", "\u3000"]
    lines, lists = list[str](), Lists()
    for piece in pieces[:-2]:
        shares = {i: rng.choice([0.0, 0.1, 0.25, 0.5]) for i in rng.sample(range(12), 6)}
        lines += [f"{pieces[i]}\t{piece} 0.9\n" for i in shares]
        lines += [f"{pieces[i]} {piece} {share}\n" for i, share in shares.items()]
        likely = sorted((share, i) for i, share in shares.items() if share)[-best:]
        lists.append(sorted(i for _, i in likely))
    lines += ["j what 0.5\n", "NULL b 1\n", "a NULL 1\n"]
    text, packed, binary = (tmp_path / name for name in ("text", "packed", "binary"))
    text.write_text("".join(lines))
    packed.write_bytes(gzip.compress(text.read_bytes()))
    write_binary(binary, 2, [*lists, [9], []])
    for path in (text, packed, binary):
        listed = read_shortlist(ShortlistFile(path, ["2", "3"]), pieces, pieces)
        assert (listed.first, lists_in(listed)) == (2, [*lists, [9], []])
    shared = lists_in(listed.with_sources())
    assert [set(own) for own in shared] == [{i, *own} for i, own in enumerate(lists_in(listed))]


def options(**changes: Any) -> Callable[[Path], object]:
    """Write decoder.yml."""
    usual = {"models": ["model.npz"], "vocabs": ["vocab.yml", "vocab.yml"]}
    return lambda path: (path / "decoder.yml").write_text(yaml.safe_dump({**usual, **changes}))


def binary(lists: Lists) -> Callable[[Path], object]:
    return lambda path: write_binary(path / "lex.bin", 2, lists)


def content(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: (path / "lex.s2t.bin").write_bytes(change(BINARY.read_bytes()))


WRONG: list[tuple[Callable[[Path], object], str]] = [
    (options(shortlist=["/elsewhere/lex.bin", False]), "lacks 'lex.bin', which its decoder set"),
    (options(shortlist="lex.bin"), "shortlist must be a file and numbers, got 'lex.bin'"),
    (lambda path: [binary([])(path), content(bytes)(path)], "(lex.bin, lex.s2t.bin); name one"),
    (binary([[1]] * 11), "is of 11 source pieces, the vocabulary has 12"),
    (binary([[1]] * 11 + [[12]]), "has the target piece 12, the vocabulary has 12"),
    (content(lambda all_: all_[:40]), "ends in its header"),
    (content(lambda all_: all_[:-4]), "bytes, its header says others"),
    (content(lambda all_: all_[:99] + b"!" + all_[100:]), "does not have the checksum"),
    (content(lambda all_: gzip.compress(all_)[:-9]), "cannot read the shortlist"),
    (content(lambda all_: gzip.compress(all_)[:20] + bytes(99)), "cannot read the shortlist"),
    (content(lambda all_: all_[8:]), "is neither a binary one of Marian nor a text of lines"),
    (
        lambda path: (path / "lex.s2t.gz").write_text("a b\n"),
        "nor a text of lines with a target piece",
    ),
    (lambda path: (path / "lex.s2t.gz").write_text("a b c\n"), "nor a text of lines with a target"),
    (lambda path: (path / "lex.s2t.gz").mkdir(), ""),
]


@pytest.mark.parametrize(("spoil", "said"), WRONG)
def test_what_is_no_shortlist_of_the_model_is_refused(
    spoil: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    write_model(tmp_path / "theirs", random_model(), {})
    spoil(tmp_path / "theirs")
    if not said:
        import_source(str(tmp_path / "theirs"), tmp_path / "ours", None, BOTH)
        return
    with pytest.raises(SourceError) as refused:
        import_source(str(tmp_path / "theirs"), tmp_path / "ours", None, BOTH)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_limits_of_a_text_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "lex"
    path.write_text("a a 0.5\n")
    with pytest.raises(SourceError, match="a file, two whole numbers and a number, got .'x'."):
        read_shortlist(ShortlistFile(path, ["x"]), ["a"], ["a"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tokens": np.array([240], np.int32)}, "is no shortlist of this model"),
        ({"offsets": np.array([0, 9], np.int64)}, "its lists do not follow each other"),
        ({"first": np.array([-1])}, "its lists have -1 tokens first"),
        ({"first": np.array([1, 2])}, "must hold the vectors first, offsets, tokens of a short"),
        ({"more": np.array([1])}, "must hold the vectors first, offsets, tokens of a shortlist"),
    ],
)
def test_a_checkpoint_with_another_shortlist_is_not_opened(
    change: dict[str, Any], said: str, student: Path, tmp_path: Path
) -> None:
    spoiled = shutil.copytree(student, tmp_path / "spoiled")
    save_file(load_file(spoiled / SHORTLIST_FILE) | change, spoiled / SHORTLIST_FILE)
    write_sums(spoiled, {name: spoiled / name for name in read_sums(spoiled)})
    with pytest.raises(CheckpointError, match=said):
        open_checkpoint(spoiled)
