"""Settings of a deployment: the server's own, the number of replicas and their resources."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from service.settings import Settings
from service.settings.reading import read_settings

_NOT_OURS = ("host", "port")
_MOST_CPU_SLOTS, _MOST_GPU_SLOTS = 64, 1024
"""The most slots that a replica chooses (`service.models.sizing`): on a CPU, and on each GPU."""


class ReplicaSettings(Settings):
    """Extends Settings, with the same sources; raises pydantic's ValidationError."""

    replicas: int = Field(
        1, ge=1, le=10_000, description="Replicas; with max_replicas the fewest of them."
    )
    max_replicas: int = Field(
        0, ge=0, le=10_000, description="Replicas under load; 0 keeps to the number of replicas."
    )
    target_requests: int = Field(
        32, ge=1, le=10**6, description="Requests in progress a replica that scaling aims at."
    )
    cpus: float = Field(
        1.0, gt=0, le=1024, description="CPUs of a replica, and its threads unless threads is set."
    )
    gpus: float = Field(
        0.0, ge=0, le=1024, description="GPUs of a replica: a part of one, or whole ones."
    )

    @model_validator(mode="after")
    def _numbers_must_agree(self) -> Self:
        if 0 < self.max_replicas < self.replicas:
            raise ValueError(
                f"max_replicas must be 0 or at least replicas ({self.replicas}), "
                f"got {self.max_replicas}"
            )
        if self.gpus > 1 and not self.gpus.is_integer():
            raise ValueError(f"gpus must be a part of one or a whole number, got {self.gpus}")
        if self.device.startswith("cuda") and not self.gpus:
            raise ValueError("device cuda needs gpus above 0, got 0")
        return self

    @property
    def max_ongoing_requests(self) -> int:
        """One-sentence requests that fill a replica: the slots and the queue of each model."""
        most_slots = _MOST_GPU_SLOTS * math.ceil(self.gpus) if self.gpus else _MOST_CPU_SLOTS
        slots = self.max_slots or most_slots
        return len(self.model) * (slots + self.max_waiting_sentences)

    def of_one_replica(self) -> Settings:
        """The settings of one replica's server; cpus and gpus determine threads and device."""
        own = {name: getattr(self, name) for name in Settings.model_fields}
        own |= {"config": None, "secrets_dir": None}  # already read
        own["threads"] = self.threads or math.ceil(self.cpus)
        if self.device == "auto":
            own["device"] = self._own_device
        if 0 < self.gpus < 1:
            own["gpu_share"] = min(self.gpus, self.gpu_share)
        return Settings(**own)

    @property
    def _own_device(self) -> str:
        """All GPUs that Ray lets a replica see, numbered from 0."""
        if self.gpus > 1:
            return "cuda:" + ",".join(map(str, range(int(self.gpus))))
        return "cuda" if self.gpus else "cpu"


def read_arguments(arguments: Mapping[str, Any]) -> ReplicaSettings:
    """Arguments override all other sources of settings; raises ValueError with one sentence."""
    for name in _NOT_OURS:
        if name in arguments:
            raise ValueError(f"setting {name}: Ray listens, so it is one of Ray's http_options")
    return read_settings(ReplicaSettings, arguments)
