"""Initialise a deeper network with a new vocabulary from a trained checkpoint.

An added layer changes nothing at first: its sublayers output zero (Net2Net, Chen et al. 2016). Its
other weights are copied from the layer below (Gong et al. 2019).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict

import torch
from torch import Tensor

from model.checkpoint.reference import Checkpoint
from model.network.config import ModelConfig
from model.network.transformer import Transformer
from model.text.reserved import reserved_pieces
from model.text.tokenizer import Tokenizer
from model.training.recipe import RecipeError

_MAY_DIFFER = {"src_vocab_size", "tgt_vocab_size", "dropout"}
_MAY_GROW = {"n_encoder_layers", "n_decoder_layers"}
_BY_TOKEN = re.compile(r"(src_embedding\.tokens|tgt_embedding\.tokens|output)\.(weight|bias)")
_LAYER = re.compile(r"(encoder|decoder)\.(\d+)\.(.*)")
_SUBLAYER_OUTPUT = re.compile(r".*(out_proj|contract|input_proj)\.(weight|bias)")
_MARK, _MARK_PIECE = "\x01", "<0x01>"
_RESERVED_DEVIATION = 0.1
"""Deviation of a reserved piece's vector, relative to that of an embedding."""


def grow(model: Transformer, tokenizer: Tokenizer, start: Checkpoint) -> None:
    """Initialise a new model from a smaller one; raises RecipeError if it cannot be grown.

    Pieces in both vocabularies keep their vectors. A new piece gets the mean of the old pieces that
    spell it. Reserved pieces begin with small random vectors.
    """
    _require_growth(model.config, start.model.config)
    if _MARK_PIECE not in start.tokenizer.target_pieces:
        raise RecipeError("only a checkpoint whose vocabulary has pieces for bytes can grow")
    old, sources = start.model.state_dict(), _old_ids(tokenizer, start.tokenizer)
    grown = {}
    for name, own in model.state_dict().items():
        if _BY_TOKEN.fullmatch(name):
            grown[name] = _by_token(own, old[name], sources)
        else:
            old_name, is_added = _old_name(name, model.config, start.model.config)
            is_zero = is_added and _SUBLAYER_OUTPUT.fullmatch(name)
            grown[name] = torch.zeros_like(own) if is_zero else old[old_name]
    model.load_state_dict(grown)


def _require_growth(new: ModelConfig, old: ModelConfig) -> None:
    if new.norm != "pre":
        raise RecipeError(f"only a pre-norm model can grow, got model.norm {new.norm!r}")
    ours, theirs = asdict(new), asdict(old)
    for name, wanted in ours.items():
        may_be_more = name in _MAY_GROW and wanted > theirs[name]
        if name not in _MAY_DIFFER and wanted != theirs[name] and not may_be_more:
            least = "at least " if name in _MAY_GROW else ""
            raise RecipeError(
                f"to grow from training.start, {name} must be {least}{theirs[name]!r} as there, "
                f"got {wanted!r}"
            )


def _old_name(name: str, new: ModelConfig, old: ModelConfig) -> tuple[str, bool]:
    """The old tensor that initialises `name`, and whether its layer is an added one. Added layers
    are spread evenly: each follows the old layer that it copies."""
    match = _LAYER.fullmatch(name)
    if match is None:
        return name, False
    stack, number, rest = match[1], int(match[2]), match[3]
    depth, old_depth = getattr(new, f"n_{stack}_layers"), getattr(old, f"n_{stack}_layers")
    origins = [layer * old_depth // depth for layer in range(depth)]
    origin = origins[number]
    return f"{stack}.{origin}.{rest}", origins.index(origin) != number


def _by_token(own: Tensor, old: Tensor, sources: Sequence[Sequence[int]]) -> Tensor:
    """A tensor with a row per token: the mean of its old rows, or small and random without any."""
    rows = [
        old[list(ids)].mean(0) if ids else own[token] * _RESERVED_DEVIATION
        for token, ids in enumerate(sources)
    ]
    return torch.stack(rows)


def _old_ids(new: Tokenizer, old: Tokenizer) -> list[list[int]]:
    """For each new piece the old ids that spell it; none for a new reserved piece."""
    known = {piece: i for i, piece in enumerate(old.target_pieces)}
    reserved = set(reserved_pieces(new.reserved))
    return [
        [known[piece]] if piece in known else [] if piece in reserved else _spelled(new, i, old)
        for i, piece in enumerate(new.target_pieces)
    ]


def _spelled(new: Tokenizer, token: int, old: Tokenizer) -> list[int]:
    """The old ids of a piece's text. A leading control character, spelled as its byte, prevents
    sentencepiece from adding a space."""
    text = new.text_of(token)
    if isinstance(text, bytes) or not text:
        return []
    (ids,) = old.encode_target_batch([f"{_MARK}{text}"])
    return ids[ids.index(old.target_pieces.index(_MARK_PIECE)) + 1 :]
