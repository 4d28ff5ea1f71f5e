"""Links within a page of Markdown to its headings, whose names are their texts as on GitHub."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

import regex

from service.documents.front_matter import front_matter_end
from service.documents.markdown_parser import MarkdownParser
from service.documents.segments import DecodedText, Edit, Place, TextFile
from service.translation.markup.coded_text import Text

_LINK = regex.compile(r"""(?<=\]\(<?#|\shref=["']#)[^\s()<>"']++""")
_UNREAD = regex.compile(r"!?\[(?P<text>[^\[\]]*+)\](?:\([^()]*+\)|\[[^\[\]]*+\])|<[^<>]*+>")
"""What a heading does not show of links and tags."""
_DROPPED = regex.compile(r"[^\p{L}\p{M}\p{N}\p{Pc} -]")


class LinkedPage(TextFile):
    """A page whose links to its headings follow their translations."""

    def __init__(
        self,
        decoded: DecodedText,
        places: Iterable[Place],
        edits: Iterable[Edit] = (),
        *,
        is_mdx: bool,
    ) -> None:
        super().__init__(decoded, places, edits)
        self._is_mdx = is_mdx

    def _rewritten(self, translations: Sequence[Text]) -> str:
        written = super()._rewritten(translations)
        if not _LINK.search(self._source):
            return written
        before, after = self._headings(self._source), self._headings(written)
        names = dict(zip(before, after, strict=True)) if len(before) == len(after) else {}
        return _LINK.sub(lambda link: names.get(unquote(link[0]), link[0]), written)

    def _headings(self, page: str) -> list[str]:
        """The names of the headings, in order."""
        tokens = MarkdownParser(is_mdx=self._is_mdx).blocks(page[front_matter_end(page) :])
        pairs = itertools.pairwise(tokens)
        texts = (text.content for heading, text in pairs if heading.type == "heading_open")
        return list(_names(texts))


def _names(headings: Iterable[str]) -> Iterator[str]:
    """The name of each heading; those of one text are numbered."""
    known: Counter[str] = Counter()
    for heading in headings:
        text = _UNREAD.sub(lambda mark: mark["text"] or "", heading)
        name = _DROPPED.sub("", text.strip().lower()).replace(" ", "-")
        yield f"{name}-{known[name]}" if known[name] else name
        known[name] += 1
