"""Who takes the CPU: the server, its event loop in it, or the client that measures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self

import psutil


@dataclass(frozen=True)
class CpuSeconds:
    """CPU seconds of the server's process, of its main thread (the event loop), and of ours."""

    server: float
    event_loop: float
    client: float

    @classmethod
    def now(cls, server_pid: int) -> Self:
        process = psutil.Process(server_pid)
        times = process.cpu_times()
        main = next(thread for thread in process.threads() if thread.id == server_pid)
        return cls(
            server=times.user + times.system,
            event_loop=main.user_time + main.system_time,
            client=time.process_time(),
        )

    def since(self, before: CpuSeconds) -> CpuSeconds:
        return CpuSeconds(
            self.server - before.server,
            self.event_loop - before.event_loop,
            self.client - before.client,
        )

    def per_request(self, count: int) -> str:
        """In microseconds."""
        server, event_loop, client = (
            seconds / count * 1e6 for seconds in (self.server, self.event_loop, self.client)
        )
        return (
            f"CPU a request: server {server:.0f} us, its event loop {event_loop:.0f} of them, "
            f"client {client:.0f}"
        )
