"""A cache of decoded immutable files, limited to a number of bytes.

Snapshots share most of their manifests, and a session opens a table many times. The catalog passes in one cache, and
all the tables that it opens share it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, TypeAlias, TypeVar, cast

_Fact = TypeVar("_Fact")

FileKey: TypeAlias = tuple[str, int | None]
"""The path of a file, and its size in bytes where that is recorded: a file of another size is another file."""

DEFAULT_BYTES: Final = 256 << 20


class DecodedFiles:
    """Decoded contents by file. The least recently used are dropped first. Threads may share it.

    Keep only what cannot change. ``capacity`` is in bytes; a value larger than the capacity is not kept.

    >>> files = DecodedFiles(100)
    >>> files.get(("a", 1), lambda: "decoded", size_of=len)
    'decoded'
    >>> files.get(("a", 1), lambda: "decoded once more", size_of=len)
    'decoded'
    """

    def __init__(self, capacity: int = DEFAULT_BYTES) -> None:
        self.capacity = capacity
        self._held = 0
        self._facts: OrderedDict[FileKey, tuple[object, int]] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[object, ...]:
        # The contents are not pickled: another process decodes the files itself.
        return (DecodedFiles, (self.capacity,))

    @property
    def held_bytes(self) -> int:
        """The number of bytes held now."""
        return self._held

    def get(self, key: FileKey, decode: Callable[[], _Fact], *, size_of: Callable[[_Fact], int]) -> _Fact:
        """Return the contents of a file, and call ``decode`` if they are not held. Two threads may both decode."""
        found = self.find(key)
        if found is not None:
            return cast("_Fact", found)
        fact = decode()
        self.put(key, fact, size_of(fact))
        return fact

    def find(self, key: FileKey) -> object | None:
        """Return the contents of a file, or ``None`` if they are not held."""
        with self._lock:
            found = self._facts.get(key)
            if found is None:
                return None
            self._facts.move_to_end(key)
            return found[0]

    def put(self, key: FileKey, fact: object, size: int) -> None:
        """Keep a value that takes ``size`` bytes."""
        with self._lock:
            before = self._facts.pop(key, None)
            if before is not None:
                self._held -= before[1]
            if size > self.capacity:
                return
            self._facts[key] = (fact, size)
            self._held += size
            while self._held > self.capacity:
                _, (_, dropped) = self._facts.popitem(last=False)
                self._held -= dropped
