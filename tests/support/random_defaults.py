"""Random default values of columns, most of which a schema may contain."""

from __future__ import annotations

from random import Random

from table_format.errors import InvalidSchema, UnsupportedFeature
from table_format.model.default_values import default_of
from table_format.model.types import (
    ArrayType,
    BigIntType,
    BooleanType,
    DataField,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    RowType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarCharType,
)

LITERALS: dict[DataType, tuple[str, ...]] = {
    BooleanType(): ("true", "false", "TRUE", "yes"),
    TinyIntType(): ("0", "-128", "127"),
    SmallIntType(): ("12", "-7"),
    IntType(): ("0", "-5", "2147483647", "12.5", "x"),
    BigIntType(): ("9223372036854775807", "-1"),
    FloatType(): ("1.5", "-0.25", "1e3", "2.5f"),
    DoubleType(): ("1.5", "99.99D", "1e300", "-3"),
    DecimalType(precision=10, scale=2): ("1.50", "-2.25", "3", "1.005"),
    VarCharType(): ("a", "'b'", '"c"', "two words", "''", "ü", "null", "NULL", "'x,y'", "it's", "12"),
    VarCharType(length=3): ("abc", "'ab'", "abcd"),
    DateType(): ("2026-01-31", "1969-12-31", "'2024-02-29'"),
    TimestampType(precision=3): ("2026-01-31 12:30:00", "1969-12-31 23:59:59.5"),
}
"""Texts of literals by type. A schema must not contain some of them."""


def random_default(chance: Random, depth: int = 2) -> tuple[DataType, str]:
    """A type and a text, which often is a value of the type."""
    kind = chance.choice(("array", "map", "row", "plain")) if depth else "plain"
    if kind == "plain":
        data_type = chance.choice(tuple(LITERALS))
        return data_type, chance.choice((*LITERALS[data_type], "null"))
    if kind == "array":
        element, text = random_default(chance, depth - 1)
        parts = [chance.choice((text, "null")) for _ in range(chance.randrange(3))]
        return ArrayType(element), called(chance, "array", "[]", parts)
    if kind == "map":
        key, name = chance.choice(((IntType(nullable=False), "7"), (VarCharType(nullable=False), "k")))
        value, text = random_default(chance, depth - 1)
        data_type = MapType(key, value)
        if chance.random() < 0.5:
            return data_type, "{" + chance.choice((f"{name} -> {text}", f"{name}->{text}", "")) + "}"
        return data_type, f"{chance.choice(('map', 'MAP'))}({name}, {text})"
    found = [random_default(chance, depth - 1) for _ in range(chance.randrange(1, 4))]
    fields = tuple(DataField(n, f"f{n}", data_type) for n, (data_type, _) in enumerate(found))
    return RowType(fields=fields), called(chance, "struct", "{}", [text for _, text in found])


def called(chance: Random, function: str, brackets: str, parts: list[str]) -> str:
    """The parts in one of the spellings of a nested value."""
    text = chance.choice((", ", ",")).join(parts)
    return chance.choice((f"{function}({text})", f"{function.upper()}( {text} )", f"{brackets[0]}{text}{brackets[1]}"))


def accepted(field: DataField) -> bool:
    """Whether a schema may contain the default value."""
    try:
        default_of(field)
    except (InvalidSchema, UnsupportedFeature):
        return False
    return True


def random_fields(chance: Random, count: int) -> list[DataField]:
    """Nullable columns whose default values a schema may contain."""
    fields = []
    for number in range(count):
        data_type, text = random_default(chance)
        field = DataField(number, f"c{number}", data_type, default_value=text)
        if accepted(field):
            fields.append(field)
    assert count / 2 < len(fields) < count
    return fields
