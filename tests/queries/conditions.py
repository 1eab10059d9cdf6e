"""Random conditions on columns, in the SQL of ``filter=`` and in that of Spark."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, Final

from table_format.model.types import (
    NESTED,
    BooleanType,
    BytesType,
    DataField,
    DataType,
    DecimalType,
    FloatingType,
    FloatType,
    LocalZonedTimestampType,
    TextType,
    TimestampType,
)
from tests.queries.values import random_value

_PATTERNS: Final = ("a%", "%b", "%a%", "a_", "_", "%", "a b%", "ä%", "", "7", "a\\%", "%\\_b", "a\\\\b", "%s")


@dataclass(frozen=True)
class Condition:
    """One condition in both languages."""

    library: str
    spark: str


def random_condition(
    fields: Sequence[DataField], seen: Mapping[str, Sequence[Any]], chance: Random, depth: int = 2
) -> Condition:
    """A condition on some of the columns; its values are among those ``seen``, or any."""
    if depth and chance.random() < 0.45:
        word = chance.choice((" AND ", " OR "))
        parts = [random_condition(fields, seen, chance, depth - 1) for _ in range(chance.randrange(2, 4))]
        found = Condition(
            f"({word.join(part.library for part in parts)})", f"({word.join(part.spark for part in parts)})"
        )
        if chance.random() < 0.2:
            return Condition(f"NOT {found.library}", f"NOT {found.spark}")
        return found
    return _test(chance.choice(fields), seen, chance)


def _test(field: DataField, seen: Mapping[str, Sequence[Any]], chance: Random) -> Condition:
    library, spark = '"' + field.name.replace('"', '""') + '"', "`" + field.name.replace("`", "``") + "`"
    if isinstance(field.type, NESTED) or chance.random() < 0.12:
        return _both(library, spark, chance.choice((" IS NULL", " IS NOT NULL")))
    if isinstance(field.type, BooleanType):
        value = chance.choice(("TRUE", "FALSE"))
        return _both(library, spark, f" {chance.choice(('=', '<>'))} {value}")
    if isinstance(field.type, TextType) and chance.random() < 0.25:
        pattern, op = chance.choice(_PATTERNS), chance.choice(("LIKE", "NOT LIKE"))
        ours, theirs = literal(pattern), spark_literal(pattern, field.type)
        return Condition(f"{library} {op} {ours}", f"{spark} {op} {theirs}")
    op = chance.choice(("=", "=", "<>", "<", "<=", ">", ">=", "IN", "IN", "NOT IN", "BETWEEN"))
    count = {"IN": chance.randrange(1, 5), "NOT IN": chance.randrange(1, 4), "BETWEEN": 2}.get(op, 1)
    values = [_value(field, seen, chance) for _ in range(count)]
    ours, theirs = [literal(v) for v in values], [spark_literal(v, field.type) for v in values]
    if op in ("IN", "NOT IN"):
        return Condition(f"{library} {op} ({', '.join(ours)})", f"{spark} {op} ({', '.join(theirs)})")
    word = " AND "
    return Condition(f"{library} {op} {word.join(ours)}", f"{spark} {op} {word.join(theirs)}")


def _both(library: str, spark: str, rest: str) -> Condition:
    return Condition(library + rest, spark + rest)


def _value(field: DataField, seen: Mapping[str, Sequence[Any]], chance: Random) -> Any:
    while _is_odd(value := random_value(field.type.with_nullable(False), chance)):
        pass
    # An earlier column of this name may have had another type.
    known = [other for other in seen.get(field.name, ()) if _kind(other) == _kind(value) and not _is_odd(other)]
    return chance.choice(known) if known and chance.random() < 0.8 else value


def _kind(value: object) -> tuple[type, bool]:
    return type(value), getattr(value, "tzinfo", None) is None


def _is_odd(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def literal(value: Any) -> str:
    """A value in the SQL of ``filter=``."""
    match value:
        case dt.datetime():
            return f"TIMESTAMP '{value.replace(tzinfo=None)}'"
        case dt.date():
            return f"DATE '{value}'"
        case Decimal():
            return f"{value:f}"
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
    return repr(value)


def spark_literal(value: Any, data_type: DataType) -> str:
    """A value in the SQL of Spark."""
    match data_type:
        case LocalZonedTimestampType():
            return f"TIMESTAMP '{value.replace(tzinfo=None)}+00:00'"
        case TimestampType():
            return f"TIMESTAMP_NTZ '{value}'"
        case DecimalType():
            return f"{value:f}BD"
        case FloatType():
            return f"CAST({value!r}D AS FLOAT)"
        case FloatingType():
            return f"{value!r}D"
        case TextType():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case BytesType():
            return f"X'{value.hex()}'"
    if isinstance(value, int) and value < -(2**31):
        return f"({value + 1}L - 1L)" if value == -(2**63) else f"{value}L"
    return literal(value)
