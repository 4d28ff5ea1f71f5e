"""Which of several media types a client wants for its answer (RFC 9110, 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fastapi import Request

_QUALITY = re.compile(r"\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*", re.I)


def accepted(request: Request, offered: Sequence[str]) -> str:
    """The one of `offered` that the header Accept names and likes at least as well as the first,
    else the first."""
    accept = ",".join(request.headers.getlist("accept"))
    given = dict(map(_quality, accept.lower().split(",")))
    best = max(offered[1:], key=lambda other: given.get(other, 0.0))
    quality = given.get(best, 0.0)
    return best if quality and quality >= _quality_of(offered[0], given) else offered[0]


def _quality(written: str) -> tuple[str, float]:
    """A range of media types and its weight."""
    media_type, *parameters = written.split(";")
    weights = (_QUALITY.fullmatch(one) for one in parameters)
    return media_type.strip(), next((float(one[1]) for one in weights if one), 1.0)


def _quality_of(media_type: str, given: Mapping[str, float]) -> float:
    ranges = media_type, f"{media_type.partition('/')[0]}/*", "*/*"
    return next((given[one] for one in ranges if one in given), 0.0)
