"""The training loop: resumable at any time, the same on CPU and CUDA.

A run's directory holds sentencepiece.model, state.pt (the full state to resume), snapshots for
averaging, log.csv, curves.png and, at the end, checkpoint/. Inputs are checked before the first
step; a later failure raises TrainingError, and the last saved state stays intact.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from model.backends.pytorch.devices import configure_cuda
from model.checkpoint import CheckpointInfo
from model.checkpoint.files import SELF_TEST_FILE
from model.checkpoint.saving import is_finite, save_checkpoint
from model.decoding.options import DecodingOptions
from model.files import reason_of
from model.network.parameters import weight_shapes
from model.training.averaging import average_checkpoints, average_weights
from model.training.data import Batch, Examples, computed_ahead
from model.training.evaluation import dev_bleu, dev_loss
from model.training.freed_memory import FreedMemory
from model.training.optimisation import NotFiniteError, OptimiserStep
from model.training.progress_bar import ProgressBar
from model.training.recipe import Recipe
from model.training.recipe_file import CHECKPOINT_DIRECTORY, load_stages
from model.training.run_files import (
    RunLock,
    TrainingError,
    TrainingLog,
    damaged,
    load_state,
    require_snapshots,
    save_snapshot,
    save_state,
)
from model.training.setup import (
    TOKENIZER_FILE,
    build_model,
    make_batches,
    read_or_make_tokenizer,
    require_memory,
    require_pairs,
    tokenizer_config,
)
from model.trials.checkpoint import add_self_test
from model.values import is_whole_number, shown

STATE_FILE = "state.pt"


def train(recipe: Path, directory: Path, device: torch.device | str) -> Path:
    """Run the stages of a recipe that have no result yet -> the last result, a checkpoint.

    Raises RecipeError, CheckpointError or TrainingError."""
    stages = load_stages(recipe, directory)
    for stage in stages:
        if stage.recipe is None:
            if not stage.result.exists():
                average_checkpoints(stage.sources, stage.result, is_int8=stage.is_int8)
        elif len(stages) == 1 or not (stage.result / SELF_TEST_FILE).exists():
            Trainer(stage.recipe, stage.directory, device).run()
    return stages[-1].result


@dataclass
class RunProgress:
    """The progress of a run; saved with the weights."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best_bleu: float = -1.0
    stale_validations: int = 0


