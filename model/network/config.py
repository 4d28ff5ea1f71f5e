"""ModelConfig: every architecture option, as stored in a checkpoint's config.json.

Does not depend on tensors, files or tokenizers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from model.values import is_whole_number, shown

Norm = Literal["post", "pre"]
NormKind = Literal["layer", "rms"]
Positions = Literal["sinusoidal", "learned", "alibi", "buckets"]
Sinusoids = Literal["interleaved", "halves", "tensor2tensor"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
SharedEmbeddings = Literal["all", "inputs", "target", "none"]
Autoregression = Literal["attention", "ssru"]
AttentionHead = tuple[int, int]
"""A head of the decoder's attention to the memory: its layer and its number, from 0."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "norm": get_args(Norm),
    "norm_kind": get_args(NormKind),
    "positions": get_args(Positions),
    "sinusoids": get_args(Sinusoids),
    "activation": get_args(Activation),
    "shared_embeddings": get_args(SharedEmbeddings),
    "autoregression": get_args(Autoregression),
}

LATER_OPTIONS = frozenset(
    (
        *("norm_kind", "d_head", "scale_attention", "gated", "distance_buckets"),
        *("longest_distance", "autoregression"),
    )
)
"""Options that older checkpoints do not have; these mean their defaults."""

_MOST = {
    "src_vocab_size": 2**21,
    "tgt_vocab_size": 2**21,
    "d_model": 2**14,
    "n_heads": 2**10,
    "d_ff": 2**17,
    "n_encoder_layers": 2**8,
    "n_decoder_layers": 2**8,
    "max_positions": 2**16,
    "position_offset": 2**16,
    "d_head": 2**14,
    "distance_buckets": 2**12,
    "longest_distance": 2**16,
}
_LEAST = {"position_offset": 0, "d_head": 0, "distance_buckets": 4}
"""Upper limits, several times the largest translation models (NLLB-200 3.3B: 256,206 pieces,
24 layers of 2,048 and 8,192). A wrong number is refused before anything is allocated."""
_MOST_POSITION_NUMBERS = 2**26
_LEAST_DEEP_LAYERS = 4


class ConfigError(ValueError):
    """The architecture cannot be built; the message gives the value and the allowed ones."""


