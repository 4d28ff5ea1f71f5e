"""Who takes the CPU: the server, its event loop in it, or the client that measures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self

import psutil


@dataclass(frozen=True)
class CpuSeconds:
    """CPU seconds of the server's processes, of their main threads (the event loops), and of
    ours."""

    server: float
    event_loop: float
    client: float

    @classmethod
    def now(cls, server_pid: int) -> Self:
        parent = psutil.Process(server_pid)
        processes = [parent, *parent.children()]
        times = [process.cpu_times() for process in processes]
        mains = [one for p in processes for one in p.threads() if one.id == p.pid]
        return cls(
            server=sum(one.user + one.system for one in times),
            event_loop=sum(one.user_time + one.system_time for one in mains),
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
            f"CPU a request: server {server:.0f} us, its event loops {event_loop:.0f} of them, "
            f"client {client:.0f}"
        )
