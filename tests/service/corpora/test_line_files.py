"""Files of lines: what an input may become, and what an output may be."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import pytest

from service.commands.corpora import opened_corpus
from service.corpora.compression import Compression, frame
from service.corpora.line_files import LineInput
from service.corpora.shards import Shard
from tests.service.corpora.runs import options, run, texts


def test_what_is_before_the_damage_of_an_input_is_written(tmp_path: Path) -> None:
    source, output = tmp_path / "source.gz", tmp_path / "output"
    text = "".join(f"{one}\n" for one in texts(3000))
    source.write_bytes(gzip.compress(text.encode())[:-100])
    with pytest.raises(ValueError, match="cannot read"):
        run(source, output, options("text"))
    assert output.read_bytes().count(b"\n") > 1000


@pytest.mark.parametrize("shard", [Shard(), Shard(0, 2), Shard(1, 2)], ids=str)
def test_an_input_that_becomes_shorter_is_no_whole_one(shard: Shard, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"a line\n" * 100_000)  # more than Python reads ahead
    with opened_corpus(source, tmp_path / "out", options("text", shard=shard)) as corpus:
        batches = corpus.batches()
        next(batches)
        source.write_bytes(b"a line\n" * 3)
        with pytest.raises(ValueError, match="cannot read .*source: it ends at byte .*, and had"):
            list(batches)


@pytest.mark.parametrize("count", range(2, 7))
def test_each_line_belongs_to_one_shard_wherever_that_begins(count: int, tmp_path: Path) -> None:
    source = tmp_path / "source"
    for content in itertools.product(b"a\n", repeat=5):
        source.write_bytes(bytes(content))
        shards = [Shard(place, count) for place in range(count)]
        found = [line for shard in shards for line in LineInput(source, shard).lines()]
        assert found == bytes(content).splitlines()


@pytest.mark.parametrize(("ending", "compression"), [(".gz", "gzip"), (".zst", "zstd")])
def test_a_compressed_output_without_lines_can_be_read(
    ending: str, compression: Compression, tmp_path: Path
) -> None:
    source, output = tmp_path / "source", tmp_path / f"out{ending}"
    source.write_bytes(b"")
    for _ in range(2):
        run(source, output, options("text", resume=True))
        assert output.read_bytes() == frame(compression, b"") != b""
    source.write_bytes(b"a\n")
    run(source, output, options("text", resume=True))
    assert output.read_bytes() == frame(compression, b"") + frame(compression, b"A\n")


def test_an_output_of_other_frames_is_refused(tmp_path: Path) -> None:
    source, output = tmp_path / "source", tmp_path / "out.gz"
    source.write_bytes(b"ab\n")
    output.write_bytes(frame("gzip", b"A") + frame("gzip", b"B\n"))
    with pytest.raises(ValueError, match="a frame that ends within a line"):
        run(source, output, options("text", resume=True))