@dataclass(frozen=True)
class ModelConfig:
    """An encoder-decoder Transformer (Vaswani et al. 2017) or a variant.

    The defaults are the paper's base model. `shared_embeddings`: "all" uses one matrix for source,
    target and output (section 3.4), "inputs" shares source and target only, "target" shares target
    and output only, "none" shares nothing.
    `max_positions` bounds both source and target length in tokens; positions are numbered from
    `position_offset`. `sinusoids`: "interleaved" is section 3.5; "halves" puts all sines before all
    cosines; "tensor2tensor" is the authors' code: halves with a longest wavelength of exactly
    10000. `embedding_norm` applies a layer norm to embedding plus position (Liu et al. 2020).
    Decoding starts from `bos_id`, which may equal the id of eos or pad.

    T5 (Raffel et al. 2020) and its version 1.1 need the rest. `d_head`: the width of a head; 0 is
    d_model / n_heads. `scale_attention`: whether scores are divided by sqrt(d_head). `positions`
    "buckets": each stack learns a bias of its scores by head and by distance from query to key, in
    `distance_buckets`, of which the last ones are for `longest_distance` and more. `norm_kind`
    "rms": norms without mean and bias (Zhang and Sennrich 2019). `gated`: the activation is
    multiplied by a further projection (Shazeer 2020).

    `autoregression` says how the decoder reads its own earlier tokens: "attention", or "ssru", a
    running state of D numbers a layer (Kim et al. 2019).
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    n_encoder_layers: int = 6
    n_decoder_layers: int = 6
    dropout: float = 0.1
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    max_positions: int = 512
    activation: Activation = "relu"
    shared_embeddings: SharedEmbeddings = "all"
    scale_embeddings: bool = True
    output_bias: bool = False
    sinusoids: Sinusoids = "interleaved"
    position_offset: int = 0
    embedding_norm: bool = False
    pad_id: int = 0
    bos_id: int = 2
    eos_id: int = 3
    norm_kind: NormKind = "layer"
    d_head: int = 0
    scale_attention: bool = True
    gated: bool = False
    distance_buckets: int = 32
    longest_distance: int = 128
    autoregression: Autoregression = "attention"

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_numbers()
        self._check_sharing()
        self._check_ids()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ModelConfig:
        """Build from parsed JSON or TOML; an unknown or missing key raises ConfigError."""
        if not isinstance(values, dict):
            raise ConfigError(f"an architecture must be a table of options, got {shown(values)}")
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ConfigError(
                f"unknown architecture option {shown(unknown[0])}; known: {sorted(known)}"
            )
        for name in ("src_vocab_size", "tgt_vocab_size"):
            if name not in values:
                raise ConfigError(f"an architecture must say its {name}")
        return cls(**values)

    @property
    def shares_inputs(self) -> bool:
        """Whether source and target have one matrix of embeddings."""
        return self.shared_embeddings in ("all", "inputs")

    @property
    def shares_output(self) -> bool:
        """Whether the output matrix is that of the target's embeddings."""
        return self.shared_embeddings in ("all", "target")

    @property
    def head_dim(self) -> int:
        return self.d_head or self.d_model // self.n_heads

    @property
    def attention_width(self) -> int:
        """Of the queries, keys and values of all heads."""
        return self.n_heads * self.head_dim

    @property
    def attention_scale(self) -> float:
        """Factor applied to the scores (section 3.2.1)."""
        return 1.0 / math.sqrt(self.head_dim) if self.scale_attention else 1.0

    @property
    def fits_float16(self) -> bool:
        """Whether the network may be computed in float16. The sums of T5, which has RMS norms,
        exceed its largest number."""
        return self.norm_kind == "layer"

    @property
    def embedding_scale(self) -> float:
        """Factor applied to token embeddings (section 3.4)."""
        return math.sqrt(self.d_model) if self.scale_embeddings else 1.0

    def _check_numbers(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int":
                self._check_whole_number(field.name, value)
            if field.type == "bool" and not isinstance(value, bool):
                raise ConfigError(f"{field.name} must be true or false, got {shown(value)}")
        self._check_dropout()
        if not self.d_head and self.d_model % self.n_heads:
            raise ConfigError(
                f"d_model must be a multiple of n_heads, got {self.d_model} and {self.n_heads}"
            )
        if self.attention_width > _MOST["d_model"]:
            raise ConfigError(
                f"n_heads times d_head must be at most {_MOST['d_model']}, "
                f"got {self.n_heads} and {self.d_head}"
            )
        if 2 * self.longest_distance <= self.distance_buckets:
            raise ConfigError(
                "longest_distance must be more than half of distance_buckets, "
                f"got {self.longest_distance} and {self.distance_buckets}"
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ConfigError(f"sinusoidal positions need an even d_model, got {self.d_model}")
        if self.positions != "sinusoidal" and self.position_offset:
            raise ConfigError(f"position_offset needs sinusoidal positions, got {self.positions}")
        if self.max_positions * self.d_model > _MOST_POSITION_NUMBERS:
            raise ConfigError(
                f"max_positions times d_model must be at most {_MOST_POSITION_NUMBERS}, "
                f"got {self.max_positions} and {self.d_model}"
            )

    def _check_whole_number(self, name: str, value: Any) -> None:
        if not is_whole_number(value):
            raise ConfigError(f"{name} must be a whole number, got {shown(value)}")
        if name not in _MOST:
            return
        least, most = _LEAST.get(name, 1), _MOST[name]
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, got {shown(value)}")
        if value > most:
            raise ConfigError(f"{name} must be at most {most}, got {shown(value)}")

    def _check_dropout(self) -> None:
        if isinstance(self.dropout, bool) or not isinstance(self.dropout, int | float):
            raise ConfigError(f"dropout must be a number, got {shown(self.dropout)}")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dropout must be in [0, 1), got {shown(self.dropout)}")

    def _check_choices(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(
                    f"{name} must be one of {list(allowed)}, got {shown(getattr(self, name))}"
                )

    def _check_sharing(self) -> None:
        if self.shares_inputs and self.src_vocab_size != self.tgt_vocab_size:
            raise ConfigError(
                "one shared embedding matrix needs equal vocabularies, "
                f"got {self.src_vocab_size} and {self.tgt_vocab_size}"
            )

    def _check_ids(self) -> None:
        for name in ("pad_id", "bos_id", "eos_id"):
            value = getattr(self, name)
            if not 0 <= value < self.tgt_vocab_size:
                raise ConfigError(
                    f"{name} must be a target token, 0 to {self.tgt_vocab_size - 1}, "
                    f"got {shown(value)}"
                )


def default_heads(config: ModelConfig) -> tuple[AttentionHead, ...]:
    """The heads whose mean aligns words if none were chosen on data: all heads of one layer.

    A deep decoder's penultimate layer aligns best (Garg et al. 2019); of two layers the last one
    does (docs/details.md).
    """
    layers = config.n_decoder_layers
    layer = layers - 2 if layers >= _LEAST_DEEP_LAYERS else layers - 1
    return tuple((layer, head) for head in range(config.n_heads))
