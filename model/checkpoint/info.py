"""config.json: what a checkpoint says of itself."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.decoding.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from model.network.config import LATER_OPTIONS, AttentionHead, ModelConfig
from model.text.languages import Languages, parse_pairs, render_pairs
from model.text.tokenizer_config import TokenizerConfig
from model.values import is_name, is_whole_number, shown

FORMAT_VERSION = 1
_USUAL_SOURCE_TOKENS = 128
_MOST_SOURCE_TOKENS = 2**16


@dataclass(frozen=True)
class CheckpointInfo:
    """The content of config.json."""

    name: str
    architecture: ModelConfig
    pairs: tuple[tuple[str, str], ...]
    tokenizer: TokenizerConfig
    decoding: DecodingOptions
    origin: Mapping[str, str] = field(default_factory=dict)
    """The origin of an imported checkpoint, such as its Hub id and commit."""
    max_source_tokens: int | None = None
    """The limit above which a sentence is better split, for a model trained on short sentences.
    None: the usual limit applies."""
    alignment_heads: tuple[AttentionHead, ...] = ()
    """The heads whose mean attention to the memory aligns words best; empty: not measured."""
    confidence: Mapping[tuple[str, str], Calibration] = field(default_factory=dict)
    """The calibration of confidence by pair; pairs that were not measured have none."""

    def source_limit(self, wanted: int | None) -> int:
        """The most tokens per sentence, tag and end included: `wanted`, or else the checkpoint's
        own limit, within the network's positions."""
        usual = min(_USUAL_SOURCE_TOKENS, self.max_source_tokens or _USUAL_SOURCE_TOKENS)
        return min(wanted or usual, self.architecture.max_positions)

    @property
    def own_codes(self) -> dict[str, str]:
        """The model family's language codes -> public codes."""
        return {tag.strip("_<>"): code for code, tag in self.tokenizer.tags.items()}

    @property
    def languages(self) -> Languages:
        """Sources first, then the remaining targets."""
        sides = [*(source for source, _ in self.pairs), *(target for _, target in self.pairs)]
        return Languages(sides, self.own_codes)


def parse_info(raw: Any) -> CheckpointInfo:
    """Raises KeyError or ValueError; the errors of the parts are ValueErrors."""
    if not isinstance(raw, dict):
        raise ValueError(f"it must hold one JSON object, got {type(raw).__name__}")
    if raw.get("format") != FORMAT_VERSION or not is_whole_number(raw["format"]):
        raise ValueError(f"format must be {FORMAT_VERSION}, got {shown(raw.get('format'))}")
    _require_every_option("architecture", raw["architecture"], ModelConfig)
    _require_every_option("decoding", raw["decoding"], DecodingOptions)
    architecture, pairs = ModelConfig.from_dict(raw["architecture"]), parse_pairs(raw["pairs"])
    return CheckpointInfo(
        name=_parse_name(raw["name"]),
        architecture=architecture,
        pairs=pairs,
        tokenizer=TokenizerConfig.from_dict(raw["tokenizer"]),
        decoding=DecodingOptions.from_dict(raw["decoding"]),
        origin=_parse_origin(raw.get("origin", {})),
        max_source_tokens=_parse_max_source_tokens(raw.get("max_source_tokens")),
        alignment_heads=_parse_alignment_heads(raw.get("alignment_heads", []), architecture),
        confidence=_parse_confidence(raw.get("confidence", []), pairs),
    )


def _require_every_option(name: str, values: Any, kind: type[Any]) -> None:
    """Raises ValueError if a table lacks an option: the default would make another model of it.
    An older checkpoint has none of the later options."""
    if not isinstance(values, dict):
        return  # its own parser says what it must be
    is_older = LATER_OPTIONS.isdisjoint(values)
    for option in dataclasses.fields(kind):
        if option.name not in values and not (is_older and option.name in LATER_OPTIONS):
            raise ValueError(f"{name} lacks {option.name}")


def _parse_name(value: Any) -> str:
    if not is_name(value):
        raise ValueError(
            f"name must be a line of 1 to 200 printable characters, got {shown(value)}"
        )
    return value


def _parse_origin(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError(f"origin must be a table of texts, got {shown(value)}")
    return value


def _parse_max_source_tokens(value: Any) -> int | None:
    least, most = LEAST_SOURCE_TOKENS, _MOST_SOURCE_TOKENS
    if value is None or (is_whole_number(value) and least <= value <= most):
        return value
    if is_whole_number(value) and value > most:
        raise ValueError(f"max_source_tokens must be at most {most}, got {shown(value)}")
    raise ValueError(
        f"max_source_tokens must be an integer of at least {least}, got {shown(value)}"
    )


def _parse_alignment_heads(value: Any, config: ModelConfig) -> tuple[AttentionHead, ...]:
    """Raises ValueError unless it lists [layer, head] pairs of the decoder, none twice."""
    layers, heads = config.n_decoder_layers, config.n_heads
    is_right = isinstance(value, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(map(is_whole_number, pair))
        and 0 <= pair[0] < layers
        and 0 <= pair[1] < heads
        for pair in value
    )
    if not is_right or len(set(map(tuple, value))) < len(value):
        raise ValueError(
            "alignment_heads must list different [layer, head] pairs, layers 0 to "
            f"{layers - 1} and heads 0 to {heads - 1}, got {shown(value)}"
        )
    return tuple((layer, head) for layer, head in value)


def _parse_confidence(
    value: Any, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Calibration]:
    """Raises ValueError unless it lists calibrations with a pair each, none twice."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError(f"confidence must be a list of tables, got {shown(value)}")
    parsed: dict[tuple[str, str], Calibration] = {}
    for entry in value:
        pair = next((pair for pair in pairs if list(pair) == entry.get("pair")), None)
        if pair is None or pair in parsed:
            raise ValueError(
                f"confidence must have different pairs of the model, got {shown(entry.get('pair'))}"
            )
        parsed[pair] = Calibration.from_dict({k: v for k, v in entry.items() if k != "pair"})
    return parsed


def render_info(info: CheckpointInfo) -> str:
    raw = {
        "format": FORMAT_VERSION,
        "name": info.name,
        "pairs": render_pairs(info.pairs),
        "tokenizer": info.tokenizer.to_dict(),
        "architecture": dataclasses.asdict(info.architecture),
        "decoding": info.decoding.to_dict(),
        **({"max_source_tokens": info.max_source_tokens} if info.max_source_tokens else {}),
        **({"alignment_heads": info.alignment_heads} if info.alignment_heads else {}),
        **({"confidence": _render_confidence(info)} if info.confidence else {}),
        **({"origin": dict(info.origin)} if info.origin else {}),
    }
    return json.dumps(raw, indent=2, ensure_ascii=False) + "\n"


def _render_confidence(info: CheckpointInfo) -> list[dict[str, Any]]:
    return [{"pair": pair, **entry._asdict()} for pair, entry in info.confidence.items()]
