"""One side's vocabulary: sentencepiece output to ids, and the spelling of each id."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sentencepiece import SentencePieceProcessor

from model.text.reserved import BRACKET

PAD, UNKNOWN, BOS, EOS = "<pad>", "<unk>", "<s>", "</s>"
_WORD_START = "▁"
_MOST_KNOWN_CHARACTERS = 50_000
_WORTH_THREADS = 16  # texts; sentencepiece starts threads for every list


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
        own = range(model.get_piece_size())
        names = [str(model.id_to_piece(i)) for i in own]
        silent = {names[i] for i in own if model.is_control(i) or model.is_unknown(i)}
        silent |= {PAD, UNKNOWN, BOS, EOS, *control}
        byte_pieces = {names[i] for i in own if model.is_byte(i)} - silent
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
        self._characters = {char for word in words for char in word}
        self._other_characters: dict[str, bool] = {}

    def has_text(self, piece: str) -> bool:
        """Whether text can produce the piece's id."""
        return piece in self._text_ids

    def count_unspelled(self, text: str) -> int:
        """How many characters of the text only bytes or the unknown piece stand for."""
        if self._characters.issuperset(text):
            return 0
        return sum(not self._is_spelled(char) for char in text)

    def _is_spelled(self, char: str) -> bool:
        """Models may normalize a character to others that they have."""
        if char in self._characters:
            return True
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
        """The id of a special piece; -1 if there is none."""
        return own_id if self._is_own else self.ids.get(piece, -1)

    def _find(self, piece: str) -> int:
        return self._text_ids.get(piece, self.unknown_id)
