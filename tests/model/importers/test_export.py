"""An exported checkpoint translates alike elsewhere, and comes back with the same weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.checkpoint.saving import save_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from model.exporters.huggingface import export_checkpoint
from model.exporters.tokenizers import ExportError
from model.importers.imported import Wanted
from model.importers.resolve import import_source
from model.network.config import ModelConfig
from model.offline import translate_all
from model.runner import Runner
from tests.model.network.reference import are_tied
from tests.model.test_checkpoint import info_for, random_model

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
ROOT = Path(__file__).parents[3]
LIMIT = 100
MOST_LOOPS = 2
"""Greedy search on whole long sentences, without the cuts that the checkpoint asks for."""
BOTH = ("zh", "en")


@pytest.fixture(scope="module")
def bundled() -> Checkpoint:
    return load_checkpoint(ROOT / "checkpoints" / "zh-en")


@pytest.fixture(scope="module")
def sentences() -> list[tuple[str, str]]:
    """20 Chinese and 20 English sentences, with the language to translate them into."""
    data = ROOT / "tests" / "data"
    return [
        (line, target)
        for source, target in (BOTH, BOTH[::-1])
        for line in (data / f"sentences.{source}.txt").read_text(encoding="utf-8").splitlines()[::5]
    ]


Translations = list[list[int]]
AssertAlike = Callable[[Translations], None]


@pytest.fixture(scope="module")
def assert_alike(bundled: Checkpoint, sentences: list[tuple[str, str]]) -> AssertAlike:
    """Fails unless greedy translations are ours but for ties. Only our search stops when it repeats
    itself."""
    sources = [bundled.tokenizer.encode_source(*sentence) for sentence in sentences]
    expected = greedy(bundled, sources)
    assert sum(one.finish_reason == "repetition" for one in expected) <= MOST_LOOPS

    def check(theirs: Translations) -> None:
        for source, found, ours in zip(sources, theirs, expected, strict=True):
            is_cut = ours.finish_reason == "repetition"
            shown = found[: len(ours.ids)] if is_cut else found
            assert are_tied(bundled.model, source, ours.ids, shown)

    return check


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("exported") / "zh-en"
    export_checkpoint(ROOT / "checkpoints" / "zh-en", directory)
    return directory


def greedy(checkpoint: Checkpoint, rows: list[list[int]]) -> list[Hypothesis]:
    limit = checkpoint.info.architecture.max_positions
    runner = Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=64,
        max_rows=64,
        max_source_tokens=limit,
        max_target_tokens=min(limit, LIMIT),
    )
    options = DecodingOptions(beam_size=1, max_length=LIMIT)
    results = translate_all(runner, [SourceSentence(ids, options) for ids in rows])
    return [result.hypotheses[0] for result in results]


@torch.inference_mode()
def generate(directory: Path, texts: list[str]) -> Translations:
    """transformers' greedy translations with its own tokenizer."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
    tokenizer = AutoTokenizer.from_pretrained(directory)
    eos = model.config.eos_token_id
    inputs: Any = tokenizer(texts, return_tensors="pt", padding=True)
    rows = model.generate(**inputs, num_beams=1, max_length=None, max_new_tokens=LIMIT).tolist()
    ended = [[*row, eos] for row in rows]  # those at the limit have none
    return [row[1 : row.index(eos, 1)] for row in ended]


def tagged(sentences: list[tuple[str, str]]) -> list[str]:
    return [f">>{target}<< {text}" for text, target in sentences]


def test_transformers_translates_as_we_do(
    exported: Path, sentences: list[tuple[str, str]], assert_alike: AssertAlike
) -> None:
    assert_alike(generate(exported, tagged(sentences)))


def test_ctranslate2_translates_as_we_do(
    exported: Path, tmp_path: Path, sentences: list[tuple[str, str]], assert_alike: AssertAlike
) -> None:
    import ctranslate2
    from transformers import AutoTokenizer

    converter = ctranslate2.converters.TransformersConverter(str(exported))
    converter.convert(str(tmp_path / "ctranslate2"))
    tokenizer = AutoTokenizer.from_pretrained(exported)
    translator = ctranslate2.Translator(
        str(tmp_path / "ctranslate2"), compute_type="float32", intra_threads=1
    )
    results = translator.translate_batch(
        [tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids) for text in tagged(sentences)],
        beam_size=1,
        disable_unk=True,
        max_decoding_length=LIMIT,
    )
    assert_alike([tokenizer.convert_tokens_to_ids(result.hypotheses[0]) for result in results])


