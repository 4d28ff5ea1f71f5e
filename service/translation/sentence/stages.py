"""A stage: one special thing about a sentence, such as its capitals or its kept strings.

A sentence enters the stages that it needs, in order: each reads the text and gives what the next
one, or the network, reads. The translation leaves them in reverse. A plain sentence needs none. The
law of every stage: what leaves with the links of a text to itself is the text that entered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from service.translation.alignment import AlignmentLink
from service.translation.glossary import GlossaryEntry
from service.translation.sentence.replaced import Replaced, Replacement


class Draft(NamedTuple):
    """A translation of a sentence with a MARK for each kept string, on its way back.

    `links` are between the text that entered the stage that it left last and this text; `order`:
    for each MARK the index of its string in the source; `lost`: the entries of a glossary that it
    lacks.
    """

    text: str
    links: Sequence[AlignmentLink] = ()
    order: Sequence[int] = ()
    lost: Sequence[GlossaryEntry] = ()

    def changed(self, changes: Sequence[Replacement]) -> Draft:
        """The translation with these parts replaced; most have none."""
        return self.replaced(Replaced(self.text, changes)) if changes else self

    def replaced(self, target: Replaced, source: Replaced | None = None) -> Draft:
        """The translation with parts replaced, as in `target`, and its links to them, but none to
        what was left out. `source`: where the parts of `text` are in what entered the stage, if
        that is another text."""
        links = (
            AlignmentLink(
                *(source.span(*link[:2]) if source else link[:2]),
                *target.span(*link[2:4]),
                link.weight,
            )
            for link in self.links
        )
        kept = [link for link in links if link.target_start < link.target_end]
        return self._replace(text=target.text, links=kept)


class Stage(Protocol):
    """What a stage remembers of one sentence."""

    @property
    def text(self) -> str:
        """What the next stage, or the network, reads."""
        ...

    def leave(self, draft: Draft) -> Draft | None:
        """The translation of `text` as one of what entered; None if something was lost."""
        ...


def leave(stages: Sequence[Stage], draft: Draft) -> Draft | None:
    """The translation of what entered the first stage; None if something was lost."""
    left: Draft | None = draft
    for stage in reversed(stages):
        if left is None:
            return None
        left = stage.leave(left)
    return left
