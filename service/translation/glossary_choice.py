"""The glossary of a job, if it goes with the job's languages."""

from __future__ import annotations

import dataclasses

from model.text.languages import Languages
from service.errors import InvalidField
from service.translation.glossary import Glossary
from service.translation.job import ModelJob
from service.translation.routing import Route


def with_glossary(work: ModelJob, route: Route, glossary: Glossary) -> ModelJob:
    """The job with the glossary. Raises InvalidField if the route goes through another language, or
    if the glossary is for another pair."""
    if work.source == work.target or not glossary.entries:
        return work
    if len(route) > 1:
        raise InvalidField(
            f"glossary cannot be used from {route[0].source} to {work.target}, "
            f"because that goes through {work.source}"
        )
    if glossary.pair is not None:
        own = tuple(Languages([work.source, work.target], {}).find(code) for code in glossary.pair)
        if own != (work.source, work.target):
            raise InvalidField(
                f"glossary {glossary.name} is for {' to '.join(glossary.pair)}, "
                f"not for {work.source} to {work.target}"
            )
    return dataclasses.replace(work, glossary=glossary)