class Trainer:
    """One training run in `directory`; resumes from a saved state if there is one."""

    def __init__(self, recipe: Recipe, directory: Path, device: torch.device | str) -> None:
        """Raises RecipeError, CheckpointError or TrainingError if the run cannot start or
        resume. Holds the directory's lock until `run` ends."""
        self._freed_memory = FreedMemory()
        self._freed_memory.keep()
        self.recipe, self.table, self.directory = recipe, recipe.training, directory
        self.device = torch.device(device)
        if self.device.type == "cuda":
            configure_cuda()
        self.progress = RunProgress()
        self.log = TrainingLog(directory)
        self._losses: list[float] = []
        self._saved_step: int | None = None
        with self._explained():
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = RunLock(directory)
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._lock.release()
            raise

    def run(self) -> Path:
        """Train to the end, or to the recipe's early stop -> the finished checkpoint.

        Raises TrainingError.
        """
        try:
            with self._explained():
                self._run_epochs()
                return self._finish()
        finally:
            self._lock.release()

    def _prepare(self) -> None:
        self.tokenizer = read_or_make_tokenizer(self.recipe, self.directory / TOKENIZER_FILE)
        require_memory(self.recipe, self.tokenizer, self.device)
        self.train_batches = make_batches(self.recipe, self.tokenizer, "train")
        self.dev_batches = make_batches(self.recipe, self.tokenizer, "dev")
        require_pairs(self.recipe, self.train_batches, self.dev_batches)
        self.model = build_model(self.recipe, self.tokenizer).to(self.device)
        self.optimiser = torch.optim.Adam(
            [weight for weight in self.model.parameters() if weight.requires_grad],
            lr=0.0,
            betas=(0.9, 0.98),
            eps=1e-9,
            fused=True,
        )
        self._optimiser_step = OptimiserStep(self.model, self.optimiser, self.table)
        self._resume()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn system errors, such as a full disk, into TrainingError with the saved progress."""
        try:
            yield
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            raise TrainingError(
                f"cannot read or write{where or f' in {self.directory}'}: {reason_of(error)}; "
                f"{self._what_is_saved()}"
            ) from error

    def _what_is_saved(self) -> str:
        if self._saved_step is None:
            return "nothing is saved yet"
        return (
            f"step {self._saved_step} is saved in {self.directory}, and the same command goes on "
            "from there"
        )

    def _is_finished(self) -> bool:
        is_stale = 0 < self.table.patience <= self.progress.stale_validations
        return self.progress.step >= self.table.max_steps or is_stale

    def _run_epochs(self) -> None:
        with ProgressBar(
            desc=self.directory.name,
            total=self.table.max_steps,
            initial=self.progress.step,
            unit="step",
            smoothing=0.05,
        ) as bar:
            while not self._is_finished():
                self._run_epoch(bar)

    def _run_epoch(self, bar: ProgressBar) -> None:
        epoch = self.train_batches.epoch(self.table.seed, self.progress.epoch)
        groups = list(_groups(epoch, self.table.accumulate))
        for batches in computed_ahead(self._collated, groups[self.progress.batch :]):
            self._train_step(batches, bar)
            if self._is_finished():
                return
        self.progress.epoch += 1
        self.progress.batch = 0

    def _collated(self, group: list[Examples]) -> list[Batch]:
        batches = [self.train_batches.collate(examples) for examples in group]
        return [batch.pinned() for batch in batches] if self.device.type == "cuda" else batches

    def _train_step(self, batches: list[Batch], bar: ProgressBar) -> None:
        started = time.monotonic()
        loss, tokens = self._optimise(batches)
        progress = self.progress
        progress.step += 1
        progress.batch += 1
        progress.tokens += tokens
        seconds = time.monotonic() - started
        progress.seconds += seconds
        self._losses.append(loss)
        bar.update()
        bar.set_postfix_str(f"loss {loss:.3f}, {tokens / seconds:,.0f} tokens/s", refresh=False)
        self._freed_memory.bound()
        if progress.step % self.table.save_every == 0 or self._is_finished():
            self._record()

    def _optimise(self, batches: list[Batch]) -> tuple[float, int]:
        """Run one optimiser step over a group of batches -> mean loss per token, tokens."""
        try:
            return self._optimiser_step.run(self.progress.step + 1, batches)
        except NotFiniteError as error:
            raise self._diverged(str(error)) from error

    def _diverged(self, what: str) -> TrainingError:
        return TrainingError(
            f"training has diverged at step {self.progress.step + 1}: {what}. A lower "
            "training.rate_factor, more training.warmup_steps or a smaller training.clip_norm "
            f"helps; {self._what_is_saved()}"
        )

    def _record(self) -> None:
        """Validate if due, then write the log, then the state. In this order a kill repeats work
        but loses none. Weights that are not finite are not saved."""
        progress = self.progress
        for name, weight in self.model.weights.items():
            if not is_finite(weight):
                raise self._diverged(f"{name} holds numbers that are not finite")
        row = {
            "step": progress.step,
            "epoch": progress.epoch,
            "seconds": progress.seconds,
            "tokens": progress.tokens,
            "tokens_per_second": progress.tokens / progress.seconds,
            "rate": self.optimiser.param_groups[0]["lr"],
            "train_loss": sum(self._losses) / len(self._losses),
        }
        self._losses.clear()
        if progress.step % self.table.validate_every == 0 and self.dev_batches.corpora:
            row |= self._validate()
        self.log.append(row)
        self.log.draw()
        self._save_snapshot()
        self._save_state()

    def _validate(self) -> dict[str, float]:
        loss = dev_loss(self.model, self.dev_batches, self.table.precision)
        bleu = dev_bleu(
            self.model, self.tokenizer, self.recipe.data, self.table.validation_sentences
        )
        told = f"step {self.progress.step}: dev loss {loss:.3f}, dev BLEU {bleu:.2f}"
        ProgressBar.write(told, file=sys.stderr)
        is_better = bleu > self.progress.best_bleu
        self.progress.best_bleu = max(bleu, self.progress.best_bleu)
        self.progress.stale_validations = 0 if is_better else self.progress.stale_validations + 1
        return {"dev_loss": loss, "dev_bleu": bleu}

    def _save_snapshot(self) -> None:
        weights = {name: w.cpu() for name, w in self.model.weights.items()}
        save_snapshot(weights, self._snapshot(self.progress.step))

    def _snapshot(self, step: int) -> Path:
        return self.directory / f"snapshot-{step:08d}.safetensors"

    def _snapshots(self) -> list[Path]:
        return sorted(self.directory.glob("snapshot-*.safetensors"))

    def _save_state(self) -> None:
        state = {
            "progress": asdict(self.progress),
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "random": torch.get_rng_state(),
            "cuda_random": torch.cuda.get_rng_state_all(),
        }
        save_state(state, self.directory / STATE_FILE)
        self._saved_step = self.progress.step
        for old in self._snapshots()[: -self.table.average_last]:
            old.unlink()

    def _resume(self) -> None:
        path = self.directory / STATE_FILE
        if path.exists():
            state = load_state(path, self.device)
            try:
                self._restore(state)
            except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
                raise damaged(path, error) from error
            self._saved_step = self.progress.step
        for snapshot in self._snapshots():
            if snapshot > self._snapshot(self.progress.step):
                snapshot.unlink()
        self.log.rewind(self.progress.step)

    def _restore(self, state: dict[str, Any]) -> None:
        self.progress = RunProgress(**state["progress"])
        counts = (self.progress.step, self.progress.epoch, self.progress.batch)
        if not all(is_whole_number(count) and count >= 0 for count in counts):
            raise ValueError(f"its step, epoch and batch are {shown(counts)}")
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["random"].cpu())
        if self.device.type == "cuda" and state["cuda_random"]:
            torch.cuda.set_rng_state_all([s.cpu() for s in state["cuda_random"]])

    def _finish(self) -> Path:
        """Average the last snapshots and write the checkpoint in float16."""
        info = CheckpointInfo(
            name=self.recipe.name,
            architecture=self.model.config,
            pairs=self.recipe.data.directions,
            tokenizer=tokenizer_config(self.recipe),
            decoding=DecodingOptions.from_dict(self.recipe.decoding),
            max_source_tokens=self.recipe.most_source_tokens,
        )
        directory = self.directory / CHECKPOINT_DIRECTORY
        snapshots = self._snapshots()[-self.table.average_last :]
        require_snapshots(snapshots, weight_shapes(self.model.config))
        files = [self.directory / TOKENIZER_FILE]
        save_checkpoint(directory, info, average_weights(snapshots), files, torch.float16)
        add_self_test(directory)
        return directory


def _groups(batches: list[Examples], size: int) -> Iterator[list[Examples]]:
    for start in range(0, len(batches), size):
        yield batches[start : start + size]
