"""Corpora: every record is written once, in order, whatever the format and whenever a run ended."""

from __future__ import annotations

import bz2
import dataclasses
import errno
import io
import json
import lzma
import re
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service import install_command
from service.commands.corpora import opened_corpus, translate_corpus_file
from service.corpora.compression import ZSTD, frame
from service.corpora.progress import CorpusProgress
from service.corpora.run import translate_corpus
from service.corpora.shards import Shard
from service.corpora.translations import Translation, Translators
from tests.service.corpora.runs import (
    FILES,
    KILLS,
    UpperCase,
    options,
    run,
    texts,
    write_corpus,
)

LINE_FILES = FILES[:3]


def not_opened(
    *, is_checked: bool = False, in_one_process: bool = False
) -> AbstractContextManager[Translators]:
    raise AssertionError("it begins to translate")


@pytest.mark.parametrize(("corpus_format", "ending"), LINE_FILES)
def test_an_output_cut_anywhere_is_completed_to_the_same_bytes(
    corpus_format: str, ending: str, tmp_path: Path
) -> None:
    source, output = tmp_path / f"source{ending}", tmp_path / f"out{ending}"
    write_corpus(source, corpus_format, texts(9))
    num_failed = run(source, output, options(corpus_format))
    whole = output.read_bytes()
    for length in range(len(whole) + 1):
        output.write_bytes(whole[:length])
        assert run(source, output, options(corpus_format, resume=True)) == num_failed > 0
        assert output.read_bytes() == whole


