"""The parent of a server's processes: it starts them, starts those that end again, and drains.

    parent ── fork ──> engines      hold the models, decode
           ├─ fork ──> front ends   speak HTTP, know the texts
           └─ fork ──> the hub      counts and keeps what is common to several front ends
    each is connected with all that have another role

The processes are forks of the parent, which has imported everything and packed the weights: they
share that memory, and begin in milliseconds. The parent has one thread and opens no connection of
its own. Signals of the system reach it alone: the others ignore them, so that a signal to the whole
group ends nothing before it is drained. uvicorn's own supervisor cannot be used: it starts each
process from nothing, knows one kind of them, and ends them without draining.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from service.processes.control import LOST, READY, ChildEnd, ParentEnd, Peer
from service.signals import EXIT_DEVICE_LOST, EXIT_MAY_PASS, end_at_once

_logger = logging.getLogger(__name__)
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SIGNALS = {signal.SIGCHLD, signal.SIGALRM, *_ENDING}
"""Python's `sigtimedwait` would do without an alarm, but gives any number after a stop."""
_RESTART_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0)
_MOST_FAILURES = 10
"""Ends in a row without having been ready, after which the parent gives up."""
_LAST_SECONDS = 5.0
"""What has no front end any more, and does not end in this time, is killed."""
_LOOK_SECONDS = 0.5
"""How often the parent looks at what the others say."""
_LEAST_SECONDS = 0.001
_PR_SET_PDEATHSIG = 1
_OOM_SCORE = Path("/proc/self/oom_score_adj")
_MORE_OOM_SCORE = 300
"""Of a thousand that all memory counts; more needs no rights."""
_MOST_SILENT_SECONDS = 30.0
"""What has said that it is alive, and does not say it for so long, is killed: it hangs."""
DRAIN, END = "drain", "end"
"""What a front end is told, and the others when there is no front end any more."""
REFUSED = 2
"""The exit code of a process that cannot begin, because of what it was given."""
Role = Literal["engine", "front end", "hub"]


@dataclass(eq=False)
class Child:
    """A process. `run` gets its name and its line to the parent, and returns the exit code."""

    name: str
    run: Callable[[str, ChildEnd], int]
    role: Role
    pid: int = 0
    """0: it does not run."""
    line: ParentEnd | None = None
    was_ready: bool = False
    has_worked: bool = False
    """It was ready, now or in one of its lives before."""
    silent_seconds: float | None = None
    """Since it last said something; None: it has not begun to."""
    why_killed: str = ""
    """By this process; empty: it was not."""
    num_failures: int = 0
    due_seconds: float = 0.0
    """When to start it again."""

    @property
    def peer(self) -> Peer:
        return Peer(self.name, self.pid)

    def kill(self, why: str) -> None:
        _logger.error("%s %s: it is killed", self.name, why)
        self.why_killed = why
        os.kill(self.pid, signal.SIGKILL)

    def tell(self, command: str) -> None:
        """Give it a command, if it runs."""
        if self.line is not None:
            with self._reached():
                self.line.send(command)

    def link(self, other: Child, connected: socket.socket) -> None:
        """Give it a connection to another process, if it runs."""
        if self.line is not None:
            with self._reached():
                self.line.link(other.peer, connected)

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """What the system has no room to tell it would be lost: it ends, and is started again."""
        try:
            yield
        except OSError as error:
            self.kill(f"cannot be reached ({error.strerror})")


