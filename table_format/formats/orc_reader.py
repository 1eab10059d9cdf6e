"""Reads one ORC file: named columns in batches of bounded size, stripe by stripe.

Arrow does not expose the statistics of stripes, so no stripe is skipped. Every error in a file becomes ``BadEncoding``
with its path; errors of the store pass through as ``OSError``. ORC has no checksums: a damaged value may go unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import orc

from table_format.errors import BadEncoding
from table_format.formats.batch_rows import MAX_BATCH_BYTES, is_of_any_width
from table_format.formats.decoding import decoding
from table_format.formats.deleted_rows import only_selected
from table_format.formats.nested import empty_columns
from table_format.formats.orc_tail import Tail, check_postscript
from table_format.formats.orc_timestamps import holds_timestamps, read_wide_stripe
from table_format.formats.orc_types import from_storage
from table_format.formats.orc_wide_columns import WideColumns
from table_format.formats.protocol import RowGroupFilter
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import DataField

_MAX_STRIPE_BYTES: Final = 4 * MAX_BATCH_BYTES
"""A stripe is decoded as a whole if its texts are not larger than this, in bytes."""


class OrcFileReader:
    """Reads one file; see ``FormatReader``."""

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path
        with decoding(path, "ORC"):
            check_postscript(source)
            self._file = orc.ORCFile(source)
            self._tail = Tail.of(cast("bytes", self._file.reader.serialized_file_tail()))
            self._names = tuple(self._file.schema.names)
            self._stripes = self._tail.stripes
        stated = int(self._file.nrows)
        rows = sum(stripe.rows for stripe in self._stripes)
        if rows != stated or len(self._stripes) != self._file.nstripes:
            raise BadEncoding(path, f"the footer states {stated} rows, its stripes {rows}")

    @property
    def row_count(self) -> int:
        """The number of rows in the file."""
        return int(self._file.nrows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the file in order."""
        return self._names

    def batches(
        self,
        fields: Sequence[DataField],
        *,
        row_groups: RowGroupFilter | None,  # noqa: ARG002 - there are no bounds to test
        batch_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        """Return the columns ``fields``, at most ``batch_rows`` rows at a time.

        Raises:
            BadEncoding: the content does not match the footer, or the types do not match those of ``fields``.
        """
        return self._batches(range(len(self._stripes)), fields, batch_rows, self._wide_columns(fields, batch_rows))

    def selected(
        self,
        fields: Sequence[DataField],
        positions: npt.NDArray[np.int64],
        *,
        row_groups: RowGroupFilter | None,  # noqa: ARG002 - there are no bounds to test
        batch_rows: int,
    ) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
        """Yield the rows at these positions; stripes without such a row are not decoded. See ``FormatReader``."""
        bounds = [0, *accumulate(stripe.rows for stripe in self._stripes)]
        wanted = list(range(len(self._stripes)))
        wide = self._wide_columns(fields, batch_rows)
        if wide is None:  # a stream of wide columns reads all stripes
            wanted = np.flatnonzero(np.diff(np.searchsorted(positions, bounds))).tolist()
        batches = self._batches(wanted, fields, batch_rows, wide)
        kept = [range(bounds[index], bounds[index + 1]) for index in wanted]
        yield from only_selected(batches, kept, positions, path=self._path)

    def _batches(
        self, stripes: Iterable[int], fields: Sequence[DataField], batch_rows: int, wide: WideColumns | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of these stripes, or of all stripes if there are ``wide`` columns."""
        schema = arrow_schema(fields)
        narrow = [f for f in fields if wide is None or f.name not in wide.names]
        for index in stripes:
            stripe = self._stripes[index]
            columns = self._columns(index, narrow) if narrow else {}
            start = 0
            while start < stripe.rows:
                rows = min(batch_rows, stripe.rows - start)
                if not fields:
                    yield empty_columns(rows)
                    start += rows
                    continue
                with decoding(self._path, "ORC"):
                    taken = {} if wide is None else wide.take(rows)
                    rows = len(next(iter(taken.values()))) if taken else rows
                    found = {f.name: columns[f.name].slice(start, rows) for f in narrow} | taken
                    arrays = [from_storage(found[f.name], f.type) for f in fields]
                    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
                start += rows
                yield batch

    def _wide_columns(self, fields: Sequence[DataField], batch_rows: int) -> WideColumns | None:
        """Return a stream of the columns that are too wide to decode a whole stripe, or ``None`` if there are none."""
        rows = max((stripe.rows for stripe in self._stripes), default=0)
        names = {f.name for f in fields if is_of_any_width(f) and not holds_timestamps(f.type) and "." not in f.name}
        row_bytes = -(-self._tail.text_bytes // max(1, self.row_count))
        if not names or rows * row_bytes <= _MAX_STRIPE_BYTES:
            return None
        return WideColumns(self._source, tuple(sorted(names)), max(1, min(batch_rows, MAX_BATCH_BYTES // row_bytes)))

    def _columns(self, index: int, fields: Sequence[DataField]) -> dict[str, pa.Array]:
        """Return the columns of one stripe by name."""
        stripe = self._stripes[index]
        with decoding(self._path, "ORC"):
            # Use positions instead of names, because Arrow interprets a dot in a name as a path.
            positions = sorted({self._names.index(f.name) for f in fields})
            try:
                batch = self._file.read_stripe(index, columns=cast("list[str]", positions))  # the stubs want names
                columns = {f.name: batch.column(f.name) for f in fields}
            except pa.ArrowInvalid:
                if not any(holds_timestamps(f.type) for f in fields):
                    raise
                columns = read_wide_stripe(self._source, self._tail, stripe, fields, positions)
        found = len(columns[fields[0].name])
        if found != stripe.rows:
            raise BadEncoding(self._path, f"the footer states {stripe.rows} rows in stripe {index}, found {found}")
        return columns
