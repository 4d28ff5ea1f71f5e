"""The server on Ray Serve: every replica is a process with its own engines.

    serve run service.ray_serve.app:app replicas=2

Needs dragoman[ray]; see docs/ray.md.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import click
from fastapi import FastAPI
from prometheus_client import Metric
from ray import serve
from ray.serve.exceptions import RayServeException

from service.app import create_app
from service.errors import Overloaded
from service.models.loading import load_models
from service.observability.logs import configure_logs
from service.observability.merging import labelled
from service.ray_serve.draining import DrainingWebsockets
from service.ray_serve.settings import ReplicaSettings, read_arguments
from service.settings import Settings

_NAME = "dragoman"
_HEALTH_CHECK_SECONDS = 2
_SILENT_CHECKS = 3
_GATHERING_SECONDS = 5


class Replica:
    """A server without a port; Ray's proxies forward the requests."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._is_leaving = asyncio.Event()

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Called by Ray in the replica's process; raises StartupError."""
        configure_logs(self._settings.log_level, self._settings.log_format)
        self._server = create_app(self._settings, load_models(self._settings))
        self._server.state.gather_metrics = self._metrics_of_all
        self._server.add_middleware(DrainingWebsockets, is_leaving=self._is_leaving)
        self._checked = time.monotonic()
        self._watching = asyncio.create_task(self._leave_in_time())
        return self._server

    async def check_health(self) -> None:
        """Called by Ray; raises NotReady if an engine is down. Three failures end the replica."""
        self._checked = time.monotonic()
        self._server.state.server.models.require_ready()

    async def collect_metrics(self) -> tuple[str, list[Metric]]:
        """This replica's name and metrics."""
        registry = self._server.state.server.metrics.registry
        return serve.get_replica_context().replica_tag, list(registry.collect())

    async def _metrics_of_all(self) -> bytes:
        return labelled(await self._collect_all())

    async def _collect_all(self) -> dict[str, list[Metric]]:
        """Metrics by replica; omits a lost replica. Raises TimeoutError if one hangs."""
        context = serve.get_replica_context()
        handle = serve.get_deployment_handle(context.deployment, context.app_name)
        answers = await handle.broadcast("collect_metrics").results_async(
            timeout_s=_GATHERING_SECONDS, return_exceptions=True
        )
        return dict(answer for answer in answers if isinstance(answer, tuple))

    async def _leave_in_time(self) -> None:
        """Close the websockets once Ray dismisses the replica.

        Ray counts each websocket as a request: it would wait for them until its shutdown timeout,
        then cut them with requests in progress.
        """
        while not await self._is_dismissed():
            await asyncio.sleep(_HEALTH_CHECK_SECONDS)
        self._is_leaving.set()

    async def _is_dismissed(self) -> bool:
        """Ray sends no notice: its health checks stop and it no longer lists the replica."""
        if time.monotonic() - self._checked < _SILENT_CHECKS * _HEALTH_CHECK_SECONDS:
            return False
        try:
            replicas = await self._collect_all()
        except (TimeoutError, RayServeException):
            return False
        return bool(replicas) and serve.get_replica_context().replica_tag not in replicas


class _Refused(click.ClickException):
    """An error that `serve run` prints as one line."""

    exit_code = 2


def app(arguments: dict[str, Any]) -> serve.Application:
    """Build the application from its arguments and the other sources of settings.

    Invalid arguments end the command with one sentence and exit code 2.
    """
    try:
        settings = read_arguments(arguments)
    except ValueError as error:
        raise _Refused(str(error)) from error
    deployment = serve.deployment(serve.ingress()(Replica), name=_NAME, **_options(settings))
    return deployment.bind(settings.of_one_replica())


def _options(settings: ReplicaSettings) -> dict[str, Any]:
    """Ray's options for the settings.

    A replica accepts as many requests as its engines can hold, so the engines reject overload, not
    Ray. Ray's queue only matters while there is no replica.
    """
    options: dict[str, Any] = {
        "ray_actor_options": {"num_cpus": settings.cpus, "num_gpus": settings.gpus},
        "max_ongoing_requests": settings.max_ongoing_requests,
        "max_queued_requests": settings.max_waiting_sentences,
        "backpressure_config": {"retry_after_s": Overloaded.retry_after_seconds},
        "graceful_shutdown_timeout_s": settings.drain_seconds,
        "health_check_period_s": _HEALTH_CHECK_SECONDS,
        "logging_config": {"enable_access_log": False},
    }
    if settings.max_replicas > settings.replicas:
        options["autoscaling_config"] = {
            "min_replicas": settings.replicas,
            "max_replicas": settings.max_replicas,
            "target_ongoing_requests": settings.target_requests,
        }
    else:
        options["num_replicas"] = settings.replicas
    return options
