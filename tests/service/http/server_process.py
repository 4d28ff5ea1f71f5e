"""The server with a fake model as a process of its own: its port is its first line.

    python -m tests.service.http.server_process STEP_SECONDS SETTINGS

SETTINGS are of Settings, as JSON.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Sequence

from model.decoding.sentence import StepResult
from service.app import build_document, create_app, drain
from service.observability.logs import configure_logs
from service.server import Server, uvicorn_config
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model


class SlowRunner(FakeRunner):
    def __init__(self, step_seconds: float) -> None:
        super().__init__()
        self._step_seconds = step_seconds

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        time.sleep(self._step_seconds)
        return super().step(handles)


def main(step_seconds: float, settings: Settings) -> None:
    configure_logs("debug", "json")
    app = create_app(settings, [fake_model(SlowRunner(step_seconds))])
    build_document(app)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn_config(app, 2**20, settings.trusted_proxies)
        Server(config, lambda: drain(app, 0.1)).run(sockets=[listener])


if __name__ == "__main__":
    main(float(sys.argv[1]), Settings(**json.loads(sys.argv[2])))
