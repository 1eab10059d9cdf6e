"""Connections that a process opens once and keeps, and that a forked process must not use."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

_OPENED: Final[dict[tuple[object, ...], Any]] = {}
_LOCK: Final = threading.RLock()
_FORKED: Final = threading.Event()
"""Set in a process that was forked from one with open connections."""


def kept(key: tuple[object, ...], open_it: Callable[[], _T]) -> _T:
    """Return what this process has opened under a key; the first call opens it.

    Raises:
        OSError: the process was forked from one that had opened connections, where they would never answer.
    """
    if _FORKED.is_set():
        message = (
            "this process was forked from one that had used the store, whose connections do not work here; start "
            "processes by 'spawn' or 'forkserver', for example with multiprocessing.get_context('spawn')"
        )
        raise OSError(errno.ECHILD, message)
    if key not in _OPENED:
        with _LOCK:
            if key not in _OPENED:
                _OPENED[key] = open_it()
    found: _T = _OPENED[key]
    return found


def _note_fork() -> None:
    # The lock may be held by a thread that does not exist here.
    if _OPENED or not _LOCK.acquire(blocking=False):
        _FORKED.set()
    else:
        _LOCK.release()


os.register_at_fork(after_in_child=_note_fork)
