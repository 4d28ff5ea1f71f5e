"""Models in memory, and the jobs that run on them in threads of their own."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from service.documents.file_translator import FileJob, TranslatedFile
from service.documents.threads import DocumentThreads
from service.errors import InvalidField, shown
from service.offline import OfflineOptions, OfflineTranslator
from service.settings import BUNDLED
from service.translation.dispatcher import Dispatcher
from service.translation.job import TranslationJob
from service.translation.language.detection import Detection
from service.translation.results import TextPiece, TranslationResult

Model = str | Path
"""The name of a bundled model, the directory of a checkpoint or of another family's model, or a
Hub id."""
Texts = list[str] | tuple[str, ...]
Put = Callable[[str | None], object]
"""Takes the pieces of a translation, and None after the last one."""
_MAX_BEAM_SIZE, _MOST_SLOTS = 16, 65536


class Engine:
    """What a translator has, however it waits for translations."""

    def __init__(
        self,
        models: Model | Sequence[Model] = BUNDLED,
        *,
        device: str = "auto",
        precision: str = "auto",
        max_slots: int = 0,
    ) -> None:
        """`models`: the first that has the languages translates, or two through a third language;
        by default the bundled ones. `device`: auto, cpu, cuda or cuda:1; `precision`: auto,
        float32, bfloat16, int8 (CPU) or float16 (GPU); `max_slots`: sentences translated at the
        same time, 0 is as many as a server chooses. Raises ValueError with one sentence if a model
        cannot be loaded."""
        named = [models] if isinstance(models, str | Path) else models
        if not named:
            raise ValueError("models must name at least one model")
        if not isinstance(max_slots, int) or not 0 <= max_slots <= _MOST_SLOTS:
            got = shown(max_slots)
            raise ValueError(f"max_slots must be a whole number from 0 to {_MOST_SLOTS}, got {got}")
        options = OfflineOptions(device, precision, max_slots, max_beam_size=_MAX_BEAM_SIZE)
        paths = [Path(model) for model in named]
        offline = OfflineTranslator(paths, options, documents=DocumentThreads())
        self._opened = [offline.__enter__()]
        weakref.finalize(self, _close_beside, self._opened).atexit = False

    @property
    def _offline(self) -> OfflineTranslator:
        if not self._opened:
            raise is_closed()
        return self._opened[0]

    @property
    def languages(self) -> list[str]:
        """The codes of all languages."""
        return list(self._offline.routes.languages)

    @property
    def targets(self) -> dict[str, list[str]]:
        """The languages that each language can be translated into, also through a third one."""
        return dict(self._offline.routes.targets)

    def _results(
        self, texts: Iterable[str], job: TranslationJob
    ) -> Generator[Future[list[TranslationResult]]]:
        """The results of the texts in order, a few at a time. A bounded number of texts is read
        ahead; closing the generator cancels those."""
        if isinstance(texts, str):
            raise TypeError("texts must be several strings, not one")
        if isinstance(texts, Mapping):
            raise TypeError(f"texts must be several strings, not {type(texts).__name__}")
        yield from self._offline.submit_each(map(checked, texts), job)

    def _stream(self, job: TranslationJob, put: Put) -> Future[None]:
        """Put the pieces of the job's translation."""
        running = self._offline.submit(lambda dispatcher: _put_pieces(dispatcher, job, put))
        running.add_done_callback(lambda _: put(None))
        return running

    def _file(
        self, path: str | Path, job: TranslationJob, *, replaces: bool
    ) -> Future[TranslatedFile]:
        path = Path(path)
        return self._offline.submit_file(FileJob(path.name, path.read_bytes(), job, replaces))

    def _detect(self, text: str) -> Future[Sequence[Detection]]:
        texts = [checked(text)]
        return self._offline.submit(lambda dispatcher: dispatcher.detect(texts))


async def _put_pieces(dispatcher: Dispatcher, job: TranslationJob, put: Put) -> None:
    async with dispatcher.stream(job) as pieces:
        async for piece in pieces:
            if isinstance(piece, TextPiece):
                put(piece.text)


def close(opened: list[OfflineTranslator]) -> None:
    """Cancel running translations and free the models of those in the list, which becomes empty."""
    if opened:
        opened.pop().__exit__()
        gc.collect()  # what is in memory for a model refers to itself


def is_closed() -> RuntimeError:
    """For who asks a closed translator, or waits for one that is closed then."""
    return RuntimeError("the translator is closed")


def _close_beside(opened: list[OfflineTranslator]) -> None:
    """For a translator that was not closed: its engines may run in the thread that collects it."""
    threading.Thread(target=close, args=(opened,), daemon=True).start()


def listed(text: str | Iterable[str]) -> tuple[list[str], str | list[str]]:
    """One text, or several, as a list; and the field q of a request for as many, without them.
    Raises TypeError."""
    if isinstance(text, str):
        return [text], ""
    if isinstance(text, bytes | Mapping) or not isinstance(text, Iterable):
        raise TypeError(f"text must be a string or a list of strings, not {type(text).__name__}")
    return list(text), []


def with_alternatives(
    results: Iterable[TranslationResult], most: int
) -> Iterator[TranslationResult]:
    """The results with at most so many alternatives: a search has as many as its beam is wide."""
    for result in results:
        yield dataclasses.replace(result, alternatives=result.alternatives[:most])


def checked(text: object) -> str:
    """Raises TypeError for what is no string, and InvalidField for half a character."""
    if not isinstance(text, str):
        raise TypeError(f"a text must be a string, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidField(f"a text must be valid Unicode, got {shown(text)}") from None
    return text
