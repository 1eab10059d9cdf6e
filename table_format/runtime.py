"""The world as a parameter: clock, randomness and ids.

Nothing else in the library imports ``time``, ``random`` or ``uuid``; a simulation passes its own.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    """Where time comes from. All values are milliseconds."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        ...

    def local_now_ms(self) -> int:
        """The local wall clock read as if it were UTC (format chapter 04, ``_CREATION_TIME``)."""
        ...

    def monotonic_ms(self) -> int:
        """A clock that never goes back; only differences mean something."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""
        ...


class Randomness(Protocol):
    """Where chance comes from."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...


class Ids(Protocol):
    """Where unique names come from."""

    def uuid(self) -> str:
        """A fresh lower-case UUID with dashes."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        return time.time_ns() // 1_000_000

    def local_now_ms(self) -> int:
        """The wall clock of the local zone, as milliseconds since 1970 as if it were UTC."""
        now = time.time_ns()
        return now // 1_000_000 + time.localtime(now // 1_000_000_000).tm_gmtoff * 1000

    def monotonic_ms(self) -> int:
        """Milliseconds of a clock that never goes back; only differences mean something."""
        return time.monotonic_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait that many milliseconds."""
        time.sleep(duration_ms / 1000)


class SystemRandomness:
    """Chance of this machine; used for jitter and never for secrets."""

    def random(self) -> float:
        """A number from 0 up to, not including, 1."""
        return random.random()  # noqa: S311


class SystemIds:
    """Random UUIDs."""

    def uuid(self) -> str:
        """A fresh lower-case UUID with dashes."""
        return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Runtime:
    """Clock, randomness and ids together, as one argument.

    ``cache_directory`` is where this machine keeps what can be made again; without one, ``default_cache_directory``.
    """

    clock: Clock = field(default_factory=SystemClock)
    random: Randomness = field(default_factory=SystemRandomness)
    ids: Ids = field(default_factory=SystemIds)
    cache_directory: str | None = None


def default_cache_directory() -> str:
    """Below the user's cache, or below the directory for temporary files for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:
        home = Path(tempfile.gettempdir())
    return str(home / "paimon-lakehouse")
