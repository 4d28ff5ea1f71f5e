"""One model in three formats, ours, Hugging Face's and CTranslate2's, and what it translates."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.sentences import ROOT, real_sentences

if TYPE_CHECKING:
    from tests.model.importers.originals import Corpus

BUNDLED = ROOT / "checkpoints" / "zh-en"
FORCED_LENGTH = 30
_RANDOM_SENTENCES = 64
_FIRST_WORD = 10
_OPUS_MT = {"layers": 6, "d_model": 512, "heads": 8, "d_ff": 2048, "vocab_size": 58_101}
_NLLB_600M = {"layers": 12, "d_model": 1024, "heads": 16, "d_ff": 4096, "vocab_size": 256_206}


@dataclass(frozen=True)
class Shape:
    """Directories, source token ids, and how long a translation must be (None: as it comes).

    `pieces` are the tokens by their ids, which CTranslate2 is given. `references` has the human
    translations if they are known.
    """

    ours: str
    transformers: str
    ctranslate2: str
    sources: list[list[int]]
    forced_length: int | None
    references: list[str]
    pieces: list[str]

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Shape:
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def prepare(name: str, root: Path, corpus: Path | None, count: int) -> Shape:
    """Write the model "bundled", "opus" or "nllb600" under `root`."""
    return _bundled(root, corpus, count) if name == "bundled" else _random(name, root)


def _bundled(root: Path, corpus: Path | None, count: int) -> Shape:
    """The checkpoint zh-en, exported as Pegasus, and real sentences."""
    from model.checkpoint.reference import load_checkpoint
    from model.exporters.huggingface import export_checkpoint

    ours = BUNDLED
    export_checkpoint(ours, root / "transformers", "pegasus")
    _convert(root)
    texts, references = _read(corpus, count) if corpus else (real_sentences(count, seed=3), [])
    encode = load_checkpoint(ours).tokenizer.encode_source
    sources = [encode(text, "en", "zh") for text in texts]
    return Shape(str(ours), *_directories(root), sources, None, references, _pieces(root))


def _read(corpus: Path, count: int) -> tuple[list[str], list[str]]:
    """Sources and translations."""
    from model.training.data import read_pairs  # needs the packages of training

    pairs = read_pairs(corpus)[:count]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _random(name: str, root: Path) -> Shape:
    """Random weights in the size of opus-mt or NLLB-600M, and translations of one length."""
    from model.checkpoint.reference import load_checkpoint
    from model.importers.imported import Wanted
    from model.importers.resolve import import_source
    from tests.conftest import TINY_PAIRS
    from tests.model.importers.originals import make_corpus

    write = {"opus": _write_opus_mt, "nllb600": _write_nllb_600m}[name]
    write(root / "transformers", make_corpus(root, TINY_PAIRS))
    import_source(str(root / "transformers"), root / "ours", None, Wanted())
    _convert(root)
    config = load_checkpoint(root / "ours").info.architecture
    rng = random.Random(1)
    words = range(_FIRST_WORD, config.src_vocab_size - _FIRST_WORD)
    sources = [
        [*rng.choices(words, k=rng.randint(10, 30)), config.eos_id]
        for _ in range(_RANDOM_SENTENCES)
    ]
    return Shape(str(root / "ours"), *_directories(root), sources, FORCED_LENGTH, [], _pieces(root))


def _write_opus_mt(directory: Path, corpus: Corpus) -> None:
    from transformers import MarianConfig, MarianMTModel

    from tests.model.importers.originals import write_marian_tokenizer

    pad = write_marian_tokenizer(directory, corpus, (), _OPUS_MT["vocab_size"])
    config = MarianConfig(
        **_options(_OPUS_MT),
        activation_function="swish",
        pad_token_id=pad,
        decoder_start_token_id=pad,
    )
    MarianMTModel(config).save_pretrained(directory)


def _write_nllb_600m(directory: Path, corpus: Corpus) -> None:
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    from tests.model.importers.originals import write_nllb_tokenizer

    write_nllb_tokenizer(directory, corpus)
    config = M2M100Config(
        **_options(_NLLB_600M), activation_function="relu", decoder_start_token_id=2
    )
    M2M100ForConditionalGeneration(config).save_pretrained(directory)


def _options(sizes: dict[str, int]) -> dict[str, Any]:
    return {
        "d_model": sizes["d_model"],
        "vocab_size": sizes["vocab_size"],
        "scale_embedding": True,
        "max_position_embeddings": 1024,
        **{f"{side}_layers": sizes["layers"] for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": sizes["heads"] for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": sizes["d_ff"] for side in ("encoder", "decoder")},
    }


def _directories(root: Path) -> tuple[str, str]:
    return str(root / "transformers"), str(root / "ctranslate2")


def _convert(root: Path) -> None:
    from ctranslate2.converters import TransformersConverter

    TransformersConverter(str(root / "transformers")).convert(str(root / "ctranslate2"))


def _pieces(root: Path) -> list[str]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(root / "transformers")
    pieces = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    return list(pieces)
