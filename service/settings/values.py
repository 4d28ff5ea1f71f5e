"""The kinds of values that settings have, and what is wrong with a value."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, ByteSize, DirectoryPath, FilePath, SecretStr
from pydantic_core import PydanticCustomError
from pydantic_settings import NoDecode

from model.decoding.sentence import LEAST_SOURCE_TOKENS
from service.errors import shown

_WHOLE_SIZE = re.compile(r"\s*\d*\.?\d+\s*[A-Za-z]*\s*")
_HOST_NAME = re.compile(r"[a-z0-9._-]{1,253}")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9._:\[\]-]{1,255}")
_HEADER_NAME = re.compile(r"[!#$&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[ !#-+\--:<-\[\]-~]*")
"""What OpenTelemetry takes; what it does not take it logs, with the value."""


def _separated(value: object) -> object:
    """The parts of "a, b", or of several such strings."""
    texts = [value] if isinstance(value, str | Path) else value
    if not isinstance(texts, list | tuple):
        return value
    parts = [part.strip() for text in texts for part in str(text).split(",")]
    return list(filter(None, parts))


def _given(value: object) -> object:
    """An empty path would be the current directory, and no message shows an empty address."""
    if isinstance(value, str) and not value.strip():
        raise ValueError("must not be empty")
    return value


def _size(value: object) -> object:
    """Pydantic would read the beginning of a size, and "4,5GiB" as 4 bytes."""
    if isinstance(value, str) and not _WHOLE_SIZE.fullmatch(value):
        raise PydanticCustomError("byte_size", "not a size")
    return value


def _origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(
                f"an origin must be * or like https://example.org, not {shown(origin)}"
            )
    return origins


def _hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    for host in hosts:
        if host != "*" and not _HOST_NAME.fullmatch(host):
            raise ValueError(f"a host must be * or like translate.example.org, not {shown(host)}")
    return hosts


def _networks(proxies: tuple[str, ...]) -> tuple[str, ...]:
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError:
            raise ValueError(
                f"a proxy must be an address or a network such as 10.0.0.0/8, not {shown(proxy)}"
            ) from None
    return proxies


def _not_cut_to_nothing(tokens: int) -> int:
    if 0 < tokens < LEAST_SOURCE_TOKENS:
        raise ValueError(f"must be 0 or at least {LEAST_SOURCE_TOKENS}")
    return tokens


def _url(text: str) -> str:
    """Empty: none."""
    if text and not _is_url(text):
        raise ValueError("must be like http://localhost:4318/v1/traces")
    return text


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_whole and parts.scheme in ("http", "https") and text.isascii() and " " not in text


def _headers(secret: SecretStr | None) -> SecretStr | None:
    """The message must not show the value."""
    written = secret.get_secret_value() if secret else ""
    for header in filter(None, map(str.strip, written.split(","))):
        name, sign, value = header.partition("=")
        is_sendable = unquote(value).isascii() and unquote(value).isprintable()
        if not (sign and _HEADER_NAME.fullmatch(name.strip()) and is_sendable):
            raise ValueError("must be name=value, separated by commas")
        if not _HEADER_VALUE.fullmatch(value):
            raise ValueError('a value must be ASCII, with %22, %2C, %3B, %5C for " , ; \\')
    return secret


SEPARATED = BeforeValidator(_separated)
NOT_CUT_TO_NOTHING = AfterValidator(_not_cut_to_nothing)
HEADERS = AfterValidator(_headers)
_GIVEN = BeforeValidator(_given)
Bytes = Annotated[ByteSize, BeforeValidator(_size)]
GivenText = Annotated[str, _GIVEN]
GivenPath = Annotated[Path, _GIVEN]
GivenFile = Annotated[FilePath, _GIVEN]
GivenDirectory = Annotated[DirectoryPath, _GIVEN]
Url = Annotated[str, AfterValidator(_url)]
Names = Annotated[tuple[str, ...], NoDecode, SEPARATED]
Origins = Annotated[Names, AfterValidator(_origins)]
HostNames = Annotated[Names, AfterValidator(_hosts)]
Networks = Annotated[Names, AfterValidator(_networks)]
