"""The training loop: resumable at any moment, the same on CPU and CUDA.

A run's directory holds sentencepiece.model, state.pt (all that is needed to go on), snapshots for
averaging, log.csv, curves.png and, at the end, checkpoint/.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

import torch
from safetensors.torch import save_file
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from model.checkpoint import (
    CheckpointInfo,
    load_checkpoint,
    read_info,
    save_checkpoint,
)
from model.options import DecodingOptions
from model.tokenizer import Tokenizer, TokenizerConfig
from model.training.averaging import average_weights
from model.training.data import BatchMaker, Examples, tokenize_corpora
from model.training.evaluation import dev_bleu
from model.training.growth import grow
from model.training.log import TrainingLog
from model.training.memory import FreedMemory
from model.training.optimisation import learning_rate, sampled_share, summed_loss
from model.training.recipe import Recipe, RecipeError
from model.training.vocabulary import read_word_vectors, train_tokenizer
from model.transformer import Transformer, initialise

TOKENIZER_FILE = "sentencepiece.model"
STATE_FILE = "state.pt"
CHECKPOINT_DIRECTORY = "checkpoint"


@dataclass
class Progress:
    """Where a run stands; saved with the weights."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best_bleu: float = -1.0
    stale_validations: int = 0


class Trainer:
    """One training run in `directory`; goes on from the state that it finds there."""

    def __init__(self, recipe: Recipe, directory: Path, device: torch.device | str) -> None:
        self._freed_memory = FreedMemory()
        self._freed_memory.keep()
        self.recipe, self.table, self.directory = recipe, recipe.training, directory
        self.device = torch.device(device)
        directory.mkdir(parents=True, exist_ok=True)
        tokenizer_path = directory / TOKENIZER_FILE
        if not tokenizer_path.exists():
            self._make_tokenizer(tokenizer_path)
        self.tokenizer = Tokenizer(tokenizer_path, tokenizer_path, self._tokenizer_config())
        self.train_batches = self._batch_maker("train")
        self.dev_batches = self._batch_maker("dev")
        self.progress = Progress()
        self.log = TrainingLog(directory)
        self._losses: list[float] = []
        self._build()
        self._resume()

    def run(self) -> Path:
        """Train to the end, or to the recipe's early stop -> the finished checkpoint."""
        while not self._is_finished():
            self._run_epoch()
        return self._finish()

    def _make_tokenizer(self, path: Path) -> None:
        """A new one, or that of the checkpoint which the run starts from without growing."""
        if (start := self.table.start) is None or self.table.grow:
            train_tokenizer(self.recipe, path)
        else:
            shutil.copyfile(start / read_info(start).tokenizer.source, path)

    def _tokenizer_config(self) -> TokenizerConfig:
        reserved = self.recipe.tokenizer.reserved_pieces
        return TokenizerConfig(TOKENIZER_FILE, TOKENIZER_FILE, reserved=reserved)

    def _batch_maker(self, split: str) -> BatchMaker:
        data = self.recipe.data
        corpora = tokenize_corpora(data, self.tokenizer, split)
        return BatchMaker(corpora, data.languages, self.tokenizer, self.table.batch_tokens)

    def _build(self) -> None:
        torch.manual_seed(self.table.seed)
        config = self.recipe.model_config(self.tokenizer.target_vocab_size)
        self.model = Transformer(config)
        initialise(self.model, self.table.initialisation)
        if (vectors := self.recipe.tokenizer.word_vectors) is not None:
            known = read_word_vectors(vectors, self.tokenizer, config.d_model)
            with torch.no_grad():
                for token, vector in known.items():
                    self.model.tgt_embedding.tokens.weight[token] = vector
        if self.table.start is not None:
            self._load_start(self.table.start)
        self.model.to(self.device)
        self.optimiser = torch.optim.Adam(
            self.model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True
        )

    def _load_start(self, directory: Path) -> None:
        """Raises RecipeError if the checkpoint does not fit the recipe's architecture."""
        loaded = load_checkpoint(directory)
        if self.table.grow:
            grow(self.model, self.tokenizer, loaded)
            return
        own, its = asdict(self.model.config), asdict(loaded.info.architecture)
        if different := [name for name in own if name != "dropout" and own[name] != its[name]]:
            name = different[0]
            raise RecipeError(
                f"training.start must be a checkpoint of the recipe's own architecture: its {name} "
                f"is {its[name]!r}, the recipe's {own[name]!r}"
            )
        self.model.load_state_dict(loaded.model.state_dict())

    def _is_finished(self) -> bool:
        is_stale = 0 < self.table.patience <= self.progress.stale_validations
        return self.progress.step >= self.table.max_steps or is_stale

    def _run_epoch(self) -> None:
        batches = self.train_batches.epoch(self.table.seed, self.progress.epoch)
        groups = list(_groups(batches, self.table.accumulate))
        if not groups:
            raise RecipeError(
                "no sentence pair is left to train on: look at the corpora, their weights and "
                "data.max_tokens"
            )
        with tqdm(
            total=self.table.max_steps, initial=self.progress.step, unit="step", smoothing=0.05
        ) as bar:
            for group in groups[self.progress.batch :]:
                self._train_step(group, bar)
                if self._is_finished():
                    return
        self.progress.epoch += 1
        self.progress.batch = 0

    def _train_step(self, group: list[Examples], bar: tqdm[NoReturn]) -> None:
        started = time.monotonic()
        loss, tokens = self._optimise(group)
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

    def _optimise(self, group: list[Examples]) -> tuple[float, int]:
        """One optimiser step over a group of batches -> mean loss per token, tokens."""
        self.model.train()
        rate = learning_rate(self.progress.step + 1, self.model.config.d_model, self.table)
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = rate
        own_share = sampled_share(self.progress.step + 1, self.table)
        batches = [self.train_batches.collate(examples) for examples in group]
        real_tokens = sum(int((batch.tgt_out != self.tokenizer.pad_id).sum()) for batch in batches)
        total = 0.0
        for batch in batches:
            src, tgt_in, tgt_out = (ids.to(self.device) for ids in batch)
            with self._arithmetic():
                loss, _ = summed_loss(
                    self.model, src, tgt_in, tgt_out, self.table.label_smoothing, own_share
                )
            (loss / real_tokens).backward()
            total += loss.item()
        if self.table.clip_norm:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.table.clip_norm)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return total / real_tokens, real_tokens

    @contextlib.contextmanager
    def _arithmetic(self) -> Iterator[None]:
        """Autocast where the recipe asks for it; on a CPU the plain attention kernel, whose
        backward pass is several times faster than the fused one at sentence lengths."""
        is_half = self.table.precision == "bfloat16"
        with torch.autocast(self.device.type, torch.bfloat16, enabled=is_half):
            if self.device.type == "cpu":
                with sdpa_kernel(SDPBackend.MATH):
                    yield
            else:
                yield

    def _record(self) -> None:
        """Validate if it is time, write the log, then the state: in this order, so that a kill
        in between repeats work and loses none."""
        progress = self.progress
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

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        self.model.eval()
        total, tokens = 0.0, 0
        for corpus in range(len(self.dev_batches.corpora)):
            for side in self.dev_batches.corpora[corpus].source_sides:
                for examples in self.dev_batches.everything(corpus, side):
                    src, tgt_in, tgt_out = (
                        ids.to(self.device) for ids in self.dev_batches.collate(examples)
                    )
                    with self._arithmetic():
                        loss, count = summed_loss(self.model, src, tgt_in, tgt_out, 0.0)
                    total += loss.item()
                    tokens += count
        bleu = dev_bleu(
            self.model, self.tokenizer, self.recipe.data, self.table.validation_sentences
        )
        is_better = bleu > self.progress.best_bleu
        self.progress.best_bleu = max(bleu, self.progress.best_bleu)
        self.progress.stale_validations = 0 if is_better else self.progress.stale_validations + 1
        return {"dev_loss": total / tokens, "dev_bleu": bleu}

    def _save_snapshot(self) -> None:
        weights = {name: w.cpu() for name, w in self.model.weights.items()}
        save_file(weights, self._snapshot(self.progress.step))
        for old in self._snapshots()[: -self.table.average_last]:
            old.unlink()

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
        temporary = self.directory / f"{STATE_FILE}.tmp"
        torch.save(state, temporary)
        temporary.replace(self.directory / STATE_FILE)

    def _resume(self) -> None:
        path = self.directory / STATE_FILE
        if path.exists():
            state = torch.load(path, map_location=self.device, weights_only=True)
            self.progress = Progress(**state["progress"])
            self.model.load_state_dict(state["model"])
            self.optimiser.load_state_dict(state["optimiser"])
            torch.set_rng_state(state["random"].cpu())
            if self.device.type == "cuda" and state["cuda_random"]:
                torch.cuda.set_rng_state_all([s.cpu() for s in state["cuda_random"]])
        for snapshot in self._snapshots():
            if snapshot > self._snapshot(self.progress.step):
                snapshot.unlink()
        self.log.rewind(self.progress.step)

    def _finish(self) -> Path:
        """Average the last snapshots and write the checkpoint in float16."""
        info = CheckpointInfo(
            name=self.recipe.name,
            architecture=self.model.config,
            pairs=self.recipe.data.directions,
            tokenizer=self._tokenizer_config(),
            decoding=DecodingOptions.from_dict(self.recipe.decoding),
            max_source_tokens=self.recipe.most_source_tokens,
        )
        directory = self.directory / CHECKPOINT_DIRECTORY
        weights = average_weights(self._snapshots()[-self.table.average_last :])
        files = [self.directory / TOKENIZER_FILE]
        save_checkpoint(directory, info, weights, files, torch.float16)
        return directory


def _groups(batches: list[Examples], size: int) -> Iterator[list[Examples]]:
    for start in range(0, len(batches), size):
        yield batches[start : start + size]
