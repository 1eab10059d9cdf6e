"""Writes JSON in the same form as Jackson's default pretty printer, and reads JSON files with limits.

Schemas, snapshots, tags and consumers are such files (format chapters 02 and 03). Objects are indented by two spaces,
arrays stay on one line, the separator is ``" : "``, and non-ASCII characters are not escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, NoReturn

from table_format.errors import BadEncoding, LimitExceeded
from table_format.limits import MAX_JSON_BYTES, MAX_JSON_DEPTH, MAX_JSON_MARKS

_ESCAPED: Final = re.compile(r'[\x00-\x1f"\\]')
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def dump_pretty(value: object) -> bytes:
    r"""Return the bytes that Jackson writes for a tree of dicts, lists, texts, numbers, booleans and ``None``.

    >>> print(dump_pretty({"id": 1, "fields": [{"a": []}, {"b": {}}]}).decode())
    {
      "id" : 1,
      "fields" : [ {
        "a" : [ ]
      }, {
        "b" : { }
      } ]
    }

    Raises:
        TypeError: the tree contains another type; the message names the member.
        ValueError: a text contains half of a surrogate pair, which has no UTF-8 form; the message shows it.
    """
    parts: list[str] = []
    _write(value, "\n", parts)
    whole = "".join(parts)
    try:
        return whole.encode()
    except UnicodeEncodeError as e:
        around = whole[max(e.start - 40, 0) : e.end + 20]
        message = f"half of a surrogate pair has no UTF-8 form: ...{around!r}..."
        raise ValueError(message) from e


def _write(value: object, line: str, parts: list[str]) -> None:
    match value:
        case str():
            parts.append(_quoted(value))
        case None:
            parts.append("null")
        case bool():
            parts.append("true" if value else "false")
        case int():
            parts.append(str(value))
        case Decimal():
            parts.append(format(value, "f"))
        case Mapping():
            _write_object(value, line, parts)
        case Sequence():
            _write_array(value, line, parts)
        case _:
            message = f"{type(value).__name__} has no JSON form here"
            raise TypeError(message)


def _write_object(value: Mapping[object, object], line: str, parts: list[str]) -> None:
    inner = line + "  "
    separator = "{" + inner
    for key, member in value.items():
        parts += (separator, _quoted(str(key)), " : ")
        try:
            _write(member, inner, parts)
        except TypeError as e:
            message = f"member '{key}': {e}"
            raise TypeError(message) from e
        separator = "," + inner
    parts.append(line + "}" if value else "{ }")


def _write_array(value: Sequence[object], line: str, parts: list[str]) -> None:
    separator = "[ "
    for item in value:
        parts.append(separator)
        _write(item, line, parts)
        separator = ", "
    parts.append(" ]" if value else "[ ]")


def _quoted(text: str) -> str:
    # Jackson writes \u001F with upper-case digits; json.dumps does not.
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04X}"


def load_json(data: bytes, *, path: str) -> dict[str, object]:
    """Return the object in a JSON file. Numbers with a fraction become ``Decimal``; the last of equal keys counts.

    Raises:
        LimitExceeded: the file is larger, or more deeply nested, than any valid file.
        BadEncoding: the content is not UTF-8, not JSON, or not an object.
    """
    value = load_json_value(data, path=path)
    if not isinstance(value, dict):
        message = f"expected a JSON object, found {type(value).__name__}"
        raise BadEncoding(path, message)
    return value


def load_json_value(data: bytes, *, path: str) -> object:
    """Return any JSON value; raises the same errors as ``load_json``."""
    if len(data) > MAX_JSON_BYTES:
        message = f"{len(data)} bytes of JSON; the maximum is {MAX_JSON_BYTES}"
        raise LimitExceeded(path, message)
    # Counted before parsing, because each member and item becomes a Python object.
    if (marks := data.count(b",") + data.count(b":")) > MAX_JSON_MARKS:
        message = f"{marks} commas and colons in {len(data)} bytes of JSON; the maximum is {MAX_JSON_MARKS}"
        raise LimitExceeded(path, message)
    try:
        value: object = json.loads(data.decode(), parse_float=Decimal, parse_constant=_refuse_constant)
    except RecursionError:
        _refuse_depth(path)
    except ValueError as e:
        message = f"expected JSON, found {len(data)} bytes that do not parse: {e}"
        raise BadEncoding(path, message) from e
    # Only text with this many brackets can be nested so deeply, so most files need no further check.
    if data.count(b"{") + data.count(b"[") > MAX_JSON_DEPTH and _is_deeper(value, MAX_JSON_DEPTH):
        _refuse_depth(path)
    return value


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is not JSON"
    raise ValueError(message)


def _refuse_depth(path: str) -> NoReturn:
    message = f"JSON nested deeper than {MAX_JSON_DEPTH} levels"
    raise LimitExceeded(path, message)


def _is_deeper(value: object, levels: int) -> bool:
    layer = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        layer = [
            child
            for node in layer
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not layer:
            return False
    return True
