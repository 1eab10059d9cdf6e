"""Columns whose values Arrow's readers cannot read, and read as text: bytes, dates and times."""

from __future__ import annotations

import base64
import binascii

import click
import pyarrow as pa
import pyarrow.types as pt

from table_format.cli.values import is_bytes


def column_from_text(field: pa.Field, column: pa.Array) -> pa.Array:
    """Convert a column of text to the type of a field.

    >>> column_from_text(pa.field("b", pa.binary()), pa.array(["eA==", None])).to_pylist()
    [b'x', None]

    Raises:
        click.ClickException: a text is not Base64.
        pa.ArrowInvalid: another text is no value of the type.
    """
    if is_bytes(field.type):
        values = [None if text is None else _bytes_of(field.name, text) for text in column.to_pylist()]
        return _cast(pa.array(values, pa.binary()), field.type)
    if pt.is_time(field.type):
        # Arrow reads timestamps; take the time of day from them.
        instants: pa.Array = pa.array([None if text is None else f"1970-01-01 {text}" for text in column.to_pylist()])
        return _cast(instants.cast(pa.timestamp("us")).cast(pa.time64("us")), field.type)
    return _cast(column, field.type)


def _cast(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    converted: pa.Array = column.cast(data_type)
    return converted


def _bytes_of(column: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        message = f"column '{column}' holds bytes: expected Base64, found {text[:40]!r}"
        raise click.ClickException(message) from error
