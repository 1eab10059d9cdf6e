"""Typed access to the members of a JSON object from a file; errors name the path and the key."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

from table_format.codecs.file_names import is_safe_file_name
from table_format.errors import BadEncoding
from table_format.model.types import InternalValue

_CHARACTER_BITS: Final = 21


@dataclass(frozen=True, slots=True)
class JsonMembers:
    """A JSON object and the path of its file. A member that is ``null`` counts as absent."""

    path: str
    values: Mapping[str, object]

    def integer(self, key: str, default: int | None = None) -> int:
        """Return the integer under ``key``, or the default if it is absent.

        Raises:
            BadEncoding: the member is absent and there is no default, or it is not an integer of 64 bits.
        """
        value = self.optional_integer(key)
        if value is None:
            value = default
        if value is None:
            self._refuse(key, "an integer", None)
        return value

    def optional_integer(self, key: str) -> int | None:
        """Return the integer under ``key``, or ``None`` if it is absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
            self._refuse(key, "an integer of 64 bits", value)
        return value

    def text(self, key: str) -> str:
        """Return the text under ``key``."""
        value = self.optional_text(key)
        if value is None:
            self._refuse(key, "a text", None)
        return value

    def optional_text(self, key: str) -> str | None:
        """Return the text under ``key``, or ``None`` if it is absent."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            self._refuse(key, "a text", value)
        return value

    def file_name(self, key: str) -> str:
        """Return the file name, without a directory, under ``key``."""
        value = self.optional_file_name(key)
        if value is None:
            self._refuse(key, "a file name", None)
        return value

    def optional_file_name(self, key: str) -> str | None:
        """Return the file name under ``key``, or ``None`` if it is absent."""
        value = self.optional_text(key)
        if value is not None and not is_safe_file_name(value):
            self._refuse(key, "a file name without directory", value)
        return value

    def items(self, key: str) -> list[object]:
        """Return the list under ``key``, or an empty list if it is absent."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self._refuse(key, "a list", value)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the list of texts under ``key``, or an empty tuple if it is absent."""
        items = self.items(key)
        texts = tuple(item for item in items if isinstance(item, str))
        if len(texts) != len(items):
            self._refuse(key, "a list of texts", items)
        return texts

    def text_map(self, key: str) -> dict[str, str]:
        """Return the texts by name under ``key``, or an empty dict if absent. As in Jackson, scalars become text."""
        value = self.values.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._refuse(key, "an object of texts", value)
        return {name: self._scalar_text(key, member) for name, member in value.items() if member is not None}

    def refuse_damaged_names(self, known: frozenset[str]) -> None:
        """Refuse a member whose name differs in one bit from a known one: the file is damaged.

        >>> JsonMembers("f", {"indexManifest": "a", "later": 1}).refuse_damaged_names(frozenset({"indexManifest"}))

        Raises:
            BadEncoding: there is such a member; the known member would otherwise count as absent.
        """
        meant = _one_bit_away(known)
        for name in self.values.keys() - known:
            if name in meant:
                self._refuse(meant[name], "to be stored under its name", name)

    def _scalar_text(self, key: str, member: InternalValue) -> str:
        if isinstance(member, str):
            return member
        if isinstance(member, bool):
            return "true" if member else "false"
        if isinstance(member, dict | list):
            self._refuse(key, "an object of texts", member)
        return str(member)

    def _refuse(self, key: str, expected: str, found: object) -> NoReturn:
        shown = "nothing" if found is None else repr(found)[:100]
        message = f"member '{key}': expected {expected}, found {shown}"
        raise BadEncoding(self.path, message)


@lru_cache(maxsize=16)
def _one_bit_away(known: frozenset[str]) -> Mapping[str, str]:
    """Return all names that differ from a known name in one bit of a character, each with the known name."""
    return {
        f"{name[:at]}{chr(ord(character) ^ 1 << bit)}{name[at + 1 :]}": name
        for name in sorted(known)
        for at, character in enumerate(name)
        for bit in range(_CHARACTER_BITS)
        if ord(character) ^ 1 << bit <= sys.maxunicode
    }
