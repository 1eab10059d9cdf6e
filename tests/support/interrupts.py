"""An interrupt at the moment at which a pool waits for its threads."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, wait
from threading import Event

import pytest


def interrupted_wait(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Interrupt the first wait of a pool for its threads. Return the event that the second wait sets.

    Work that waits for the event has therefore not ended when the interrupt comes.
    """
    first = iter([True])
    again = Event()

    def interrupted(given: Iterable[Future[object]]) -> None:
        if next(first, False):
            raise KeyboardInterrupt
        again.set()
        wait(given)

    monkeypatch.setattr("table_format.io.threads.wait", interrupted)
    return again
