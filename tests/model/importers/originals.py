"""Small models of each family, built by transformers with random weights in their own layout."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import sentencepiece
import torch

SCRIPTS = {
    "English": "The library, where is it?",
    "German": "Größe, Straße und Übermut: ÄÖÜ!",
    "Russian": "Привет, мир! Как дела?",
    "Greek": "Γειά σου Κόσμε, τι κάνεις;",
    "Arabic": "مرحبا بالعالم، كيف حالك؟",
    "Hebrew": "שלום עולם",
    "Hindi": "नमस्ते दुनिया।",
    "Thai": "สวัสดีชาวโลก",
    "Chinese": "图书馆在哪里？我们昨天去学校。",
    "Japanese": "こんにちは世界、お元気ですか。",
    "Korean": "안녕하세요 세계",
    "Georgian": "გამარჯობა მსოფლიო",
    "unknown": "⁂⁂ 𐍈𐍈 😀 x",
    "spaces": "  two  spaces\tand a tab",
}
SIZES = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 128,
    "scale_embedding": True,
    "forced_eos_token_id": None,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
}


@dataclass(frozen=True)
class Corpus:
    """English and Chinese sentences; sentencepiece models of each, and of both together."""

    pairs: list[tuple[str, str]]
    models: tuple[Path, Path]
    joint_model: Path
    bpe_model: Path


def make_corpus(directory: Path, tsv: Path) -> Corpus:
    """Train the sentencepiece models: no byte pieces, and characters that they do not know."""
    lines = tsv.read_text(encoding="utf-8").splitlines()
    pairs = [(line.split("\t")[1], line.split("\t")[0]) for line in lines]
    english, chinese = ([pair[side] for pair in pairs] for side in (0, 1))
    return Corpus(
        pairs,
        (
            train_sentencepiece(directory / "english.model", english, "unigram"),
            train_sentencepiece(directory / "chinese.model", chinese, "unigram"),
        ),
        train_sentencepiece(directory / "joint.model", english + chinese, "unigram"),
        train_sentencepiece(directory / "bpe.model", english + chinese, "bpe"),
    )


def train_sentencepiece(
    path: Path, texts: list[str], kind: str, tags: str = "", **ids: int
) -> Path:
    corpus = path.with_suffix(".txt")
    scripts = [text for name, text in SCRIPTS.items() if name not in ("unknown", "spaces")]
    corpus.write_text("\n".join([*texts, *scripts * 3]), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus),
        model_prefix=str(path.with_suffix("")),
        vocab_size=320,
        hard_vocab_limit=False,
        model_type=kind,
        character_coverage=0.98,
        num_threads=1,
        minloglevel=2,
        user_defined_symbols=tags,
        **ids,
    )
    return path


def pieces_of(model: Path) -> list[str]:
    """Its pieces but the three specials that it begins with."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]


STEPS = 200
"""Of training, after which sentences end, and differ."""


def train_briefly(
    build: Callable[[], Any], pairs: list[tuple[list[int], list[int]]], steps: int
) -> Any:
    """A model that has learned a little: its sentences end, and differ, as random ones do not.

    Biases, norms and the logits' bias are made random first, so that none is without effect.
    """
    torch.manual_seed(7)
    model = build()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(std=0.3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # steps of microseconds: a second thread would only wait
    pad = model.config.pad_token_id
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    for step in range(steps):
        batch = [pairs[(step * 16 + i) % len(pairs)] for i in range(16)]
        src, tgt = (padded([pair[side] for pair in batch], pad) for side in (0, 1))
        labels = tgt.masked_fill(tgt == pad, -100)
        loss = model(input_ids=src, attention_mask=(src != pad).long(), labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    torch.set_num_threads(threads)
    return model.eval()


def padded(rows: list[list[int]], pad: int) -> torch.Tensor:
    """Lists of ids -> (B, longest), padded on the right."""
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])


class Original(NamedTuple):
    """A directory that transformers wrote, with the model and the tokenizer that it reads back."""

    directory: Path
    model: Any
    tokenizer: Any


