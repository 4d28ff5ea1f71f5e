"""A stream gives the whole text in parts, and never half a character."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from model.text.tokenizer import Tokenizer

law = settings(max_examples=150, deadline=None)


def target_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode_target_batch([text])[0]


@law
@given(data=st.data())
def test_the_streamed_pieces_join_to_the_whole_text(
    tiny_tokenizer: Tokenizer, data: st.DataObject
) -> None:
    """Words and control symbols alone, and among byte pieces that may be no UTF-8."""
    spelled = [tiny_tokenizer.text_of(token) for token in range(tiny_tokenizer.target_vocab_size)]
    wordy = [token for token, text in enumerate(spelled) if isinstance(text, str)]
    words = st.lists(st.sampled_from(wordy))
    ids = data.draw(words | st.lists(st.integers(0, len(spelled) - 1)))
    stream = tiny_tokenizer.stream()
    pieces = [stream.push(token) for token in ids]
    assert "".join([*pieces, stream.flush()]) == tiny_tokenizer.decode(ids)


@law
@given(text=st.text(min_size=1))
def test_a_streamed_piece_never_holds_half_a_character(
    tiny_tokenizer: Tokenizer, text: str
) -> None:
    stream = tiny_tokenizer.stream()
    whole = tiny_tokenizer.decode(target_ids(tiny_tokenizer, text))
    shown = ""
    for token in target_ids(tiny_tokenizer, text):
        shown += stream.push(token)
        assert whole.startswith(shown)


def test_a_character_cut_off_does_not_swallow_what_follows(tiny_tokenizer: Tokenizer) -> None:
    euro = target_ids(tiny_tokenizer, "€")
    cut = [token for token in euro if isinstance(tiny_tokenizer.text_of(token), bytes)][:2]
    ids = [*cut, *target_ids(tiny_tokenizer, "茶")]
    assert tiny_tokenizer.decode(ids).replace(" ", "") == "茶"
