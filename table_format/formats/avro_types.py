"""The Avro schema of a data file (format chapter 06, section 3; Java ``AvroSchemaConverter``).

Logical types are swapped compared with Avro's specification: TIMESTAMP is stored as ``timestamp-*``, and TIMESTAMP with
local time zone as ``local-timestamp-*``. A MAP whose keys are not text is stored as an array of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from table_format.errors import UnsupportedFeature
from table_format.formats.leaves import entry_types
from table_format.model.arrow_types import TimeUnit
from table_format.model.types import (
    AnyTimestampType,
    ArrayType,
    BigIntType,
    BooleanType,
    BytesType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TextType,
    TimestampType,
    TimeType,
    TinyIntType,
)

_ROOT: Final = "record"
_NAMESPACE: Final = "org.apache.paimon.avro.generated"
_MILLI_PRECISION: Final = 3
_MICRO_PRECISION: Final = 6


def avro_schema(fields: Sequence[DataField]) -> dict[str, object]:
    """Return the schema of the records of a file.

    Raises:
        UnsupportedFeature: Avro files cannot store one of the types.
    """
    record = _Names().record(fields, _ROOT)
    return {"type": "record", "name": _ROOT, "namespace": _NAMESPACE, "fields": record["fields"]}


def is_array_map(data_type: MapType | MultisetType) -> bool:
    """Return whether a map is stored as an array of key-value records, because the keys of an Avro map are text."""
    key, _ = entry_types(data_type)
    return not isinstance(key, TextType)


def stored_type(data_type: MapType | MultisetType) -> tuple[DataType, DataType]:
    """Return the types of keys and values as they are stored: the counts of a MULTISET are stored as nullable."""
    key, value = entry_types(data_type)
    return key, value if isinstance(data_type, MapType) else value.with_nullable(True)


def timestamp_unit_of(data_type: AnyTimestampType) -> TimeUnit:
    """Return the unit in which timestamps of the type are stored.

    Raises:
        UnsupportedFeature: its precision is finer than microseconds.
    """
    if data_type.precision > _MICRO_PRECISION:
        raise _unsupported(data_type)
    return "ms" if data_type.precision <= _MILLI_PRECISION else "us"


class _Names:
    """Builds one schema in which each record has a different name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def record(self, fields: Sequence[DataField], name: str) -> dict[str, object]:
        """Return the record of a ROW or of the whole table."""
        members = [self._member(f.name, f.type, f"{name}_{f.name}") for f in fields]
        return {"type": "record", "name": self._fresh(name), "fields": members}

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _member(self, name: str, data_type: DataType, row_name: str) -> dict[str, object]:
        member = {"name": name, "type": self._type(data_type, row_name)}
        return {**member, "default": None} if data_type.nullable else member

    def _type(self, data_type: DataType, row_name: str) -> object:
        avro = _scalar(data_type)
        if avro is None:
            avro = self._nested(data_type, row_name)
        return ["null", avro] if data_type.nullable else avro

    def _nested(self, data_type: DataType, row_name: str) -> object:
        match data_type:
            case ArrayType(element=element):
                return {"type": "array", "items": self._type(element, row_name)}
            case MapType() | MultisetType() if is_array_map(data_type):
                key, value = stored_type(data_type)
                members = [
                    {"name": "key", "type": self._type(key, f"{row_name}_key")},
                    self._member("value", value, f"{row_name}_value"),
                ]
                entry = {"type": "record", "name": self._fresh(row_name), "fields": members}
                return {"type": "array", "items": entry, "logicalType": "map"}
            case MapType() | MultisetType():
                _, value = stored_type(data_type)
                return {"type": "map", "values": self._type(value, row_name)}
            case RowType(fields=fields):
                return self.record(fields, row_name)
        raise _unsupported(data_type)


def _scalar(data_type: DataType) -> object:  # noqa: C901 - one line for each type of the format
    match data_type:
        case BooleanType():
            return "boolean"
        case TinyIntType() | SmallIntType() | IntType():
            return "int"
        case BigIntType():
            return "long"
        case FloatType():
            return "float"
        case DoubleType():
            return "double"
        case TextType():
            return "string"
        case BytesType():
            return "bytes"
        case DecimalType(precision=precision, scale=scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case DateType():
            return {"type": "int", "logicalType": "date"}
        case TimeType(precision=precision):
            if precision > _MILLI_PRECISION:
                raise _unsupported(data_type)
            return {"type": "int", "logicalType": "time-millis"}
        case TimestampType():
            return {"type": "long", "logicalType": f"timestamp-{_unit_name(data_type)}"}
        case LocalZonedTimestampType():
            return {"type": "long", "logicalType": f"local-timestamp-{_unit_name(data_type)}"}
    return None


def _unit_name(data_type: AnyTimestampType) -> str:
    return {"ms": "millis", "us": "micros"}[timestamp_unit_of(data_type)]


def _unsupported(data_type: DataType) -> UnsupportedFeature:
    feature = f"{data_type.with_nullable(True)} in Avro files"
    message = f"{feature} is not part of the format; store the table as Parquet (file.format = parquet)"
    return UnsupportedFeature(feature, message)
