"""Reads JSON lines: block by block with Arrow, and with Python the blocks that Arrow cannot read.

Arrow reads no maps, no bytes or dates inside of other values, and no NaN. Its errors name no line. Python is slower, so
it reads only such blocks. Arrow would also drop the offset of a time without saying so: such times are read as text.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Any, BinaryIO, Final, Literal, TypeVar

import click
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json
import pyarrow.types as pt

from table_format.cli.from_text import column_from_text
from table_format.cli.values import is_bytes
from table_format.types import type_from_arrow

_ROW: Final = re.compile(r"(?:JSON parse error: )?(.*) in row (\d+)")
_ZONED: Final = r"[ T]\d.*(Z|[+-]\d\d(:?\d\d)?)$"
_BLOCK_BYTES: Final = 4 << 20
_SPECIAL_NUMBERS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_LISTS: Final[Any] = pa.ListArray
_MAPS: Final[Any] = pa.MapArray
"""The stubs of Arrow know no offsets that are null."""
_T = TypeVar("_T")


class _UnfitError(ValueError):
    """A value does not fit the type."""


_MISFITS: Final = (ValueError, OverflowError, pa.ArrowException)


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
        except (pa.ArrowInvalid, click.ClickException) as error:
            if not len(schema):
                raise _with_line(error, block, line) from error
    return _read_with_python(block, line, schema, is_first=is_first)


def _with_line(error: Exception, block: bytes, first_line: int) -> Exception:
    """Return an error of Arrow, which counts rows from 0, with the line instead."""
    found = _ROW.search(str(error))
    numbers = [number for number, _ in _lines(block, first_line)]
    if found is None or int(found[2]) >= len(numbers):
        return error
    return click.ClickException(f"line {numbers[int(found[2])]}: {found[1].rstrip('. ')}")


def _read_with_arrow(block: bytes, schema: pa.Schema, *, is_first: bool) -> pa.Table:
    reading = pa.schema([pa.field(f.name, _type_for_arrow(f.type)) for f in schema])
    others: Literal["infer", "error"] = "infer" if is_first else "error"
    table = _parsed(block, reading, others)
    types = {field.name: field.type for field in schema}
    if is_first:
        types |= _inferred_times(block, [field for field in table.schema if field.name not in types])
        reading = pa.schema([pa.field(f.name, _type_for_arrow(types.get(f.name, f.type))) for f in table.schema])
        table = table if reading == table.schema else _parsed(block, reading, others)
    for index, field in enumerate(table.schema):
        wanted = pa.field(field.name, types.get(field.name, field.type))
        if field.type != wanted.type:
            column = table.column(index).combine_chunks()
            table = table.set_column(index, wanted, _from_text(wanted, column))
    return table


def _parsed(block: bytes, schema: pa.Schema, others: Literal["infer", "error", "ignore"]) -> pa.Table:
    return arrow_json.read_json(
        io.BytesIO(block),
        read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
        parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others),
    )


def _inferred_times(block: bytes, fields: Sequence[pa.Field]) -> dict[str, pa.DataType]:
    """Return the types of columns for which Arrow has inferred times without a zone, although texts may have offsets.

    Times with offsets are instants. If only some have one, or if they are parts of other values, they stay text.
    """
    as_text = pa.schema([pa.field(f.name, text) for f in fields if (text := _with_text(f.type)) != f.type])
    if not len(as_text):
        return {}
    read = _parsed(block, as_text, "ignore")
    found: dict[str, pa.DataType] = {}
    for field in as_text:
        (inferred,) = (f.type for f in fields if f.name == field.name)
        texts = pc.drop_null(_flat_texts(read.column(field.name).combine_chunks()))
        zoned = pc.match_substring_regex(texts, _ZONED).true_count
        instants = pa.timestamp(inferred.unit, "UTC") if pt.is_timestamp(inferred) else field.type
        found[field.name] = inferred if not zoned else instants if zoned == len(texts) else field.type
    return found


def _with_text(data_type: Any) -> pa.DataType:  # noqa: ANN401 - a nested type has more attributes
    """Return a type that Arrow infers, with text instead of times."""
    if pt.is_struct(data_type):
        return pa.struct([pa.field(f.name, _with_text(f.type)) for f in data_type])
    if pt.is_list(data_type):
        return pa.list_(_with_text(data_type.value_type))
    return pa.string() if pt.is_timestamp(data_type) else data_type


def _flat_texts(array: Any) -> pa.Array:  # noqa: ANN401 - a nested array has more methods
    if pt.is_struct(array.type):
        parts = [_flat_texts(part) for part in array.flatten()]
        return pa.concat_arrays([pa.array([], pa.string()), *parts])
    if pt.is_list(array.type):
        return _flat_texts(array.flatten())
    return array if pt.is_string(array.type) else pa.array([], pa.string())


def _type_for_arrow(data_type: pa.DataType) -> pa.DataType:
    return pa.string() if _is_read_as_text(data_type) else _fine(data_type)


def _fine(data_type: pa.DataType) -> pa.DataType:
    """Return a type for times whose text has further zeros."""
    if pt.is_timestamp(data_type) and data_type.unit in ("s", "ms"):
        return pa.timestamp("us", data_type.tz)
    return data_type


def _from_text(field: pa.Field, column: pa.Array) -> pa.Array:
    if pt.is_timestamp(field.type):
        moments: pa.Array = column.cast(_fine(field.type)).cast(field.type)
        return moments
    return column_from_text(field, column)


def _is_read_as_text(data_type: pa.DataType) -> bool:
    if pt.is_timestamp(data_type):
        return data_type.tz is None
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
    if not is_known:
        return pa.array([_text(row.get(field.name)) for _, row in rows], pa.string())
    try:
        return _array([row.get(field.name) for _, row in rows], field.type)
    except _MISFITS:
        raise _first_misfit(rows, field) from None


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def _first_misfit(rows: Sequence[tuple[int, dict[str, Any]]], field: pa.Field) -> click.ClickException:
    for number, row in rows:
        value = row.get(field.name)
        try:
            _array([value], field.type)
        except _MISFITS as error:
            shown = json.dumps(value, default=float, ensure_ascii=False).encode(errors="backslashreplace").decode()
            reason = f": {error}" if isinstance(error, _UnfitError) and str(error) else ""
            expected = type_from_arrow(field.type)
            message = f"line {number}: column '{field.name}' is {expected}, which cannot hold {shown:.60}{reason}"
            return click.ClickException(message)
    raise AssertionError(field)


def _array(values: Sequence[Any], data_type: Any) -> pa.Array:  # noqa: ANN401 - a nested type has more attributes
    """Convert JSON values to an array.

    Raises:
        _UnfitError, ValueError, OverflowError, pa.ArrowException: a value does not fit.
    """
    if pt.is_struct(data_type):
        return _structs(_all_of(dict, values), data_type)
    if pt.is_map(data_type):
        # The names of a JSON object are the keys of a map as text.
        entries = [None if v is None else v.items() for v in _all_of(dict, values)]
        keys = _keys([key for each in entries if each for key, _ in each], data_type.key_type)
        items = _array([item for each in entries if each for _, item in each], data_type.item_type)
        maps: pa.Array = _MAPS.from_arrays(_offsets(entries), keys, items, type=data_type)
        return maps
    if pt.is_list(data_type):
        lists = _all_of(list, values)
        elements = _array([element for each in lists if each for element in each], data_type.value_type)
        arrays: pa.Array = _LISTS.from_arrays(_offsets(lists), elements, type=data_type)
        return arrays
    return _scalars(values, data_type)


def _structs(values: Sequence[dict[str, Any] | None], data_type: pa.StructType) -> pa.Array:
    fields = [data_type.field(i) for i in range(data_type.num_fields)]
    known = {field.name for field in fields}
    unknown = next((name for value in values if value for name in value if name not in known), None)
    if unknown is not None:
        message = f"it has no field '{unknown}'"
        raise _UnfitError(message)
    columns = [_array([None if v is None else v.get(f.name) for v in values], f.type) for f in fields]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array([v is None for v in values], pa.bool_()))


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Return where each value begins in all elements, null for null, and where the last one ends."""
    ends = list(accumulate((len(v) if v else 0 for v in values), initial=0))
    starts = [None if v is None else start for v, start in zip(values, ends[:-1], strict=True)]
    return pa.array([*starts, ends[-1]], pa.int32())


