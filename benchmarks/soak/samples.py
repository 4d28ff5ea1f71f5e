"""What the server's process holds, read from /proc, and what it says of itself in /metrics."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.soak.wire import Pool, Writer

_GAUGES = {
    "running": "dragoman_running{",
    "rows_used": "dragoman_rows_used{",
    "set_aside": "dragoman_set_aside{",
    "waiting": "dragoman_waiting{",
    "cache_bytes": "dragoman_cache_bytes{",
    "open_streams": "dragoman_open_streams",
    "engine_restarts": "dragoman_engine_restarts_total{",
}


@dataclass(frozen=True)
class Process:
    """The server's process, as seen from outside."""

    pid: int

    def memory_mib(self) -> dict[str, float]:
        """Resident memory, and of it what is not shared."""
        lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        kib = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
        own = kib["Private_Clean"] + kib["Private_Dirty"]
        return {"rss": kib["Rss"] / 1024, "pss": kib["Pss"] / 1024, "uss": own / 1024}

    def descriptors(self) -> dict[str, int]:
        """Open sockets, and what else is open."""
        directory, num_sockets, num_others = f"/proc/{self.pid}/fd", 0, 0
        for name in os.listdir(directory):
            try:
                is_socket = os.readlink(f"{directory}/{name}").startswith("socket:")
            except FileNotFoundError:  # closed meanwhile
                continue
            num_sockets += is_socket
            num_others += not is_socket
        return {"sockets": num_sockets, "files": num_others}

    def sample(self) -> dict[str, Any]:
        process = psutil.Process(self.pid)
        times = process.cpu_times()
        return {
            **self.memory_mib(),
            **self.descriptors(),
            "threads": process.num_threads(),
            "children": len(process.children(recursive=True)),
            "cpu_seconds": times.user + times.system,
        }


async def gauges(pool: Pool, writer: Writer) -> dict[str, float]:
    """What the engines hold, over all models."""
    answer = await pool.send(writer.request("GET", "/metrics"))
    lines = answer.body.decode().splitlines()
    return {
        name: sum(float(line.split()[-1]) for line in lines if line.startswith(prefix))
        for name, prefix in _GAUGES.items()
    }
