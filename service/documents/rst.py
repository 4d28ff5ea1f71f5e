"""reStructuredText: the texts of paragraphs, titles, items and directives are translated, each into
one line. Code, targets, comments, names, tables that are drawn, and all marks stay."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Set

import regex

from service.documents.rst_blocks import START, Blocks, Heading, TextBlock
from service.documents.rst_tables import Table, width_of
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
    headings = Counter(normalized(block.text) for block in blocks if block.heading)
    named = linked & {name for name, count in headings.items() if count == 1}
    named -= reader.targets
    for block in blocks:
        yield from _place(block, linked, named)


def _place(block: TextBlock, linked: Set[str], named: Set[str]) -> Iterator[Place]:
    """`named`: the headings that links go to."""
    if block.is_attribute:
        yield Place(block.start, block.end, Segment(block.text), _in_one_line)
        return
    text = ParagraphsText(block.table.texts if block.table else [block.text], linked)
    if not text.inline.has_letters:
        return
    segment = Segment(text.inline.text)
    place = Place(block.start, block.end, segment)
    if heading := block.heading:
        name = normalized(block.text) if normalized(block.text) in named else ""
        write = functools.partial(_write_heading, heading, name, text)
        yield place._replace(start=heading.start, end=heading.end, write=write)
    elif table := block.table:
        yield place._replace(write=functools.partial(_write_table, table, block.before, text))
    else:
        yield place._replace(write=functools.partial(_write, block, text))


def _in_one_line(translation: str) -> str:
    return " ".join(translation.split())


def _write(block: TextBlock, text: ParagraphsText, translation: CodedText) -> str:
    """A paragraph that begins no other block, and whose colons before code stay."""
    written = block.before + begun(*text.write(translation))
    if not block.is_before_code:
        return written
    return f"{written}:" if written.endswith(":") else f"{written} ::"


def _write_heading(
    heading: Heading, name: str, text: ParagraphsText, translation: CodedText
) -> str:
    """A heading with lines of its width, and a target of the name that links have for it."""
    written = begun(*text.write(translation))
    line = heading.line[:1] * max(len(heading.line), width_of(written) + 2 * len(heading.inset))
    end_of_line = heading.end_of_line
    target = f".. _{_quoted(name)}:{end_of_line * 2}" if name else ""
    over = f"{line}{end_of_line}{heading.inset}" if heading.is_overlined else ""
    return f"{target}{over}{written}{end_of_line}{line}"


def _write_table(table: Table, between: str, text: ParagraphsText, translation: CodedText) -> str:
    """The lines of a table, with what stands between them."""
    return between.join(table.written([*map(begun, text.write(translation))]))


def _quoted(name: str) -> str:
    return name if regex.fullmatch(r"[^\W_][\w ]*+", name) else f"`{name}`"


def begun(written: str) -> str:
    """The beginning of a line as a text, not as a mark of a block."""
    return "\\" + written if START.match(written) else written
