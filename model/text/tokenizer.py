"""Text to token ids and back: sentencepiece and language tags.

Does not depend on tensors or the network.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from model.files import read_json
from model.text.normalisation import normalise, with_plain_spaces, without_invisible
from model.text.reserved import BRACKET, reserved_pieces
from model.text.spans import NOWHERE, Span, char_spans, token_spans
from model.text.tokenizer_config import TokenizerConfig, TokenizerError, language_tag

_NO_TEXT = re.compile("[\N{OBJECT REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}]")
_COPIED = re.compile("[⟦⟧\ue000-\uf8ff\U000f0000-\U0010ffff]")
"""Brackets of reserved pieces, and private use."""
_MOST_VOCABULARY_BYTES = 2**28
PAD, UNKNOWN, BOS, EOS = "<pad>", "<unk>", "<s>", "</s>"
_WORD_START = "▁"
_MOST_KNOWN_CHARACTERS = 50_000
_WORTH_THREADS = 16  # texts; sentencepiece starts threads for every list


class Tokenizer:
    """A sentencepiece model for each side; both sides may use the same file.

    Source sentences follow the configuration's `source_layout`; target sentences are plain pieces,
    after the tags of `target_layout` if it has any. Tags are control symbols, so text cannot
    contain one.
    """

    def __init__(
        self, source_model: Path, target_model: Path, config: TokenizerConfig | None = None
    ) -> None:
        """Vocabulary files are next to the models. Raises OSError, RuntimeError or ValueError."""
        self._config = config or TokenizerConfig(source_model.name, target_model.name)
        files = [
            (source_model, self._config.source_vocabulary),
            (target_model, self._config.target_vocabulary),
        ]
        control = (*self._config.tags.values(), *self._config.control)
        sides = {file: _read_vocabulary(*file, control) for file in dict.fromkeys(files)}
        self._source, self._target = sides[files[0]], sides[files[1]]
        self._prefixes = {
            language: self._source.encode_literally(text)
            for language, text in self._config.prefixes.items()
        }
        self._frames: dict[tuple[str, str | None], tuple[list[int], ...]] = {}
        """Of each pair of languages."""
        for piece in reserved_pieces(self._config.reserved):
            if not all(side.has_text(piece) for side in sides.values()):
                raise TokenizerError(
                    f"reserved is {self._config.reserved}, but the vocabulary has no {piece!r}"
                )

    @property
    def reserved(self) -> int:
        """The number of placeholders, and of tags of each kind, that a text may use, numbered from
        0. 0 if the model has none."""
        return self._config.reserved

    @property
    def source_vocab_size(self) -> int:
        return len(self._source.pieces)

    @property
    def target_vocab_size(self) -> int:
        return len(self._target.pieces)

    @property
    def source_pieces(self) -> list[str]:
        """The source vocabulary by id."""
        return self._source.pieces

    @property
    def target_pieces(self) -> list[str]:
        """The target vocabulary by id."""
        return self._target.pieces

    @property
    def pad_id(self) -> int:
        return self._target.pad_id

    @property
    def bos_id(self) -> int:
        return self._target.bos_id

    @property
    def eos_id(self) -> int:
        return self._target.eos_id

    @property
    def has_own_ids(self) -> bool:
        """Whether target ids are sentencepiece's own, as in models trained here."""
        return self._config.target_vocabulary is None

    def tag_id(self, language: str) -> int | None:
        """Source id of the language's tag; None for a model without tags (of one pair)."""
        return self._source.ids.get(self.tag(language))

    def encode_source(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[int]:
        """Source ids with tags, prefix and eos.

        The source language matters only if the layout includes its tag. Invisible characters are
        removed and every space becomes U+0020, unless the tokenizer uses another project's
        normalisation.
        """
        (ids,) = self._source.encode([self._cleaned(text)])
        before, behind = self._frame(target_language, source_language)
        return [*before, *ids, *behind]

    def _frame(self, target_language: str, source_language: str | None) -> tuple[list[int], ...]:
        """The ids of a source sentence before its text, and those behind."""
        pair = target_language, source_language
        if (frame := self._frames.get(pair)) is None:
            frame = self._frames[pair] = self._make_frame(*pair)
        return frame

    def _make_frame(
        self, target_language: str, source_language: str | None
    ) -> tuple[list[int], ...]:
        parts = {
            "eos": [self._source.eos_id],
            "source_tag": self._tags(self._source, source_language),
            "target_tag": self._tags(self._source, target_language),
            "prefix": self._prefixes.get(target_language, []),
        }
        layout = self._config.source_layout
        place = layout.index("text")
        sides = layout[:place], layout[place + 1 :]
        return tuple([token for part in side for token in parts[part]] for side in sides)

    def source_spans(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[Span]:
        """Where each id of `encode_source` stands in the text; `NOWHERE` for all others."""
        cleaned = self._cleaned(text)
        chars = char_spans(text, is_cleaned=self._config.normalization == "nfc")
        (ids,) = self._source.encode([cleaned])
        is_byte = [token in self._source.raw_bytes for token in ids]
        spans = token_spans(cleaned, self._source.offsets(cleaned), chars, is_byte)
        before, behind = self._frame(target_language, source_language)
        return [NOWHERE for _ in before] + spans + [NOWHERE for _ in behind]

    def target_start(self, target_language: str) -> list[int]:
        """Target ids that every translation into this language begins with."""
        tags = self._tags(self._target, target_language)
        return [token for _ in self._config.target_layout for token in tags]

    def encode_source_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Source ids of many texts, without tag and eos."""
        return self._source.encode([self._normalise(text) for text in texts])

    def count_unspelled(self, text: str) -> int:
        """How many characters of the text the source vocabulary has only as bytes or not at all."""
        return self._source.count_unspelled(self._normalise(text))

    def encode_target_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Target ids of many texts, without bos and eos."""
        return self._target.encode([self._normalise(text) for text in texts])

    def decode(self, ids: Sequence[int]) -> str:
        """Target ids to text: drops control symbols, joins byte pieces into characters."""
        if self._target.raw_bytes.keys().isdisjoint(ids):
            return "".join([self._target.texts[token] for token in ids]).lstrip(" ")
        stream = self.stream()
        return "".join([stream.push(token) for token in ids]) + stream.flush()

    def target_spans(self, ids: Sequence[int]) -> list[Span]:
        """Where each target id stands in the text that `decode` makes of them; `NOWHERE` for
        control symbols and bytes that make no character."""
        stream, texts = self.stream(), [""]
        texts += [stream.push(token) for token in ids]
        ends = list(itertools.accumulate(map(len, texts)))
        text = "".join(texts)
        is_byte = [token in self._target.raw_bytes for token in ids]
        chars = char_spans(text, is_cleaned=False)
        return token_spans(text, list(itertools.pairwise(ends)), chars, is_byte)

    def stream(self) -> StreamDecoder:
        """An incremental decoder for one sentence."""
        return StreamDecoder(self.text_of)

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        """The source piece of each id."""
        return [self._source.pieces[token] for token in ids]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The target piece of each id."""
        return [self._target.pieces[token] for token in ids]

    def control_ids(self) -> list[int]:
        """Target ids that must never be generated: pad, bos, unknown, the language tags, and text
        with U+FFFD, which marks lost characters, or U+FFFC, which stands for an object."""
        silent = [token for token in self._target.silent_ids if token != self._target.eos_id]
        texts = enumerate(self._target.texts)
        return silent + [token for token, text in texts if _NO_TEXT.search(text)]

    def byte_ids(self) -> dict[int, int]:
        """Target ids that spell one UTF-8 byte each, and their bytes."""
        return {token: raw[0] for token, raw in self._target.raw_bytes.items()}

    def copied_ids(self) -> dict[int, int | None]:
        """Target ids of reserved pieces, and of those with private-use characters: a translation
        only copies them. Each is mapped to the source id of the same piece, or None."""
        texts, pieces = enumerate(self._target.texts), self._target.pieces
        return {i: self._source.ids.get(pieces[i]) for i, text in texts if _COPIED.search(text)}

    def text_of(self, token: int) -> str | bytes:
        """One target id's spelling: text with spaces, a raw byte, or "" for control symbols."""
        return self._target.raw_bytes.get(token) or self._target.texts[token]

    def tag(self, language: str) -> str:
        """The language's piece, if the vocabulary has it."""
        return self._config.tags.get(language, language_tag(language))

    def _tags(self, side: Vocabulary, language: str | None) -> list[int]:
        """The language's tag; empty if the model has no tags."""
        if language is None or (tag := self.tag(language)) not in side.ids:
            return []
        return [side.ids[tag]]

    def visible(self, text: str) -> str:
        """The text without the invisible characters that the model does not read."""
        return text if self._config.normalization == "none" else without_invisible(text)

    def _cleaned(self, text: str) -> str:
        """The text as sentencepiece gets it."""
        if self._config.normalization == "none" or text.isascii():
            return text
        return with_plain_spaces(normalise(without_invisible(text)))

    def _normalise(self, text: str) -> str:
        return normalise(text) if self._config.normalization == "nfc" else text


def _read_vocabulary(model: Path, pieces_file: str | None, control: Sequence[str]) -> Vocabulary:
    processor = SentencePieceProcessor(model_file=str(model))
    if pieces_file is None:
        return Vocabulary(processor, None, control)
    pieces = read_json(model.parent / pieces_file, _MOST_VOCABULARY_BYTES)
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise TokenizerError(f"{pieces_file} must hold one JSON list of strings")
    return Vocabulary(processor, pieces, control)


class Vocabulary:
    """A sentencepiece model and the pieces of the network's ids.

    `pieces` is None if sentencepiece's own ids are the network's. Text never becomes a `control`
    piece, nor one that sentencepiece marks as control or unknown. `raw_bytes` holds the ids that
    spell a byte; `texts` holds the spelling of the others.
    """

    def __init__(
        self, model: SentencePieceProcessor, pieces: list[str] | None, control: Collection[str]
    ) -> None:
        """Raises ValueError if the pieces lack the end of sentence or the unknown piece."""
        self._model = model
        names = [str(model.id_to_piece(i)) for i in range(model.get_piece_size())]
        silent = {p for i, p in enumerate(names) if model.is_control(i) or model.is_unknown(i)}
        silent |= {PAD, UNKNOWN, BOS, EOS, *control}
        byte_pieces = {p for i, p in enumerate(names) if p[:3] == "<0x" and model.is_byte(i)}
        byte_pieces -= silent
        self._is_own = pieces is None
        self.pieces = names if pieces is None else pieces
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.silent_ids = [i for i, piece in enumerate(self.pieces) if piece in silent]
        self.raw_bytes = {
            i: bytes([int(piece[3:5], 16)])
            for i, piece in enumerate(self.pieces)
            if piece in byte_pieces
        }
        self.texts = [
            "" if piece in silent else piece.replace(_WORD_START, " ") for piece in self.pieces
        ]
        self._text_ids = {p: i for p, i in self.ids.items() if p not in silent}
        self.pad_id = self._special(PAD, model.pad_id())
        self.bos_id = self._special(BOS, model.bos_id())
        self.unknown_id = self._special(UNKNOWN, model.unk_id())
        self.eos_id = self._special(EOS, model.eos_id())
        if pieces is not None and min(self.unknown_id, self.eos_id) < 0:
            raise ValueError(f"a vocabulary must have the pieces {UNKNOWN!r} and {EOS!r}")
        self._id_of_own = None if pieces is None else [self._find(name) for name in names]
        words = (
            text
            for i, text in enumerate(self.texts)
            if i not in self.raw_bytes and not text.startswith(BRACKET)
        )
        self._characters = set("".join(words))
        self._other_characters: dict[str, bool] = {}

    def has_text(self, piece: str) -> bool:
        """Whether text can produce the piece's id."""
        return piece in self._text_ids

    def count_unspelled(self, text: str) -> int:
        """How many characters of the text only bytes or the unknown piece stand for."""
        if self._characters.issuperset(text):
            return 0
        others = itertools.filterfalse(self._characters.__contains__, text)
        return sum(not self._is_spelled(char) for char in others)

    def _is_spelled(self, char: str) -> bool:
        """Whether pieces spell what the model normalises the character to."""
        if (known := self._other_characters.get(char)) is not None:
            return known
        (ids,) = self.encode([char])
        is_spelled = self.unknown_id not in ids and self.raw_bytes.keys().isdisjoint(ids)
        if len(self._other_characters) < _MOST_KNOWN_CHARACTERS:
            self._other_characters[char] = is_spelled
        return is_spelled

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts, without special ids."""
        encoded: list[list[int]]
        if len(texts) < _WORTH_THREADS:
            encoded = [self._model.encode(text) for text in texts]
        else:
            encoded = self._model.encode(list(texts))
        if self._id_of_own is None:
            return encoded
        table = self._id_of_own
        unknown = self._model.unk_id()
        return [
            self._look_up(text) if unknown in ids else [table[i] for i in ids]
            for text, ids in zip(texts, encoded, strict=True)
        ]

    def encode_literally(self, text: str) -> list[int]:
        """Ids of a text that may have control pieces."""
        pieces = self._model.encode(text, out_type=str)
        return [self.ids.get(piece, self.unknown_id) for piece in pieces]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end in the text of each of its ids, in code points."""
        found: list[tuple[int, int]] = self._model.encode(text, return_type="offset_mapping")[
            "offsets"
        ]
        return found

    def _look_up(self, text: str) -> list[int]:
        """Look up ids by piece; the vocabulary may have pieces unknown to sentencepiece."""
        return [self._find(piece) for piece in self._model.encode(text, out_type=str)]

    def _special(self, piece: str, own_id: int) -> int:
        """The id of a special piece; -1 if it is missing."""
        return own_id if self._is_own else self.ids.get(piece, -1)

    def _find(self, piece: str) -> int:
        return self._text_ids.get(piece, self.unknown_id)


class StreamDecoder:
    """Token ids in, text out; the parts joined are exactly the whole text.

    Bytes of an incomplete character are held back; bytes that never form one are dropped. So are
    spaces before the first word: sentencepiece puts one there, and a network at times another.
    """

    def __init__(self, text_of: Callable[[int], str | bytes]) -> None:
        """`text_of` spells a token: `Tokenizer.text_of`."""
        self._text_of = text_of
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._has_started = False

    def push(self, token: int) -> str:
        """The text that this token completes, possibly empty."""
        spelled = self._text_of(token)
        if isinstance(spelled, bytes):
            return self._begin(self._utf8.decode(spelled))
        return self._begin(self._utf8.decode(b"", final=True) + spelled) if spelled else ""

    def flush(self) -> str:
        """The text still held back when the sentence ends."""
        return self._begin(self._utf8.decode(b"", final=True))

    def _begin(self, text: str) -> str:
        if not self._has_started:
            text = text.lstrip(" ")
            self._has_started = text != ""
        return text
