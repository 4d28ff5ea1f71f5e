"""The fields of Google's requests, from a body, a query string or both."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from fastapi import Request
from pydantic import BeforeValidator, Field

from model.text.languages import MAX_CODE_CHARACTERS
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.schemas import TranslateRequest, check_texts
from service.http.state import server_state
from service.translation.job import AUTO

_Model = TypeVar("_Model", bound=RequestModel)
_SYSTEM_PARAMETERS = ("key", "alt", "prettyPrint", "quotaUser", "access_token", "oauth_token")
Code = Annotated[str, Field(max_length=MAX_CODE_CHARACTERS)]
Texts = Annotated[str | list[str], BeforeValidator(check_texts)]


class TextRequest(RequestModel):
    """The fields of translating. An empty source means to detect it, as null does."""

    q: Texts
    target: Code
    source: Code | None = None
    format: Literal["text", "html"] | None = None
    model: str | None = None
    cid: Texts = ""

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q

    def without_effect(self) -> list[str]:
        given = {"model": self.model, "cid": self.cid}
        return [name for name, value in given.items() if value]

    def wanted(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        return TranslateRequest.from_json(
            {
                "q": self.texts,
                "source": self.source or AUTO,
                "target": self.target,
                "format": self.format or "auto",
            }
        )


class DetectRequest(RequestModel):
    """The texts whose languages are asked for."""

    q: Texts

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q


class LanguagesRequest(RequestModel):
    """`target`: the language of the names; without it there are none. A language that the server
    does not know stands for English."""

    target: Code | None = None
    model: str | None = None

    def without_effect(self) -> list[str]:
        return ["model"] if self.model else []


async def read_request(request: Request, model: type[_Model]) -> _Model:
    """Read the fields from the body, or from the query string. Raises a ServiceError."""
    fields = await read_fields(request, server_state(request).limits)
    return fields.parse(request, model, quiet=_SYSTEM_PARAMETERS)
