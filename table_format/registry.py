"""Named plug-ins of one kind, such as file formats: those of this library and those that a program registers.

A registry belongs to its process. The tasks of an engine run in other processes, which know only the built-in entries
and those that are registered there (docs/extending.md).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from table_format.errors import AlreadyExistsError, InvalidInputError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to entries. Only ``register`` adds entries.

    >>> letters = Registry("letter", ["a", "b"], name_of=lambda letter: letter)
    >>> letters.register("c")
    >>> ", ".join(letters)
    'a, b, c'
    """

    def __init__(self, kind: str, members: Iterable[T], *, name_of: Callable[[T], str]) -> None:
        self._kind = kind
        self._name_of = name_of
        self._lock = threading.Lock()
        self._members: dict[str, T] = {}
        for member in members:
            self.register(member)

    def register(self, member: T) -> None:
        """Add an entry in this process.

        Raises:
            AlreadyExistsError: another entry has this name.
            InvalidInputError: the name is blank or not in lower case.
        """
        name = self._name_of(member)
        if not name.strip() or name != name.strip().lower():
            message = f"{self._kind} {name!r}: expected a name in lower case that is not blank"
            raise InvalidInputError(message)
        with self._lock:
            if name in self._members:
                message = f"{self._kind} '{name}' already exists; choose another name"
                raise AlreadyExistsError(message)
            # A new mapping, so that a running iteration continues over the old one.
            self._members = {**self._members, name: member}

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __getitem__(self, name: str) -> T:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)
