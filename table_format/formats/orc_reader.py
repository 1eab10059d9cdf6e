"""Reading one ORC file: bounded batches of named columns, one stripe after the other.

Arrow exposes no statistics of stripes, so none is left out. Whatever is wrong with a file becomes ``BadEncoding`` with
its path; errors of the store pass through as ``OSError``. ORC has no checksums: a damaged value may go unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import orc

from table_format.errors import BadEncoding
from table_format.formats.decoding import decoding
from table_format.formats.nested import empty_columns
from table_format.formats.orc_tail import Tail, check_postscript
from table_format.formats.orc_timestamps import holds_timestamps, read_wide_stripe
from table_format.formats.orc_types import from_storage
from table_format.formats.protocol import RowGroupFilter
from table_format.model.arrow_types import arrow_schema
from table_format.model.types import DataField


class OrcFileReader:
    """Reads one file; see ``FormatReader``."""

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path
        with decoding(path, "ORC"):
            check_postscript(source)
            self._file = orc.ORCFile(source)
            self._tail = Tail.of(self._file.reader.serialized_file_tail())
            self._names = tuple(self._file.schema.names)
            self._stripes = self._tail.stripes
        stated = int(self._file.nrows)
        rows = sum(stripe.rows for stripe in self._stripes)
        if rows != stated or len(self._stripes) != self._file.nstripes:
            raise BadEncoding(path, f"the footer states {stated} rows, its stripes {rows}")

    @property
    def row_count(self) -> int:
        return int(self._file.nrows)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._names

    def batches(
        self,
        fields: Sequence[DataField],
        *,
        row_groups: RowGroupFilter | None,  # noqa: ARG002 - there are no bounds to test
        batch_rows: int,
    ) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(fields)
        for index, stripe in enumerate(self._stripes):
            columns = self._columns(index, fields) if fields else {}
            for start in range(0, stripe.rows, batch_rows):
                rows = min(batch_rows, stripe.rows - start)
                if not fields:
                    yield empty_columns(rows)
                    continue
                with decoding(self._path, "ORC"):
                    arrays = [from_storage(columns[f.name].slice(start, rows), f.type) for f in fields]
                    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
                yield batch

    def _columns(self, index: int, fields: Sequence[DataField]) -> dict[str, pa.Array]:
        """The columns of one stripe by name."""
        stripe = self._stripes[index]
        with decoding(self._path, "ORC"):
            # Positions and not names: Arrow takes a dot in a name for a path.
            positions = sorted({self._names.index(f.name) for f in fields})
            try:
                batch = self._file.read_stripe(index, columns=positions)
                columns = {f.name: batch.column(f.name) for f in fields}
            except pa.ArrowInvalid:
                if not any(holds_timestamps(f.type) for f in fields):
                    raise
                columns = read_wide_stripe(self._source, self._tail, stripe, fields, positions)
        found = len(columns[fields[0].name])
        if found != stripe.rows:
            raise BadEncoding(self._path, f"the footer states {stripe.rows} rows in stripe {index}, found {found}")
        return columns
