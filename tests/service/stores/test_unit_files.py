"""Translation memories as files: what is written is read again, what tools write is understood,
and what is hostile is refused, in memory that does not grow with the file."""

from __future__ import annotations

import csv
import io
import tracemalloc
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidDocument
from service.stores.glossary_files import CSV, read_entries
from service.stores.tmx import MAX_UNIT_CHARACTERS, Unit, read_tmx
from service.stores.unit_files import UNIT_FILES, read_units, write_units

MEBIBYTE = 2**20
SIDES = st.text(st.sampled_from("aB ß图<>&\"'\t\n\r;,\u00a0\u2028\0\x1b\ufffe😀"), min_size=1)


def read(content: str | bytes, source: str = "en", target: str = "de") -> list[Unit | None]:
    content = content.encode() if isinstance(content, str) else content
    return list(read_tmx(io.BytesIO(content), source, target))


def legible(text: str, kind: str) -> str:
    """What a kind of file keeps of a text."""
    if kind == "tsv":
        return " ".join(text.split())
    if kind == "tmx":
        text = "".join(char for char in text if char not in "\0\x1b\ufffe")
    return text.strip()


@pytest.mark.parametrize("kind", UNIT_FILES)
@given(units=st.lists(st.builds(Unit, SIDES, SIDES)))
def test_what_is_written_is_read_again(kind: str, units: list[Unit]) -> None:
    written = "".join(write_units(units, kind, "en", "de")).encode()
    kept = [Unit(*(legible(side, kind) for side in unit)) for unit in units]
    found = list(read_units(io.BytesIO(written), kind, "en", "de"))
    if kind != "tmx":  # a line without any text is no unit
        found, kept = [one for one in found if one], [one for one in kept if any(one)]
    assert [one for one in found if one] == [one for one in kept if all(one)]


OMEGAT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx11.dtd">
<tmx version="1.1">
  <header creationtool="OmegaT" segtype="sentence" o-tmf="OmegaT TMX" adminlang="EN-US"
    srclang="EN-US" datatype="plaintext"></header>
  <body>
    <tu><tuv lang="EN-US"><seg>Click &lt;b0&gt;here&lt;/b0&gt;.</seg></tuv>
        <tuv lang="DE-DE"><seg>&lt;b0&gt;Hier&lt;/b0&gt; klicken.</seg></tuv></tu>
  </body>
</tmx>"""
TRADOS = """<?xml version="1.0" encoding="utf-16"?>
<tmx version="1.4"><header srclang="en-US"/><body>
  <tu creationdate="20260101T000000Z"><prop type="x-Origin">TM</prop>
    <tuv xml:lang="en-US">
      <seg>A <bpt i="1">&lt;b><sub>a <hi>tip</hi></sub></bpt>big<ept
        i="1">&lt;/b></ept> house</seg></tuv>
    <tuv xml:lang="fr-FR"><seg>Une grande maison</seg></tuv>
    <tuv xml:lang="de-DE">
      <seg>Ein <bpt i="1">&lt;b></bpt>großes<ept i="1">&lt;/b></ept> Haus</seg></tuv>
  </tu>
