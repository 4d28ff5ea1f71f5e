"""A worker: one runner and the thread that steps it.

The event loop puts messages into the worker's inbox. All updates of a step reach the event loop in
one callback.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import logging
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Sequence

from model.backends.device_lost import DeviceLost
from service.engine.admission import AdmissionControl
from service.engine.batch_loop import BatchLoop, Updates
from service.engine.engine_runner import EngineRunner
from service.engine.schedule import Schedule
from service.engine.sentence_task import CancelReason, News, SentenceOutcome, SentenceTask
from service.errors import NotReady
from service.observability.metrics import ModelMetrics
from service.signals import end_after_failure

_logger = logging.getLogger(__name__)
_REBUILD_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0)
NICENESS = 5
"""A third of the weight: the fair share of a core goes to the event loop first. Where HTTP is in
another process, which could take the core from a worker that has Python's lock, it is 0."""


_Message = Callable[[BatchLoop], None] | None
"""What to do with the batch loop; None: stop."""


class Worker:
    """Translates sentence tasks in its own thread.

    If the loop crashes, the worker fails its requests, builds a new runner and restarts. If the
    device is lost, no runner can work in this process, so the worker ends it. Call the public
    methods on the event loop.
    """

    def __init__(
        self,
        make_runner: Callable[[], EngineRunner],
        make_schedule: Callable[[EngineRunner], Schedule],
        admission: AdmissionControl,
        metrics: ModelMetrics,
        busy_workers: set[Worker],
        why_not_running: Callable[[], NotReady],
        publish: Callable[[SentenceTask, News], None],
        most_rebuilds: int | None = None,
        end_process: Callable[[str], None] = end_after_failure,
        niceness: int = NICENESS,
    ) -> None:
        """`busy_workers` holds the workers of the process that have work; they share the cores.
        `publish` gets the news of each task on the event loop. `most_rebuilds`: if building a
        runner fails so often in a row, end the process; None: never. `end_process` gets the
        reason. `niceness`: how much lower the thread's priority is."""
        self._make_runner, self._make_schedule = make_runner, make_schedule
        self._admission, self._metrics = admission, metrics
        self._busy_workers, self._why_not_running = busy_workers, why_not_running
        self._publish = publish
        self._most_rebuilds, self._end_process = most_rebuilds, end_process
        self._niceness = niceness
        self._inbox: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: set[SentenceTask] = set()
        self.is_running = False
        self.load = 0
        """Hypotheses of the open tasks."""
        self.num_refused_paths = 0
        """Fast paths of the runner that are switched off."""
        runner = make_runner()
        self.max_slots, self.max_rows = runner.max_slots, runner.max_rows
        self.max_beam_size = runner.max_beam_size
        self.max_target_tokens = runner.max_target_tokens
        self.batch_loop: BatchLoop | None = self._make_batch_loop(runner)
        """None while the worker builds a new runner."""

    def start(self) -> None:
        """Start the thread; publish updates on the running event loop. Raises RuntimeError if the
        system has no thread."""
        self._loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._run, name="dragoman-worker", daemon=True)
        thread.start()
        self._thread, self.is_running = thread, True

    def request_stop(self) -> None:
        """Fail all running and waiting tasks, and stop the thread."""
        self.is_running = False
        self._inbox.put(None)

    def join(self) -> None:
        """Wait until the thread ends, and let go of the runner; call `request_stop` first."""
        if self._thread is not None:
            self._thread.join()
        self.batch_loop, self._make_runner = None, _no_runner

    def put(self, tasks: Sequence[SentenceTask]) -> None:
        """Queue the tasks for admission. Raises NotReady."""
        with self._lock:  # no task may enter the inbox after `_fail_everything` empties it
            if not self.is_running:
                raise self._why_not_running()
            self._admission.enter(tasks)
            self._inbox.put(lambda batch_loop: batch_loop.add(tasks))
        self._open.update(tasks)
        self.load += sum(task.num_rows for task in tasks)

    def cancel(self, tasks: Collection[SentenceTask], reason: CancelReason) -> None:
        """Cancel those of the tasks that are open, without an answer."""
        self._inbox.put(lambda batch_loop: batch_loop.cancel(tasks, reason))
        self._close(tasks)

    def renew(self, task: SentenceTask) -> None:
        """Tell the batch loop that the task must send its tokens or is more urgent."""
        self._inbox.put(lambda batch_loop: batch_loop.renew(task))

    def _close(self, tasks: Iterable[SentenceTask]) -> None:
        for task in self._open.intersection(tasks):
            self._open.remove(task)
            self.load -= task.num_rows

    def _publish_all(self, updates: Updates) -> None:
        """Publish all updates of one step. Runs on the event loop."""
        for task, news in updates:
            if isinstance(news, SentenceOutcome) and task in self._open:
                self._open.remove(task)
                self.load -= task.num_rows
            self._publish(task, news)

    def _make_batch_loop(self, runner: EngineRunner) -> BatchLoop:
        self.num_refused_paths = len(runner.refused_paths)
        return BatchLoop(runner, self._make_schedule(runner), self._admission, self._metrics)

    def _run(self) -> None:
        """Run the thread: serve until stopped; after a crash, rebuild and serve again."""
        lower_own_priority(self._niceness)
        while not self._serve() and self._rebuild():
            pass

    def _serve(self) -> bool:
        """Step until stopped (True) or crashed (False); then fail the remaining tasks. If the
        device is lost, end the process."""
        is_stopped, lost = False, ""
        try:
            self._step_until_stopped()
            is_stopped = True
        except DeviceLost as error:
            is_stopped, lost = True, str(error)
        except Exception as error:
            _logger.exception("the engine died")
            _clear_frames(error)
        self._fail_everything()
        if lost:
            self._end_process(lost)
        return is_stopped

    def _step_until_stopped(self) -> None:
        batch_loop = self.batch_loop
        assert batch_loop is not None
        while self._take_messages(batch_loop):
            batch_loop.step(len(self._busy_workers))
            self._send_updates(batch_loop.take_updates())

    def _take_messages(self, batch_loop: BatchLoop) -> bool:
        """Handle all messages in the inbox; if idle, wait for one. Return False to stop."""
        while (is_idle := batch_loop.is_idle) or not self._inbox.empty():
            if is_idle:
                self._busy_workers.discard(self)
            message = self._inbox.get()
            self._busy_workers.add(self)
            if message is None:
                return False
            message(batch_loop)
        return True

    def _fail_everything(self) -> None:
        """Answer all tasks, also those in the inbox. Whatever was asked of them may fail."""
        self._busy_workers.discard(self)
        with self._lock:
            self.is_running = False
        batch_loop = self.batch_loop
        assert batch_loop is not None
        with contextlib.suppress(queue.Empty):
            while (message := self._inbox.get_nowait()) is not None:
                with contextlib.suppress(Exception):
                    message(batch_loop)
            self._inbox.put(None)
        batch_loop.abandon(self._why_not_running())
        self._send_updates(batch_loop.take_updates())

    def _rebuild(self) -> bool:
        """Build a new runner, with retries; return False if stopped first. Free the old runner
        first, because memory may not hold both."""
        for attempt in itertools.count():
            self.batch_loop = None
            gc.collect()
            if self._is_stop_requested(_REBUILD_SECONDS[min(attempt, len(_REBUILD_SECONDS) - 1)]):
                return False
            try:
                self.batch_loop = self._make_batch_loop(self._make_runner())
                self._metrics.engine_restarts.inc()
            except DeviceLost as error:
                self._end_process(str(error))
                return False
            except Exception as error:
                _logger.exception("the engine could not be rebuilt")
                _clear_frames(error)
                if attempt + 1 == self._most_rebuilds:
                    self._end_process(f"the engine could not be rebuilt {attempt + 1} times")
                    return False
                continue
            self.is_running = True
            return True
        raise AssertionError

    def _is_stop_requested(self, within_seconds: float) -> bool:
        """Wait for a stop message; drop others, which concern abandoned tasks."""
        ends = time.monotonic() + within_seconds
        with contextlib.suppress(queue.Empty):
            while self._inbox.get(timeout=max(0.0, ends - time.monotonic())) is not None:
                pass
            return True
        return False

    def _send_updates(self, updates: Updates) -> None:
        if updates and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the event loop has closed
                self._loop.call_soon_threadsafe(self._publish_all, updates)


def _no_runner() -> EngineRunner:
    raise NotReady("the engine was stopped")


def _clear_frames(error: BaseException | None) -> None:
    """Drop the local variables of the code that raised. A log handler that keeps the error would
    otherwise keep the runner in memory."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def lower_own_priority(niceness: int = NICENESS) -> None:
    """Make the calling thread nicer, so that the event loop runs first when threads wait for a
    core.

    Only Linux has a niceness for each thread; elsewhere, or if the system refuses, nothing changes.
    Threads that it starts inherit it.
    """
    if sys.platform != "linux":
        return
    own = threading.get_native_id()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, own, os.getpriority(os.PRIO_PROCESS, own) + niceness)
