"""Settings: everything an operator may choose, read once and frozen.

Precedence: flags, DRAGOMAN_* environment variables, files of secrets, a TOML file, defaults. Only
service.app and service.commands read this record; everything else gets plain values.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import (
    BeforeValidator,
    DirectoryPath,
    Field,
    FilePath,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from model.bundled import BUNDLED_NAMES, bundled_checkpoint
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from service.setting_files import read_secrets, read_toml

BUNDLED = tuple(bundled_checkpoint(name) for name in BUNDLED_NAMES)
_HOST_NAME = re.compile(r"[a-z0-9._-]{1,253}")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9._:\[\]-]{1,255}")
DEVICE_PATTERN = r"^(auto|cpu|cuda(:\d{1,3}(,\d{1,3})*)?)$"
LogLevel = Literal["critical", "error", "warning", "info", "debug"]
LogFormat = Literal["auto", "json", "text"]


def _separated(value: object) -> object:
    """The parts of "a,b", or of several such strings."""
    texts = [value] if isinstance(value, str | Path) else value
    if not isinstance(texts, list | tuple):
        return value
    return [part for text in texts for part in str(text).split(",") if part]


class Settings(BaseSettings):
    """One server's settings. Raises pydantic's ValidationError for a value out of bounds, and
    ValueError for an unreadable file."""

    model_config = SettingsConfigDict(env_prefix="DRAGOMAN_", frozen=True)

    config: FilePath | None = Field(
        None, description="TOML file with settings, named as here: max_slots = 32."
    )
    secrets_dir: DirectoryPath | None = Field(
        None,
        description="Directory with a file for each setting that is secret, such as "
        "dragoman_otlp_headers.",
    )
    model: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_separated)] = Field(
        BUNDLED,
        min_length=1,
        description="Checkpoint directory, name of a bundled checkpoint, or a model to import: a "
        "directory, archive or Hub id. Several are separated by commas, or the flag is repeated.",
    )
    host: str = Field(
        "127.0.0.1", description="Address to listen on; 0.0.0.0 lets other machines in."
    )
    port: int = Field(8000, ge=0, le=65535, description="TCP port; 0 picks a free one.")
    share_port: bool = Field(
        False,
        description="Let other servers of this machine that do the same listen on the same port; "
        "the system divides the connections among them. Files and documents stay with the server "
        "that took them.",
    )
    device: str = Field(
        "auto",
        pattern=DEVICE_PATTERN,
        description="Where the model runs: auto, cpu, cuda, cuda:1 (the second GPU), or cuda:0,1 "
        "(a worker on each); auto prefers a GPU.",
    )
    precision: Literal["auto", "float32", "bfloat16", "float16", "int8"] = Field(
        "auto",
        description="float32, bfloat16, float16 (GPU) or int8 (CPU); auto is what is fastest on a "
        "CPU, and float16 on a GPU unless the model overflows in it.",
    )
    backend: Literal["auto", "native", "eager", "graphs", "compiled"] = Field(
        "auto",
        description="Who computes: native (our own CPU code), eager (PyTorch), graphs (PyTorch "
        "on a GPU, steps recorded) or compiled (the same, fused by torch.compile); auto is native "
        "on a CPU if it was built, and graphs on a GPU.",
    )
    instruction_set: Literal["auto", "baseline", "avx2", "avx512", "vnni", "amx"] = Field(
        "auto",
        description="Instructions of the native CPU code: baseline, avx2, avx512, vnni, amx, or "
        "auto, the fastest that the CPU has. Other commands read the environment variable.",
    )
    threads: int = Field(
        0, ge=0, le=1024, description="CPU threads of the model; 0 leaves the choice to torch."
    )
    workers: int = Field(
        0,
        ge=0,
        le=64,
        description="Batches that the CPU decodes side by side, each with a share of cores, slots "
        "and rows; 0: two if it has two cores. Each GPU has one.",
    )
    max_slots: int = Field(
        0,
        ge=0,
        le=65536,
        description="Sentences of a model translated at the same time. 0: 64 on the CPU, and as "
        "many as make 1024 hypotheses on each GPU; fewer if the free memory is small.",
    )
    max_rows: int = Field(
        0,
        ge=0,
        le=65536,
        description="Hypotheses of a model held at the same time; a beam of 4 takes 4. 0: enough "
        "for max_slots of the checkpoint's own beams, on the CPU at least of 4.",
    )
    gpu_share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Part of each GPU's memory to take at most, where several processes share it.",
    )
    max_source_tokens: int = Field(
        0,
        ge=0,
        le=65536,
        description="Tokens of one sentence, at least 16; longer ones are cut. 0: as many as the "
        "checkpoint asks for, at most 128. Never above the model's positions.",
    )
    max_target_tokens: int = Field(
        256,
        ge=16,
        le=65536,
        description="Tokens of one translation. Never above the model's bound.",
    )
    max_characters: int = Field(
        20_000, ge=1, le=10**9, description="Characters of a request's texts together."
    )
    max_texts: int = Field(500, ge=1, le=10**6, description="Texts in one request.")
    max_body_bytes: int = Field(
        1_048_576, ge=1024, le=2**31, description="Bytes of a request's body."
    )
    max_bodies_bytes: int = Field(
        268_435_456,
        ge=1024,
        le=2**40,
        description="Bytes of all bodies together that are being received; more get 503.",
    )
    max_document_bytes: int = Field(
        10_485_760, ge=1024, le=2**31, description="Bytes of a file to translate."
    )
    max_document_characters: int = Field(
        500_000, ge=1, le=10**9, description="Characters of a file's texts to translate."
    )
    max_beam_size: int = Field(
        16,
        ge=1,
        le=64,
        description="Largest beam a request may ask for; at most max_rows, unless that is 0.",
    )
    max_waiting_sentences: int = Field(
        2048,
        ge=1,
        le=10**7,
        description="Sentences that may wait for a slot; beyond that the answer is 503. "
        "An empty line takes any one request.",
    )
    max_waiting_tokens: int = Field(
        65_536,
        ge=1,
        le=10**9,
        description="Source tokens of sentences that may wait; beyond that the answer is 503.",
    )
    max_prefill_tokens: int = Field(
        0,
        ge=0,
        le=10**6,
        description="Source tokens encoded between two decoding steps. 0: 1024 on the CPU, 1024 to "
        "8192 on a GPU by the encoder's size.",
    )
    scheduling: Literal["short-first", "first-come"] = Field(
        "short-first",
        description="short-first: steps take batches of bounded cost, short work first, and long "
        "work is set aside meanwhile. first-come: each step takes all sentences.",
    )
    cache_bytes: int = Field(
        33_554_432,
        ge=0,
        le=2**40,
        description="Memory for finished sentences, divided between the models. The same sentence "
        "with the same options is answered from it. 0: none, and equal sentences that are "
        "translated at the same time are computed each by itself.",
    )
    deadline_seconds: float = Field(
        0.0, ge=0, le=3600, description="A request's deadline unless it has its own; 0 is none."
    )
    drain_seconds: float = Field(
        30.0, ge=0, le=3600, description="Time to finish running work after SIGTERM."
    )
    max_streams: int = Field(
        64, ge=1, le=10**6, description="Requests in progress on one websocket."
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_separated)] = Field(
        (),
        description="Web pages that may use the server from a browser, by origin, such as "
        "https://example.org, separated by commas; * is every page. The server's own pages "
        "always may.",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_separated)] = Field(
        (),
        description="Names by which clients call the server, besides localhost and IP addresses, "
        "such as translate.example.org, separated by commas; * is any name. Without it a server "
        "on a loopback address knows only the name in host, and any other server every name.",
    )
    database: Path | None = Field(
        None,
        description="SQLite file for what is kept between starts: API keys, glossaries and "
        "suggestions; created if it is missing. Without it none of them can be stored.",
    )
    max_glossaries: int = Field(
        100,
        ge=0,
        le=10**6,
        description="Stored glossaries of an API key, or of all clients together without keys. 0: "
        "no limit.",
    )
    max_glossary_terms: int = Field(
        100_000, ge=0, le=10**9, description="Terms of these glossaries together. 0: no limit."
    )
    api_keys: Literal["off", "optional", "required"] = Field(
        "off",
        description="optional: who sends a key of `dragoman keys` has that key's limits, and a "
        "wrong key is refused. required: nothing is translated without a key. off: keys that "
        "clients send are ignored. Needs database.",
    )
    requests_per_minute: int = Field(
        0,
        ge=0,
        le=10**9,
        description="Requests of one client in any 60 seconds: of a key, or of an address without "
        "one; beyond that the answer is 429. A key may have a limit of its own. 0: no limit.",
    )
    characters_per_minute: int = Field(
        0,
        ge=0,
        le=10**12,
        description="Characters of one client in any 60 seconds, as above; a request for wider "
        "beams than usual counts as many times. At least max_characters, or longer texts cannot "
        "be sent. 0: no limit.",
    )
    concurrent_requests: int = Field(
        0,
        ge=0,
        le=10**6,
        description="Requests of one client in progress at the same time, as above. 0: no limit.",
    )
    limits_url: SecretStr | None = Field(
        None,
        description="Redis that counts the limits of a minute for several servers together, such "
        "as redis://localhost:6379/0. Needs dragoman[redis]. Without it each server counts.",
    )
    trusted_proxies: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_separated)] = Field(
        (),
        description="Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto "
        "tell the client's address and scheme, separated by commas, such as 10.0.0.0/8.",
    )
    metrics_port: int | None = Field(
        None,
        ge=1,
        le=65535,
        description="TCP port for /metrics and the probes alone; then the other port has no "
        "/metrics.",
    )
    metrics_host: str = Field("127.0.0.1", description="Address to listen on for metrics_port.")
    api_docs: bool = Field(True, description="Serve /docs, /openapi.json and /spec.")
    suggestions: bool = Field(
        False,
        description="Store better translations that clients send to /suggest. `dragoman "
        "suggestions approve` puts them into use. Needs database.",
    )
    stream_idle_seconds: float = Field(
        300.0, gt=0, le=10**6, description="A websocket that asks nothing for this long is closed."
    )
    page: bool = Field(True, description="Serve the page at /; false serves only the API.")
    page_engine: bool = Field(
        True, description="Show on the page how many sentences run and how fast, without texts."
    )
    log_level: LogLevel = Field(
        "info", description="critical, error, warning, info or debug. Texts are never logged."
    )
    log_format: LogFormat = Field(
        "auto", description="json, text or auto: text on a terminal, else a JSON object a line."
    )
    otlp_endpoint: str | None = Field(
        None,
        description="Where traces go by OTLP over HTTP, such as http://localhost:4318/v1/traces. "
        "Needs dragoman[otel].",
    )
    otlp_headers: SecretStr | None = Field(
        None, description="Headers for the traces, name=value separated by commas."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only flags and the environment can set the paths of the files."""
        given = env_settings() | init_settings()
        files: list[PydanticBaseSettingsSource] = []
        if (directory := given.get("secrets_dir")) and Path(directory).is_dir():
            files.append(read_secrets(settings_cls, Path(directory)))
        if (config := given.get("config")) and Path(config).is_file():
            files.append(InitSettingsSource(settings_cls, read_toml(Path(config))))
        return init_settings, env_settings, *files

    @field_validator("cors_origins")
    @classmethod
    def _an_origin_has_no_path(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ValueError(f"an origin must be * or like https://example.org, not {origin!r}")
        return origins

    @field_validator("allowed_hosts")
    @classmethod
    def _a_host_is_a_name(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if host != "*" and not _HOST_NAME.fullmatch(host):
                raise ValueError(f"a host must be * or like translate.example.org, not {host!r}")
        return hosts

    @field_validator("trusted_proxies")
    @classmethod
    def _a_proxy_is_an_address_or_a_network(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                raise ValueError(
                    f"a proxy must be an address or a network, not {proxy!r}"
                ) from None
        return proxies

    @field_validator("max_source_tokens")
    @classmethod
    def _a_sentence_must_not_be_cut_to_nothing(cls, tokens: int) -> int:
        if 0 < tokens < LEAST_SOURCE_TOKENS:
            raise ValueError(f"must be 0 or at least {LEAST_SOURCE_TOKENS}")
        return tokens

    @model_validator(mode="after")
    def _what_is_stored_needs_a_database(self) -> Self:
        if self.database is None and self.api_keys != "off":
            raise ValueError(f"api_keys {self.api_keys} needs the setting database")
        if self.database is None and self.suggestions:
            raise ValueError("suggestions needs the setting database")
        return self

    @model_validator(mode="after")
    def _beam_must_fit_into_the_rows(self) -> Self:
        if 0 < self.max_rows < self.max_beam_size:
            raise ValueError(
                f"max_beam_size must be at most max_rows ({self.max_rows}), "
                f"got {self.max_beam_size}"
            )
        return self


_Settings = TypeVar("_Settings", bound=Settings)


def read_settings(kind: type[_Settings], given: Mapping[str, Any]) -> _Settings:
    """Settings from `given` and the other sources; raises ValueError with one sentence."""
    try:
        with warnings.catch_warnings(action="error", category=UserWarning):
            return kind(**given)
    except ValidationError as error:
        raise ValueError(_sentence(kind, error.errors()[0])) from None
    except SettingsError as error:  # pydantic could not read a file
        reason = error.__cause__ or error
        if isinstance(reason, UnicodeDecodeError):
            reason = ValueError(f"a file is not UTF-8: byte {reason.start}")
        raise ValueError(f"setting secrets_dir: {reason}") from None
    except UserWarning as warning:  # pydantic would ignore a secret
        raise ValueError(f"setting secrets_dir: {warning}") from None


def _sentence(kind: type[Settings], error: ErrorDetails) -> str:
    """The message and the value received; omits values of secrets, also of misspelt names."""
    message = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return message
    name = ".".join(map(str, error["loc"]))
    nearest = difflib.get_close_matches(str(error["loc"][0]), kind.model_fields, n=1)
    is_secret = bool(nearest) and _is_secret(kind.model_fields[nearest[0]])
    return f"setting {name}: {message}" + ("" if is_secret else f" (got {error['input']!r})")


def _is_secret(field: FieldInfo) -> bool:
    return SecretStr in (field.annotation, *get_args(field.annotation))
