"""Reads JSON lines: block by block with Arrow, and with Python the blocks that Arrow cannot read.

Arrow reads no maps, no bytes or dates inside of other values, and no NaN. Its errors name no line. Python is slower, so
it reads only such blocks.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, BinaryIO, Final, Literal

import click
import pyarrow as pa
import pyarrow.json as arrow_json
import pyarrow.types as pt

from table_format.cli.from_text import column_from_text
from table_format.cli.values import is_bytes
from table_format.types import type_from_arrow

_BLOCK_BYTES: Final = 4 << 20
_FRACTION: Final = re.compile(r"\.(\d*?)0*(?!\d)")
_SPECIAL_NUMBERS: Final = frozenset({"NaN", "Infinity", "-Infinity"})


class _UnfitError(ValueError):
    """The value does not fit the type."""


def read_blocks(file: BinaryIO | pa.NativeFile) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks of whole lines."""
    rest = b""
    while data := file.read(_BLOCK_BYTES):
        lines, found, rest = (rest + data).rpartition(b"\n")
        if found:
            yield lines + found
    if rest:
        yield rest


def read_json_lines(file: BinaryIO | pa.NativeFile, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with the wanted columns, and others with types inferred from the first rows.

    Raises:
        click.ClickException: a line cannot be read; the message names it and the column.
        pa.ArrowInvalid: the same, if no columns are wanted.
    """
    line, schema = 1, wanted
    for block in read_blocks(file):
        if block.strip():
            rows = _block(block, line, schema, is_first=schema is wanted)
            schema = rows.schema
            yield from rows.to_batches()
        line += block.count(b"\n")
    if schema is wanted:
        message = "the file is empty"
        raise click.ClickException(message)


def _block(block: bytes, line: int, schema: pa.Schema, *, is_first: bool) -> pa.Table:
    if not any(_needs_python(field.type) for field in schema):
        try:
            return _read_with_arrow(block, schema, is_first=is_first)
        except (pa.ArrowInvalid, click.ClickException):
            if not len(schema):
                raise
    return _read_with_python(block, line, schema, is_first=is_first)


def _read_with_arrow(block: bytes, schema: pa.Schema, *, is_first: bool) -> pa.Table:
    reading = pa.schema([pa.field(f.name, _type_for_arrow(f.type)) for f in schema])
    others: Literal["infer", "error"] = "infer" if is_first else "error"
    table = arrow_json.read_json(
        io.BytesIO(block),
        read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
        parse_options=arrow_json.ParseOptions(explicit_schema=reading, unexpected_field_behavior=others),
    )
    types = {field.name: field.type for field in schema}
    for index, field in enumerate(table.schema):
        wanted = pa.field(field.name, types.get(field.name, field.type))
        if field.type != wanted.type:
            column = table.column(index).combine_chunks()
            table = table.set_column(index, wanted, column_from_text(wanted, column))
    return table


def _type_for_arrow(data_type: pa.DataType) -> pa.DataType:
    if pt.is_timestamp(data_type) and data_type.unit in ("s", "ms"):
        return pa.timestamp("us", data_type.tz)  # the text may have further zeros
    return pa.string() if _is_read_as_text(data_type) else data_type


def _is_read_as_text(data_type: pa.DataType) -> bool:
    return pt.is_date(data_type) or pt.is_time(data_type) or is_bytes(data_type)


def _needs_python(data_type: pa.DataType) -> bool:
    inner = [data_type.field(i).type for i in range(data_type.num_fields)]
    return pt.is_map(data_type) or any(_needs_python(each) or _is_read_as_text(each) for each in inner)


def _read_with_python(block: bytes, first_line: int, schema: pa.Schema, *, is_first: bool) -> pa.Table:
    rows = [(number, _row(text, number)) for number, text in _lines(block, first_line)]
    known = set(schema.names)
    others = list(dict.fromkeys(name for _, row in rows for name in row if name not in known))
    if others and not is_first:
        number = next(number for number, row in rows if others[0] in row)
        message = f"line {number}: column '{others[0]}' is not in the first lines of the file"
        raise click.ClickException(message)
    schema = pa.schema([*schema, *(pa.field(name, pa.string()) for name in others)])
    columns = [_column(rows, field, is_known=field.name in known) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _lines(block: bytes, first_line: int) -> Iterator[tuple[int, bytes]]:
    for number, text in enumerate(block.split(b"\n"), first_line):
        if text.strip():
            yield number, text


def _row(text: bytes, line: int) -> dict[str, Any]:
    try:
        row = json.loads(text, parse_float=Decimal, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        message = f"line {line}: not a JSON object: {_reason(error)}"
        raise click.ClickException(message) from error
    if not isinstance(row, dict):
        message = f"line {line}: expected a JSON object with the columns of a row, found {text.decode()[:40]}"
        raise click.ClickException(message)
    return row


def _reason(error: Exception) -> str:
    match error:
        case RecursionError():
            return "it is nested too deeply"
        case json.JSONDecodeError():
            return f"{error.msg}, at character {error.pos + 1}"
    return str(error)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        message = "a name occurs twice in an object"
        raise ValueError(message)
    return found


def _column(rows: Sequence[tuple[int, dict[str, Any]]], field: pa.Field, *, is_known: bool) -> pa.Array:
    values = []
    for number, row in rows:
        value = row.get(field.name)
        try:
            values.append(_value(value, field.type) if is_known else _text(value))
        except (_UnfitError, pa.ArrowException, OverflowError) as error:
            shown = json.dumps(value, default=float, ensure_ascii=False).encode(errors="backslashreplace").decode()
            reason = f": {error}" if isinstance(error, _UnfitError) and str(error) else ""
            expected = type_from_arrow(field.type)
            message = f"line {number}: column '{field.name}' is {expected}, which cannot hold {shown:.60}{reason}"
            raise click.ClickException(message) from error
    column: pa.Array = pa.array(values, field.type)
    return column


def _text(value: object) -> str | None:
    return None if value is None else _readable(value if isinstance(value, str) else json.dumps(value, default=str))


def _value(value: Any, data_type: pa.DataType) -> Any:  # noqa: ANN401 - values of JSON, and of Arrow
    """Convert a JSON value to one from which ``pa.array`` makes a value of the type."""
    if value is None:
        return None
    if pt.is_struct(data_type):
        return _fields(value, data_type)
    if pt.is_map(data_type):
        return _entries(value, data_type)
    if pt.is_list(data_type):
        return [_value(each, data_type.value_type) for each in _of(list, value)]
    return _scalar(value, data_type)


def _fields(value: object, data_type: pa.DataType) -> dict[str, Any]:
    given = _of(dict, value)
    types = {data_type.field(i).name: data_type.field(i).type for i in range(data_type.num_fields)}
    unknown = [name for name in given if name not in types]
    if unknown:
        message = f"it has no field '{unknown[0]}'"
        raise _UnfitError(message)
    return {name: _value(given.get(name), each) for name, each in types.items()}


def _entries(value: object, data_type: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - a pa.MapType
    """Return the entries of a map. The names of a JSON object are its keys as text."""
    return [(_key(k, data_type.key_type), _value(v, data_type.item_type)) for k, v in _of(dict, value).items()]


def _key(text: str, data_type: pa.DataType) -> Any:  # noqa: ANN401 - a value of any type
    if pt.is_string(data_type) or is_bytes(data_type) or pt.is_temporal(data_type):
        return _scalar(text, data_type)
    return pa.scalar(text).cast(data_type).as_py()


def _scalar(value: Any, data_type: pa.DataType) -> Any:  # noqa: ANN401 - values of JSON, and of Arrow
    if pt.is_boolean(data_type):
        return _of(bool, value)
    if pt.is_string(data_type):
        return _readable(_of(str, value))
    if is_bytes(data_type):
        return _bytes(_of(str, value))
    if pt.is_temporal(data_type):
        return _moment(_of(str, value), data_type)
    if isinstance(value, str) and pt.is_floating(data_type) and value in _SPECIAL_NUMBERS:
        return float(value)
    if isinstance(value, str) and pt.is_decimal(data_type):
        return pa.scalar(value).cast(data_type).as_py()
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _UnfitError
    if pt.is_integer(data_type) and not isinstance(value, int):
        raise _UnfitError
    number = float(value) if pt.is_floating(data_type) else value
    return pa.array([number], data_type)[0].as_py()


def _of(kind: type[Any], value: Any) -> Any:  # noqa: ANN401 - a value of the type
    if not isinstance(value, kind):
        raise _UnfitError
    return value


def _readable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = "half of a surrogate pair is no character"
        raise _UnfitError(message) from error
    return text


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        message = "bytes are Base64"
        raise _UnfitError(message) from error


def _moment(text: str, data_type: pa.DataType) -> int:
    """Return a date, time or timestamp as the number that Arrow stores."""
    if pt.is_time(data_type):
        # Arrow reads timestamps; take the time of day from them.
        moment: Any = pa.scalar(f"1970-01-01 {text}").cast(pa.timestamp("us")).cast(pa.time64("us"))
        moment = moment.cast(data_type)
    else:
        moment = pa.scalar(_FRACTION.sub(_without_zeros, text, count=1)).cast(data_type)
    return int(moment.cast(pa.int32() if data_type.bit_width == 32 else pa.int64()).as_py())


def _without_zeros(fraction: re.Match[str]) -> str:
    return f".{fraction[1]}" if fraction[1] else ""
