"""Reads a small Parquet file once for each bit of its footer, with that bit flipped, and prints how many were refused.

A program of its own: what Arrow makes of a damaged footer must not end a process, and a test could not report that.
"""

from __future__ import annotations

import pyarrow as pa

from table_format.errors import BadEncoding
from table_format.formats.parquet_footer import FOOTER_TAIL, read_footer
from table_format.model.types import ArrayType, BigIntType, DataField, VarCharType
from tests.formats.files import a_batch, parquet_bytes, read_parquet

FIELDS = [
    DataField(0, "id", BigIntType()),
    DataField(1, "s", VarCharType()),
    DataField(2, "a", ArrayType(element=VarCharType())),
]


def main() -> None:
    batch = a_batch(FIELDS, [{"id": i, "s": f"text {i}", "a": ["x", None]} for i in range(5)])
    data, _ = parquet_bytes(FIELDS, batch)
    expected = pa.Table.from_batches([batch])
    stop = (len(data) - FOOTER_TAIL.size) * 8
    refused = harmless = 0
    for bit in range(stop - len(read_footer(pa.BufferReader(data))) * 8, stop):
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << bit % 8
        try:
            found = read_parquet(bytes(broken), FIELDS)
        except (BadEncoding, KeyError):  # the data file reader looks for columns before it asks for them
            refused += 1
        else:
            harmless += found.equals(expected)
    print(f"{refused} refused, {harmless} harmless")


if __name__ == "__main__":
    main()
