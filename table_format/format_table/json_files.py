"""Files of JSON objects, one in each line (Java ``JsonFileReader`` and ``JsonFormatWriter``).

Numbers and booleans are JSON's own, which Spark needs; Java writes them as texts, and reads both. Python's parser reads
the lines of a block in one call; no parser of Arrow reads a number as any type that a column may have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from table_format.errors import InvalidData
from table_format.format_table.lines import line_blocks, split_lines
from table_format.format_table.text_values import from_text, to_text
from table_format.model.arrow_calls import arrow_array
from table_format.model.arrow_types import arrow_schema, arrow_type
from table_format.model.types import (
    ArrayType,
    BooleanType,
    DataField,
    DataType,
    FloatingType,
    IntegerType,
    MapType,
    RowType,
    TextType,
)
from table_format.options.format_table import FormatTableOptions

_NO_NUMBERS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
"""Values that JSON has no numbers for: texts."""


def read_json(
    source: pa.NativeFile, path: str, wanted: Sequence[DataField], options: FormatTableOptions
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a file. A member that a line lacks is null.

    Raises:
        InvalidData: a line is not a JSON object, or a value does not fit, unless ``json.ignore-parse-errors`` is set.
    """
    for block in line_blocks(source, path):
        rows = _objects([line for line in split_lines(block) if line.strip()], path, options)
        columns = [_column([row.get(field.name) for row in rows], field, path, options) for field in wanted]
        yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(wanted))


def json_bytes(rows: pa.RecordBatch, fields: Sequence[DataField], options: FormatTableOptions) -> bytes:
    r"""Return the lines of rows.

    >>> from table_format.model.types import IntType, VarCharType
    >>> rows = pa.RecordBatch.from_pydict({"a": [1], "b": ["x"]})
    >>> json_bytes(rows, [DataField(0, "a", IntType()), DataField(1, "b", VarCharType())], FormatTableOptions())
    b'{"a":1,"b":"x"}\n'
    """
    columns = [_shown(column, field.type) for column, field in zip(rows.columns, fields, strict=True)]
    names = [field.name for field in fields]
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
    lines = [encode(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    return "".join(f"{line}{options.line_delimiter}" for line in lines).encode()


# --- reading --------------------------------------------------------------------------------------------------------


def _objects(lines: list[bytes], path: str, options: FormatTableOptions) -> Sequence[Mapping[str, Any]]:
    rows: list[Any]
    try:
        rows = _parsed(b"[" + b",".join(lines) + b"]")
    except ValueError:
        rows = []
    if len(rows) == len(lines) and all(isinstance(row, dict) for row in rows):
        return rows
    found = []
    for number, line in enumerate(lines, 1):
        try:
            row = _parsed(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            found.append(row)
        elif not options.json_ignore_errors:
            message = f"{path}: {line[:80].decode(errors='replace')!r} is not a JSON object (row {number} of a block)"
            raise InvalidData(message)
    return found


def _parsed(text: bytes) -> Any:  # noqa: ANN401 - any JSON
    # Numbers stay texts: a column decides what they are.
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)


def _column(values: list[Any], field: DataField, path: str, options: FormatTableOptions) -> pa.Array:
    if isinstance(field.type, ArrayType | MapType | RowType):
        return _nested(values, field, path, options)
    texts = arrow_array(list(map(_text, values)), pa.string())
    found, misfits = from_text(texts, field.type)
    if misfits is not None and not options.json_ignore_errors:
        raise _misfit(texts[int(np.flatnonzero(misfits)[0])].as_py(), field, path)
    return found


def _text(value: Any) -> str | None:  # noqa: ANN401 - any JSON
    """Return a value as Java's ``asText`` does: of an object or a list, nothing."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
    return ""


def _nested(values: list[Any], field: DataField, path: str, options: FormatTableOptions) -> pa.Array:
    """Convert one value at a time: JSON has no columns inside of a column."""

    def converted(value: Any, data_type: DataType) -> Any:  # noqa: ANN401 - any value of a column
        match data_type, value:
            case _, None:
                return None
            case ArrayType(element=element), list():
                return [converted(part, element) for part in value]
            case MapType(key=key, value=kind), dict():
                return [(converted(name, key), converted(part, kind)) for name, part in value.items()]
            case RowType(fields=fields), dict():
                return {f.name: converted(value.get(f.name), f.type) for f in fields}
            case ((ArrayType() | MapType() | RowType()), _):
                if options.json_ignore_errors:
                    return None
                raise _misfit(value, field, path)
        return _column([value], replace(field, type=data_type), path, options)[0].as_py()

    return arrow_array([converted(value, field.type) for value in values], arrow_type(field.type))


def _misfit(value: object, field: DataField, path: str) -> InvalidData:
    message = (
        f"{path}: {value!r} is not a value of column '{field.name}', which is {field.type}; correct the file, or set "
        "the option 'json.ignore-parse-errors' to read such values as null"
    )
    return InvalidData(message)


# --- writing --------------------------------------------------------------------------------------------------------


def _shown(column: pa.Array, data_type: DataType) -> list[Any]:
    """Return the values of a column as members of JSON objects."""
    match data_type:
        case TextType() | IntegerType() | BooleanType():
            return column.to_pylist()
        case ArrayType() | MapType() | RowType():
            return [_nested_value(value, data_type) for value in column.to_pylist()]
    texts: list[Any] = to_text(column, data_type).to_pylist()
    if isinstance(data_type, FloatingType):
        return [text if text is None or text in _NO_NUMBERS else float(text) for text in texts]
    return texts


def _nested_value(value: Any, data_type: DataType) -> Any:  # noqa: ANN401 - any value of a column
    if value is None:
        return None
    match data_type:
        case ArrayType(element=element):
            return [_nested_value(part, element) for part in value]
        case MapType(key=key, value=kind):
            return {_leaf_text(name, key): _nested_value(part, kind) for name, part in value}
        case RowType(fields=fields):
            return {field.name: _nested_value(value[field.name], field.type) for field in fields}
    return _shown(arrow_array([value], arrow_type(data_type)), data_type)[0]


def _leaf_text(value: Any, data_type: DataType) -> str | None:  # noqa: ANN401 - any value of a column
    text: str | None = to_text(arrow_array([value], arrow_type(data_type)), data_type)[0].as_py()
    return text
