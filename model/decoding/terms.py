"""The terms of a sentence as columns of numbers, which every search matches."""

from __future__ import annotations

from collections.abc import Sequence

from model.decoding.sentence import Term


def term_columns(terms: Sequence[Term], most: int) -> list[list[int]]:
    """The terms' forms one after the other: token, term, change of the needed tokens, first, last,
    opens anywhere, opens at the start. First forms go first, so that they are all there."""
    forms = [
        (g, term, rank, form)
        for g, term in enumerate(terms)
        for rank, form in enumerate(term.forms)
    ]
    columns: list[list[int]] = [[] for _ in range(7)]
    for group, term, _, form in sorted(forms, key=lambda entry: entry[2]):
        length = len(form.ids)
        if len(columns[0]) + length > most:
            break
        base = len(term.forms[0].ids)
        columns[0] += form.ids
        columns[1] += [group] * length
        columns[2] += [length - place - 1 - base for place in range(length)]
        columns[3] += [1] + [0] * (length - 1)
        columns[4] += [0] * (length - 1) + [1]
        columns[5] += [int(form.place == "anywhere")] * length
        columns[6] += [int(form.place == "start")] * length
    return columns


def term_uses(terms: Sequence[Term]) -> list[list[int]]:
    """How often each term is needed, and the tokens of its first form."""
    return [[term.times for term in terms], [len(term.forms[0].ids) for term in terms]]
