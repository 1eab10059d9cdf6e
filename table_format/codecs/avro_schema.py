"""Checks and rebuilds the Avro schema that a file declares before it is used to read records.

A rebuilt schema has no zero-size types outside unions, no recursion, and bounded size, so that a block of n bytes never
decodes to more than n values. Logical types are dropped: timestamps remain integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NoReturn

import fastavro
from fastavro.schema import SchemaParseException

from table_format.codecs.pretty_json import load_json_value
from table_format.errors import BadEncoding, LimitExceeded

_SCALARS: Final = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})
_MAX_NODES: Final = 10_000
_SHORTEST_NAME: Final = 2
"""Names up to this length may differ in one letter without being a damaged form of each other."""

_WHERE: Final = "header entry avro.schema"
_RECORDS: Final = "records"


def block_schema(record: Any) -> Any:  # noqa: ANN401 - neither a schema nor a parsed one has a type
    """Return the parsed schema of a block: a record whose only field is the array of the block's records.

    A record adds no bytes to its fields. fastavro parses the schema of a bare array again for each block, which takes
    longer than to read a small block.
    """
    records = {"name": _RECORDS, "type": {"type": "array", "items": record}}
    return fastavro.parse_schema({"type": "record", "name": "block", "fields": [records]})


def block_of(records: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the value of ``block_schema`` that contains these records."""
    return {_RECORDS: records}


def records_of(block: Any) -> Any:  # noqa: ANN401
    """Return the records in a value of ``block_schema``."""
    return block[_RECORDS]


def record_schema(block: Any) -> Any:  # noqa: ANN401
    """Return the schema of the records in a parsed ``block_schema``."""
    return block["fields"][0]["type"]["items"]


def reading_schema(text: bytes, expected: bytes, *, path: str) -> Any:  # noqa: ANN401 - a parsed schema has no type
    """Return the parsed ``block_schema`` of a file; ``text`` is the schema in the header of a container.

    Requires ``expected`` to be the schema of the expected records; its non-nullable fields must be present.

    Raises:
        BadEncoding: the text is not a valid schema of such records.
        LimitExceeded: the schema is larger than any valid schema.
    """
    try:
        return _block_schema_of(text, expected)
    except LimitExceeded as e:
        raise LimitExceeded(path, str(e)) from e
    except BadEncoding as e:
        raise BadEncoding(path, str(e)) from e


@lru_cache(maxsize=64)
def _block_schema_of(text: bytes, expected: bytes) -> Any:  # noqa: ANN401
    found, wanted = _rebuilt(text), _rebuilt(expected)
    _check(found, wanted, "the record")
    try:
        return block_schema(found)
    except (SchemaParseException, ValueError, TypeError, KeyError) as e:
        message = f"expected an Avro schema, found one that does not parse: {e}"
        raise BadEncoding(_WHERE, message) from e


def _rebuilt(text: bytes) -> Any:  # noqa: ANN401
    return _Rebuild().type_of(load_json_value(text, path=_WHERE), "", in_union=False)


def _check(found: Any, wanted: Any, where: str) -> None:  # noqa: ANN401
    """Refuse a type that cannot hold values of the expected type."""
    match found, wanted:
        case list(), list():
            _check(_without_null(found), _without_null(wanted), where)
        case _, list():
            _check(found, _without_null(wanted), where)
        case list(), {"type": "record"}:  # old releases wrote nullable records; a null is refused later
            _check(_without_null(found), wanted, where)
        case {"type": "array", "items": items}, {"type": "array", "items": wanted_items}:
            _check(items, wanted_items, f"an item of {where}")
        case {"type": "map", "values": values}, {"type": "map", "values": wanted_values}:
            _check(values, wanted_values, f"a value of {where}")
        case {"type": "record", "fields": fields}, {"type": "record", "fields": wanted_fields}:
            types = {field["name"]: field["type"] for field in fields}
            for field in wanted_fields:
                name, wanted_type = field["name"], field["type"]
                if name in types:
                    _check(types[name], wanted_type, f"field '{name}'")
                elif not isinstance(wanted_type, list):
                    message = f"{where} lacks the field '{name}'"
                    raise BadEncoding(_WHERE, message)
                else:
                    _check_really_missing(name, types)
        case _ if found != wanted and (found, wanted) != ("int", "long"):
            message = f"{where}: expected the type {_name(wanted)}, found {_name(found)}"
            raise BadEncoding(_WHERE, message)


