"""Checks TIMESTAMP(0): Arrow counts its seconds, but Parquet, Avro and the engines in Java count milliseconds."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.formats.leaves import check_leaves
from table_format.model.types import AnyTimestampType, DataType, types_in

_MOST_SECONDS: Final = (2**63 - 1) // 1000


def check_seconds(array: pa.Array, data_type: DataType) -> None:
    """Refuse a timestamp in seconds whose milliseconds do not fit into 64 bits.

    Raises:
        InvalidData: names the value and its type.
    """
    if any(_counts_seconds(part) for part in types_in(data_type)):
        check_leaves(array, data_type, _check)


def _check(array: pa.Array, data_type: DataType) -> None:
    if not _counts_seconds(data_type):
        return
    ticks = array.cast(pa.int64())
    for seconds in (pc.min(ticks).as_py(), pc.max(ticks).as_py()):
        if seconds is not None and abs(seconds) > _MOST_SECONDS:
            message = (
                f"a timestamp {seconds:+} seconds from 1970-01-01 as {data_type}: its milliseconds do not fit into "
                "64 bits; the years from -292275054 to 292278993 do"
            )
            raise InvalidData(message)


def _counts_seconds(data_type: DataType) -> bool:
    return isinstance(data_type, AnyTimestampType) and data_type.precision == 0