@pytest.mark.parametrize("shared", ["all", "target"])
def test_a_post_norm_checkpoint_is_marians_and_comes_back_with_equal_weights(
    tmp_path: Path, tiny_tokenizer_file: Path, tiny_config: ModelConfig, shared: Any
) -> None:
    """Sines and cosines in halves need no other order of the dimensions."""
    options = {"sinusoids": "halves", "output_bias": True, "shared_embeddings": shared}
    config = ModelConfig.from_dict({**dataclasses.asdict(tiny_config), **options})
    save_random(tmp_path / "ours", tiny_tokenizer_file, config)
    export_checkpoint(tmp_path / "ours", tmp_path / "exported", "marian")
    import_source(str(tmp_path / "exported"), tmp_path / "back", None, Wanted())
    ours, back = load_checkpoint(tmp_path / "ours"), load_checkpoint(tmp_path / "back")
    assert back.info.architecture == ours.info.architecture
    assert back.info.pairs == (("en", "zh"),)
    weights = back.model.weights
    for name, weight in ours.model.weights.items():
        assert torch.equal(weights[name], weight), name
    texts = ["Where is the library?", "I like coffee.", "The hospital has three birds."]
    rows = [ours.tokenizer.encode_source(text, "zh") for text in texts]
    assert [back.tokenizer.encode_source(text, "zh") for text in texts] == rows
    assert logits_of(tmp_path / "exported", rows[0]).allclose(logits(ours, rows[0]), atol=1e-4)


@pytest.mark.parametrize("family", ["m2m_100", "small100", "nllb"])
def test_what_was_imported_is_exported_with_equal_weights_and_tokenizer(
    tmp_path: Path, untrained: dict[str, Path], family: str
) -> None:
    import_source(str(untrained[family]), tmp_path / "imported", None, Wanted())
    export_checkpoint(tmp_path / "imported", tmp_path / "exported", "m2m_100")
    import_source(str(tmp_path / "exported"), tmp_path / "back", None, Wanted())
    back, before = load_checkpoint(tmp_path / "back"), load_checkpoint(tmp_path / "imported")
    assert dataclasses.replace(back.info, name="", origin={}) == dataclasses.replace(
        before.info, name="", origin={}
    )
    assert back.tokenizer.source_pieces == before.tokenizer.source_pieces
    weights = back.model.weights
    for name, weight in before.model.weights.items():
        assert torch.equal(weights[name], weight), name
    ids = before.tokenizer.encode_source("The library.", "zh", "en")
    assert logits_of(tmp_path / "exported", ids).allclose(logits(before, ids), atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "name", "said"),
    [
        ({"norm": "pre"}, "marian", "norm 'pre': it must be 'post'; .* pegasus, m2m_100"),
        ({"positions": "alibi"}, "marian", "positions 'alibi': .* formats that have it: none"),
        ({"autoregression": "ssru"}, "marian", "'ssru': .* formats that have it: none"),
        ({"norm": "pre"}, "m2m_100", "sinusoids 'interleaved': it must be 'tensor2tensor'"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_with_the_option(
    tmp_path: Path,
    tiny_tokenizer_file: Path,
    tiny_config: ModelConfig,
    changes: dict[str, Any],
    name: str,
    said: str,
) -> None:
    config = dataclasses.replace(tiny_config, **changes)
    save_random(tmp_path / "ours", tiny_tokenizer_file, config)
    with pytest.raises(ExportError, match=f"format '{name}' cannot hold .* {said}"):
        export_checkpoint(tmp_path / "ours", tmp_path / "exported", name)
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def save_random(directory: Path, tokenizer: Path, config: ModelConfig) -> None:
    """A random checkpoint from English to Chinese."""
    model = random_model(config)
    if config.output_bias:
        torch.nn.init.normal_(model.output.bias)
    info = dataclasses.replace(info_for(config), pairs=(("en", "zh"),))
    save_checkpoint(directory, info, model.weights, [tokenizer], torch.float32)


@torch.inference_mode()
def logits(checkpoint: Checkpoint, src: list[int]) -> torch.Tensor:
    start = checkpoint.info.architecture.bos_id
    return checkpoint.model(torch.tensor([src]), torch.tensor([[start, 5, 9, 7]]))


@torch.inference_mode()
def logits_of(directory: Path, src: list[int]) -> torch.Tensor:
    """The same by transformers."""
    from transformers import AutoModelForSeq2SeqLM

    model = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
    tgt = torch.tensor([[model.config.decoder_start_token_id, 5, 9, 7]])
    found: torch.Tensor = model(input_ids=torch.tensor([src]), decoder_input_ids=tgt).logits
    return found
