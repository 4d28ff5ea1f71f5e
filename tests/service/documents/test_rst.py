"""reStructuredText: texts are translated, and docutils finds the same structure and code in the
translation."""

from __future__ import annotations

from collections.abc import Iterator

import docutils.nodes
import pytest
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import column_width, new_document
from hypothesis import example, given
from hypothesis import strategies as st

from service.documents.rst_tables import width_of
from service.errors import InvalidDocument
from service.translation.markup.coded_text import CodedText, Text
from tests.service.documents.samples import OPTIONS, capitals, coded, parse_file, translated

WRITTEN = {
    "One\n===\n\ntwo\nthree\n": "ONE\n===\n\nTWO THREE\n",
    "=====\n One\n=====\n": "=====\n ONE\n=====\n",
    "* one\n  two\n* three\n\n1. four\n": "* ONE TWO\n* THREE\n\n1. FOUR\n",
    "one\n  two *three* ``four``\n": "ONE\n  TWO *THREE* ``four``\n",
    "x : int\n  one\n": "x : int\n  ONE\n",
    ":param x: one\n  two\n:type x: int\n": ":param x: ONE TWO\n:type x: int\n",
    ":Author: Me\n:one: two\n": ":Author: Me\n:one: TWO\n",
    "-a, --all  one\n--b=FILE  two\n": "-a, --all  ONE\n--b=FILE  TWO\n",
    "one::\n\n  two\n\nthree ::\n\n> four\n> five\n": (
        "ONE::\n\n  two\n\nTHREE ::\n\n> four\n> five\n"
    ),
    "one\n::\n\n  two\n": "ONE\n::\n\n  two\n",
    "| one\n|   two\n| three\n  four\n": "| ONE\n|   TWO\n| THREE FOUR\n",
    ">>> one\ntwo\n\nthree\n": ">>> one\ntwo\n\nTHREE\n",
    ".. one two\n   three\n\nfour\n": ".. one two\n   three\n\nFOUR\n",
    "..\n\n  one\n": "..\n\n  ONE\n",
    ".. note:: one\n   two\n\n   three\n": ".. note:: ONE TWO\n\n   THREE\n",
    ".. admonition:: one\n   :class: two\n\n   three\n": (
        ".. admonition:: ONE\n   :class: two\n\n   THREE\n"
    ),
    ".. versionadded:: 3.2 one\n   two\n": ".. versionadded:: 3.2 ONE TWO\n",
    ".. py:function:: one(two)\n   three(two)\n\n   four\n": (
        ".. py:function:: one(two)\n   three(two)\n\n   FOUR\n"
    ),
    ".. figure:: one.png\n   :alt: two\n   :name: three\n\n   four\n": (
        ".. figure:: one.png\n   :alt: TWO\n   :name: three\n\n   FOUR\n"
    ),
    ".. code-block:: one\n   :caption: two\n\n   three\n": (
        ".. code-block:: one\n   :caption: TWO\n\n   three\n"
    ),
    ".. glossary::\n\n   one\n      two :term:`one`\n": (
        ".. glossary::\n\n   one\n      TWO :term:`ONE <one>`\n"
    ),
    ".. list-table:: one\n\n   * - two\n     - three\n": (
        ".. list-table:: ONE\n\n   * - TWO\n     - THREE\n"
    ),
    ".. unknown:: one\n\n   two\n": ".. unknown:: one\n\n   two\n",
    ".. |one| replace:: two\n.. |three| image:: a.png\n": (
        ".. |one| replace:: TWO\n.. |three| image:: a.png\n"
    ),
    ".. [#one] two\n.. _three: http://a.b\n__ http://c.d\n": (
        ".. [#one] TWO\n.. _three: http://a.b\n__ http://c.d\n"
    ),
    "one |two| [1]_ three_ `four`_\n": "ONE |two| [1]_ three_ `FOUR <four_>`__\n",
    "one `2`_ `A`_\n": "ONE `2`_ `A`_\n",
    "`one <http://a.b>`_ or http://c.d/e\n": "`ONE <http://a.b>`__ OR http://c.d/e\n",
    "`one <http://a.b>`_ and one_\n": "`one <http://a.b>`_ AND one_\n",
    ":ref:`one two <a>` :func:`b <c.b>` :doc:`d` `e`\n": (
        ":ref:`ONE TWO <a>` :func:`b <c.b>` :doc:`d` `e`\n"
    ),
    "One two\n-------\n\nsee `one two`_\n": (
        ".. _one two:\n\nONE TWO\n-------\n\nSEE `ONE TWO <one two_>`__\n"
    ),
    ".. _one: a\n\nOne\n---\n\nsee one_\n": ".. _one: a\n\nONE\n---\n\nSEE one_\n",
    "=====  =====\none    two\n=====  =====\n1      three\n       four\n=====  =====\n": (
        "=====  ==========\nONE    TWO\n=====  ==========\n1      THREE FOUR\n=====  ==========\n"
    ),
    "+---+---+\n| a | b |\n+---+---+\n| - c   |\n+-------+\n": (
        "+---+---+\n| a | b |\n+---+---+\n| - c   |\n+-------+\n"
    ),
}
TABLE = "+-----+\n| one |\n|     |\n| two |\n+-----+\n"
BLOCKS = [
    "One *two* `three`_ **four**\\ s ``five``\\ s, and (*six*) \\*seven* a*b x_ \\|.\n",
    "- one\n\n  two\n- three::\n\n    four\n",
    "one\n  two\n",
    ".. note:: one\n   two\n\n     three\n",
    ".. [#a] one\n   two::\n\n     three\n",
    ":one: two\n  three\n\n    four\n",
    "| one\n| two\n",
    "one ``two`` http://a.b/c three :sub:`four`\\ five.\n",
    "=====  ===\none    two\n=====  ===\nthree  **four**\n=====  ===\n",
    TABLE,
    "two::\n\n  three\n\nfour\n",
    ".. image:: one\n   :alt: two\n",
]
AROUND = {
    "{}": 0,
    "- x\n\n{}": 2,
    ".. tip::\n\n{}": 3,
    "1. x\n\n   - y\n\n{}": 5,
    "x\n\n{}\ny\n": 2,
}
"""What is around a block, and how far it is indented."""


