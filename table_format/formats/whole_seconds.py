"""Checks TIMESTAMP(0): Arrow counts its seconds, but Parquet, Avro and the engines in Java count milliseconds."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.formats.leaves import convert_leaves
from table_format.model.arrow_types import arrow_type
from table_format.model.types import AnyTimestampType, DataType, types_in

_MOST_SECONDS: Final = (2**63 - 1) // 1000


def check_seconds(array: pa.Array, data_type: DataType) -> None:
    """Refuse a timestamp in seconds whose milliseconds do not fit into 64 bits.

    Raises:
        InvalidData: names the value and its type.
    """
    if any(isinstance(part, AnyTimestampType) and part.precision == 0 for part in types_in(data_type)):
        convert_leaves(array, data_type, arrow_type(data_type), _checked, spread_nulls=True)


def _checked(array: pa.Array, data_type: DataType, target: pa.DataType) -> pa.Array:  # noqa: ARG001
    if isinstance(data_type, AnyTimestampType) and data_type.precision == 0:
        ticks = array.cast(pa.int64())
        for seconds in (pc.min(ticks).as_py(), pc.max(ticks).as_py()):
            if seconds is not None and abs(seconds) > _MOST_SECONDS:
                message = (
                    f"a timestamp {seconds:+} seconds from 1970-01-01 as {data_type}: its milliseconds do not fit into "
                    "64 bits; the years from -292275054 to 292278993 do"
                )
                raise InvalidData(message)
    return array
