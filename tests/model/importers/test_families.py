"""An imported model computes, writes and reads exactly what the original does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from model.checkpoint.reference import Checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.offline import translate_all
from model.runner import Runner
from model.trials.checkpoint import check_checkpoint
from tests.model.importers.originals import SCRIPTS, TASK, Corpus, Original, padded
from tests.model.network.reference import are_tied

FAMILIES = ["marian", "tagged marian", "m2m_100", "small100", "nllb", "mbart", "madlad", "t5"]
LIMIT = 24
PREFIXES = {"tagged marian": ">>cmn_Hans<< ", "madlad": "<2zh> ", "t5": TASK}
SOURCE_TAGS = {
    "m2m_100": ("en", "zh"),
    "nllb": ("eng_Latn", "zho_Hans"),
    "mbart": ("en_XX", "zh_CN"),
}


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def original(family: str, originals: dict[str, Original]) -> Original:
    return originals[family]


@pytest.fixture
def ours(family: str, imported: dict[str, Checkpoint]) -> Checkpoint:
    return imported[family]


def original_ids(family: str, original: Original, text: str) -> list[int]:
    return list(original.tokenizer(PREFIXES.get(family, "") + text).input_ids)


def forced_id(family: str, original: Original) -> int | None:
    """The target language's tag, with which transformers is told to begin."""
    if family not in SOURCE_TAGS:
        return None
    code = SOURCE_TAGS[family][1]
    if family == "m2m_100":
        return int(original.tokenizer.get_lang_id(code))
    return int(original.tokenizer.convert_tokens_to_ids(code))


def batch(ours: Checkpoint, corpus: Corpus) -> tuple[Tensor, Tensor]:
    """A hundred English sentences -> ids and mask."""
    rows = [ours.tokenizer.encode_source(text, "zh", "en") for text, _ in corpus.pairs[:100]]
    src = padded(rows, ours.info.architecture.pad_id)
    return src, (src != ours.info.architecture.pad_id).long()


def translate(ours: Checkpoint, rows: list[list[int]], beam_size: int) -> list[Finished]:
    runner = Runner(
        ours.model,
        ours.tokenizer.control_ids(),
        max_slots=100,
        max_rows=400,
        max_source_tokens=64,
        max_target_tokens=64,
    )
    options = DecodingOptions(beam_size=beam_size, max_length=LIMIT, lookahead=None)
    start = ours.tokenizer.target_start("zh")
    return translate_all(runner, [SourceSentence(ids, options, prefix=start) for ids in rows])


@pytest.mark.parametrize("script", SCRIPTS)
def test_text_in_every_script_becomes_the_originals_ids_and_ids_its_text_without_tags(
    family: str, original: Original, ours: Checkpoint, script: str
) -> None:
    text, tokenizer = SCRIPTS[script], ours.tokenizer
    assert tokenizer.encode_source(text, "zh", "en") == original_ids(family, original, text)
    ids = tokenizer.encode_target_batch([text])[0]
    known = [token for token in ids if token not in tokenizer.control_ids()]
    expected = original.tokenizer.decode(known, skip_special_tokens=True)
    start = tokenizer.target_start("zh")
    assert tokenizer.decode([*start, *known]).strip() == expected.strip()


@torch.inference_mode()
def test_encoder_states_and_logits_are_the_originals(
    original: Original, ours: Checkpoint, corpus: Corpus
) -> None:
    src, mask = batch(ours, corpus)
    tgt = torch.randint(4, 250, (len(src), 9), generator=torch.Generator().manual_seed(1))
    tgt[:, 0] = ours.info.architecture.bos_id
    theirs = original.model(input_ids=src, attention_mask=mask, decoder_input_ids=tgt)
    memory = ours.model.encode(src)
    difference = (memory - theirs.encoder_last_hidden_state)[mask.bool()]
    assert difference.abs().max() < 1e-4
    assert (ours.model(src, tgt) - theirs.logits).abs().max() < 1e-4


@pytest.mark.parametrize("beam_size", [1, 4])
@torch.inference_mode()
def test_a_hundred_sentences_decode_as_generate_decodes_them(
    family: str, original: Original, ours: Checkpoint, corpus: Corpus, beam_size: int
) -> None:
    """With the same rules: nothing that is no text, probabilities of what is left, no early end.
    Two sentences may differ where hypotheses tie: their scores are equal."""
    src, mask = batch(ours, corpus)
    theirs = original.model.generate(
        input_ids=src,
        attention_mask=mask,
        num_beams=beam_size,
        do_sample=False,
        early_stopping="never" if beam_size > 1 else False,
        max_new_tokens=LIMIT,
        forced_bos_token_id=forced_id(family, original),
        bad_words_ids=[[token] for token in ours.tokenizer.control_ids()],
        renormalize_logits=True,
        return_dict_in_generate=True,
        output_scores=True,
    )
    eos = ours.info.architecture.eos_id
    expected = {
        i: row[1 : row.index(eos, 1)]
        for i, row in enumerate(theirs.sequences.tolist())
        if eos in row[1:]  # at the limit generate prefers what has not ended
    }
    assert len(expected) > 90
    assert len({tuple(ids) for ids in expected.values()}) > 5
    rows = [row[: int(n)] for row, n in zip(src.tolist(), mask.sum(1), strict=True)]
    best = [result.hypotheses[0] for result in translate(ours, rows, beam_size)]
    differing = [i for i in expected if best[i].ids != expected[i]]
    assert len(differing) <= 2
    if beam_size > 1:
        scores = torch.tensor([best[i].score for i in expected])
        assert (scores - theirs.sequences_scores[list(expected)]).abs().max() < 1e-4
    else:
        assert all(are_tied(ours.model, rows[i], best[i].ids, expected[i]) for i in differing)


def test_an_imported_model_has_a_self_test(imported_root: Path) -> None:
    for directory in imported_root.iterdir():
        assert check_checkpoint(directory).num_sentences > 0
