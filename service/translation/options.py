"""The decoding options of a job, given a model's defaults."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from model.decoding.options import DecodingOptions
from service.errors import InvalidField
from service.translation.job import TranslationJob

_MOST_KNOWN = 256
SAMPLING_OPTIONS = ("temperature", "top_k", "top_p", "seed")


def final_options(
    job: TranslationJob, defaults: DecodingOptions, max_beam_size: int
) -> DecodingOptions:
    """The options of a route's last hop. Raises InvalidField if options contradict each other."""
    sampling_option = next((name for name in SAMPLING_OPTIONS if name in job.options), None)
    if sampling_option is not None:
        _require_one_hypothesis(job, sampling_option)
    beam_size = 1 if sampling_option is not None else _beam_size(job, defaults, max_beam_size)
    wishes: dict[str, Any] = {
        **job.options,
        "beam_size": beam_size,
        "n_best": beam_size if job.alternatives else 1,
        "sampling": sampling_option is not None,
    }
    return _replaced(defaults, tuple(wishes.items()))


@functools.lru_cache(_MOST_KNOWN)
def _replaced(defaults: DecodingOptions, wishes: tuple[tuple[str, Any], ...]) -> DecodingOptions:
    """The defaults with these wishes; most requests wish the same."""
    return dataclasses.replace(defaults, **dict(wishes))


def pivot_options(
    job: TranslationJob, defaults: DecodingOptions, max_beam_size: int
) -> DecodingOptions:
    """The options of the hop to the pivot, which gives one text without alternatives.

    They are the model's defaults with the requested beam size, which sets speed and quality for
    both hops.
    """
    beam_size = job.beam_size or min(defaults.beam_size, max_beam_size)
    return dataclasses.replace(defaults, beam_size=beam_size, n_best=1, sampling=False)


def _beam_size(job: TranslationJob, defaults: DecodingOptions, max_beam_size: int) -> int:
    """The requested beam size, or else the default, raised to fit the alternatives."""
    needed = job.alternatives + 1
    default = 1 if defaults.sampling else min(defaults.beam_size, max_beam_size)
    beam_size = job.beam_size or max(default, needed)
    if beam_size < needed:
        raise InvalidField(
            f"alternatives must be less than beam_size ({beam_size}), got {job.alternatives}"
        )
    if beam_size > max_beam_size:
        name, spare = ("beam_size", 0) if job.beam_size else ("alternatives", 1)
        most, given = max_beam_size - spare, beam_size - spare
        raise InvalidField(f"{name} must be at most {most}, got {given}")
    return beam_size


def _require_one_hypothesis(job: TranslationJob, sampling_option: str) -> None:
    why = f"with {sampling_option}, which asks for sampling"
    if job.beam_size is not None and job.beam_size > 1:
        raise InvalidField(f"beam_size must be 1 or left out {why}; got {job.beam_size}")
    if job.alternatives:
        raise InvalidField(f"alternatives must be 0 {why}; got {job.alternatives}")
