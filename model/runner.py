"""The interface between the network and its callers: admit sentences, step, release.

Callers pass and get plain Python; they see no device or precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from model.backends.native import PackedModel
from model.backends.selection import Backend, make_decoder
from model.checkpoint import StoredNetwork
from model.decoding.batch import RunningBatch, StepBatch
from model.decoding.decoder import Capacity, Precision
from model.decoding.options import DecodingOptions
from model.decoding.result_reader import ResultReader
from model.decoding.sentence import SourceSentence, StepResult
from model.decoding.sentence_limits import SentenceLimits
from model.decoding.step_cost import StepCost
from model.network.config import AttentionHead, default_heads

if TYPE_CHECKING:
    from model.network.transformer import Transformer

_WARM_UP_STEPS = 3


class Runner:
    """Decodes up to `max_slots` sentences at once, with at most `max_rows` hypotheses in total."""

    def __init__(
        self,
        model: Transformer | StoredNetwork | PackedModel,
        control_ids: Sequence[int],
        *,
        max_slots: int,
        max_rows: int,
        max_source_tokens: int,
        max_target_tokens: int,
        max_beam_size: int = 16,
        precision: Precision = "float32",
        backend: Backend | None = None,
        byte_ids: Mapping[int, int] | None = None,
        copied_ids: Mapping[int, int | None] | None = None,
        alignment_heads: Sequence[AttentionHead] = (),
    ) -> None:
        """A model on disk is read once, weight by weight for the native backend; several runners
        can share a packed one. `backend`: None selects the best one of the device. `byte_ids`: maps
        each byte token to its byte; the search generates only valid UTF-8. `copied_ids`: tokens
        that a translation copies; the search generates them only if the source has the token that
        each is mapped to. `alignment_heads`: those whose mean attention aligns words; empty:
        `default_heads`."""
        config = model.config
        self.max_slots, self.max_rows = max_slots, max_rows
        self.max_source_tokens = min(max_source_tokens, config.max_positions)
        self.max_target_tokens = min(max_target_tokens, config.max_positions)
        self.max_beam_size = min(max_beam_size, max_rows)
        self._config = config
        capacity = Capacity(max_slots, max_rows, self.max_source_tokens, self.max_target_tokens)
        self._decoder = make_decoder(
            *(model, control_ids, capacity, self.max_beam_size, precision, backend),
            *(byte_ids or {}, copied_ids or {}, alignment_heads or default_heads(config)),
        )
        self._limits = SentenceLimits(
            self.max_source_tokens, self.max_target_tokens, self.max_beam_size
        )
        self._batch = RunningBatch(
            self.max_target_tokens,
            can_step_subset=self.can_step_subset,
            is_padded=self.is_recorded,
        )
        self._results = ResultReader(self._batch, self._decoder)
        self.step_cost: StepCost | None = None
        """The cost of a step, if it was measured (`model.trials.step_timing`)."""
        self.refused_paths: Sequence[str] = ()
        """Fast paths that were switched off (`model.trials.fast_paths`)."""

    @property
    def is_recorded(self) -> bool:
        """Whether steps are recorded."""
        return self._decoder.is_recorded

    @property
    def num_running(self) -> int:
        """Admitted sentences that no step has reported as finished yet."""
        return len(self._batch) + self._results.num_leaving

    @property
    def num_free_slots(self) -> int:
        return self.max_slots - self._batch.num_slots

    @property
    def num_free_rows(self) -> int:
        return self.max_rows - self._batch.num_rows

    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        """Encode sentences, project their memory and start their searches -> handles.

        A sentence takes one slot and beam_size rows. Raises ValueError and admits no sentence if
        one is empty or too long, or if slots or rows run out; DeviceLost as every method.
        """
        with self._decoder.in_use():
            return self._admit(sentences)

    def _admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        if not sentences:
            return []
        limits = [self._limits.target_limit(sentence) for sentence in sentences]
        self._check_room(sentences)
        handles = self._batch.add(sentences, limits)
        try:
            slots = [self._batch.slot(handle) for handle in handles]
            rows = [self._batch.rows(handle) for handle in handles]
            self._decoder.admit(slots, rows, sentences, limits)
        except BaseException:
            self._batch.remove(handles)
            raise
        return handles

    @property
    def can_step_subset(self) -> bool:
        """Whether a step of a subset costs less than a full step; false on a GPU."""
        return self._decoder.can_step_subset

    def share_cores(self, sharers: int) -> None:
        """Use 1 / `sharers` of the CPU cores, because that many runners compute at once, one
        thread each. A new runner uses all cores."""
        self._decoder.share_cores(sharers)

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        """Extend the hypotheses of these sentences, or of all if None, by one token.

        Raises ValueError for a subset unless `can_step_subset`.
        """
        with self._decoder.in_use():
            return self._take_step(handles)

    def _take_step(self, handles: Sequence[int] | None) -> StepResult:
        if self._batch:
            self._compact()
            self._launch(self._batch.of_step(handles))
        return self._results.read()

    def stream(self, handle: int) -> None:
        """Return the tokens of a running sentence as they settle, from its first one on. Does
        nothing if the sentence has ended."""
        self._batch.stream(handle)

    def release(self, handle: int) -> None:
        """Abandon a running sentence. Raises KeyError if it is not running."""
        if not self._results.forget(handle):
            with self._decoder.in_use():
                self._batch.remove([handle])

    def warm_up(
        self,
        options: Sequence[DecodingOptions],
        never_streamed: Sequence[DecodingOptions] = (),
        *,
        has_prefix: bool = False,
    ) -> None:
        """Run the first steps of every batch size. On a GPU they are slow, and no request should
        wait for them. The runner must be idle. `options`: of usual sentences, which may be streamed
        unless they are in `never_streamed`; `has_prefix`: translations begin with a tag."""
        with self._decoder.in_use():
            self._decoder.warm_up()
        if not self._decoder.lag:
            return
        prefix = (self._config.eos_id,) if has_prefix else ()
        usual = [
            SourceSentence([self._config.eos_id], one, prefix=prefix, is_streamed=is_streamed)
            for is_streamed, given in ((True, options), (False, never_streamed))
            for one in given
        ]
        for sentence in usual:
            handles = self.admit([sentence])
            for _ in range(_WARM_UP_STEPS):
                self.step()
            for handle in handles:
                if not self._results.forget(handle) and handle in self._batch:
                    self.release(handle)
        with self._decoder.in_use():
            self._decoder.record(usual)

    def _check_room(self, sentences: Sequence[SourceSentence]) -> None:
        num_rows = sum(sentence.options.beam_size for sentence in sentences)
        if len(sentences) > self.num_free_slots or num_rows > self.num_free_rows:
            raise ValueError(
                f"no room for {len(sentences)} sentences with {num_rows} hypotheses: "
                f"{self.num_free_slots} slots and {self.num_free_rows} rows are free"
            )

    def _compact(self) -> None:
        """Fill the places of sentences that left and that no new one has taken, if the step costs
        less then."""
        self._decoder.move(self._batch.compact())

    def _launch(self, batch: StepBatch) -> None:
        """Start a step. With a lag, the batch may include sentences whose end is not read yet."""
        progress = self._decoder.take_step(
            batch.members, self._batch.shape_of(batch), batch.features
        )
        self._batch.num_steps += 1
        self._results.add(batch, progress)
