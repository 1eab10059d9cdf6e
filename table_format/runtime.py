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

from table_format.decoded_files import DecodedFiles


class Clock(Protocol):
    """A source of time. All values are in milliseconds."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970 in UTC."""
        ...

    def local_now_ms(self) -> int:
        """Return the local wall-clock time in milliseconds, counted as if it were UTC (format chapter 04,
        ``_CREATION_TIME``).
        """
        ...

    def monotonic_ms(self) -> int:
        """Return the time of a clock that never goes back. Only differences have a meaning."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""
        ...


class Randomness(Protocol):
    """A source of random numbers."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...


class Ids(Protocol):
    """A source of unique ids."""

    def uuid(self) -> str:
        """A fresh lower-case UUID with dashes."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Return the milliseconds since 1970 in UTC."""
        return time.time_ns() // 1_000_000

    def local_now_ms(self) -> int:
        """Return the local wall-clock time as milliseconds since 1970, counted as if it were UTC."""
        now = time.time_ns()
        return now // 1_000_000 + time.localtime(now // 1_000_000_000).tm_gmtoff * 1000

    def monotonic_ms(self) -> int:
        """Return the milliseconds of a clock that never goes back. Only differences have a meaning."""
        return time.monotonic_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait for a number of milliseconds."""
        time.sleep(duration_ms / 1000)


class SystemRandomness:
    """Random numbers of this machine, used for jitter and never for secrets."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        return random.random()  # noqa: S311


class SystemIds:
    """Random UUIDs."""

    def uuid(self) -> str:
        """A fresh lower-case UUID with dashes."""
        return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Runtime:
    """Clock, randomness and ids as one argument.

    ``cache_directory`` holds files that can be rebuilt; the default is ``default_cache_directory``.
    ``decoded`` is the shared cache of decoded manifests; without it each opened table has its own cache.
    """

    clock: Clock = field(default_factory=SystemClock)
    random: Randomness = field(default_factory=SystemRandomness)
    ids: Ids = field(default_factory=SystemIds)
    cache_directory: str | None = None
    decoded: DecodedFiles | None = field(default=None, compare=False)


def default_cache_directory() -> str:
    """Return a directory in the user's cache, or in the temporary directory for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(given) if given else Path.home() / ".cache"
    except RuntimeError:
        home = Path(tempfile.gettempdir())
    return str(home / "paimon-lakehouse")