def _keys(texts: Sequence[str], data_type: pa.DataType) -> pa.Array:
    if pt.is_string(data_type) or _is_read_as_text(data_type) or pt.is_timestamp(data_type):
        return _scalars(texts, data_type)
    return pa.array(texts, pa.string()).cast(data_type)


def _scalars(values: Sequence[Any], data_type: Any) -> pa.Array:  # noqa: ANN401 - any scalar type
    if pt.is_boolean(data_type):
        return pa.array(_all_of(bool, values), data_type)
    if pt.is_string(data_type):
        return _texts(values)
    if _is_read_as_text(data_type) or pt.is_timestamp(data_type):
        return _from_texts(_texts(values), data_type)
    numbers: pa.Array = pa.array(list(map(_number_as(data_type), values)), data_type)
    return numbers


def _texts(values: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(_all_of(str, values), pa.string())
    except UnicodeEncodeError as error:
        message = "half of a surrogate pair is no character"
        raise _UnfitError(message) from error


def _from_texts(texts: pa.Array, data_type: pa.DataType) -> pa.Array:
    if pt.is_timestamp(data_type) and data_type.tz is None and pc.any(pc.match_substring_regex(texts, _ZONED)).as_py():
        message = "it has an offset, so the column must be TIMESTAMP_LTZ"
        raise _UnfitError(message)
    try:
        return _from_text(pa.field("value", data_type), texts)
    except click.ClickException as error:
        message = "bytes are Base64"
        raise _UnfitError(message) from error


def _number_as(data_type: pa.DataType) -> Callable[[Any], Any]:
    if pt.is_floating(data_type):
        return _float
    return _decimal if pt.is_decimal(data_type) else _integer


def _float(value: Any) -> float | None:  # noqa: ANN401 - a value of JSON
    if value is None:
        return None
    if _is_number(value) or (isinstance(value, str) and value in _SPECIAL_NUMBERS):
        return float(value)
    raise _UnfitError


def _decimal(value: Any) -> Decimal | int | None:  # noqa: ANN401 - a value of JSON
    if isinstance(value, str):
        try:
            return Decimal(value)
        except InvalidOperation as error:
            raise _UnfitError from error
    if value is None or _is_number(value):
        return value  # type: ignore[no-any-return]  # as JSON has it
    raise _UnfitError


def _integer(value: Any) -> int | None:  # noqa: ANN401 - a value of JSON
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise _UnfitError


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _all_of(kind: type[_T], values: Sequence[Any]) -> Sequence[_T | None]:
    if all(value is None or isinstance(value, kind) for value in values):
        return values
    raise _UnfitError
