"""reStructuredText: the texts of paragraphs, titles, items and directives are translated, each into
one line. Code, targets, comments, names, tables that are drawn, and all marks stay."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Set

import regex

from service.documents.rst_blocks import START, Block, Blocks
from service.documents.rst_tables import width_of
from service.documents.rst_text import ParagraphsText, link_names, normalized
from service.documents.segments import FileOptions, Place, Segment, TextFile, decode
from service.translation.markup.coded_text import CodedText


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Raises InvalidDocument."""
    decoded = decode(content, options.source)
    return TextFile(decoded, _places(decoded.text))


def _places(source: str) -> Iterator[Place]:
    reader = Blocks(source)
    blocks = list(reader.read())
    linked = {name for block in blocks for name in link_names(block.text)}
    titles = Counter(normalized(block.text) for block in blocks if block.title)
    named = linked & {name for name, count in titles.items() if count == 1}
    named -= reader.targets
    for block in blocks:
        yield from _place(block, linked, named)


def _place(block: Block, linked: Set[str], named: Set[str]) -> Iterator[Place]:
    """`named`: the titles that links go to."""
    if block.kind == "attribute":
        yield Place(block.start, block.end, Segment(block.text), _in_one_line)
        return
    text = ParagraphsText(block.table.texts if block.table else [block.text], linked)
    if not text.inline.has_letters:
        return
    segment = Segment(text.inline.text)
    if title := block.title:
        is_named = normalized(block.text) in named
        write = functools.partial(_write_title, block, text, is_named=is_named)
        yield Place(title.start, title.end, segment, write)
    else:
        written = _write_table if block.table else _write
        yield Place(block.start, block.end, segment, functools.partial(written, block, text))


def _in_one_line(translation: str) -> str:
    return " ".join(translation.split())


def _write(block: Block, text: ParagraphsText, translation: CodedText) -> str:
    """A paragraph that begins no other block, and whose colons before code stay."""
    written = block.before + begun(*text.write(translation))
    if not block.is_before_code:
        return written
    return f"{written}:" if written.endswith(":") else f"{written} ::"


def _write_title(
    block: Block, text: ParagraphsText, translation: CodedText, *, is_named: bool
) -> str:
    """A title with lines of its width. One that links name gets a target of that name."""
    title = block.title
    assert title is not None
    written = begun(*text.write(translation))
    width = max(len(title.line), width_of(written) + 2 * len(title.inset))
    line = title.line[:1] * width
    target = f".. _{_quoted(normalized(block.text))}:{title.end_of_line * 2}" if is_named else ""
    over = f"{line}{title.end_of_line}{title.inset}" if title.is_overlined else ""
    return f"{target}{over}{written}{title.end_of_line}{line}"


def _write_table(block: Block, text: ParagraphsText, translation: CodedText) -> str:
    assert block.table is not None
    return block.before.join(block.table.written([*map(begun, text.write(translation))]))


def _quoted(name: str) -> str:
    return name if regex.fullmatch(r"[^\W_][\w ]*+", name) else f"`{name}`"


def begun(written: str) -> str:
    """The beginning of a line as a text, not as a mark of a block."""
    return "\\" + written if START.match(written) else written
