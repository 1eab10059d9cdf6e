"""The casts that both this library and Java Paimon support (Java ``CastExecutors.resolve``)."""

from __future__ import annotations

from table_format.formats.casts import cast_of
from table_format.model.types import AnyTimestampType, DataType, DateType, TextType, TimeType


def java_casts(source: DataType, target: DataType) -> bool:
    """Return whether Java also supports the cast from ``source`` to ``target``.

    >>> from table_format.model.types import VarCharType
    >>> java_casts(DateType(), VarCharType()), java_casts(DateType(), VarCharType(nullable=False))
    (True, False)
    """
    match source, target:
        case TimeType(), TimeType():
            return False
        case (DateType() | TimeType() | AnyTimestampType(), TextType()) if not target.nullable:
            # Java's rule covers only the nullable STRING.
            return False
    return cast_of(source, target) is not None
