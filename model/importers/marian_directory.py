"""The files of a model in Marian's own formats: which is which, its vocabularies, its languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from model.decoding.options import DecodingOptions
from model.files import FileError, is_regular, read_text
from model.importers.imported import SourceError, find_marian_models
from model.importers.marian_items import read_yaml
from model.importers.marian_shortlist import ShortlistFile
from model.importers.pieces import load_sentencepiece, one_language
from model.values import shown

_DECODER_FILES = ("decoder.yml", "*.decoder.yml", "config.yml", "config.*.yml")
_MOST_BEAM = 16
_MOST_VOCABULARY_BYTES = 2**26
_PAIRS = (
    re.compile(r"(?<![a-z])([a-z]{2,3})-([a-z]{2,3})\Z"),
    re.compile(r"\A(?:(en)([a-z]{2})|([a-z]{2})(en))\Z"),
)
"""Languages in a name: "opus-mt-en-de", and "ende" as Firefox names its files."""


class MarianVocabulary(NamedTuple):
    """One side's pieces by id, and the sentencepiece model that makes them of text."""

    pieces: list[str]
    sentencepiece: Path


class MarianDirectory:
    """A directory with one model; every error is a SourceError with a full message."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._decoder = self._decoder_settings()
        self.model = self._model()

    def vocabularies(self) -> tuple[MarianVocabulary, MarianVocabulary]:
        """Source and target."""
        source, target = self._vocabulary_files()
        return self._vocabulary(source, "source"), self._vocabulary(target, "target")

    @property
    def shares_vocabulary(self) -> bool:
        source, target = self._vocabulary_files()
        return source == target

    def shortlist(self) -> ShortlistFile | None:
        """The lexical shortlist that the decoder's file names, or else the one that is there."""
        named = self._decoder.get("shortlist") or []
        if not isinstance(named, list) or not all(isinstance(value, str) for value in named):
            raise self._wrong("shortlist", "a file and numbers")
        if not named:
            found = sorted(file for file in self.path.glob("lex.*") if file.is_file())
            if len(found) > 1:
                names = ", ".join(file.name for file in found)
                raise SourceError(
                    f"{self.path} holds several shortlists ({names}); name one as shortlist in "
                    "decoder.yml, or remove all but one"
                )
            return ShortlistFile(found[0], _sizes_in(found[0].name)) if found else None
        return ShortlistFile(self._file(_file_name(named[0])), named[1:])

    def languages(self) -> tuple[str, str] | None:
        """The pair that a part of a file's name or the directory's name says."""
        files = [self.model, *self._vocabulary_files()]
        parts = [part for file in files for part in file.name.split(".")]
        pairs = map(_pair_in, [*parts, self.path.resolve().name])
        return next((pair for pair in pairs if pair), None)

    def decoding(self, usual_beam: int) -> DecodingOptions:
        """What the decoder's file says, or else a beam of `usual_beam` and the average of the
        log-probabilities."""
        if float(self._setting("word-penalty", "0")):
            raise self._wrong("word-penalty", "0")
        beam_size = int(self._setting("beam-size", str(usual_beam)))
        return DecodingOptions(
            beam_size=max(1, min(beam_size, _MOST_BEAM)),
            length_penalty=float(self._setting("normalize", "1")),
        )

    def _setting(self, name: str, default: str) -> str:
        value = self._decoder.get(name, default)
        try:
            float(value)
        except (TypeError, ValueError):
            raise self._wrong(name, "a number") from None
        return str(value)

    def _wrong(self, name: str, allowed: str) -> SourceError:
        return SourceError(
            f"{self.path}: {name} must be {allowed}, got {shown(self._decoder.get(name))}"
        )

    def _decoder_settings(self) -> dict[str, Any]:
        """The file that names models and vocabularies; empty if there is none."""
        for pattern in _DECODER_FILES:
            for file in sorted(self.path.glob(pattern)):
                settings = read_yaml(file)
                if "models" in settings and "vocabs" in settings:
                    return settings
        return {}

    def _model(self) -> Path:
        named = self._named("models")
        if len(named) > 1:
            names = ", ".join(file.name for file in named)
            raise SourceError(f"{self.path}: models must be one model, got {names}")
        if named:
            return named[0]
        found = find_marian_models(self.path)
        if len(found) == 1:
            return found[0]
        names = ", ".join(file.name for file in found) or "none"
        raise SourceError(
            f"{self.path} needs one model of Marian (*.npz or *.bin), or a decoder.yml that names "
            f"it, found {names}"
        )

    def _named(self, key: str) -> list[Path]:
        """The files that the decoder's file lists, in this directory: it may say where they lay on
        another machine."""
        names = self._decoder.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise SourceError(f"{self.path}: {key} must list files, got {shown(names)}")
        return [self._file(_file_name(name)) for name in names]

    def _file(self, name: str) -> Path:
        try:
            if name and is_regular(self.path / name):
                return self.path / name
        except FileError as error:
            raise SourceError(str(error)) from error
        raise SourceError(f"{self.path} lacks {shown(name)}, which its decoder settings name")

    def _vocabulary_files(self) -> Sequence[Path]:
        """Source and target, which may be one file."""
        if named := self._named("vocabs"):
            if len(named) != 2:
                raise SourceError(f"{self.path}: vocabs must be two files, got {len(named)}")
            return named
        source, target = (self._only(f"{side}vocab*.spm") for side in ("src", "trg"))
        if source and target:
            return [source, target]
        for pattern in ("*vocab*.spm", "*vocab*.yml", "*.spm"):
            if file := self._only(pattern):
                return [file, file]
        raise SourceError(
            f"{self.path} needs its vocabulary: vocab.spm, srcvocab.spm and trgvocab.spm, or a "
            "decoder.yml that names others"
        )

    def _only(self, pattern: str) -> Path | None:
        found = sorted(self.path.glob(pattern))
        return found[0] if len(found) == 1 else None

    def _vocabulary(self, file: Path, side: str) -> MarianVocabulary:
        if file.suffix == ".spm":
            processor = load_sentencepiece(file)
            ids = range(processor.get_piece_size())
            return MarianVocabulary([str(processor.id_to_piece(i)) for i in ids], file)
        model = self._only(f"{side}.spm") or self._only("*.spm")
        if model is None:
            raise SourceError(
                f"{self.path} needs the sentencepiece models source.spm and target.spm beside "
                f"{file.name}; subword-nmt and Moses tokenisation are not supported"
            )
        return MarianVocabulary(_listed_pieces(file), model)


def _listed_pieces(file: Path) -> list[str]:
    """A YAML or JSON table of ids, or a text with a piece a line."""
    if file.suffix not in (".yml", ".yaml", ".json"):
        try:
            return read_text(file, _MOST_VOCABULARY_BYTES).splitlines()
        except FileError as error:
            raise SourceError(str(error)) from error
    table = read_yaml(file)
    try:
        pieces = sorted(table, key=lambda piece: int(table[piece]))
        ids = [int(table[piece]) for piece in pieces]
    except (TypeError, ValueError):
        ids = []
    if ids != list(range(len(table))):
        raise SourceError(f"{file} must number its pieces 0, 1, 2, ... without a gap")
    return pieces


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _sizes_in(name: str) -> Sequence[str]:
    """How many pieces a list has first, and for each source piece, as in "lex.50.50.ende.s2t"."""
    match = re.search(r"\.([0-9]{1,6})\.([0-9]{1,6})\.", name)
    return match.groups() if match else ()


def _pair_in(name: str) -> tuple[str, str] | None:
    for pattern in _PAIRS:
        if match := pattern.search(name.lower()):
            source, target = (one_language(code) for code in match.groups() if code)
            if source and target and source != target:
                return source, target
    return None
