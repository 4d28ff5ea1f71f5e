"""Archives of unknown origin: whatever they hold, nothing is written elsewhere, and every fault is
one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.models.archives import ArchiveError, unpack
from service.models.store import StoreError
from tests.conftest import FullDisk

MOST = 2**20
CONTENT = os.urandom(30_000)
Entry = tuple[str, bytes, int]
"""A name, its content and a kind, one of those of `stat`."""
TAR_TYPES = {
    stat.S_IFREG: tarfile.REGTYPE,
    stat.S_IFDIR: tarfile.DIRTYPE,
    stat.S_IFLNK: tarfile.SYMTYPE,
    stat.S_IFIFO: tarfile.FIFOTYPE,
    stat.S_IFCHR: tarfile.CHRTYPE,
    0: tarfile.LNKTYPE,
}


def tarred(*entries: Entry) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content, kind in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = TAR_TYPES[kind], "/etc/passwd"
            info.size = len(content) if kind == stat.S_IFREG else 0
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def zipped(*entries: Entry, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content, kind in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = kind << 16, method
            archive.writestr(info, content)
    return file.getvalue()


def changed(archive: bytes, *places: int, by: int = 1) -> bytes:
    content = bytearray(archive)
    for place in places:
        content[place] ^= by
    return bytes(content)


def regular(name: str, content: bytes = CONTENT) -> Entry:
    return name, content, stat.S_IFREG


PLAIN_TAR, PLAIN_ZIP = tarred(regular("model/a")), zipped(regular("model/a"))
LISTED = PLAIN_ZIP.rindex(b"PK\1\2")
"""Where the zip archive's list begins."""
LONG_NAME = tarred(regular("a" * 2**19))
ODD = "'a' is neither a file nor a directory"
"""A link would give the content of another entry once more, which counts for no bound."""
WRONG: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "no zip or tar archive"),
    "wrong type": (b"hello" * 1000, "no zip or tar archive"),
    "no tar": (gzip.compress(b"hello" * 1000), "no zip or tar archive"),
    "truncated tar": (PLAIN_TAR[:20_000], "unexpected end of data"),
    "truncated gzip": (gzip.compress(PLAIN_TAR)[:15_000], "ended before"),
    "truncated bzip2": (bz2.compress(PLAIN_TAR)[:15_000], "ended before"),
    "truncated zip": (PLAIN_ZIP[:15_000], "not a zip file"),
    "wrong CRC of gzip": (changed(gzip.compress(PLAIN_TAR), -8), "CRC check failed"),
    "wrong CRC of zip": (changed(PLAIN_ZIP, LISTED + 16), "Bad CRC-32"),
    "encrypted": (changed(PLAIN_ZIP, 6, LISTED + 8), "'model/a' is encrypted"),
    "another method": (zipped(regular("a"), method=zipfile.ZIP_BZIP2), "deflate"),
    "long header": (LONG_NAME, "a header of more than 256 KiB"),
    "many files": (tarred(*[regular(str(n), b"") for n in range(1001)]), "more than 1000 files"),
    "the same twice": (tarred(regular("a"), regular("a")), "File exists"),
    "a file as a directory": (zipped(regular("a"), regular("a/b")), "File exists"),
    "a long name": (zipped(regular("a" * 300)), "File name too long"),
    "a link in a tar": (tarred(("a", b"", stat.S_IFLNK)), ODD),
    "another name in a tar": (tarred(("a", b"", 0)), ODD),
    "a device in a tar": (tarred(("a", b"", stat.S_IFCHR)), ODD),
    "a link in a zip": (zipped(("a", b"b", stat.S_IFLNK)), ODD),
    "endless": (gzip.compress(PLAIN_TAR + bytes(2**21)), "goes on after its end"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_archive_that_is_damaged_or_too_large_is_refused(kind: str, tmp_path: Path) -> None:
    content, said = WRONG[kind]
    with pytest.raises(ArchiveError, match=f"^model.zip cannot be unpacked: .*{said}"):
        unpack(saved(tmp_path, content), "model.zip", tmp_path / "new", MOST)


@pytest.mark.parametrize("pack", [tarred, zipped])
def test_what_may_fit_another_time_is_another_error(
    pack: Callable[..., bytes], tmp_path: Path, full_disk: FullDisk
) -> None:
    bomb = saved(tmp_path, gzip.compress(tarred(regular("a", bytes(2**21)))))
    if pack is zipped:
        bomb = saved(tmp_path, zipped(regular("a", bytes(2**21))))
    with pytest.raises(StoreError, match="more than 1 MiB") as error:
        unpack(bomb, "model.zip", tmp_path / "new", MOST)
    assert not isinstance(error.value, ArchiveError)
    assert not any((tmp_path / "new").iterdir())
    with full_disk(1000), pytest.raises(OSError, match="File too large"):
        unpack(bomb, "model.zip", tmp_path / "new", 2**30)


def saved(directory: Path, content: bytes) -> Path:
    (directory / "new").mkdir(exist_ok=True)
    (directory / "archive").write_bytes(content)
    return directory / "archive"


def refusal(archive: Path) -> str:
    """The message if it cannot be unpacked."""
    try:
        unpack(archive, "model", archive.parent / "new", MOST)
    except StoreError as error:
        return str(error)
    return ""


PARTS = st.sampled_from(["..", ".", "", "a", "b", "model", "a\\..\\b", "ü", "config.json"])
NAMES = st.lists(PARTS, min_size=1, max_size=6).map("/".join).filter(bool)
ENTRY = st.tuples(NAMES, st.binary(max_size=50), st.sampled_from(sorted(TAR_TYPES)))
ENTRIES = st.lists(ENTRY, max_size=8, unique_by=itemgetter(0))


@settings(deadline=None)
@given(
    entries=ENTRIES,
    pack=st.sampled_from([tarred, zipped]),
)
def test_nothing_is_written_elsewhere_and_only_files_and_directories(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry], pack: Callable[..., bytes]
) -> None:
    root = tmp_path_factory.mktemp("root")
    absolute = [(f"{root}{name}" if name[0] == "/" else name, c, kind) for name, c, kind in entries]
    archive = saved(root, pack(*absolute))
    assert "\n" not in refusal(archive)
    assert {path.name for path in root.iterdir()} == {"archive", "new"}
    found = [path.lstat().st_mode for path in (root / "new").rglob("*")]
    assert all(stat.S_ISREG(mode) or stat.S_ISDIR(mode) for mode in found)


@settings(deadline=None)
@given(
    pack=st.sampled_from([PLAIN_ZIP, PLAIN_TAR, gzip.compress(PLAIN_TAR)]),
    changes=st.lists(st.tuples(st.integers(0, 2**15), st.integers(1, 255)), max_size=4),
    length=st.integers(0, 2**16),
)
def test_every_damage_is_one_sentence(
    tmp_path_factory: pytest.TempPathFactory,
    pack: bytes,
    changes: list[tuple[int, int]],
    length: int,
) -> None:
    root = tmp_path_factory.mktemp("root")
    for place, by in changes:
        pack = changed(pack, place % len(pack), by=by)
    assert "\n" not in refusal(saved(root, pack[:length]))
    assert {path.name for path in root.iterdir()} == {"archive", "new"}


def test_an_archive_is_unpacked_as_it_was_packed(tmp_path: Path) -> None:
    for pack in (PLAIN_TAR, PLAIN_ZIP, gzip.compress(PLAIN_TAR), bz2.compress(PLAIN_TAR)):
        target = tmp_path / str(len(list(tmp_path.iterdir())))
        target.mkdir()
        unpack(saved(tmp_path, pack), "model", target, MOST)
        assert (target / "model" / "a").read_bytes() == CONTENT
