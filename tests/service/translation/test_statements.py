"""Statements of SQL in prose are kept whole, and words in capitals are no statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.translation.test_placeholders import kept

NAMES = st.sampled_from(["users", "a.b", "order_id", '"Name"', "`t`"])
VALUES = st.sampled_from(["5", "'x y'", ":id", "?", "NULL", "now()"])
WHERE = st.one_of(
    st.just(""),
    st.builds(" WHERE {} = {}".format, NAMES, VALUES),
    st.builds(
        " WHERE {} LIKE {} AND {} < 3 ORDER BY {} LIMIT 10".format, NAMES, VALUES, NAMES, NAMES
    ),
)
STATEMENTS = st.one_of(
    st.builds("SELECT {}, {} FROM {}{}".format, NAMES, NAMES, NAMES, WHERE),
    st.builds("SELECT * FROM {} JOIN {} ON {} = {}{}".format, NAMES, NAMES, NAMES, NAMES, WHERE),
    st.builds("INSERT INTO {} (a, b) VALUES ({}, {})".format, NAMES, VALUES, VALUES),
    st.builds("UPDATE {} SET {} = {}{}".format, NAMES, NAMES, VALUES, WHERE),
    st.builds("DELETE FROM {}{}".format, NAMES, WHERE),
    st.builds("DROP TABLE IF EXISTS {}".format, NAMES),
    st.builds("CREATE TABLE {} (a int, b text)".format, NAMES),
)


@given(statement=STATEMENTS, end=st.sampled_from(["", ";"]))
@pytest.mark.parametrize("text", ["Run {} now", "{} ist langsam.", "Die Abfrage {}", "So: {}"])
def test_a_statement_is_kept_whole(text: str, statement: str, end: str) -> None:
    assert kept(text.format(statement + end)) == [statement + end]


@pytest.mark.parametrize(
    "text",
    ["PLEASE SELECT ONE FROM THE MENU", "UPDATE 2: ja", "Select one from the list", "DELETE IT"],
)
def test_words_in_capitals_are_no_statements(text: str) -> None:
    assert kept(text) == []
