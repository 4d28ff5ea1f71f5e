"""The importer of a translator made of nn.Transformer and nn.Embedding (docs/importing.md)."""

from __future__ import annotations

from torch import Tensor

from model.importers.imported import Imported, Wanted
from model.importers.pieces import load_sentencepiece, pairs_of
from model.importers.source import SourceDirectory
from model.network.config import ModelConfig
from model.text.tokenizer_config import TokenizerConfig

ATTENTION = {"self_attn": "self_attention", "multihead_attn": "memory_attention"}
PARTS = {**ATTENTION, "linear1": "feed_forward.expand", "linear2": "feed_forward.contract"}
SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "memory_attention", "feed_forward"),
}


def import_torch(source: SourceDirectory, wanted: Wanted) -> Imported:
    """Read the model, whose config.json has nn.Transformer's arguments. Raises SourceError."""
    model = source.file("sentencepiece.model")
    pieces = load_sentencepiece(model)
    config = ModelConfig(
        src_vocab_size=pieces.get_piece_size(),
        tgt_vocab_size=pieces.get_piece_size(),
        d_model=source.number("d_model"),
        n_heads=source.number("nhead"),
        d_ff=source.number("dim_feedforward"),
        n_encoder_layers=source.number("num_encoder_layers"),
        n_decoder_layers=source.number("num_decoder_layers"),
        norm="pre",
        pad_id=pieces.pad_id(),
        bos_id=pieces.bos_id(),
        eos_id=pieces.eos_id(),
    )
    weights: dict[str, Tensor] = {}
    for name, tensor in source.weights().items():
        weights |= ours(name.removeprefix("transformer."), tensor)
    tokenizer = TokenizerConfig(model.name, model.name, source_layout=("text", "eos"))
    pairs = pairs_of(wanted.sources, wanted.targets)
    return Imported(config, weights, tokenizer, {model.name: model}, pairs, source.decoding())


def ours(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """A weight by our name; the projections of attention are three of ours."""
    if name == "embedding.weight":
        return {"src_embedding.tokens.weight": tensor}
    side, _, *rest = name.split(".")
    if len(rest) == 1:
        return {f"{side}_norm.{rest[0]}": tensor}
    layer, part, *rest = rest
    if part.startswith("norm"):
        part = SUBLAYERS[side][int(part[-1]) - 1] + "_residual.norm"
    prefix = f"{side}.{layer}.{PARTS.get(part, part)}"
    if rest[0].startswith("in_proj_"):
        kind = rest[0].removeprefix("in_proj_")
        parts = zip("qkv", tensor.chunk(3), strict=True)
        return {f"{prefix}.{one}_proj.{kind}": weight.clone() for one, weight in parts}
    return {f"{prefix}.{'.'.join(rest)}": tensor}
