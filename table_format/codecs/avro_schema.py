"""Avro schemas made safe: what a file declares is checked and rebuilt before any record is read with it.

A rebuilt schema has no zero-size types outside unions, no recursion and bounded size, so that a block of n bytes never
makes more than n values. Logical types are dropped: timestamps stay integers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NoReturn

import fastavro
from fastavro.schema import SchemaParseException

from table_format.codecs.pretty_json import load_json_value
from table_format.errors import BadEncoding, LimitExceeded

_SCALARS: Final = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})
_MAX_NODES: Final = 10_000
_WHERE: Final = "header entry avro.schema"


def reading_schema(text: bytes, *, path: str) -> Any:  # noqa: ANN401 - fastavro's parsed schemas have no type
    """The parsed schema of an array of the records that ``text``, the schema of a container, describes.

    Raises:
        BadEncoding: the text is no schema of records, or none that sound files have.
        LimitExceeded: it is larger than any sound schema.
    """
    try:
        return _array_of(text)
    except LimitExceeded as e:
        raise LimitExceeded(path, str(e)) from e
    except BadEncoding as e:
        raise BadEncoding(path, str(e)) from e


@lru_cache(maxsize=64)
def _array_of(text: bytes) -> Any:  # noqa: ANN401
    root = _Rebuild().type_of(load_json_value(text, path=_WHERE), "", in_union=False)
    branches = root if isinstance(root, list) else [root]
    if not any(isinstance(branch, dict) and branch["type"] == "record" for branch in branches):
        message = "expected an Avro schema of records, found another"
        raise BadEncoding(_WHERE, message)
    try:
        return fastavro.parse_schema({"type": "array", "items": root})
    except (SchemaParseException, ValueError, TypeError, KeyError) as e:
        message = f"expected an Avro schema, found one that does not parse: {e}"
        raise BadEncoding(_WHERE, message) from e


class _Rebuild:
    """One walk over a schema; remembers definitions and counts what it makes."""

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
        self._refuse(value)

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
            if not isinstance(field, dict):
                self._refuse(field)
            member = self.type_of(field.get("type"), namespace, in_union=False)
            rebuilt.append({"name": field.get("name"), "type": member})
        self._open.discard(id(value))
        return {"type": "record", "name": name, "fields": rebuilt}

    def _refuse(self, value: object) -> NoReturn:
        message = f"expected an Avro type of manifests, found {repr(value)[:100]}"
        raise BadEncoding(_WHERE, message)
