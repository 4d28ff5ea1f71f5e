"""dragoman serve."""

from __future__ import annotations

import errno
import functools
import glob
import ipaddress
import logging
import socket
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from model.checkpoint.bundled import BUNDLED_NAMES
from service.commands.process import fail, importing, without_collection
from service.settings import Settings, default_models_directory
from service.settings.reading import read_settings
from service.signals import end_at_once_on_sigterm

if TYPE_CHECKING:
    from model.backends.shared_files import SharedFiles
    from service.models.loading import LoadedModel
    from service.processes.topology import Topology

_logger = logging.getLogger(__name__)
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _settings_options(command: _Command) -> _Command:
    """One flag per setting: DRAGOMAN_MAX_SLOTS is --max-slots."""
    for name, field in reversed(Settings.model_fields.items()):
        bounds = [f"{k} {v}" for m in field.metadata for k, v in _bounds(m)]
        default = f"default {shown_default(name, field.default)}"
        extra = "; ".join([*bounds, default, f"DRAGOMAN_{name.upper()}"])
        option = click.option(
            f"--{name.replace('_', '-')}",
            name,
            multiple=name == "model",
            help=f"{field.description} [{extra}]",
        )
        command = option(command)
    return command


def shown_default(name: str, value: object) -> str:
    """The default of a setting as it is written in a flag."""
    if name == "model":
        return ",".join(BUNDLED_NAMES)
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value in ((), None) else str(value)


def _bounds(constraint: object) -> list[tuple[str, object]]:
    names = {"ge": "at least", "le": "at most"}
    return [(names[k], getattr(constraint, k)) for k in names if hasattr(constraint, k)]


@click.command()
@_settings_options
def serve(**flags: str | tuple[str, ...] | None) -> None:
    """Serve models over HTTP until interrupted.

    A request goes to the first model that has its pair of languages, or to two through a third
    language.

    Flags win over DRAGOMAN_* environment variables, these over a TOML file (--config), this over
    the defaults. Try it:

    \b
    curl -d 'q=你好' -d source=zh -d target=en http://127.0.0.1:8000/translate
    """
    end_at_once_on_sigterm()
    with without_collection():
        run = _made({name: value for name, value in flags.items() if value not in (None, ())})
    raise SystemExit(run())


def _made(flags: dict[str, Any]) -> Callable[[], int]:
    """What serves with the models that are loaded, and returns the exit code."""
    settings = _with_pulled_models(read_settings(Settings, flags))
    with importing():
        from service.models.loading import load_models
        from service.observability.logs import UnqueuedStream, configure_logs
        from service.processes.topology import topology_of

    topology = topology_of(settings)
    stream = UnqueuedStream() if topology.engines else None
    configure_logs(settings.log_level, settings.log_format, stream)
    if topology.engines:
        return _several(settings, topology)
    models = load_models(settings)
    _warn_if_not_compiled(models)
    (listeners,) = _listeners(settings)
    return _one(_with_own_name(settings, listeners[0]), models, listeners)


def _with_pulled_models(settings: Settings) -> Settings:
    """Beside the bundled models those of the default directory, if it has any and the settings
    name neither models nor a directory."""
    directory = default_models_directory()
    is_named = {"model", "models_dir"} & settings.model_fields_set
    if is_named or not any(glob.iglob(f"{glob.escape(str(directory))}/*/")):
        return settings
    return settings.model_copy(update={"model": settings.model, "models_dir": directory})


def _one(
    settings: Settings, models: Sequence[LoadedModel], listeners: list[socket.socket]
) -> Callable[[], int]:
    """Everything in this process."""
    from service.app import create_app, drain
    from service.server import Server, uvicorn_config

    app = create_app(settings, models)
    config = uvicorn_config(app, settings.max_body_bytes, settings.trusted_proxies)
    described = [*(one.summary for one in models), *_on_demand(settings)]
    shared = listeners[0] if settings.share_port else None
    server = Server(config, lambda: drain(app, settings.drain_seconds), shared)
    server.tell_started = functools.partial(_say_what_is_served, listeners[0], described)

    def run() -> int:
        server.run(sockets=listeners)
        return 0

    return run


