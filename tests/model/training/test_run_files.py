"""A full disk, a second process and damaged files: what is saved stays intact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from model.training.run_files import TrainingError
from tests.conftest import FullDisk
from tests.model.training.conftest import MakeTrainer, files_of, kill_after, weights_of


@pytest.mark.parametrize("size", [20_000, 150_000])
def test_a_full_disk_leaves_the_last_state_whole(
    make_trainer: MakeTrainer, full_disk: FullDisk, size: int
) -> None:
    """Whether the log, the snapshot or the state no longer finds room."""
    unbroken = make_trainer("unbroken")
    unbroken.run()
    trainer = make_trainer("broken")
    kill_after(trainer, 2)
    trainer = make_trainer("broken")
    before = files_of(trainer.directory)
    said = "cannot read or write .*: File too large; step 2 is saved in .*, and the same command"
    with full_disk(size), pytest.raises(TrainingError, match=said):
        trainer.run()
    after = files_of(trainer.directory)
    assert {name for name in after if "partial" in name or "tmp" in name} == set()
    assert {name: after[name] for name in before if name.endswith((".pt", ".safetensors"))} == {
        name: content for name, content in before.items() if name.endswith((".pt", ".safetensors"))
    }
    resumed = make_trainer("broken")
    assert resumed.progress.step == 2
    resumed.run()
    for name, weight in weights_of(unbroken).items():
        assert torch.equal(weights_of(resumed)[name], weight), name


def test_two_runs_in_one_directory_are_refused(make_trainer: MakeTrainer) -> None:
    """The second would delete the snapshots that the first one writes."""
    first = make_trainer()
    with pytest.raises(TrainingError, match="another process trains in .*run; wait for it or name"):
        make_trainer()
    first.run()
    make_trainer().run()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def of_another_network(path: Path) -> None:
    state = torch.load(path)
    state["model"].pop(next(iter(state["model"])))
    torch.save(state, path)


@pytest.mark.parametrize("damage", [truncated, of_another_network])
def test_a_damaged_state_is_refused_in_one_line(
    make_trainer: MakeTrainer, damage: Callable[[Path], None]
) -> None:
    trainer = make_trainer()
    kill_after(trainer, 3)
    damage(trainer.directory / "state.pt")
    before = files_of(trainer.directory)
    said = "state.pt is damaged or of another recipe .*; restore it, or remove the run's directory"
    with pytest.raises(TrainingError, match=said) as raised:
        make_trainer()
    assert len(str(raised.value).splitlines()) == 1
    assert files_of(trainer.directory) == before


@pytest.mark.parametrize(
    ("damage", "said"),
    [(Path.unlink, "holds no snapshot"), (truncated, "snapshot-.* is damaged")],
)
def test_the_mean_of_damaged_snapshots_is_not_taken(
    make_trainer: MakeTrainer, damage: Callable[[Path], None], said: str
) -> None:
    trainer = make_trainer()
    checkpoint = trainer.run()
    before = files_of(checkpoint)
    for snapshot in trainer.directory.glob("snapshot-*"):
        damage(snapshot)
    with pytest.raises(TrainingError, match=said):
        make_trainer().run()
    assert files_of(checkpoint) == before
