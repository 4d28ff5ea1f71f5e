"""The glossary of a job: the one that it names, if it goes with the job's languages."""

from __future__ import annotations

import dataclasses
from typing import Protocol

from model.text.languages import Languages
from service.errors import InvalidField, UnknownGlossary
from service.translation.glossary import Glossary
from service.translation.job import ModelJob
from service.translation.routing import Route

NEEDS_DATABASE = "this server stores no glossaries: it has no database (setting database)"


class StoredGlossaries(Protocol):
    """Finds stored glossaries."""

    async def find(self, name: str) -> Glossary:
        """The glossary of this name or id; raises UnknownGlossary."""
        ...


class NoGlossaries:
    """A server without a database."""

    async def find(self, name: str) -> Glossary:
        """Raises UnknownGlossary."""
        raise UnknownGlossary(f"there is no such glossary: {NEEDS_DATABASE}")


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