def make_originals(root: Path, corpus: Corpus, steps: int = STEPS) -> dict[str, Original]:
    """One of each family, by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "marian": marian(root / "marian", corpus, (), steps),
            "tagged marian": marian(root / "tagged", corpus, ("cmn_Hans", "fra"), steps),
            "m2m_100": m2m_100(root / "m2m_100", corpus, steps),
            "small100": small100(root / "small100", corpus, steps),
            "nllb": nllb(root / "nllb", corpus, steps),
            "mbart": mbart(root / "mbart", corpus, 2 * steps),
            "madlad": madlad(root / "madlad", corpus, steps),
            "t5": t5(root / "t5", corpus, steps),
        }


def marian(directory: Path, corpus: Corpus, tags: Sequence[str], steps: int) -> Original:
    """English to Chinese. With tags the target language is asked for, the first in training."""
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    pad = write_marian_tokenizer(directory, corpus, tags)
    tokenizer = MarianTokenizer.from_pretrained(directory)
    config = MarianConfig(
        **SIZES,
        vocab_size=pad + 1,
        activation_function="swish",
        eos_token_id=0,
        pad_token_id=pad,
        decoder_start_token_id=pad,
        num_beams=6,
    )
    tag = f">>{tags[0]}<< " if tags else ""
    pairs = [
        (tokenizer(tag + source).input_ids, tokenizer(text_target=target).input_ids)
        for source, target in corpus.pairs
    ]
    return _save(directory, train_briefly(lambda: MarianMTModel(config), pairs, steps), tokenizer)


def write_marian_tokenizer(
    directory: Path, corpus: Corpus, tags: Sequence[str], vocab_size: int = 0
) -> int:
    """A joint vocabulary in Marian's order: eos and unknown first, pad last -> its id."""
    directory.mkdir()
    for model, name in zip(corpus.models, ("source.spm", "target.spm"), strict=True):
        shutil.copyfile(model, directory / name)
    joint = dict.fromkeys(piece for model in corpus.models for piece in pieces_of(model))
    pieces = ["</s>", "<unk>", *joint, *(f">>{tag}<<" for tag in tags)]
    pieces += [f"unused{i}" for i in range(vocab_size - len(pieces) - 1)]
    write_json(directory / "vocab.json", {p: i for i, p in enumerate([*pieces, "<pad>"])})
    languages = {"source_lang": "eng", "target_lang": "mul" if tags else "zho"}
    settings = {"tokenizer_class": "MarianTokenizer", **languages}
    write_json(directory / "tokenizer_config.json", settings)
    return len(pieces)


def m2m_100(directory: Path, corpus: Corpus, steps: int) -> Original:
    """M2M-100's layout: its vocabulary file, a hundred tags and a few pieces to fill up."""
    tokenizer, vocab_size = m2m_100_tokenizer(directory, corpus, "en")
    pairs = tagged_pairs(corpus, tokenizer)
    return _m2m_model(directory, pairs, tokenizer, vocab_size, steps)


def small100(directory: Path, corpus: Corpus, steps: int) -> Original:
    """SMaLL-100's layout: M2M-100's files, the target's tag on the source and none on the target.

    Its own tokenizer is no part of transformers; M2M-100's, told the target as the source, gives
    the same ids.
    """
    tokenizer, vocab_size = m2m_100_tokenizer(directory, corpus, "zh")
    pairs = [(source, target[1:]) for source, target in tagged_pairs(corpus, tokenizer)]
    settings = json.loads((directory / "tokenizer_config.json").read_text())
    write_json(
        directory / "tokenizer_config.json", {**settings, "tokenizer_class": "SMALL100Tokenizer"}
    )
    return _m2m_model(directory, pairs, tokenizer, vocab_size, steps)


def m2m_100_tokenizer(directory: Path, corpus: Corpus, source_language: str) -> tuple[Any, int]:
    """The tokenizer, and the size of the vocabulary with the pieces that fill it up."""
    from transformers import M2M100Tokenizer

    directory.mkdir()
    shutil.copyfile(corpus.joint_model, directory / "sentencepiece.bpe.model")
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *pieces_of(corpus.joint_model)]
    write_json(directory / "vocab.json", {piece: i for i, piece in enumerate(pieces)})
    files = (directory / "vocab.json", directory / "sentencepiece.bpe.model")
    tokenizer = M2M100Tokenizer(*map(str, files), src_lang=source_language, tgt_lang="zh")
    tokenizer.save_pretrained(directory)
    return tokenizer, len(pieces) + 100 + 8


def nllb(directory: Path, corpus: Corpus, steps: int) -> Original:
    """NLLB-200's layout: sentencepiece of the BPE kind, language codes after its pieces."""
    from transformers import NllbTokenizer

    write_nllb_tokenizer(directory, corpus)
    languages = {"src_lang": "eng_Latn", "tgt_lang": "zho_Hans"}
    tokenizer = NllbTokenizer.from_pretrained(directory, **languages)
    pairs = tagged_pairs(corpus, tokenizer)
    return _m2m_model(directory, pairs, tokenizer, len(tokenizer) + 2, steps)


def write_nllb_tokenizer(directory: Path, corpus: Corpus) -> None:
    directory.mkdir()
    shutil.copyfile(corpus.bpe_model, directory / "sentencepiece.bpe.model")
    codes = ["ace_Arab", "ace_Latn", "arb_Arab", "eng_Latn", "zho_Hans", "zho_Hant", "zul_Latn"]
    first = len(pieces_of(corpus.bpe_model)) + 4
    added = enumerate([*codes, "<mask>"], first)
    settings = {
        "tokenizer_class": "NllbTokenizer",
        "additional_special_tokens": codes,
        "added_tokens_decoder": {str(i): {"content": t, "special": True} for i, t in added},
    }
    write_json(directory / "tokenizer_config.json", settings)


