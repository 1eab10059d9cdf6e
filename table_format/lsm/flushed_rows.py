"""Keeps the rows of a file that a writer has just closed, so that the next compaction need not read the file.

The rows are the same as those that a reader would decode, and take no more memory than its batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from table_format.formats.batch_rows import MAX_BATCH_BYTES
from table_format.formats.bucket_files import BucketFiles
from table_format.formats.long_decimals import columns_with_long_decimals
from table_format.model.arrow_types import arrow_schema
from table_format.model.data_file import DataFileMeta
from table_format.model.types import NESTED, DataField
from table_format.options.file_formats import PARQUET


@dataclass(frozen=True, slots=True)
class FlushedRows:
    """The rows of one file, with the columns of the table, ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND``."""

    file_name: str
    rows: pa.RecordBatch

    @classmethod
    def of(cls, bucket: BucketFiles, files: Sequence[DataFileMeta], rows: pa.RecordBatch) -> FlushedRows | None:
        """Return the rows of the files just written to level 0, or ``None`` if they cannot be kept.

        They cannot be kept if they are too many, or if a reader may decode different values: ORC and Avro change some
        values, and Parquet changes decimals with too many digits.
        """
        schema, options = bucket.schema, bucket.options
        is_plain = not any(isinstance(field.type, NESTED) for field in schema.fields)
        is_as_read = is_plain and not columns_with_long_decimals(schema.fields, options.merge)
        if len(files) != 1 or not is_as_read or rows.nbytes > MAX_BATCH_BYTES:
            return None
        if options.files.at_level(0).format != PARQUET.name:
            return None
        return cls(files[0].file_name, rows)

    def batches(self, fields: Sequence[DataField], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield these columns of the rows, in order, at most ``batch_rows`` rows at a time."""
        columns = [self.rows.column(field.name) for field in fields]
        batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields))
        for start in range(0, batch.num_rows, batch_rows):
            yield batch.slice(start, batch_rows)
