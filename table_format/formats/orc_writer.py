"""Writes one ORC file as Java Paimon does: same schema and field ids, and its defaults for stripes and dictionaries.

Bounds are measured while rows are written, because Arrow does not expose the statistics of its ORC files. Arrow's
writer writes to memory (``EncodedBytes``), and the encoded bytes are moved to the file after each batch. So memory
holds about one stripe, and a full disk is an ordinary error.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa
from pyarrow import orc

from table_format.errors import InvalidData
from table_format.formats.codecs import checked_codec
from table_format.formats.measured_bounds import MeasuredBounds
from table_format.formats.orc_types import orc_schema, to_storage
from table_format.formats.protocol import WrittenFile
from table_format.formats.sinks import EncodedBytes
from table_format.model.arrow_types import arrow_type
from table_format.model.types import CharType, DataField, types_in
from table_format.options.files import FileOptions

_LEAST_THOROUGH_LEVEL: Final = 3
"""ORC has two compression strategies; zstd's default level corresponds to the higher one."""

_BLOCK_STEP: Final = 64 << 10
"""The size of Arrow's compression blocks is a multiple of this number of bytes."""

_PADDED_CHARACTERS: Final = 1 << 26
"""CHAR values are padded to their length, and an array of them must not exceed what Arrow can address."""

_UNSEEN_RATIO: Final = 0.2
"""The share of buffered bytes that reach the file, as Java estimates it."""


def _longest_char(fields: Sequence[DataField]) -> int:
    return max((t.length for f in fields for t in types_in(f.type) if isinstance(t, CharType)), default=0)


class OrcFileWriter:
    """Writes one file; see ``FormatWriter``."""

    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField], options: FileOptions) -> None:
        self._fields = tuple(fields)
        self._types = [arrow_type(f.type) for f in fields]
        self._schema = orc_schema(fields)
        self._bounds = MeasuredBounds(fields)
        self._most_rows = max(_PADDED_CHARACTERS // max(_longest_char(fields), 1), 1)
        self._sink = sink
        self._encoded = EncodedBytes()
        self._rows = 0
        self._buffered = 0
        self._flushed = 0
        codec = checked_codec("orc", options)
        # The stubs accept only capital letters.
        compression: Any = "uncompressed" if codec == "none" else codec
        strategy: Any = "compression" if options.zstd_level >= _LEAST_THOROUGH_LEVEL else "speed"
        self._writer = orc.ORCWriter(
            self._encoded,
            compression=compression,
            compression_strategy=strategy,
            compression_block_size=-(-options.orc_compression_block_size // _BLOCK_STEP) * _BLOCK_STEP,
            stripe_size=options.block_size or options.orc_stripe_size,
            row_index_stride=options.orc_row_index_stride,
            dictionary_key_size_threshold=options.orc_dictionary_key_threshold,
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows whose columns are the fields of the file, in order.

        Raises:
            InvalidData: the columns do not match the fields, or a value cannot be stored.
        """
        if batch.schema.types != self._types:
            message = f"expected columns of types {list(map(str, self._types))}, found {batch.schema}"
            raise InvalidData(message)
        self._bounds.add(batch)
        for start in range(0, batch.num_rows, self._most_rows):
            columns = batch.slice(start, self._most_rows).columns
            self._write([to_storage(c, f.type) for c, f in zip(columns, self._fields, strict=True)])
        self._rows += batch.num_rows
        before, after = self._flushed, self._encoded.total
        # A stripe is encoded when it is full; all earlier rows are in the file now.
        self._buffered = self._buffered + batch.nbytes if after == before else 0
        self._flushed = after

    def reaches(self, target_bytes: int) -> bool:
        """Return whether the file, with its buffered rows, has reached ``target_bytes`` bytes."""
        return self._flushed + self._buffered * _UNSEEN_RATIO >= target_bytes

    def close(self) -> WrittenFile:
        """Write the buffered rows and the end of the file, and return the facts of the file."""
        if not self._rows:
            # Without a table, the writer would not know the columns of the file.
            self._write([pa.array([], f.type) for f in self._schema])
        self._writer.close()
        self._encoded.moved_to(self._sink)
        return WrittenFile(self._rows, self._encoded.total, self._bounds.result())

    def discard(self) -> None:
        """Discard the buffered rows; the file stays incomplete."""
        # Closing writes a footer to memory. It is not needed, and neither are its errors after a failed write.
        with suppress(pa.ArrowException, OSError, RuntimeError):
            self._writer.close()

    def _write(self, columns: list[pa.Array]) -> None:
        try:
            self._writer.write(pa.Table.from_arrays(columns, schema=self._schema))
        except pa.ArrowInvalid as error:
            message = f"rows cannot be stored in an ORC file: {error}"
            raise InvalidData(message) from error
        self._encoded.moved_to(self._sink)