def test_a_run_that_is_killed_twenty_times_loses_and_doubles_nothing() -> None:
    command = [sys.executable, "-m", "tests.service.corpora.runs"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == [f"{KILLS} True"] * len(FILES)


@pytest.mark.parametrize(("corpus_format", "ending"), [*LINE_FILES, ("jsonl", ".jsonl")])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_shards_in_their_order_are_the_whole(
    corpus_format: str, ending: str, count: int, tmp_path: Path
) -> None:
    source, whole = tmp_path / f"source{ending}", tmp_path / "whole"
    write_corpus(source, corpus_format, texts(20))
    num_failed = run(source, whole, options(corpus_format))
    parts = [tmp_path / f"part-{place}" for place in range(count)]
    failed = [
        run(source, part, options(corpus_format, shard=Shard(place, count)))
        for place, part in enumerate(parts)
    ]
    assert b"".join(part.read_bytes() for part in parts) == whole.read_bytes()
    assert sum(failed) == num_failed


@pytest.mark.parametrize(("corpus_format", "ending"), FILES)
@pytest.mark.parametrize("shard", [Shard(), Shard(0, 3), Shard(1, 3), Shard(2, 3)], ids=str)
def test_what_is_read_grows_to_the_whole(
    corpus_format: str, ending: str, shard: Shard, tmp_path: Path
) -> None:
    source = tmp_path / f"source{ending}"
    write_corpus(source, corpus_format, texts(40))
    with opened_corpus(source, tmp_path / "out", options(corpus_format, shard=shard)) as corpus:
        corpus.batch_records = 1
        read = [batch.fraction or 0.0 for batch in corpus.batches()]
    assert read == sorted(read)
    assert read[-1] == 1.0
    assert shard == Shard() or 0.0 < read[0] < 0.5


def written_lines(given: bytes, corpus_format: str, tmp_path: Path, **chosen: object) -> list[str]:
    """What is written for a file with these bytes."""
    source, output = tmp_path / "source", tmp_path / "output"
    source.write_bytes(given)
    run(source, output, options(corpus_format, **chosen))
    return output.read_text("utf-8").split("\n")[:-1]


def test_a_line_of_text_gives_a_line(tmp_path: Path) -> None:
    given = "\ufeffone\r\n\n  \nbad\na\u2028b\x0bc\td\n".encode() + b"\xff\nlast"
    written = written_lines(given, "text", tmp_path)
    assert written == ["ONE", "", "  ", "", "A\u2028B\x0bC\tD", "", "LAST"]


def test_an_object_is_kept_byte_for_byte(tmp_path: Path) -> None:
    kept = ['{"n": 1.10, "n": 1e5, "text": "a7"', '{ "text" : "b" ', '{"text": null', '{"id": 1']
    given = "\n".join(f"{one}}} " for one in kept).encode()
    written = written_lines(given, "jsonl", tmp_path, score=True, checks=True)
    assert all(line.startswith(one.rstrip()) for line, one in zip(written, kept, strict=True))
    first, second, without, failed = map(json.loads, written)
    added = {"translation": "A7", "translation_score": -0.25, "translation_checks": ["number"]}
    assert first == {"n": 1e5, "text": "a7", **added}
    assert second["translation"] == "B"
    assert without["translation"] is failed["translation"] is None
    assert "translation_error" not in without
    assert "no text in the field" in failed["translation_error"]


def test_a_line_that_is_no_object_with_a_text_says_why(tmp_path: Path) -> None:
    reasons = {
        b"": None,
        b"null": "object",
        b'{"n": 1%s}' % (b"0" * 5000): "no text in the field 'text'; it has ['n']",
        b'{"text": 1}': "no text in the field 'text', but a number",
        b'{"text": true}': "but a boolean",
        b'{"text": ["a"]}': "but a list",
        b'{"text": {"en": "a"}}': "but an object",
        b"{": "not JSON",
        b"[" * 100_000: "deep",
        b'{"text": "\\ud800"}': "UTF-8",
        b'{"text": "\xff"}': "UTF-8",
        '{"text": "a"}'.encode("utf-16"): "UTF-8",
        b'{"text": "bad"}': "it is bad",
    }
    for reason, line in zip(
        reasons.values(), written_lines(b"\n".join(reasons), "jsonl", tmp_path), strict=True
    ):
        if reason is None:
            assert not line
        else:
            assert reason in json.loads(line, parse_int=float)["translation_error"]


@pytest.mark.parametrize(
    ("corpus_format", "written"),
    [("text", ["A", "", "B"]), ("tsv", ["a\tA", "\t", "b\tB"]), ("jsonl", None)],
)
def test_a_line_that_is_too_long_is_a_record_that_failed(
    corpus_format: str,
    written: list[str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.corpora.line_files._MOST_LINE_BYTES", 64)
    given = ["a", "long" * 99, "b"]
    if written is None:
        given = [json.dumps({"text": text}) for text in given]
    field = "text" if written is None else "1"
    found = written_lines("\n".join(given).encode(), corpus_format, tmp_path, field=field)
    if written is None:
        objects = [json.loads(line) for line in found]
        assert [one["translation"] for one in objects] == ["A", None, "B"]
        assert "longer than" in objects[1]["translation_error"]
    else:
        assert found == written


def test_a_column_has_a_name_or_a_number(tmp_path: Path) -> None:
    given = b"id\ttext\n1\tone\n2\tbad\n3\n"
    chosen = {"into": "de", "score": True, "checks": True}
    named = written_lines(given, "tsv", tmp_path, **chosen)
    assert named == [
        *("id\ttext\tde\tde_score\tde_checks", "1\tone\tONE\t-0.375\t"),
        *("2\tbad\t\t\t", "3\t\t\t"),
    ]
    (tmp_path / "output").unlink()
    assert written_lines(given, "tsv", tmp_path, field="2")[:2] == ["id\ttext\tTEXT", "1\tone\tONE"]
    with pytest.raises(ValueError, match="columns are numbered from 1"):
        written_lines(given, "tsv", tmp_path, field="0")


def test_what_a_corpus_has_already_is_not_overwritten(tmp_path: Path) -> None:
    for given, corpus_format in ((b"text\tx\n", "tsv"), (b'{"text": "", "x": 1}\n', "jsonl")):
        with pytest.raises(ValueError, match="has 'x' already"):
            written_lines(given, corpus_format, tmp_path, into="x")
        (tmp_path / "output").unlink()
    pq.write_table(pa.table({"text": ["a"], "x_error": [""]}), tmp_path / "rows")
    with pytest.raises(ValueError, match="has 'x_error' already"):
        run(tmp_path / "rows", tmp_path / "out", options("parquet", into="x"))


def test_an_output_of_something_else_is_refused(tmp_path: Path) -> None:
    source, output = tmp_path / "source", tmp_path / "output"
    for written, message in (
        (b'{"text": "b", "translation": "B"}\n', "record 1"),
        (b'{"text": "a", "translation": "A"}\n' * 2, "record 2"),
    ):
        source.write_bytes(b'{"text": "a"}\n')
        output.write_bytes(written)
        with pytest.raises(ValueError, match=message):
            run(source, output, options("jsonl", resume=True))
        with pytest.raises(ValueError, match="--resume goes on"):
            run(source, output, options("jsonl"))
        assert output.read_bytes() == written
    with pytest.raises(ValueError, match="is the output too"):
        run(source, source, options("jsonl", resume=True))


@pytest.mark.parametrize(
    ("corpus_format", "given", "changed"),
    [
        ("jsonl", b'{"text": "a"}\n', {"into": "de"}),
        ("jsonl", b"[\n", {"score": True}),
        ("jsonl", b"{}\n", {"checks": True}),
        ("tsv", b"text\na\n", {"into": "de"}),
        ("tsv", b"a\n", {"score": True, "field": "1"}),
        ("tsv", b"a\n", {"checks": True, "field": "1"}),
    ],
)
def test_an_output_with_other_fields_is_refused(
    corpus_format: str, given: bytes, changed: dict[str, Any], tmp_path: Path
) -> None:
    source, output = tmp_path / "source", tmp_path / "output"
    source.write_bytes(given)
    first, second = options(corpus_format), options(corpus_format, **changed)
    for before, after in ((first, second), (second, first)):
        before, after = (dataclasses.replace(one, field=second.field) for one in (before, after))
        output.unlink(missing_ok=True)
        run(source, output, before)
        whole = output.read_bytes()
        with pytest.raises(ValueError, match="record 1 of the output is not"):
            run(source, output, dataclasses.replace(after, resume=True))
        assert output.read_bytes() == whole


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_an_output_that_is_damaged_stays(ending: str, tmp_path: Path) -> None:
    source, output = tmp_path / "source", tmp_path / f"out{ending}"
    source.write_bytes(b"a\n" * 9)
    run(source, output, options("text"))
    whole = output.read_bytes()
    for damaged in (b"what is this\n", whole + b"\0" * 100):
        output.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged after byte"):
            run(source, output, options("text", resume=True))
        assert output.read_bytes() == damaged


@pytest.mark.parametrize(("corpus_format", "ending"), FILES)
def test_two_runs_do_not_write_one_output(corpus_format: str, ending: str, tmp_path: Path) -> None:
    source, output = tmp_path / f"source{ending}", tmp_path / f"out{ending}"
    write_corpus(source, corpus_format, ["a"])
    chosen = options(corpus_format, resume=True)
    with (
        opened_corpus(source, output, chosen),
        pytest.raises(ValueError, match="another run writes"),
    ):
        run(source, output, chosen)


SKIPPED = b"\x5f\x2a\x4d\x18\x02\x00\x00\x00ab"
"""A frame of zstd that says nothing, as pzstd writes."""


def test_a_zstd_file_may_begin_with_a_frame_to_skip(tmp_path: Path) -> None:
    given = SKIPPED + frame("zstd", b"one\n") + SKIPPED + frame("zstd", b"two\n")
    assert written_lines(given, "text", tmp_path) == ["ONE", "TWO"]


@pytest.mark.parametrize("window_log", [10, 27, 31])
def test_a_zstd_file_may_look_back_as_far_as_the_program_can(
    window_log: int, tmp_path: Path
) -> None:
    window, last_block = (window_log - 10) << 3, 1
    block = (4 << 3 | last_block).to_bytes(3, "little") + b"one\n"
    given = b"\x28\xb5\x2f\xfd" + bytes([0, window]) + block
    assert written_lines(given, "text", tmp_path) == ["ONE"]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (bz2.compress(b"one\n"), "bzip2"),
        (lzma.compress(b"one\n"), "xz"),
        ("one\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_a_corpus_that_is_not_read_is_named_with_what_it_is(
    given: bytes, kind: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"source: it is {kind}; a corpus is UTF-8"):
        written_lines(given, "text", tmp_path)


@pytest.mark.parametrize("into", ["a\tb", "", " "])
def test_a_field_that_cannot_be_is_refused(into: str, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"a\tb\n")
    with pytest.raises(ValueError, match="--into must be the name of a field"):
        translate_corpus_file(
            tmp_path / "source", tmp_path / "out", not_opened, options("tsv", into=into)
        )


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2"])
def test_a_shard_that_is_none_is_refused(shard: str) -> None:
    with pytest.raises(ValueError, match="must be i/n"):
        Shard.parse(shard)


def test_a_shard_is_written_as_the_first_of_some() -> None:
    assert Shard.parse("1/4") == Shard(0, 4)
    assert [Shard(place, 3).of(10) for place in range(3)] == [(0, 3), (3, 6), (6, 10)]


@pytest.mark.parametrize(
    ("module", "corpus_format", "ending"),
    [("pyarrow.parquet", "parquet", ""), (ZSTD, "text", ".zst")],
)
def test_a_missing_package_is_named(
    module: str,
    corpus_format: str,
    ending: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "source").write_bytes(b"a\n")
    monkeypatch.delitem(sys.modules, "service.corpora.parquet_corpus", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=re.escape(install_command("corpora"))):
        run(tmp_path / "source", tmp_path / f"out{ending}", options(corpus_format))


def test_progress_tells_the_rest_and_the_first_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("service.corpora.progress.time.monotonic", lambda: clock[0])
    stream = io.StringIO()
    progress = CorpusProgress(stream)
    progress.set_before(1000, 0)
    for fraction in (0.5, 0.6, 0.75):
        clock[0] += 100
        progress.add([Translation("a")] * 200, fraction)
    progress.add([Translation(None, "it is bad")] * 30, 0.8)
    progress.end()
    said = stream.getvalue().splitlines()
    assert said[:3] == [
        "dragoman: 1,200 records, 2/s",
        "dragoman: 1,400 records, 2/s, 60%, 0:13:20 left",
        "dragoman: 1,600 records, 2/s, 75%, 0:05:00 left",
    ]
    assert said[3] == "dragoman: record 1601 is not translated: it is bad"
    assert len(said) == 3 + 20 + 2
    assert said[-1] == "dragoman: 1,630 records, 2/s, 30 failed"


def test_a_file_system_without_locks_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("service.corpora.line_files.fcntl.flock", none)
    assert written_lines(b"a\n", "text", tmp_path) == ["A"]


@pytest.mark.parametrize(("corpus_format", "ending"), FILES)
def test_a_run_without_work_tells_what_is_written(
    corpus_format: str, ending: str, tmp_path: Path
) -> None:
    source, output, stream = tmp_path / f"source{ending}", tmp_path / "out", io.StringIO()
    write_corpus(source, corpus_format, texts(40))
    chosen = options(corpus_format, resume=True)
    num_failed = run(source, output, chosen)
    with opened_corpus(source, output, chosen) as corpus:
        progress = CorpusProgress(stream)
        assert translate_corpus(corpus, UpperCase(), progress) == num_failed
    progress.end()
    num_records = 40 + (corpus_format == "tsv")
    assert stream.getvalue() == f"dragoman: {num_records} records, 0/s, {num_failed} failed\n"
