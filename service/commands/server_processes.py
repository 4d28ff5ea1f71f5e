"""The processes of a server that has several: what each is given, and what it keeps open."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from model.backends.shared_files import SharedFiles
from service.front_end import run_front_end
from service.models.loading import LoadedModel
from service.observability.logs import configure_logs
from service.processes.control import ChildEnd
from service.processes.engine_process import run_engine
from service.processes.hub import run_hub
from service.processes.supervisor import Child, Supervisor
from service.processes.topology import HUB, settings_of_front_end
from service.settings import Settings
from service.translation.translator import TranslationModel


@dataclass(frozen=True)
class ServerProcesses:
    """Engines and front ends, each by its name, and a hub if the front ends are several. `loaded`:
    the models whose weights the engines share, None if each engine loads its own; `files`: for the
    weights of models on demand."""

    settings: Settings
    models: Sequence[TranslationModel]
    loaded: Sequence[LoadedModel] | None
    engines: Mapping[str, Settings]
    listeners: Mapping[str, list[socket.socket]]
    files: SharedFiles | None

    def supervisor(self, tell_ready: Callable[[], None]) -> Supervisor:
        """The parent of all, which has forked none yet; `tell_ready` as of `Supervisor`."""
        children = [Child(name, self._run_engine, "engine") for name in self.engines]
        if len(self.listeners) > 1:
            children.append(Child(HUB, self._run_hub, "hub"))
        children += [Child(name, self._run_front_end, "front end") for name in self.listeners]
        listeners = [one for own in self.listeners.values() for one in own]
        return Supervisor(children, listeners, tell_ready)

    def _run_engine(self, name: str, line: ChildEnd) -> int:
        self._begin(name)
        return run_engine(self.engines[name], self.loaded, line, self.files)

    def _run_front_end(self, name: str, line: ChildEnd) -> int:
        self._begin(name)
        count = len(self.listeners)
        return run_front_end(
            name,
            settings_of_front_end(self.settings, count),
            self.models,
            self.engines,
            count,
            self.listeners[name],
            line,
            self.files,
        )

    def _run_hub(self, name: str, line: ChildEnd) -> int:
        self._begin(name)
        names = [model.name for model in self.models]
        return run_hub(name, self.settings, names, [*self.engines], line)

    def _begin(self, name: str) -> None:
        """Log under this name, and close what others listen on or share."""
        configure_logs(self.settings.log_level, self.settings.log_format, process=name)
        if self.files is not None and name not in self.engines:
            self.files.close()
        own = self.listeners.get(name, ())
        for other in self.listeners.values():
            for listener in set(other).difference(own):
                listener.close()