def nodes_of(text: str) -> Iterator[tuple[int, str, str]]:
    """What docutils finds: the depth and name of each node, and the text of code."""
    settings = get_default_settings(Parser)
    settings.report_level = 5
    document = new_document("", settings)
    Parser().parse(text, document)
    stays = docutils.nodes.literal, docutils.nodes.literal_block, docutils.nodes.comment
    for node in document.findall(docutils.nodes.Element):
        depth = 0
        parent = node.parent
        while parent is not None:
            depth, parent = depth + 1, parent.parent
        yield depth, node.tagname, node.astext() if isinstance(node, stays) else ""


def wide(text: Text) -> Text:
    """A translation without spaces in characters of two columns."""
    if isinstance(text, str):
        return _wide(text)
    return CodedText.of(_wide(part) if isinstance(part, str) else part for part in text.parts)


def _wide(text: str) -> str:
    return "".join("\u4e2d" if char.isalpha() else char.strip() for char in text)


@pytest.mark.parametrize("source", WRITTEN)
def test_texts_are_translated_and_names_and_code_stay(source: str) -> None:
    assert translated("a.rst", source.encode()).decode() == WRITTEN[source]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("block", BLOCKS)
def test_docutils_finds_the_same_structure(block: str, around: str) -> None:
    indent = " " * AROUND[around]
    lines = "".join(indent + line if line.strip() else line for line in block.splitlines(True))
    source = around.format(lines)
    parsed = parse_file(source.encode(), "a.rst", OPTIONS)
    for translate in (capitals, wide):
        written = parsed.write([translate(segment.text) for segment in parsed.segments]).decode()
        assert list(nodes_of(written)) == list(nodes_of(source)), written


@pytest.mark.parametrize(
    "begin", ["- a", "1. a", "a. b", ":a: b", ">>> a", "| a", ".. a", "__ a", "---", "--a  b"]
)
def test_no_translation_begins_another_block(begin: str) -> None:
    parsed = parse_file(b"one\n", "a.rst", OPTIONS)
    written = parsed.write([CodedText.of([begin])]).decode()
    assert [name for _, name, _ in nodes_of(written)] == ["document", "paragraph"], written


def test_signs_of_a_translation_are_no_marks() -> None:
    text = "a *b* `c` |d| e_ \\f"
    written = parse_file(b"one\n", "a.rst", OPTIONS).write([coded(text)]).decode()
    assert [name for _, name, _ in nodes_of(written)] == ["document", "paragraph"], written


def test_a_mark_that_came_into_a_pair_stands_beside_it() -> None:
    parsed = parse_file(b"*one two* ``three``\n", "a.rst", OPTIONS)
    opened, _, closed, _, word = parsed.segments[0].text.parts
    moved = CodedText.of([opened, "ONE ", word, " TWO", closed])
    assert parsed.write([moved]) == b"*ONE* ``three`` *TWO*\n"


def test_what_is_nested_too_deeply_is_refused_at_once() -> None:
    for deep in ("\n".join(" " * depth + "a" for depth in range(200)), "- " * 1000):
        with pytest.raises(InvalidDocument, match="nested too deeply"):
            parse_file(deep.encode(), "a.rst", OPTIONS)


@given(st.text())
@example("\U0001f469\u200d\U0001f466 a\u0301 \uff21 \U0001d400")
def test_columns_are_counted_as_docutils_does(text: str) -> None:
    assert width_of(text) == column_width(text)
