"""Data types of the format (format chapter 02, section 2; Java ``org.apache.paimon.types``).

``str(type)`` is the SQL form (``ARRAY<INT>``, ``DECIMAL(10, 2) NOT NULL``); ``table_format.codecs.type_json`` writes
and parses the JSON form of schema files.

Values of a type outside Arrow (partition values, keys, statistics, literals) are *internal values*:
``bool``, ``int``, ``float``, ``decimal.Decimal``, ``str``, ``bytes``; DATE is days since the epoch (``int``), TIME is
milliseconds of the day (``int``), TIMESTAMP with or without local time zone is **nanoseconds** since the epoch (``int``
of any size); null is ``None``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar, Final, Self, TypeAlias

MAX_LENGTH: Final = 2_147_483_647
"""The length of STRING and BYTES, the unbounded VARCHAR and VARBINARY."""

InternalValue: TypeAlias = bool | int | float | str | bytes | Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataType:
    """A type with its nullability."""

    nullable: bool = True

    def sql(self) -> str:
        """Return the SQL form without nullability."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.sql() if self.nullable else f"{self.sql()} NOT NULL"

    def with_nullable(self, nullable: bool) -> Self:  # noqa: FBT001
        """Return the same type with the given nullability."""
        return self if nullable == self.nullable else replace(self, nullable=nullable)

    def not_null(self) -> Self:
        """Return the same type as NOT NULL."""
        return self.with_nullable(False)


# --- kinds of types that most code handles in the same way ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IntegerType(DataType):
    """TINYINT, SMALLINT, INT, BIGINT: signed integers. Each can be widened to those with more ``bits``."""

    bits: ClassVar[int]

    @property
    def digits(self) -> int:
        """The number of decimal digits of the largest value.

        >>> [t.digits for t in (TinyIntType(), SmallIntType(), IntType(), BigIntType())]
        [3, 5, 10, 19]
        """
        return len(str(1 << self.bits - 1))


@dataclass(frozen=True, slots=True)
class FloatingType(DataType):
    """FLOAT, DOUBLE."""


@dataclass(frozen=True, slots=True)
class TextType(DataType):
    """CHAR, VARCHAR, STRING. The length counts characters."""

    length: int


@dataclass(frozen=True, slots=True)
class BytesType(DataType):
    """BINARY, VARBINARY, BYTES."""

    length: int


@dataclass(frozen=True, slots=True)
class AnyTimestampType(DataType):
    """TIMESTAMP with or without local time zone. The precision is the number of digits after the second."""

    precision: int


# --- the types --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BooleanType(DataType):
    """TRUE or FALSE."""

    def sql(self) -> str:
        """Return the SQL form: ``BOOLEAN``."""
        return "BOOLEAN"


@dataclass(frozen=True, slots=True)
class TinyIntType(IntegerType):
    """A signed 8-bit integer."""

    bits = 8

    def sql(self) -> str:
        """Return the SQL form: ``TINYINT``."""
        return "TINYINT"


@dataclass(frozen=True, slots=True)
class SmallIntType(IntegerType):
    """A signed 16-bit integer."""

    bits = 16

    def sql(self) -> str:
        """Return the SQL form: ``SMALLINT``."""
        return "SMALLINT"


@dataclass(frozen=True, slots=True)
class IntType(IntegerType):
    """A signed 32-bit integer."""

    bits = 32

    def sql(self) -> str:
        """Return the SQL form: ``INT``."""
        return "INT"


@dataclass(frozen=True, slots=True)
class BigIntType(IntegerType):
    """A signed 64-bit integer."""

    bits = 64

    def sql(self) -> str:
        """Return the SQL form: ``BIGINT``."""
        return "BIGINT"


@dataclass(frozen=True, slots=True)
class FloatType(FloatingType):
    """A 32-bit floating-point number."""

    def sql(self) -> str:
        """Return the SQL form: ``FLOAT``."""
        return "FLOAT"


@dataclass(frozen=True, slots=True)
class DoubleType(FloatingType):
    """A 64-bit floating-point number."""

    def sql(self) -> str:
        """Return the SQL form: ``DOUBLE``."""
        return "DOUBLE"


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    """An exact decimal number. Requires 1 <= precision <= 38 and 0 <= scale <= precision."""

    precision: int = 10
    scale: int = 0

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            message = (
                f"DECIMAL({self.precision}, {self.scale}): the precision must be 1 to 38, the scale 0 to the precision"
            )
            raise ValueError(message)

    def sql(self) -> str:
        """Return the SQL form: ``DECIMAL(p, s)``."""
        return f"DECIMAL({self.precision}, {self.scale})"

    def holds(self, other: DecimalType) -> bool:
        """Return whether this type can hold every value of another DECIMAL type.

        >>> DecimalType(12, 4).holds(DecimalType(10, 2)), DecimalType(10, 4).holds(DecimalType(10, 2))
        (True, False)
        """
        return self.scale >= other.scale and self.precision - self.scale >= other.precision - other.scale


