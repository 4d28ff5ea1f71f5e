"""Lines, and where to go on with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.corpora.corpus import CorpusBatch
from service.corpora.line_files import LineInput, LineOutput
from service.corpora.line_formats import LineFormat, Record, TabbedLines
from service.corpora.translations import Translation

_LINES, _COMPRESSED_LINES = 64, 1024
"""Of a batch. Longer frames compress better."""
_MOST_BATCH_BYTES = 2**20
_TOO_LONG = "it is longer than 16 MiB"


class LineCorpus:
    """The lines of a file and their translations. The output's whole frames tell what is done."""

    def __init__(self, source: LineInput, output: LineOutput, line_format: LineFormat) -> None:
        self._source, self._output, self._format = source, output, line_format
        self.num_done = self.num_failed = 0
        is_compressed = output.compression != "none"
        self.batch_records = _COMPRESSED_LINES if is_compressed else _LINES

    def batches(self) -> Iterator[CorpusBatch[list[Record]]]:
        if isinstance(self._format, TabbedLines) and not self._source.has_first_line:
            self._format.skip_header(self._source.first_line())
        records = (self._record(line) for line in self._source.lines())
        self._skip_done(records)
        batch: list[Record] = []
        num_bytes = 0
        for record in records:
            batch.append(record)
            num_bytes += len(record.line)
            if len(batch) >= self.batch_records or num_bytes >= _MOST_BATCH_BYTES:
                yield self._batch(batch)
                batch, num_bytes = [], 0
        if batch:
            yield self._batch(batch)

    def _record(self, line: bytes | None) -> Record:
        return self._format.unread(_TOO_LONG) if line is None else self._format.read(line)

    def _batch(self, records: list[Record]) -> CorpusBatch[list[Record]]:
        errors = {place: one.error for place, one in enumerate(records) if one.error}
        return CorpusBatch([one.text for one in records], records, errors, self._source.fraction)

    def _skip_done(self, records: Iterator[Record]) -> None:
        """Read the records whose lines are written. Raises ValueError if the lines are others."""
        for lines in self._output.kept():
            for line in lines:
                self.num_done += 1
                record = next(records, None)
                if record is None or not self._is_of(record, line):
                    raise ValueError(
                        f"record {self.num_done} of the output is not that of {self._source.name}, "
                        "or has other fields; name another output"
                    )
                if record.fixed is None:
                    self.num_failed += self._format.has_failed(record, line)

    def _is_of(self, record: Record, line: bytes) -> bool:
        if record.fixed is not None:
            return line == record.fixed
        return self._format.is_of(record, line)

    def write(self, batch: CorpusBatch[list[Record]], translations: Sequence[Translation]) -> None:
        pairs = zip(batch.kept, translations, strict=True)
        self._output.write([self._line(record, translation) for record, translation in pairs])

    def _line(self, record: Record, translation: Translation) -> bytes:
        return self._format.write(record, translation) if record.fixed is None else record.fixed

    def finish(self) -> None:
        self._output.finish()