class Supervisor:
    """Runs children until a signal ends them."""

    def __init__(
        self,
        children: Sequence[Child],
        listeners: Sequence[socket.socket],
        tell_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """`children`: in the order in which they start; `listeners`: what the front ends listen
        on, which this process keeps for those that it starts later; `tell_ready`: is called once,
        when all have been ready."""
        self._children, self._listeners = children, listeners
        self._tell_ready = tell_ready
        self._has_told = False
        self._code = 0
        self._num_signals = 0
        self._killing_seconds = float("inf")

    @property
    def _is_ending(self) -> bool:
        return self._num_signals > 0 or self._code != 0

    def run(self) -> int:
        """Return the exit code of the server; in a child, its own."""
        ignored = {one for one in _ENDING if signal.getsignal(one) is signal.SIG_IGN}  # nohup
        for number in _SIGNALS - set(_ENDING):  # who started this process may ignore them
            signal.signal(number, signal.SIG_DFL)
        awaited = _SIGNALS - ignored
        signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        while True:
            for child in self._children:
                if not child.pid and not self._is_ending and child.due_seconds <= time.monotonic():
                    line = self._start(child)
                    if line is not None:
                        return child.run(child.name, line)
            if self._is_ending and not any(child.pid for child in self._children):
                return self._code
            signal.setitimer(signal.ITIMER_REAL, self._seconds())
            if (found := signal.sigwait(awaited)) == signal.SIGALRM:
                self._listen()
                self._kill_if_due()
                self._kill_hung()
            elif found == signal.SIGCHLD:
                self._reap()
            else:
                self._take_signal(found)

    def _seconds(self) -> float:
        """Until something is to be done; more than 0, which would be never."""
        due = [self._killing_seconds]
        if not self._is_ending:
            due += [child.due_seconds for child in self._children if not child.pid]
        return min(max(_LEAST_SECONDS, min(due) - time.monotonic()), _LOOK_SECONDS)

    def _start(self, child: Child) -> ChildEnd | None:
        """Start a child, and connect it with those that it works with; later if the system has no
        room for it. In the child: its line to the parent."""
        child.was_ready, child.silent_seconds, child.why_killed = False, None, ""
        try:
            ours, theirs = ParentEnd.pair()
            pid = os.fork()
        except OSError as error:
            self._start_later(child, f"cannot be started now ({error.strerror})")
            return None
        if not pid:
            self._become_child()
            ours.close()
            return theirs
        theirs.close()
        child.pid, child.line = pid, ours
        for other in self._children:
            if other.role != child.role:
                _connect(child, other)
        return None

    def _become_child(self) -> None:
        """Keep nothing of the parent's, so that each process sees its parent end. One that is
        stopped or hangs does not see it, and would keep the port: the system ends it. If memory is
        short, the system ends a child before the parent, which starts it again."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError):
            _OOM_SCORE.write_text(str(min(int(_OOM_SCORE.read_text()) + _MORE_OOM_SCORE, 1000)))
        for other in self._children:
            if other.line is not None:
                other.line.close()
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _listen(self) -> None:
        """Take what the children say."""
        for child in self._children:
            for word, peer in child.line.said() if child.line is not None else ():
                child.silent_seconds = 0.0
                child.was_ready |= word == READY
                child.has_worked |= child.was_ready
                if word == LOST and not self._is_ending:
                    for other in self._children:
                        if other.peer == peer:
                            _connect(child, other)
        is_told = self._has_told or self._is_ending
        if not is_told and all(child.has_worked for child in self._children):
            self._has_told = True
            self._tell_ready()

    def _reap(self) -> None:
        """Note the children that have ended."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                for child in self._children:
                    if child.pid == ended[0]:
                        self._note_end(child, os.waitstatus_to_exitcode(ended[1]))

    def _note_end(self, child: Child, code: int) -> None:
        """Decide whether a child that has ended is started again."""
        assert child.line is not None
        self._listen()
        child.line.close()
        child.pid, child.line = 0, None
        if self._is_ending:
            self._end_others()
            return
        self._start_later(child, f"has ended ({_described(child, code)})", code)

    def _start_later(self, child: Child, why: str, code: int = 0) -> None:
        """Unless that is hopeless: then everything ends with the exit code of the child."""
        child.num_failures = 0 if child.was_ready else child.num_failures + 1
        is_refused = code in (REFUSED, EXIT_MAY_PASS) and not child.has_worked
        if is_refused or child.num_failures > _MOST_FAILURES:
            self._end_all(code if code > 0 else EXIT_DEVICE_LOST)
            return
        seconds = _RESTART_SECONDS[min(child.num_failures, len(_RESTART_SECONDS) - 1)]
        child.due_seconds = time.monotonic() + seconds
        _logger.error("%s %s: it is started again", child.name, why)

    def _take_signal(self, number: int) -> None:
        """The first drains the front ends, the second ends everything at once."""
        self._num_signals += 1
        if self._num_signals > 1:
            self._kill_all()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
            end_at_once(number)
        for listener in self._listeners:
            listener.close()
        for child in self._children:
            if child.role == "front end":
                child.tell(DRAIN)
        self._end_others()

    def _end_all(self, code: int) -> None:
        self._code = code
        self._kill_all()

    def _end_others(self) -> None:
        """When no front end works any more."""
        if any(child.pid for child in self._children if child.role == "front end"):
            return
        if self._killing_seconds == float("inf"):
            self._killing_seconds = time.monotonic() + _LAST_SECONDS
            for child in self._children:
                child.tell(END)

    def _kill_if_due(self) -> None:
        if time.monotonic() >= self._killing_seconds:
            self._killing_seconds = float("inf")
            self._kill_all()

    def _kill_hung(self) -> None:
        """What hangs keeps its clients waiting, and processes that wait for it, until it ends. Only
        time in which this process looks counts: all may have been stopped together."""
        for child in self._children:
            if not child.pid or child.silent_seconds is None:
                continue
            child.silent_seconds += _LOOK_SECONDS
            if child.silent_seconds > _MOST_SILENT_SECONDS:
                child.silent_seconds = 0.0
                child.kill(f"hangs for {_MOST_SILENT_SECONDS:.0f} s")

    def _kill_all(self) -> None:
        for child in self._children:
            if child.pid:
                os.kill(child.pid, signal.SIGKILL)


def _connect(one: Child, other: Child) -> None:
    """Give two processes a connection, if both run. The first ends if the system has none."""
    if one.line is None or other.line is None:
        return
    try:
        first, second = socket.socketpair()
    except OSError as error:
        one.kill(f"has no connection ({error.strerror})")
        return
    with first, second:
        one.link(other, first)
        other.link(one, second)


def _described(child: Child, code: int) -> str:
    if code == -signal.SIGKILL and child.why_killed:
        return f"signal 9, because it {child.why_killed}"
    if code == -signal.SIGKILL:
        return "signal 9, which the system sends when memory is short"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
