"""Converts columns of text to columns of other types, and back, as Java Paimon does in CSV and JSON files."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_format.errors import InvalidData
from table_format.formats.casts import cast_of
from table_format.model.arrow_calls import arrow_array, nulls
from table_format.model.arrow_types import arrow_type
from table_format.model.types import (
    BooleanType,
    BytesType,
    DataType,
    DateType,
    DecimalType,
    FloatingType,
    IntegerType,
    TextType,
    VarCharType,
)

Mask: TypeAlias = npt.NDArray[np.bool_]
_TEXT: Final = VarCharType()
_FAST: Final = (IntegerType, FloatingType, DecimalType, DateType)
"""Types whose usual texts Arrow parses to the same values."""
_BOOLEANS: Final = {"true": True, "false": False}
_ONLY_IN_ARROW: Final = "[xXnN]"
"""Only Arrow takes texts such as ``0x10``, ``inf`` and ``nan`` for numbers; both take ``NaN``."""

_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)


def from_text(texts: pa.Array, data_type: DataType) -> tuple[pa.Array, Mask | None]:
    """Return the values of texts, and which of them are not values of the type; ``None`` if all are. Those are null.

    >>> from table_format.model.types import IntType
    >>> values, misfits = from_text(pa.array(["7", "x", None]), IntType())
    >>> values.to_pylist(), misfits.tolist()
    ([7, None, None], [False, True, False])
    """
    if isinstance(data_type, TextType):
        return texts, None
    values = _at_once(texts, data_type)
    return _each(texts, data_type) if values is None else (values, None)


def to_text(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return the text of values.

    >>> from table_format.model.types import BooleanType, DoubleType, VarBinaryType
    >>> to_text(pa.array([1.0, None]), DoubleType()).to_pylist(), to_text(pa.array([True]), BooleanType()).to_pylist()
    (['1.0', None], ['true'])
    >>> to_text(pa.array([b"ab"]), VarBinaryType()).to_pylist()
    ['YWI=']
    """
    if isinstance(data_type, BytesType):
        encoded = [None if value is None else base64.b64encode(value).decode() for value in array.to_pylist()]
        return arrow_array(encoded, pa.string())
    cast_to_text = cast_of(data_type, _TEXT)
    if cast_to_text is None:
        message = f"a value of type {data_type} has no text"
        raise InvalidData(message)
    return cast_to_text(array)


def _at_once(texts: pa.Array, data_type: DataType) -> pa.Array | None:
    """Parse all texts together; ``None`` if that is not possible, or if one of them is unusual or not a value."""
    try:
        if isinstance(data_type, _FAST):
            if isinstance(data_type, IntegerType | FloatingType) and _are_numbers_of_arrow(texts):
                return None
            return texts.cast(arrow_type(data_type))
        parse = None if isinstance(data_type, BooleanType | BytesType) else cast_of(_TEXT, data_type)
        values = None if parse is None else parse(texts)
    except (pa.ArrowInvalid, InvalidData):
        return None
    return values if values is not None and values.null_count == texts.null_count else None


def _are_numbers_of_arrow(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, _ONLY_IN_ARROW)).as_py())


def _each(texts: pa.Array, data_type: DataType) -> tuple[pa.Array, Mask | None]:
    """Parse each distinct text."""
    encoded = texts.dictionary_encode()
    parse = _parser(data_type)
    found = [_parsed(text, parse, arrow_type(data_type)) for text in cast("list[str]", encoded.dictionary.to_pylist())]
    values = pa.concat_arrays([part for part, _ in found]) if found else pa.array([], arrow_type(data_type))
    bad = np.array([not fits for _, fits in found], np.bool_)
    if not bad.any():
        return values.take(encoded.indices), None
    places = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    present = encoded.indices.is_valid().to_numpy(zero_copy_only=False)
    return values.take(encoded.indices), bad[places] & present


_Parse: TypeAlias = Callable[[str], pa.Array]


def _parser(data_type: DataType) -> _Parse:
    target = arrow_type(data_type)
    if isinstance(data_type, BooleanType):
        return lambda text: pa.array([_BOOLEANS[text.lower()]], target)
    if isinstance(data_type, BytesType):
        return lambda text: pa.array([_decoded(text)], target)
    parse = cast_of(_TEXT, data_type)
    if parse is None:
        message = f"a text is not a value of type {data_type}"
        raise InvalidData(message)
    if isinstance(data_type, IntegerType):
        return lambda text: parse(arrow_array([_checked_integer(text)], pa.string()))
    return lambda text: parse(arrow_array([text], pa.string()))


def _checked_integer(text: str) -> str:
    """Refuse the fractions that a cast from text would cut off."""
    if _INTEGER.fullmatch(text) is None:
        raise ValueError(text)
    return text


def _decoded(text: str) -> bytes:
    """Decode Base64. The padding at the end may be missing, as in Java."""
    missing = "" if text.endswith("=") else "=" * (-len(text) % 4)
    return base64.b64decode(text + missing, validate=True)


def _parsed(text: str, parse: _Parse, target: pa.DataType) -> tuple[pa.Array, bool]:
    try:
        value = parse(text)
    except (InvalidData, KeyError, ValueError):  # ValueError: also those of Arrow and Base64
        return nulls(1, target), False
    return value, value[0].is_valid
