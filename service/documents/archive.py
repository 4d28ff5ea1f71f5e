"""Files that are ZIP archives of texts and other members. Archives within them are not opened."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Protocol

from service.documents.segments import DecodedText, Edit, Place, Segment, TextFile, invalid
from service.documents.xml_text import InlineContent, XmlText, read_xml
from service.errors import DocumentTooLarge, InvalidDocument
from service.translation.markup.coded_text import Text

_MAX_MEMBERS = 10_000
_MAX_TOTAL_BYTES = 128 * 2**20
_MAX_TEXT_BYTES = 12 * 2**20
_MAX_RATIO, _SMALL_BYTES = 100, 16 * 2**20
"""Pictures without compression, and tables of empty cells, are packed to less than a hundredth."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
"""How files of Office that are no archives begin: old ones, and those with a password."""
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
PROTECTED = "the file is protected by a password; save it without one"
_TITLE, _LANGUAGE = frozenset({"dc:title"}), frozenset({"dc:language"})
_READ_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, OSError, KeyError),
)


class Archive:
    """A ZIP archive within bounds. Raises InvalidDocument or DocumentTooLarge."""

    def __init__(self, content: bytes, kind: str) -> None:
        """`kind`: the name of its format with an article."""
        self.content, self._kind, self._num_text_bytes = content, kind, 0
        if content.startswith(_OLD_OFFICE):
            raise InvalidDocument(
                f"the file is protected by a password; save it without one, as {kind} file"
                if _ENCRYPTED in content
                else f"the file is in an older format or is protected by a password; save it "
                f"without one, as {kind} file"
            )
        with _reading():
            is_archive = zipfile.is_zipfile(io.BytesIO(content))
        if not is_archive:
            raise InvalidDocument(f"the file is not {kind} file: it is no ZIP archive")
        with _reading():
            self._opened = zipfile.ZipFile(io.BytesIO(content))
            self._members = self._opened.infolist()
        self.names = self._opened.NameToInfo.keys()
        _require_harmless(self._members, len(content))
        with _reading():  # every member, before anything is translated
            damaged = self._opened.testzip()
        if damaged is not None:
            raise invalid("as a ZIP archive", f"{damaged} is damaged")

    def require(self, name: str) -> None:
        """Raises InvalidDocument without the member that makes it a file of its kind."""
        if name not in self.names:
            raise InvalidDocument(f"the file is not {self._kind} file: it has no {name}")

    def read(self, name: str) -> bytes:
        """A member that is to be parsed."""
        self._num_text_bytes += self.num_bytes(name)
        if self._num_text_bytes > _MAX_TEXT_BYTES:
            raise DocumentTooLarge(
                f"the file's texts have more than {_MAX_TEXT_BYTES} bytes when unpacked"
            )
        return self.unpacked(name)

    def read_xml(self, name: str) -> XmlText:
        """A member that is XML. Raises NotWellFormed or InvalidDocument with its name."""
        try:
            return read_xml(self.read(name))
        except InvalidDocument as error:
            raise type(error)(f"{name}: {error}") from None

    def unpacked(self, name: str) -> bytes:
        """A member that is not taken apart."""
        with _reading():
            return self._opened.read(name)

    def opened(self, name: str) -> IO[bytes]:
        """A member that is read as it is unpacked."""
        with _reading():
            return self._opened.open(name)

    def num_bytes(self, name: str) -> int:
        """Of a member when unpacked."""
        return self._opened.getinfo(name).file_size

    def has_inside(self, name: str, wanted: bytes) -> bool:
        """Whether a member has these bytes."""
        return wanted in self.unpacked(name)

    def replace(self, members: Mapping[str, bytes]) -> bytes:
        """The archive with other contents of some members; the others keep theirs."""
        written = io.BytesIO()
        with _reading(), zipfile.ZipFile(written, "w") as archive:
            for member in self._members:
                name = member.filename
                own = members[name] if name in members else self._opened.read(member)
                archive.writestr(_like(member), own)
        return written.getvalue()


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Raise InvalidDocument for what zipfile raises."""
    try:
        yield
    except _READ_ERRORS as error:
        raise invalid("as a ZIP archive", error) from None


class MemberText(Protocol):
    """A member that is a text."""

    @property
    def segments(self) -> Sequence[Segment]: ...

    def rewrite(self, translations: Sequence[Text]) -> bytes:
        """With edits that are made whatever is translated."""
        ...


class ArchiveFile:
    """An archive with some members that are texts."""

    def __init__(self, archive: Archive, texts: Mapping[str, MemberText]) -> None:
        """`texts`: by the names of their members."""
        self._archive, self._texts = archive, texts
        self.segments: Sequence[Segment] = [
            segment for text in texts.values() for segment in text.segments
        ]

    def write(self, translations: Sequence[Text]) -> bytes:
        if list(translations) == [segment.text for segment in self.segments]:
            return self._archive.content
        remaining = iter(translations)
        return self._archive.replace(
            {
                name: text.rewrite(list(itertools.islice(remaining, len(text.segments))))
                for name, text in self._texts.items()
            }
        )


def texts_of(
    archive: Archive,
    names: Iterable[str],
    places_of: Callable[[XmlText], Iterable[Place]],
    edits_of: Callable[[XmlText], Iterable[Edit]] = lambda _: (),
    made: Callable[[DecodedText, Iterable[Place], Iterable[Edit]], TextFile] = TextFile,
) -> dict[str, TextFile]:
    """The texts of those of these members that are there; they are XML."""
    read = {name: archive.read_xml(name) for name in names if name in archive.names}
    return {n: made(xml.decoded, places_of(xml), edits_of(xml)) for n, xml in read.items()}


def no_places(_: XmlText) -> Iterator[Place]:
    """What `texts_of` reads of members in which only edits are made."""
    return iter(())


def properties_of(archive: Archive, names: Iterable[str], language: str) -> dict[str, TextFile]:
    """The members with a document's title, and its language, which becomes this one."""
    return texts_of(archive, names, title_places, functools.partial(language_edits, language))


def title_places(xml: XmlText) -> Iterator[Place]:
    """The place of a document's title."""
    return InlineContent(xml, _TITLE).all_places()


def language_edits(language: str, xml: XmlText) -> Iterator[Edit]:
    """A document's language becomes this one."""
    return (xml.new_text(index, language) for index in xml.starts(_LANGUAGE))


def _require_harmless(members: Sequence[zipfile.ZipInfo], num_bytes: int) -> None:
    if len(members) > _MAX_MEMBERS:
        raise DocumentTooLarge(
            f"the file has {len(members)} members, at most {_MAX_MEMBERS} are allowed"
        )
    total = sum(member.file_size for member in members)
    if total > min(_MAX_TOTAL_BYTES, max(_MAX_RATIO * num_bytes, _SMALL_BYTES)):
        raise DocumentTooLarge(
            f"the file has {total} bytes when unpacked; at most {_MAX_TOTAL_BYTES} are allowed, "
            f"and above {_SMALL_BYTES} at most {_MAX_RATIO} times as many as packed"
        )
    if len({member.filename for member in members}) < len(members):
        raise InvalidDocument("the file has two members of one name")
    for member in members:
        if member.flag_bits & 0x1:
            raise InvalidDocument(PROTECTED)
        if member.compress_type not in _METHODS:
            raise InvalidDocument("the file is packed in another way than by deflate")


def _like(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """A new member's record: name, time, packing and attributes of the old one."""
    new = zipfile.ZipInfo(member.filename, member.date_time)
    new.compress_type, new.external_attr = member.compress_type, member.external_attr
    new.create_system, new.comment = member.create_system, member.comment
    return new
