"""Parents with children that fail.

Without arguments the first connection of an engine and a front end breaks while both live. The
engine sends its greeting over each connection. The front end prints what the second one brings.

With a file there is a front end that is ready, cannot begin in its second life, and prints that it
is in its third.

With a file and a number of lives there is a front end that prints in which it is, stops itself in
each before the last, and in that when it is to end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from service.processes import control, supervisor
from service.processes.control import ChildEnd, Peer
from service.processes.supervisor import DRAIN, END, REFUSED, Child, Supervisor

GREETING = b"hello"
MOST_SILENT_SECONDS = 2.0


def engine(_: str, line: ChildEnd) -> int:
    async def work() -> None:
        is_ending = asyncio.Event()

        async def greet(_: Peer, connected: socket.socket) -> None:
            connected.send(GREETING)
            kept.append(connected)

        kept: list[socket.socket] = []
        line.follow(greet, {END: is_ending.set})
        line.say_ready()
        await is_ending.wait()

    asyncio.run(work())
    return 0


def front_end(_: str, line: ChildEnd) -> int:
    async def work() -> None:
        is_ending = asyncio.Event()

        async def use(peer: Peer, connected: socket.socket) -> None:
            with connected:
                used.append(peer)
                if len(used) > 1:
                    connected.setblocking(True)
                    greeting = connected.recv(len(GREETING)).decode()
                    sys.stdout.write(f"{greeting} {used[0] == used[1]} {len(used)}\n")
                    sys.stdout.flush()
            if len(used) == 1:
                line.say_lost(Peer(peer.name, os.getpid()))  # not that process: nothing happens
                line.say_lost(peer)

        used: list[Peer] = []
        line.follow(use, {DRAIN: is_ending.set})
        line.say_ready()
        await is_ending.wait()

    asyncio.run(work())
    return 0


def refused_once(lives: Path, line: ChildEnd) -> int:
    with lives.open("a+", encoding="utf-8") as file:
        file.write("x")
    number = lives.stat().st_size
    if number == 2:
        return REFUSED
    line.say_ready()
    if number == 1:
        return 1
    asyncio.run(until_told(line, number))
    return 0


def stopped_until(last: int, lives: Path, line: ChildEnd) -> int:
    with lives.open("a+", encoding="utf-8") as file:
        file.write("x")
    number = lives.stat().st_size

    async def work() -> None:
        line.say_ready()
        await until_told(line, number, begin=stop if number < last else tuple)
        stop()

    def stop() -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    asyncio.run(work())
    return 0


async def until_told(line: ChildEnd, number: int, begin: Callable[[], object] = tuple) -> None:
    """Print that this is a life of this number, begin, and wait until the process is to end."""
    is_ending = asyncio.Event()

    async def refuse(_: Peer, connected: socket.socket) -> None:
        connected.close()

    line.follow(refuse, {DRAIN: is_ending.set})
    sys.stdout.write(f"life {number}\n")
    sys.stdout.flush()
    begin()
    await is_ending.wait()


if __name__ == "__main__":
    children = [Child("engine-0", engine, "engine"), Child("front-end-0", front_end, "front end")]
    if len(sys.argv) > 1:
        lives = Path(sys.argv[1])
        children = [Child("front-end-0", lambda _, line: refused_once(lives, line), "front end")]
    if len(sys.argv) > 2:
        last = int(sys.argv[2])
        supervisor._MOST_SILENT_SECONDS, control._ALIVE_SECONDS = MOST_SILENT_SECONDS, 0.01
        children[0].run = lambda _, line: stopped_until(last, lives, line)
    raise SystemExit(Supervisor(children, []).run())