def mbart(directory: Path, corpus: Corpus, steps: int) -> Original:
    """mBART-50's layout."""
    from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration

    directory.mkdir()
    shutil.copyfile(corpus.joint_model, directory / "sentencepiece.bpe.model")
    write_json(directory / "tokenizer_config.json", {"tokenizer_class": "MBart50Tokenizer"})
    languages = {"src_lang": "en_XX", "tgt_lang": "zh_CN"}
    tokenizer = MBart50Tokenizer.from_pretrained(directory, **languages)
    codes = list(tokenizer.lang_code_to_id)
    write_json(directory / "special_tokens_map.json", {"additional_special_tokens": codes})
    config = MBartConfig(
        **SIZES,
        vocab_size=len(tokenizer),
        activation_function="gelu",
        decoder_start_token_id=2,
        forced_bos_token_id=None,
    )
    pairs = tagged_pairs(corpus, tokenizer)
    model = train_briefly(lambda: MBartForConditionalGeneration(config), pairs, steps)
    return _save(directory, model, tokenizer)


class Pieces:
    """A sentencepiece model as it comes, with the calls of a tokenizer of transformers, whose own
    is fixed to the ids of the original T5."""

    def __init__(self, model: Path) -> None:
        self._processor = sentencepiece.SentencePieceProcessor(model_file=str(model))

    def __call__(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(input_ids=self._processor.encode(text, add_eos=True))

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        return str(self._processor.decode(ids))


TASK = "translate English to Chinese: "
T5_SIZES = {"d_model": 32, "num_layers": 2, "num_heads": 4, "d_ff": 64, "dropout_rate": 0.0}


def madlad(directory: Path, corpus: Corpus, steps: int) -> Original:
    """MADLAD-400's layout: tags in the vocabulary, decoding from <unk>, an output of its own."""
    directory.mkdir()
    texts = [text for pair in corpus.pairs for text in pair]
    tags = "<2en>,<2zh>,<2zh_Hant>,<2translate>"
    model = train_sentencepiece(directory / "spiece.model", texts, "unigram", tags)
    ids = {"decoder_start_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    pairs = prefixed_pairs(corpus, Pieces(model), "<2zh> ")
    trained = train_briefly(lambda: t5_model("gated-gelu", False, 321, ids), pairs, steps)
    original = _save(directory, trained, Pieces(model))
    config = json.loads((directory / "config.json").read_text())
    del config["scale_decoder_outputs"]  # the Hub's file says it so:
    write_json(directory / "config.json", {**config, "tie_word_embeddings": False})
    return original


def t5(directory: Path, corpus: Corpus, steps: int) -> Original:
    """The original T5's layout: tasks in config.json, and the embeddings as the output."""
    from transformers import T5Tokenizer

    directory.mkdir()
    texts = [*(text for pair in corpus.pairs for text in pair), *[TASK] * 30]
    model = train_sentencepiece(
        directory / "spiece.model", texts, "unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1
    )
    write_json(directory / "tokenizer_config.json", {"extra_ids": 0})
    tokenizer = T5Tokenizer.from_pretrained(directory, extra_ids=0)
    ids = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    tasks = {"translation_en_to_zh": {"prefix": TASK}, "summarization": {"prefix": "sum up: "}}
    pairs = prefixed_pairs(corpus, Pieces(model), TASK)
    build = lambda: t5_model("relu", True, 324, {**ids, "task_specific_params": tasks})  # noqa: E731
    return _save(directory, train_briefly(build, pairs, steps), tokenizer)


def t5_model(feed_forward: str, is_tied: bool, vocab_size: int, options: dict[str, Any]) -> Any:
    """Its heads are wider together than the rest, and some distances beyond the last bucket."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        **T5_SIZES,
        **options,
        vocab_size=vocab_size,
        d_kv=12,
        feed_forward_proj=feed_forward,
        tie_word_embeddings=is_tied,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=12,
    )
    model = T5ForConditionalGeneration(config)
    if not is_tied:
        output = torch.randn_like(model.lm_head.weight) * config.d_model**-0.5
        model.lm_head.weight = torch.nn.Parameter(output)
    return model


def prefixed_pairs(
    corpus: Corpus, tokenizer: Pieces, prefix: str
) -> list[tuple[list[int], list[int]]]:
    return [
        (tokenizer(prefix + source).input_ids, tokenizer(target).input_ids)
        for source, target in corpus.pairs
    ]


def tagged_pairs(corpus: Corpus, tokenizer: Any) -> list[tuple[list[int], list[int]]]:
    """[tag, text, eos] on both sides."""
    return [
        (tokenizer(source).input_ids, tokenizer(text_target=target).input_ids)
        for source, target in corpus.pairs
    ]


def _m2m_model(
    directory: Path,
    pairs: list[tuple[list[int], list[int]]],
    tokenizer: Any,
    vocab_size: int,
    steps: int,
) -> Original:
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    config = M2M100Config(
        **SIZES, vocab_size=vocab_size, activation_function="relu", decoder_start_token_id=2
    )
    model = train_briefly(lambda: M2M100ForConditionalGeneration(config), pairs, steps)
    return _save(directory, model, tokenizer)


def _save(directory: Path, model: Any, tokenizer: Any) -> Original:
    model.save_pretrained(directory)
    return Original(directory, model, tokenizer)


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