def _check_really_missing(name: str, found: Iterable[str]) -> None:
    """Refuse a field that differs from a missing one in one letter: the header is damaged, and would yield nulls."""
    for other in found:
        if len(other) == len(name) > _SHORTEST_NAME and sum(map(str.__ne__, other, name)) == 1:
            message = f"the field '{name}' is missing, but there is a field '{other}'"
            raise BadEncoding(_WHERE, message)


def _without_null(union: list[Any]) -> Any:  # noqa: ANN401
    branches = [branch for branch in union if branch != "null"]
    return branches[0] if len(branches) == 1 else "union"


def _name(avro_type: Any) -> str:  # noqa: ANN401
    if isinstance(avro_type, dict):
        return str(avro_type["type"])
    return "union" if isinstance(avro_type, list) else str(avro_type)


class _Rebuild:
    """One pass over a schema, which remembers named types and counts the nodes."""

    def __init__(self) -> None:
        self._nodes = 0
        self._definitions: dict[str, tuple[dict[str, object], str]] = {}
        self._open: set[int] = set()

    def type_of(self, value: object, namespace: str, *, in_union: bool) -> Any:  # noqa: ANN401 - a JSON tree
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            message = f"an Avro schema of more than {_MAX_NODES} nodes"
            raise LimitExceeded(_WHERE, message)
        if isinstance(value, list) and not in_union and value:
            return [self.type_of(branch, namespace, in_union=True) for branch in value]
        if isinstance(value, str):
            return self._named(value, namespace, in_union=in_union)
        if isinstance(value, dict):
            return self._complex(value, namespace, in_union=in_union)
        return self._refuse(value)

    def _named(self, name: str, namespace: str, *, in_union: bool) -> Any:  # noqa: ANN401
        if name in _SCALARS or (name == "null" and in_union):
            return name
        known = self._definitions.get(f"{namespace}.{name}") or self._definitions.get(name)
        if known is None:
            self._refuse(name)
        return self._record(*known)

    def _complex(self, value: dict[str, object], namespace: str, *, in_union: bool) -> Any:  # noqa: ANN401
        kind = value.get("type")
        if kind == "record":
            return self._defined_record(value, namespace)
        if kind == "array":
            return {"type": "array", "items": self.type_of(value.get("items"), namespace, in_union=False)}
        if kind == "map":
            return {"type": "map", "values": self.type_of(value.get("values"), namespace, in_union=False)}
        return self.type_of(kind, namespace, in_union=in_union)

    def _defined_record(self, value: dict[str, object], namespace: str) -> Any:  # noqa: ANN401
        name, own = value.get("name"), value.get("namespace", namespace)
        if not isinstance(name, str) or not isinstance(own, str):
            self._refuse(value)
        prefix, dot, _ = name.rpartition(".")
        own = prefix if dot else own
        self._definitions[name if dot else f"{own}.{name}"] = (value, own)
        return self._record(value, own)

    def _record(self, value: dict[str, object], namespace: str) -> Any:  # noqa: ANN401
        fields = value.get("fields")
        if not isinstance(fields, list) or not fields or id(value) in self._open:
            self._refuse(value.get("name"))
        self._open.add(id(value))
        name = f"r{self._nodes}"
        rebuilt = []
        for field in fields:
            if not isinstance(field, dict) or not isinstance(field.get("name"), str):
                self._refuse(field)
            member = self.type_of(field.get("type"), namespace, in_union=False)
            rebuilt.append({"name": field["name"], "type": member})
        if len({field["name"] for field in rebuilt}) < len(rebuilt):
            self._refuse(value)
        self._open.discard(id(value))
        return {"type": "record", "name": name, "fields": rebuilt}

    def _refuse(self, value: object) -> NoReturn:
        message = f"expected an Avro type of the format, found {repr(value)[:100]}"
        raise BadEncoding(_WHERE, message)