</body></tmx>"""


def test_what_tools_write_is_read_with_its_codes_as_text() -> None:
    assert read(OMEGAT) == [Unit("Click <b0>here</b0>.", "<b0>Hier</b0> klicken.")]
    (unit,) = read(TRADOS.encode("utf-16"))
    assert unit == Unit("A <b>big</b> house", "Ein <b>großes</b> Haus")
    latin = TRADOS.replace("utf-16", "iso-8859-1").encode("latin-1")
    assert read(latin) == [unit]


def memory(*variants: tuple[str, str]) -> str:
    tuvs = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in variants)
    return f"<tmx><body><tu>{tuvs}</tu></body></tmx>"


@pytest.mark.parametrize(
    ("pair", "variants", "expected"),
    [
        (("en", "de"), [("en-GB", "a"), ("de-CH", "b")], Unit("a", "b")),
        (("en", "de"), [("eng", "a"), ("deu", "b")], Unit("a", "b")),
        (("en", "de"), [("de", "b"), ("en", "a")], Unit("a", "b")),
        (("en", "de"), [("en", "a"), ("de-AT", "x"), ("DE", "b"), ("de-CH", "y")], Unit("a", "b")),
        (("en", "de"), [("en", "a"), ("de-AT", "b"), ("de-CH", "y")], Unit("a", "b")),
        (("en", "zh-Hant"), [("en", "a"), ("zh-CN", "x"), ("zh-TW", "b")], Unit("a", "b")),
        (("en", "pt-BR"), [("en", "a"), ("pt-BR", "b"), ("pt-PT", "x")], Unit("a", "b")),
        (("en", "de"), [("en", "a"), ("fr", "b")], None),
        (("en", "de"), [("en", "a"), ("", "b")], None),
        (("en", "de"), [("en", " "), ("de", "b")], None),
        (("en", "de"), [("en", "a"), ("de", "b" * (MAX_UNIT_CHARACTERS + 1))], None),
        (("en", "de"), [("en", "a"), ("de", "b" * MAX_UNIT_CHARACTERS)], Unit("a", "b" * 10_000)),
    ],
)
def test_a_variant_of_a_language_is_the_language(
    pair: tuple[str, str], variants: list[tuple[str, str]], expected: Unit | None
) -> None:
    assert read(memory(*variants), *pair) == [expected]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "no valid XML"),
        ("<tmx><body>", "no valid XML"),
        ("<?xml version='1.0' encoding='gb2312'?><tmx/>", "save it as UTF-8.*multi-byte"),
        ("<?xml version='1.0' encoding='other'?><tmx/>", "save it as UTF-8.*other"),
        ("<html/>", "must be TMX, got an element 'html'"),
        ('<!DOCTYPE tmx [<!ENTITY a "b">]><tmx>&a;</tmx>', "must not declare"),
        (
            '<!DOCTYPE tmx [<!ENTITY % a SYSTEM "file:///etc/passwd"> %a;]><tmx/>',
            "must not declare",
        ),
        ('<!DOCTYPE tmx [<!ATTLIST tu x CDATA "y">]><tmx/>', "must not declare"),
        ('<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx>&nbsp;</tmx>', "'nbsp' is not declared"),
        ("<tmx>&nbsp;</tmx>", "undefined entity"),
        ("<tmx>" + "<a>" * 200, "more than 100 deep"),
        ("<tmx>" + "".join(f"<a{n}/>" for n in range(2000)), "more than 1000 names"),
        (f'<tmx a="{"x" * 3 * MEBIBYTE}"/>', "more than 1048576 bytes"),
        (f"<tmx><!--{'x' * 3 * MEBIBYTE}--></tmx>", "more than 1048576 bytes"),
    ],
)
def test_what_is_hostile_or_no_memory_is_refused(content: str, told: str) -> None:
    with pytest.raises(InvalidDocument, match=told):
        read(content)


@pytest.mark.parametrize(
    ("kind", "content", "told"),
    [
        ("csv", b'"a', "line 1"),
        ("tsv", b"a\tb\n\xff\tc", "not UTF-8"),
        ("tsv", b"x" * 3 * MEBIBYTE, "more than 40000 characters"),
        ("csv", b'"' + b"x\n" * MEBIBYTE, "field larger than field limit"),
    ],
)
def test_rows_that_cannot_be_read_are_refused(kind: str, content: bytes, told: str) -> None:
    with pytest.raises(InvalidDocument, match=told):
        list(read_units(io.BytesIO(content), kind, "en", "de"))


SPREADSHEET = [Unit("Hallo, Welt", "Hello;\tworld"), Unit('a "b"', "1\n2"), Unit("ß", "x")]


@pytest.mark.parametrize("separator", ",;\t")
@pytest.mark.parametrize(
    "head", ["", "sep={}\r\n", '"sep={}"\n', "Source{}Target\n", "\nsource{}target{}case\n"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_csv_of_a_spreadsheet_has_its_separator_encoding_and_heading(
    separator: str, head: str, encoding: str
) -> None:
    written = io.StringIO(head.replace("{}", separator), newline="")
    written.seek(0, io.SEEK_END)
    csv.writer(written, delimiter=separator).writerows(SPREADSHEET)
    content = io.BytesIO(written.getvalue().encode(encoding))
    assert list(read_units(content, "csv", "de", "en")) == SPREADSHEET
    assert [one[:2] for one in read_entries(written.getvalue(), CSV)] == SPREADSHEET


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Ja, gern;Yes, gladly\n", Unit("Ja, gern", "Yes, gladly")),
        ("dog, Hund\n", Unit("dog", "Hund")),
        ("a; b,c; d\n", Unit("a; b", "c; d")),
        ("a;b,c;d\n", Unit("a;b", "c;d")),
    ],
)
def test_what_parts_every_row_and_has_no_space_behind_it_is_the_separator(
    content: str, expected: Unit
) -> None:
    assert list(read_units(io.BytesIO(content.encode()), "csv", "de", "en")) == [expected]


def test_a_row_has_a_text_and_its_translation_and_may_have_more() -> None:
    content = b"\xef\xbb\xbfa\tb\tmore\n\n \t\nc\n\td\n"
    found = list(read_units(io.BytesIO(content), "tsv", "en", "de"))
    assert found == [Unit("a", "b"), None, None]


_TAIL = b"</body></tmx>"


class Repeated(io.BytesIO):
    """A file with the same units again and again, which is made as it is read."""

    def __init__(self, num_units: int) -> None:
        super().__init__()
        self._left, self._head = num_units // 100, b"<tmx><body>"
        self._unit = memory(("en", "a"), ("de", "b"))[len(self._head) : -len(_TAIL)].encode()

    def read(self, _: int | None = -1) -> bytes:
        self._left -= 1
        if self._left < 0:
            return _TAIL if self._left == -1 else b""
        head, self._head = self._head, b""
        return head + 100 * self._unit


def peak(file: BinaryIO, num_units: int) -> int:
    """The most memory while it is read."""
    tracemalloc.start()
    assert sum(one is not None for one in read_tmx(file, "en", "de")) == num_units
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_memory_does_not_grow_with_the_file_nor_with_a_unit() -> None:
    assert peak(Repeated(20_000), 20_000) < MEBIBYTE
    huge = io.BytesIO(memory(*(("en", "x" * 1000) for _ in range(3000))).encode())
    assert peak(huge, 0) < MEBIBYTE
