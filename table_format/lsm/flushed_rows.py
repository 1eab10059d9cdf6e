"""The rows of a file that a writer has just closed, for the compaction that follows: it need not read them back.

They are what a reader of the file would find, and take no more memory than the batches that it would decode.
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
        """The rows of the files just written to level 0; ``None`` where a reader may find others, or they are many.

        ORC and Avro change some values, and so does Parquet decimals with too many digits.
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
        """These columns of the rows, in order, so many rows at a time."""
        columns = [self.rows.column(field.name) for field in fields]
        batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields))
        for start in range(0, batch.num_rows, batch_rows):
            yield batch.slice(start, batch_rows)