@dataclass(frozen=True, slots=True)
class CharType(TextType):
    """CHAR(n): a text of ``length`` characters."""

    length: int = 1

    def sql(self) -> str:
        """Return the SQL form: ``CHAR(n)``."""
        return f"CHAR({self.length})"


@dataclass(frozen=True, slots=True)
class VarCharType(TextType):
    """VARCHAR(n); STRING is the longest VARCHAR."""

    length: int = MAX_LENGTH

    def sql(self) -> str:
        """Return the SQL form: ``VARCHAR(n)`` or ``STRING``."""
        return "STRING" if self.length == MAX_LENGTH else f"VARCHAR({self.length})"


@dataclass(frozen=True, slots=True)
class BinaryType(BytesType):
    """BINARY(n): ``length`` bytes."""

    length: int = 1

    def sql(self) -> str:
        """Return the SQL form: ``BINARY(n)``."""
        return f"BINARY({self.length})"


@dataclass(frozen=True, slots=True)
class VarBinaryType(BytesType):
    """VARBINARY(n); BYTES is the longest VARBINARY."""

    length: int = MAX_LENGTH

    def sql(self) -> str:
        """Return the SQL form: ``VARBINARY(n)`` or ``BYTES``."""
        return "BYTES" if self.length == MAX_LENGTH else f"VARBINARY({self.length})"


@dataclass(frozen=True, slots=True)
class DateType(DataType):
    """A day, without a time or a zone."""

    def sql(self) -> str:
        """Return the SQL form: ``DATE``."""
        return "DATE"


@dataclass(frozen=True, slots=True)
class TimeType(DataType):
    """A time of day, stored in milliseconds for every precision."""

    precision: int = 0

    def __post_init__(self) -> None:
        _check_precision("TIME", self.precision)

    def sql(self) -> str:
        """Return the SQL form: ``TIME(p)``."""
        return f"TIME({self.precision})"


@dataclass(frozen=True, slots=True)
class TimestampType(AnyTimestampType):
    """A date and time of day without zone."""

    precision: int = 6

    def __post_init__(self) -> None:
        _check_precision("TIMESTAMP", self.precision)

    def sql(self) -> str:
        """Return the SQL form: ``TIMESTAMP(p)``."""
        return f"TIMESTAMP({self.precision})"


@dataclass(frozen=True, slots=True)
class LocalZonedTimestampType(AnyTimestampType):
    """An instant, shown in the session's zone."""

    precision: int = 6

    def __post_init__(self) -> None:
        _check_precision("TIMESTAMP WITH LOCAL TIME ZONE", self.precision)

    def sql(self) -> str:
        """Return the SQL form: ``TIMESTAMP(p) WITH LOCAL TIME ZONE``."""
        return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"


@dataclass(frozen=True, slots=True)
class ArrayType(DataType):
    """A list of elements of one type."""

    element: DataType

    def sql(self) -> str:
        """Return the SQL form: ``ARRAY<element>``."""
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType(DataType):
    """Values by key; keys are never null."""

    key: DataType
    value: DataType

    def sql(self) -> str:
        """Return the SQL form: ``MAP<key, value>``."""
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class MultisetType(DataType):
    """A bag of elements, stored as MAP<element, INT NOT NULL>."""

    element: DataType

    def sql(self) -> str:
        """Return the SQL form: ``MULTISET<element>``."""
        return f"MULTISET<{self.element}>"


@dataclass(frozen=True, slots=True)
class DataField:
    """A column, or a field of a ROW. Its ``id`` never changes; its ``name`` may."""

    id: int
    name: str
    type: DataType
    description: str | None = None
    default_value: str | None = None

    def __str__(self) -> str:
        return f"`{self.name}` {self.type}"


@dataclass(frozen=True, slots=True)
class RowType(DataType):
    """A struct of named fields."""

    fields: tuple[DataField, ...]

    def sql(self) -> str:
        """Return the SQL form: ``ROW<fields>``."""
        return f"ROW<{', '.join(map(str, self.fields))}>"


def types_in(data_type: DataType) -> Iterator[DataType]:
    """Yield a type and all types below it, from the outside in.

    >>> [str(t) for t in types_in(ArrayType(MapType(IntType(), DateType())))]
    ['ARRAY<MAP<INT, DATE>>', 'MAP<INT, DATE>', 'INT', 'DATE']
    """
    yield data_type
    match data_type:
        case ArrayType(element=element) | MultisetType(element=element):
            yield from types_in(element)
        case MapType(key=key, value=value):
            yield from types_in(key)
            yield from types_in(value)
        case RowType(fields=fields):
            for field in fields:
                yield from types_in(field.type)


NESTED: Final = (ArrayType, MapType, MultisetType, RowType)


def _check_precision(name: str, precision: int) -> None:
    if not 0 <= precision <= 9:
        message = f"{name}({precision}): the precision must be 0 to 9"
        raise ValueError(message)
