"""The server with a fake model as a process of its own: its port is its first line.

    python -m tests.service.http.server_process SETTINGS

SETTINGS are of Settings, as JSON.
"""

from __future__ import annotations

import json
import sys

from service.app import create_app, drain
from service.observability.logs import configure_logs
from service.server import Server, listening_socket, uvicorn_config
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model


def main(settings: Settings) -> None:
    configure_logs("debug", "json")
    app = create_app(settings, [fake_model(FakeRunner())])
    with listening_socket(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn_config(app, 2**20, settings.trusted_proxies)
        Server(config, lambda: drain(app, 0.1)).run(sockets=[listener])


if __name__ == "__main__":
    main(Settings(**json.loads(sys.argv[1])))
