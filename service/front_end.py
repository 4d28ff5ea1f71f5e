"""What a front end does: it speaks HTTP, over engines of other processes."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Mapping, Sequence

from model.backends.shared_files import SharedFiles
from service.app import create_app_over, drain
from service.observability.metrics import Metrics
from service.processes.control import ChildEnd
from service.processes.remote_hub import RemoteHub
from service.processes.remote_models import RemoteModels
from service.processes.supervisor import DRAIN
from service.server import Server, uvicorn_config
from service.settings import Settings
from service.translation.translator import TranslationModel


def run_front_end(
    name: str,
    settings: Settings,
    models: Sequence[TranslationModel],
    engines: Mapping[str, Settings],
    num_front_ends: int,
    listeners: list[socket.socket],
    line: ChildEnd,
    files: SharedFiles | None = None,
) -> int:
    """Serve until the parent says to drain -> the exit code. Raises StartupError.

    `name`: of the process; `models`: what the engines have from the start; `engines`: the settings
    of each, by name; `num_front_ends`: with this one; `files`: where the engines have weights once.
    """
    metrics = Metrics()
    hub = RemoteHub(metrics) if num_front_ends > 1 else None

    def begin_drain() -> None:
        if not server.started:  # it may wait for an engine that never comes
            os._exit(0)
        server.begin_drain()

    commands = {DRAIN: begin_drain}
    remote = RemoteModels(settings, models, metrics, name, engines, line, commands, hub, files)
    commons = None if hub is None else hub.commons(settings)
    app = create_app_over(settings, remote, metrics, commons)
    config = uvicorn_config(app, settings.max_body_bytes, settings.trusted_proxies)
    shared = listeners[0] if settings.share_port else None
    server: Server = Server(config, lambda: drain(app, settings.drain_seconds), shared)
    server.has_signals, server.tell_started = False, line.say_ready
    gc.freeze()  # a scan of these objects would stop the process for long
    server.run(sockets=listeners)
    return 0
