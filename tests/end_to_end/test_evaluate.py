"""`dragoman evaluate` measures what a user would get."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from service.commands.group import dragoman
from service.offline import OfflineOptions, OfflineTranslator

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "checkpoints" / "zh-en"
LINES = (
    "我喜欢咖啡。你呢？",
    "图书馆在哪里？ 😀",
    "昨天下午我和朋友一起去了图书馆，因为我们想借几本关于中国历史的书，"
    "可是图书馆关门了，所以我们去了附近的一家咖啡馆，在那里喝了咖啡，聊了很久，晚上才回家。",
)
RECIPE = """
[model]
[data]
languages = ["zh", "en"]
is_one_way = true
[[data.corpora]]
name = "lines"
test = "{corpus}"
[training]
max_steps = 1
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A test set whose references are the translations that the command line gives."""
    with OfflineTranslator([CHECKPOINT], OfflineOptions("cpu", "float32", 4)) as translator:
        pairs = [f"{line}\t{translator.translate(line, 'zh', 'en')}\n" for line in LINES]
    corpus, file = tmp_path / "test.tsv", tmp_path / "lines.toml"
    corpus.write_text("".join(pairs), encoding="utf-8")
    file.write_text(RECIPE.format(corpus=corpus.as_posix()), encoding="utf-8")
    return file


def test_lines_of_several_sentences_and_long_ones_are_translated_as_from_the_command_line(
    recipe: Path,
) -> None:
    arguments = ["evaluate", str(CHECKPOINT), "--recipe", str(recipe), "--device", "cpu"]
    result = CliRunner().invoke(dragoman, arguments)
    assert result.exit_code == 0, result.output
    (row,) = [line.split() for line in result.output.splitlines() if line.startswith("lines")]
    assert row[1:5] == ["zh-en", "3", "100.00", "100.00"]
    assert "tok:13a" in result.output
