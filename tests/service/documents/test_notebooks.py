"""Notebooks of Jupyter: their Markdown is translated as Markdown is, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidDocument
from tests.service.documents.samples import OPTIONS, parse_file, translated

PIECES = [
    "a *b* c",
    "\n",
    "\n\n",
    '"\\',
    "# d",
    "  \n",
    "- ",
    "`e`",
    "\u00fc\U0001f600",
    "<p>f</p>",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
SOURCES = st.one_of(TEXTS, TEXTS.map(lambda text: text.splitlines(keepends=True)))
CELLS = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["markdown", "code", "raw"]), "source": SOURCES},
    optional={"attachments": st.just({"cell_type": "markdown", "source": "keep"})},
)


@settings(max_examples=100, deadline=None)
@given(st.lists(CELLS, max_size=4), st.sampled_from([None, 1]), st.booleans())
def test_cells_are_translated_as_markdown(
    cells: list[dict[str, Any]], indent: int | None, is_ascii: bool
) -> None:
    notebook = {"metadata": {"source": "keep"}, "cells": cells, "nbformat": 4}
    content = json.dumps(notebook, indent=indent, ensure_ascii=is_ascii).encode()
    done = translated("a.ipynb", content)
    found = json.loads(done)
    for cell, new in zip(cells, found["cells"], strict=True):
        text = joined(cell)
        is_text = cell["cell_type"] == "markdown"
        assert joined(new) == (translated("a.md", text.encode()).decode() if is_text else text)
        assert all(
            "\n" not in line[:-1] for line in new["source"] if isinstance(new["source"], list)
        )
        new["source"] = cell["source"]
    assert found == notebook
    parsed = parse_file(content, "a.ipynb", OPTIONS)
    assert parsed.write([segment.text for segment in parsed.segments]) == content


def joined(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"cells": {}}', b'{"worksheets": []}'])
def test_what_is_no_notebook_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidDocument, match="not valid"):
        parse_file(content, "a.ipynb", OPTIONS)


def test_the_last_of_two_keys_counts() -> None:
    content = b'{"cells": 5, "cells": [{"cell_type": "markdown", "source": [1], "source": "a"}, 1]}'
    assert translated("a.ipynb", content) == content.replace(b'"a"', b'"A"')
