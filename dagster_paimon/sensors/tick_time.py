"""Which tables a tick looks at in the time that it has.

Dagster gives up a tick after a time limit and keeps the cursor from before it, so the next tick would begin at the same
place and take as long. A tick therefore ends well before the limit, and the next one goes on with the other tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Final, TypeVar

from table_format.counted import counted

_LIMITS: Final = ("DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS", "DAGSTER_GRPC_TIMEOUT_SECONDS")
_DEFAULT_LIMIT: Final = "60"

StateT = TypeVar("StateT")


def in_turn(names: Iterable[str], seen: Mapping[str, object]) -> Iterator[str]:
    """Yield tables until the time of the tick is half over, at least one: first those that waited longest.

    ``seen`` has the tables of the cursor, the last one that was looked at last.
    """
    is_over = half_time()
    position = {name: at for at, name in enumerate(seen)}
    for name in sorted(names, key=lambda name: position.get(name, -1)):
        yield name
        if is_over():
            return


def half_time() -> Callable[[], bool]:
    """Return a function that tells whether half of the time that Dagster waits for a tick is over."""
    end = monotonic() + float(next(filter(None, map(os.environ.get, _LIMITS)), _DEFAULT_LIMIT)) / 2
    return lambda: monotonic() >= end


def looked_at_last(seen: Mapping[str, StateT], now: Mapping[str, StateT]) -> dict[str, StateT]:
    """Return the states of all tables, those that this tick looked at behind the others.

    >>> looked_at_last({"a.x": 1, "a.y": 1, "a.z": 1}, {"a.x": 2})
    {'a.y': 1, 'a.z': 1, 'a.x': 2}
    """
    return {**{name: state for name, state in seen.items() if name not in now}, **now}


def waiting_note(names: Sequence[str], looked: int) -> list[str]:
    """Return a note about the tables that the tick did not look at, if there are any.

    >>> waiting_note(["a.x", "a.y", "a.z"], 1), waiting_note(["a.x"], 1)
    (['2 tables wait for the next tick'], [])
    """
    left = len(names) - looked
    return [f"{counted(left, 'table')} {'wait' if left > 1 else 'waits'} for the next tick"] if left else []
