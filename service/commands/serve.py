"""dragoman serve."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from model.checkpoint.bundled import BUNDLED_NAMES
from service.commands.process import fail, importing, without_collection
from service.settings import Settings, read_settings
from service.signals import end_at_once_on_sigterm

if TYPE_CHECKING:
    from fastapi import FastAPI

    from service.models.loading import LoadedModel
    from service.server import Server

_logger = logging.getLogger(__name__)
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _settings_options(command: _Command) -> _Command:
    """One flag per setting: DRAGOMAN_MAX_SLOTS is --max-slots."""
    for name, field in reversed(Settings.model_fields.items()):
        bounds = [f"{k} {v}" for m in field.metadata for k, v in _bounds(m)]
        default = ",".join(BUNDLED_NAMES) if name == "model" else field.default
        shown_default = "default none" if default == () else f"default {default}"
        extra = "; ".join([*bounds, shown_default, f"DRAGOMAN_{name.upper()}"])
        option = click.option(
            f"--{name.replace('_', '-')}",
            name,
            multiple=name == "model",
            help=f"{field.description} [{extra}]",
        )
        command = option(command)
    return command


def _bounds(constraint: object) -> list[tuple[str, object]]:
    names = {"ge": "at least", "le": "at most"}
    return [(names[k], getattr(constraint, k)) for k in names if hasattr(constraint, k)]


@click.command()
@_settings_options
def serve(**flags: str | tuple[str, ...] | None) -> None:
    """Serve checkpoints, or models that are imported first, over HTTP until interrupted.

    A request goes to the first model that has its pair of languages, or to two through a third
    language.

    Flags win over DRAGOMAN_* environment variables, these over a TOML file (--config), this over
    the defaults. Try it:

    \b
    curl -d 'q=你好' -d source=zh -d target=en http://127.0.0.1:8000/translate
    """
    end_at_once_on_sigterm()
    with without_collection():
        server, listeners = _made({name: value for name, value in flags.items() if value})
    server.run(sockets=listeners)


def _made(flags: dict[str, Any]) -> tuple[Server, list[socket.socket]]:
    """The server with its models loaded, and the sockets that it listens on."""
    settings = read_settings(Settings, flags)
    with importing():
        from service.app import create_app, drain
        from service.models.loading import load_models
        from service.observability.logs import configure_logs
        from service.server import Server, uvicorn_config

    configure_logs(settings.log_level, settings.log_format)
    models = load_models(settings)
    listeners = [_bind(settings.host, settings.port, is_shared=settings.share_port)]
    if settings.metrics_port is not None:
        listeners.append(_bind(settings.metrics_host, settings.metrics_port))
    app = create_app(_with_own_name(settings, listeners[0]), models)
    config = uvicorn_config(app, settings.max_body_bytes, settings.trusted_proxies)
    host, port = listeners[0].getsockname()[:2]
    _warn_if_not_compiled(models)
    served = ", ".join([*map(_described, models), *_described_store(app)])
    shown_host = f"[{host}]" if ":" in host else host
    _logger.info("dragoman serves %s at http://%s:%s", served, shown_host, port)
    shared = listeners[0] if settings.share_port else None
    return Server(config, lambda: drain(app, settings.drain_seconds), shared), listeners


def _warn_if_not_compiled(models: Sequence[LoadedModel]) -> None:
    from model.backends.native import NOT_COMPILED, is_available

    if not is_available() and any(model.device == "cpu" for model in models):
        _logger.warning(NOT_COMPILED)


def _described(model: LoadedModel) -> str:
    computed = " ".join(filter(None, (model.precision, model.instruction_set)))
    slots, rows = model.sizes
    return f"{model.name} on {model.device} ({computed}) with {slots} slots and {rows} rows"


def _described_store(app: FastAPI) -> list[str]:
    stored = app.state.server.models.num_stored
    return [f"{stored} models of the store on demand"] if stored else []


def _with_own_name(settings: Settings, listener: socket.socket) -> Settings:
    """On a loopback address only `host` names the server, unless the settings name hosts."""
    address = ipaddress.ip_address(listener.getsockname()[0])
    if settings.allowed_hosts or not address.is_loopback:
        return settings
    return settings.model_copy(update={"allowed_hosts": (settings.host.lower(),)})


def _bind(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """A listening socket; a port in use fails before the server starts, unless both share it."""
    from service.server import listening_socket

    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return listening_socket(address, family, is_shared=is_shared)
    except OSError as error:
        fail(f"cannot listen on {host} port {port}: {error.strerror or error}")
    except ValueError as error:  # no host name, or the system cannot share ports
        fail(f"cannot listen on {host} port {port}: {error}")
