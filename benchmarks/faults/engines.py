"""Faults of the engines: their calls raise, or their scores are not finite."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from benchmarks.faults.bench import Bench, References, Seen
from benchmarks.faults.promise import Promise, Setup, under_load
from benchmarks.process import MODELS
from benchmarks.soak.scene import Result

_FAILING = "benchmarks.faults.failing_server"
_FAILURES, _GAP_SENTENCES = 6, 30


async def fail_steps(bench: Bench, faults: Path) -> None:
    """Steps and admissions of the engines raise; sentences of that step fail, others do not."""
    for number in range(_FAILURES):
        name = ("step", "admit")[number % 2]
        (faults / name).touch()
        while (faults / name).exists():
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
    failed = bench.tally.total(Result.UNEXPECTED, Result.WRONG)
    bench.seen.require(failed > 0, "nobody met the failure")
    bench.seen.facts.append(f"{_FAILURES} failures, {failed} requests answered with an error")


def rare_token() -> tuple[int, str]:
    """A token of en-de's source that hardly any text has, and a text that has it."""
    pieces = SentencePieceProcessor(model_file=str(MODELS[1] / "sentencepiece.model"))
    for token in range(pieces.get_piece_size() - 1, 0, -1):
        text = f"I see a {pieces.id_to_piece(token).replace('▁', '')} here."
        if token in pieces.encode(text):
            return token, text
    raise ValueError("no token can be written")


async def meet_non_finite_scores(bench: Bench, text: str) -> None:
    """Sentences whose scores are NaN fail alone; their neighbours are right."""
    request = bench.writer.json("/translate", {"q": text, "source": "en", "target": "de"})
    answers = await asyncio.gather(*(bench.pool.send(request) for _ in range(_GAP_SENTENCES)))
    statuses = sorted({answer.status for answer in answers})
    bench.seen.require(statuses == [500], f"NaN was answered with {statuses}")
    bench.seen.facts.append(f"{_GAP_SENTENCES} sentences of NaN answered 500")


async def _run_failing_steps(references: References, directory: Path) -> Seen:
    setup, faults = Setup.make(references, directory), directory / "faults"
    faults.mkdir()
    environment = {"FAULTS": str(faults)}
    async with setup.bench(environment=environment, module=_FAILING) as bench:
        also = (Result.UNEXPECTED, Result.WRONG)
        return await under_load(bench, lambda one: fail_steps(one, faults), *also)


async def _run_non_finite_scores(references: References, directory: Path) -> Seen:
    setup, (token, text) = Setup.make(references, directory), rare_token()
    environment = {"FAULTS": str(directory), "FAULTS_TOKEN": str(token)}
    async with setup.bench(environment=environment, module=_FAILING) as bench:
        return await under_load(bench, lambda one: meet_non_finite_scores(one, text))


PROMISES = (
    Promise(
        "steps",
        "A failing step fails its sentences and nothing else.",
        "six injected exceptions in steps and admissions of the engines",
        _run_failing_steps,
        (
            "tests/service/engine/test_faults.py::test_one_fault_anywhere_leaves_no_request_without_an_answer",
        ),
    ),
    Promise(
        "not-finite",
        "A sentence whose scores are not finite fails alone.",
        "an embedding of NaN, 30 sentences that have it among others",
        _run_non_finite_scores,
        (
            "tests/model/decoding/test_search.py::test_a_sentence_whose_scores_are_not_finite_fails_alone",
        ),
    ),
)
