"""Settings: everything an operator may choose, read once and frozen.

Precedence: flags, DRAGOMAN_* environment variables, files of secrets, a TOML file, defaults. Only
what wires a process reads this record; everything else gets plain values.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    ByteSize,
    Field,
    SecretStr,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)

from model.checkpoint.bundled import BUNDLED_NAMES, bundled_checkpoint
from service.settings.values import (
    HEADERS,
    NOT_CUT_TO_NOTHING,
    SEPARATED,
    Bytes,
    GivenDirectory,
    GivenFile,
    GivenPath,
    GivenText,
    HostNames,
    Names,
    Networks,
    Origins,
    Url,
)

BUNDLED = tuple(bundled_checkpoint(name) for name in BUNDLED_NAMES)
DEVICE_PATTERN = r"^(auto|cpu|cuda(:\d{1,3}(,\d{1,3})*)?)$"
_NEEDS = {
    "api_keys": "database",
    "suggestions": "database",
    "preload": "models_dir",
    "metrics_host": "metrics_port",
    "otlp_headers": "otlp_endpoint",
}
"""What has no effect without another setting."""
LogLevel = Literal["critical", "error", "warning", "info", "debug"]
LogFormat = Literal["auto", "json", "text"]


class _Described(BaseSettings):
    """The docstring of a setting is its description, in one line."""

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        super().__pydantic_init_subclass__(**options)
        for field in cls.model_fields.values():
            field.description = " ".join((field.description or "").split())


class Settings(_Described):
    """One server's settings. Raises pydantic's ValidationError for a value out of bounds, and
    ValueError for an unreadable file."""

    model_config = SettingsConfigDict(
        env_prefix="DRAGOMAN_", frozen=True, use_attribute_docstrings=True
    )

    config: GivenFile | None = None
    """TOML file with settings, under the same names: max_slots = 32."""
    secrets_dir: GivenDirectory | None = None
    """Directory of files with a setting each, such as dragoman_otlp_headers."""
    model: Annotated[tuple[Path, ...], Field(min_length=1), NoDecode, SEPARATED] = BUNDLED
    """Models to serve: bundled names, checkpoint directories, or models to import (a directory, an
    archive or a Hub id). Separate several with commas."""
    models_dir: GivenDirectory | None = None
    """Directory of models that are loaded on demand. Without the setting model, no other is served;
    without both, ~/.local/share/dragoman/models beside the bundled ones."""
    memory_limit: Bytes = ByteSize(0)
    """Memory for all models together, such as 4GiB, on each device. 0: a part of what is free."""
    preload: Names = ()
    """Models of the directory that always stay in memory, separated by commas."""
    host: GivenText = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines in, :: by IPv6 too."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """TCP port; 0 picks a free one."""
    share_port: bool = False
    """Share the port with other servers of this machine that set this too."""
    device: Annotated[str, Field(pattern=DEVICE_PATTERN)] = "auto"
    """auto (a GPU if there is one), cpu, cuda, cuda:1 (the second GPU) or cuda:0,1 (both)."""
    precision: Literal["auto", "float32", "bfloat16", "float16", "int8"] = "auto"
    """float32, bfloat16, int8 (CPU) or float16 (GPU). auto: the fastest on a CPU, float16 on a GPU
    unless the model overflows."""
    backend: Literal["auto", "native", "eager", "graphs"] = "auto"
    """native (C++), eager (plain PyTorch) or graphs (PyTorch as CUDA graphs). auto: native on a
    CPU, graphs on a GPU."""
    instruction_set: Literal[
        "auto",
        "baseline",
        "sse4",
        "avx2",
        "avx512",
        "avxvnni",
        "vnni",
        "amx",
        "neon",
        "dotprod",
        "i8mm",
    ] = "auto"
    """Instructions of the C++ code: baseline, sse4, avx2, avx512, avxvnni, vnni, amx (x86-64),
    neon, dotprod, i8mm (Arm). auto: the fastest that the CPU has."""
    one_process: bool = False
    """Do everything in one process."""
    engines: Annotated[int, Field(ge=0, le=256)] = 0
    """Engine processes, each with a share of cores, GPU memory and limits. 0: one for each GPU,
    else for each two cores, or four if a model is large, and for each 256 MiB; none with PyTorch
    on a CPU."""
    front_ends: Annotated[int, Field(ge=0, le=256)] = 0
    """Processes for HTTP and texts. 0: one for each engine; for a GPU eight, at most half of the
    cores."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """CPU threads of the model. 0: one per core, within the container's share."""
    workers: Annotated[int, Field(ge=0, le=64)] = 0
    """Batches that a CPU decodes side by side. 0: two on two or more cores. A GPU has one."""
    max_slots: Annotated[int, Field(ge=0, le=65536)] = 0
    """Sentences of a model at the same time. 0: 64 on a CPU, 4096 hypotheses on each GPU, 1024 of a
    large model, fewer if memory is short."""
    max_rows: Annotated[int, Field(ge=0, le=65536)] = 0
    """Hypotheses of a model at the same time; a beam of 4 takes 4. 0: enough for max_slots."""
    gpu_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of each GPU's memory that the server may take."""
    max_source_tokens: Annotated[int, Field(ge=0, le=65536), NOT_CUT_TO_NOTHING] = 0
    """Tokens of a sentence, at least 16; longer sentences are cut. 0: the checkpoint's own limit,
    at most 128."""
    max_target_tokens: Annotated[int, Field(ge=16, le=65536)] = 256
    """Tokens of a translated sentence, at most the model's positions."""
    max_characters: Annotated[int, Field(ge=1, le=10**9)] = 20_000
    """Characters of all texts of a request together."""
    max_texts: Annotated[int, Field(ge=1, le=10**6)] = 500
    """Texts of a request."""
    max_body_bytes: Annotated[int, Field(ge=1024, le=2**31)] = 1_048_576
    """Bytes of a request's body."""
    max_bodies_bytes: Annotated[int, Field(ge=1024, le=2**40)] = 268_435_456
    """Bytes of all bodies that arrive at the same time; beyond that 503."""
    max_document_bytes: Annotated[int, Field(ge=1024, le=2**31)] = 10_485_760
    """Bytes of a file to translate."""
    max_document_characters: Annotated[int, Field(ge=1, le=10**9)] = 500_000
    """Characters to translate in a file."""
    max_documents: Annotated[int, Field(ge=1, le=10**5)] = 64
    """Files that wait or are in work; beyond that 503, and 429 for a client with three quarters."""
    documents_dir: GivenPath | None = None
    """Directory for files and their translations, for this server alone. Without it they are
    temporary and end with the server."""
    max_documents_bytes: Annotated[int, Field(ge=4096, le=2**50)] = 536_870_912
    """Bytes of all files there: half for those that wait or are in work, half for translations."""
    documents_seconds: Annotated[float, Field(gt=0, le=10**7)] = 3600.0
    """How long a job may take, and how long a translated file waits for its download."""
    max_beam_size: Annotated[int, Field(ge=1, le=64)] = 16
    """Widest beam that a request may ask for; at most max_rows."""
    max_waiting_sentences: Annotated[int, Field(ge=1, le=10**7)] = 2048
    """Sentences that may wait for a slot; beyond that 503, except within a client's share. An empty
    queue accepts one request of any size."""
    max_waiting_tokens: Annotated[int, Field(ge=1, le=10**9)] = 800_000
    """Likewise, tokens that the waiting sentences may need: to encode, and to decode at most for
    each hypothesis."""
    max_prefill_tokens: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Source tokens that are encoded between two steps. 0: 1024 on a CPU, 1024 to 8192 on a GPU."""
    scheduling: Literal["short-first", "first-come"] = "short-first"
    """short-first: long work pauses for short work. first-come: each step takes all sentences."""
    cache_bytes: Annotated[int, Field(ge=0, le=2**40)] = 33_554_432
    """Memory for finished sentences, which answer identical ones. Identical running sentences are
    computed once. 0 turns both off."""
    deadline_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """Deadline of requests that do not set their own. 0: none."""
    drain_seconds: Annotated[float, Field(ge=0, le=3600)] = 30.0
    """Time to finish running work after SIGTERM."""
    max_streams: Annotated[int, Field(ge=1, le=10**6)] = 64
    """Requests in progress on one websocket."""
    cors_origins: Origins = ()
    """Origins whose web pages may use the server too, such as https://example.org, separated by
    commas; * allows every page."""
    allowed_hosts: HostNames = ()
    """Host names of the server, such as translate.example.org, separated by commas; * allows any.
    localhost, host and IP addresses are always allowed, and others too unless the server is on a
    loopback address or this is set."""
    database: GivenPath | None = None
    """SQLite file for API keys, glossaries and suggestions, made if it is missing."""
    max_glossaries: Annotated[int, Field(ge=0, le=10**6)] = 100
    """Stored glossaries of an API key, or of all clients without keys. 0: no limit."""
    max_glossary_terms: Annotated[int, Field(ge=0, le=10**9)] = 100_000
    """Terms of these glossaries together. 0: no limit."""
    api_keys: Literal["off", "optional", "required"] = "off"
    """off ignores keys, optional refuses wrong ones, required translates nothing without a key.
    Needs database."""
    requests_per_minute: Annotated[int, Field(ge=0, le=10**9)] = 0
    """Requests of a client (a key, or an address without one) a minute. 0: no limit."""
    characters_per_minute: Annotated[int, Field(ge=0, le=10**12)] = 0
    """Characters of a client a minute; a wider beam multiplies them. 0: no limit."""
    concurrent_requests: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Requests of a client in progress at the same time. 0: no limit."""
    limits_url: SecretStr | None = None
    """Redis in which several servers count the limits of a minute together, such as
    redis://localhost:6379/0. Needs dragoman[redis]."""
    trusted_proxies: Networks = ()
    """Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed,
    separated by commas, such as 10.0.0.0/8."""
    metrics_port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """TCP port for /metrics and the probes; the main port then has no /metrics."""
    metrics_host: GivenText = "127.0.0.1"
    """Address of metrics_port, with any name unless it is a loopback address."""
    api_docs: bool = True
    """Serve /docs, /openapi.json and /spec."""
    suggestions: bool = False
    """Use approved suggestions and translation memories, and store what clients send to /suggest.
    Needs database."""
    stream_idle_seconds: Annotated[float, Field(gt=0, le=10**6)] = 300.0
    """Close a websocket after this long without a request."""
    page: bool = True
    """Serve the page at /; false serves only the API."""
    page_engine: bool = True
    """Show the engine's load and speed on the page."""
    log_level: LogLevel = "info"
    """critical, error, warning, info or debug. Texts are never logged."""
    log_format: LogFormat = "auto"
    """text, json, or auto: text on a terminal, otherwise json."""
    otlp_endpoint: Url | None = None
    """Where to send traces by OTLP over HTTP, such as http://localhost:4318/v1/traces. Needs
    dragoman[otel]."""
    otlp_headers: Annotated[SecretStr | None, HEADERS] = None
    """Headers for the traces, name=value separated by commas."""

    @property
    def prefers_directory(self) -> bool:
        """Whether the models of the directory take the pairs that others have too: these are the
        bundled ones, which nobody named."""
        return self.model == BUNDLED

    @property
    def pinned_models(self) -> tuple[Path, ...]:
        """The models that are loaded at the start; the bundled ones only without a directory."""
        return () if self.models_dir and "model" not in self.model_fields_set else self.model

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
            files.append(_Secrets(settings_cls, Path(directory)))
        if (config := given.get("config")) and Path(config).is_file():
            files.append(InitSettingsSource(settings_cls, _read_toml(Path(config))))
        return init_settings, env_settings, *files

    @model_validator(mode="after")
    def _what_has_an_effect_has_what_it_needs(self) -> Self:
        for name, needed in _NEEDS.items():
            if self._is_changed(name) and not getattr(self, needed):
                value = f" {self.api_keys}" if name == "api_keys" else ""
                raise ValueError(f"{name}{value} needs the setting {needed}")
        return self

    def _is_changed(self, name: str) -> bool:
        """Whether the setting is not its default."""
        value = getattr(self, name)
        return bool(value) and value != Settings.model_fields[name].default

    @model_validator(mode="after")
    def _one_process_has_no_others(self) -> Self:
        for name in ("engines", "front_ends"):
            if self.one_process and getattr(self, name):
                raise ValueError(f"{name} must be 0 with one_process, got {getattr(self, name)}")
        return self

    @model_validator(mode="after")
    def _ports_must_differ(self) -> Self:
        if self.port == self.metrics_port and self.host == self.metrics_host:
            raise ValueError(f"metrics_port must not be port ({self.port})")
        return self

    @model_validator(mode="after")
    def _the_largest_body_must_have_room(self) -> Self:
        if self.max_bodies_bytes < self.max_body_bytes:
            raise ValueError(
                f"max_bodies_bytes must be at least max_body_bytes ({self.max_body_bytes}), "
                f"got {self.max_bodies_bytes}"
            )
        return self

    @model_validator(mode="after")
    def _the_largest_file_must_have_room(self) -> Self:
        if self.max_documents_bytes < 4 * self.max_document_bytes:
            raise ValueError(
                f"max_documents_bytes must be at least 4 times max_document_bytes "
                f"({self.max_document_bytes}), got {self.max_documents_bytes}"
            )
        return self

    @model_validator(mode="after")
    def _beam_must_fit_into_the_rows(self) -> Self:
        if 0 < self.max_rows < self.max_beam_size:
            raise ValueError(
                f"max_beam_size must be at most max_rows ({self.max_rows}), "
                f"got {self.max_beam_size}"
            )
        return self


def default_models_directory() -> Path:
    """In the user's XDG data directory."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "dragoman" / "models"


class _Secrets(SecretsSettingsSource):
    """The settings in the files of a directory, read without a byte order mark."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        value, key, is_complex = super().get_field_value(field, field_name)
        is_text = isinstance(value, str)
        return value.removeprefix("\ufeff").strip() if is_text else value, key, is_complex


def _read_toml(path: Path) -> dict[str, Any]:
    """The settings of a file; raises ValueError with one sentence."""
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"setting config: {path} is not UTF-8: byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"setting config: {path} is not TOML: {error}") from error
    for name in ("config", "secrets_dir"):
        if name in settings:
            raise ValueError(f"setting {name}: only a flag or a variable can set it, not {path}")
    return settings
