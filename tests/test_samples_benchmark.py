"""What benchmarks/samples.py shows, and how."""

from __future__ import annotations

from pathlib import Path

from benchmarks.samples import sampled, table
from model.training.recipe import CorpusTable


def test_only_sets_that_are_trained_on_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("你好\tHello\n谢谢\tThanks\n再见\tBye\n", encoding="utf-8")
    corpora = [
        CorpusTable("talk", train=Path("train.tsv"), test=path),
        CorpusTable("news", test=path),
        CorpusTable("phrases", train=Path("train.tsv")),
    ]
    assert list(sampled(corpora, 2)) == [("talk", [("你好", "Hello"), ("谢谢", "Thanks")])]


def test_a_table_shows_markup_literally() -> None:
    found = table("zh-en", [("a|b", "<b>`x`</b>", "*y* _z_ [1]")])
    assert found.splitlines()[0] == "| zh-en | translation | reference |"
    assert found.splitlines()[2] == r"| a\|b | \<b\>\`x\`\</b\> | \*y\* \_z\_ \[1\] |"