def _several(settings: Settings, topology: Topology) -> Callable[[], int]:
    """A parent that runs engines, front ends, and a hub if these are several."""
    from service.commands.server_processes import ServerProcesses
    from service.commons.local import spool_directory
    from service.models.loading import describe_models, load_models

    loaded: Sequence[LoadedModel] | None = None
    if topology.shares_weights:
        loaded = load_models(topology.engines[0])
        _warn_if_not_compiled(loaded)
        for model in loaded:
            model.read_weights()
    models = describe_models(topology.engines[0]) if loaded is None else loaded
    listeners = _listeners(settings, topology.num_front_ends)
    settings = _with_own_name(settings, listeners[0][0])
    directory = spool_directory(settings)  # one for all processes
    settings = settings.model_copy(update={"documents_dir": directory})
    processes = ServerProcesses(
        settings,
        models,
        loaded,
        {f"engine-{i}": own for i, own in enumerate(topology.engines)},
        {f"front-end-{i}": own for i, own in enumerate(listeners)},
        _shared_files(settings, topology),
    )
    described = [one.name for one in models] if loaded is None else [one.summary for one in loaded]
    described += _on_demand(settings)
    say = functools.partial(_say_what_is_served, listeners[0][0], described)
    return processes.supervisor(say).run


def _shared_files(settings: Settings, topology: Topology) -> SharedFiles | None:
    """Where several engines have the weights of models on demand once."""
    from model.backends.shared_files import SharedFiles

    count = len(topology.engines)
    if settings.models_dir is None or count == 1 or not topology.shares_weights:
        return None
    try:
        return SharedFiles(count)
    except OSError as error:
        _logger.warning("each engine has its own weights of models on demand: %s", error)
        return None


def _listeners(settings: Settings, count: int = 1) -> list[list[socket.socket]]:
    """What each of so many front ends listens on: a socket of its own, among which the system
    divides the connections, and for metrics the one of all. Those of a port that other servers
    have, too, listen once the server is ready."""
    host, port, is_shared = settings.host, settings.port, settings.share_port
    if count > 1 and not is_shared:
        with _bind(host, port) as alone:  # fails if others listen there
            port = alone.getsockname()[1]
    own = [_bind(host, port, is_shared=is_shared or count > 1, listens=not is_shared)]
    port = own[0].getsockname()[1]
    own += [_bind(host, port, is_shared=True, listens=not is_shared) for _ in range(count - 1)]
    metrics = []
    if settings.metrics_port is not None:
        metrics.append(_bind(settings.metrics_host, settings.metrics_port, "metrics-port"))
    return [[one, *metrics] for one in own]


def _on_demand(settings: Settings) -> list[str]:
    return [f"the models of {settings.models_dir} on demand"] if settings.models_dir else []


def _say_what_is_served(listener: socket.socket, described: Iterable[str]) -> None:
    host, port = listener.getsockname()[:2]
    shown_host = f"[{host}]" if ":" in host else host
    _logger.info("dragoman serves %s at http://%s:%s", ", ".join(described), shown_host, port)


def _warn_if_not_compiled(models: Sequence[LoadedModel]) -> None:
    from model.backends.native import NOT_COMPILED, is_available

    if not is_available() and any(model.device == "cpu" for model in models):
        _logger.warning(NOT_COMPILED)


def _with_own_name(settings: Settings, listener: socket.socket) -> Settings:
    """On a loopback address only `host` names the server, unless the settings name hosts."""
    address = ipaddress.ip_address(listener.getsockname()[0])
    if settings.allowed_hosts or not address.is_loopback:
        return settings
    return settings.model_copy(update={"allowed_hosts": (settings.host.lower(),)})


def _bind(
    host: str, port: int, setting: str = "port", *, is_shared: bool = False, listens: bool = True
) -> socket.socket:
    """A listening socket, or with `listens` false one that will, by IPv4 if the host has both kinds
    of addresses, as localhost usually has; a port in use fails before the server starts, unless
    both share it. `setting`: the one that takes another port."""
    from service.server import bound_socket, listening_socket

    make = listening_socket if listens else bound_socket
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, address = min(found, key=lambda one: one[0] != socket.AF_INET)
        return make(address, family, is_shared=is_shared)
    except OSError as error:
        reason, *_ = (error.strerror or str(error)).split(" (while ")  # Python adds the address
        hint = f"; --{setting} takes another" if error.errno == errno.EADDRINUSE else ""
        fail(f"cannot listen on {host} port {port}: {reason}{hint}", error)
    except ValueError as error:  # no host name, or the system cannot share ports
        fail(f"cannot listen on {host} port {port}: {error}")
