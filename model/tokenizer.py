"""Text to token ids and back: sentencepiece, language tags, incremental detokenisation.

Knows nothing of tensors or of the network.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from sentencepiece import SentencePieceProcessor

_WORD_START = "▁"


def language_tag(language: str) -> str:
    """The control symbol that asks a many-target model for `language` (Johnson et al. 2017)."""
    return f"<2{language}>"


class Tokenizer:
    """A sentencepiece model for each side, which may be the same file.

    Source sentences are written [tag of the target language] pieces... eos; target sentences are
    plain pieces. Tags are control symbols, so no text can spell one.
    """

    def __init__(self, source_model: Path, target_model: Path) -> None:
        self._source = SentencePieceProcessor(model_file=str(source_model))
        self._target = (
            self._source
            if target_model == source_model
            else SentencePieceProcessor(model_file=str(target_model))
        )

    @property
    def source_vocab_size(self) -> int:
        return int(self._source.get_piece_size())

    @property
    def target_vocab_size(self) -> int:
        return int(self._target.get_piece_size())

    @property
    def pad_id(self) -> int:
        return int(self._target.pad_id())

    @property
    def bos_id(self) -> int:
        return int(self._target.bos_id())

    @property
    def eos_id(self) -> int:
        return int(self._target.eos_id())

    def tag_id(self, language: str) -> int | None:
        """Source id of the language's tag; None if the model has none (a one-pair model)."""
        tag = language_tag(language)
        token = int(self._source.piece_to_id(tag))
        return token if self._source.id_to_piece(token) == tag else None

    def encode_source(self, text: str, target_language: str) -> list[int]:
        """Source ids with the target language's tag in front and eos at the end."""
        tag = self.tag_id(target_language)
        ids = self._source.encode(normalise(text))
        return [*([] if tag is None else [tag]), *ids, int(self._source.eos_id())]

    def encode_source_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Bare source ids of many texts, without tag and eos."""
        return list(self._source.encode([normalise(text) for text in texts]))

    def encode_target_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Bare target ids of many texts, without bos and eos."""
        return list(self._target.encode([normalise(text) for text in texts]))

    def decode(self, ids: Sequence[int]) -> str:
        """Target ids to text; control symbols vanish, byte pieces join into characters."""
        stream = self.stream()
        return "".join([stream.push(token) for token in ids]) + stream.flush()

    def stream(self) -> StreamDecoder:
        """A decoder for one sentence whose ids come little by little."""
        return StreamDecoder(self)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The target vocabulary's spelling of each id."""
        return [str(self._target.id_to_piece(token)) for token in ids]

    def control_ids(self) -> list[int]:
        """Target ids that must never be generated: pad, bos, unknown and the language tags."""
        sp = self._target
        return [
            token
            for token in range(sp.get_piece_size())
            if (sp.is_control(token) or sp.is_unknown(token)) and token != sp.eos_id()
        ]

    def text_of(self, token: int) -> str | bytes:
        """What one target id spells: text with spaces, a raw byte, or "" for control symbols."""
        sp = self._target
        if sp.is_byte(token):
            return bytes([int(sp.id_to_piece(token)[3:5], 16)])
        if sp.is_control(token) or sp.is_unknown(token):
            return ""
        return str(sp.id_to_piece(token)).replace(_WORD_START, " ")


class StreamDecoder:
    """Token ids in, text out, so that the pieces joined are exactly the whole text.

    Bytes of an unfinished character are held back; bytes that cannot become one turn into U+FFFD.
    The space that sentencepiece puts before the first word is dropped.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._has_started = False

    def push(self, token: int) -> str:
        """The text that this token settles, possibly empty."""
        spelled = self._tokenizer.text_of(token)
        if isinstance(spelled, bytes):
            return self._begin(self._utf8.decode(spelled))
        return self._begin(self._utf8.decode(b"", final=True) + spelled) if spelled else ""

    def flush(self) -> str:
        """What is still held back when the sentence ends."""
        return self._begin(self._utf8.decode(b"", final=True))

    def _begin(self, text: str) -> str:
        if text and not self._has_started:
            self._has_started = True
            return text.removeprefix(" ")
        return text


def normalise(text: str) -> str:
    """Unicode NFC; full-width punctuation is kept, because Chinese is written with it."""
    return unicodedata.normalize("NFC", text)
