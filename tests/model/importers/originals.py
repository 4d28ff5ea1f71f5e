"""Small models of each family, built by transformers with random weights in their own layout."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

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
    "spaces": "  two  spaces\tand a tab ",
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
}


def train_sentencepiece(path: Path, texts: list[str], kind: str, vocab_size: int) -> Path:
    """A sentencepiece model like the families': no byte pieces, unknown characters left."""
    corpus = path.with_suffix(".txt")
    corpus.write_text("\n".join([*texts, *list(SCRIPTS.values())[:12] * 3]), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus),
        model_prefix=str(path.with_suffix("")),
        vocab_size=vocab_size,
        model_type=kind,
        character_coverage=0.98,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
    )
    return path


def pieces_of(model: Path) -> list[str]:
    """Its pieces but the three specials that it begins with."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]


@torch.no_grad()
def sharpen(model: Any, eos: int, bonus: float) -> Any:
    """Weights under which searches differ and sentences end: random ones are nearly uniform.

    The last norm has random signs, or each token would be the likeliest to follow itself.
    """
    generator = torch.Generator().manual_seed(5)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue  # sinusoids
        noise = torch.randn(parameter.shape, generator=generator)
        is_scale = "norm" in name and name.endswith("weight")
        spread = 0.35 if parameter.dim() > 1 else 0.1
        parameter.copy_(noise * spread + is_scale)
    decoder = model.get_decoder()
    last_norm = getattr(decoder, "layer_norm", decoder.layers[-1].final_layer_norm)
    last_norm.weight.normal_(std=1.5, generator=generator)
    model.get_output_embeddings().weight[eos] += bonus * last_norm.bias / last_norm.bias.norm()**2
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.normal_(std=0.3, generator=generator)
    return model.eval()


def write_marian(directory: Path, models: tuple[Path, Path], tags: tuple[str, ...]) -> Path:
    """A joint vocabulary in Marian's order: eos, unknown, pieces of both sides, pad last."""
    from transformers import MarianConfig, MarianMTModel

    directory.mkdir()
    for model, name in zip(models, ("source.spm", "target.spm"), strict=True):
        shutil.copyfile(model, directory / name)
    joint = dict.fromkeys([*pieces_of(models[0]), *pieces_of(models[1])])
    pieces = ["</s>", "<unk>", *joint, *(f">>{tag}<<" for tag in tags), "<pad>"]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    (directory / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    languages = {"source_lang": "en", "target_lang": "mul" if tags else "zho"}
    settings = {"tokenizer_class": "MarianTokenizer", **languages}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings))
    pad = len(pieces) - 1
    config = MarianConfig(
        **SIZES,
        vocab_size=len(pieces),
        activation_function="swish",
        eos_token_id=0,
        pad_token_id=pad,
        decoder_start_token_id=pad,
    )
    sharpen(MarianMTModel(config), 0, 8.0).save_pretrained(directory)
    return directory
