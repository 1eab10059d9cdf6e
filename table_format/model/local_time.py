"""Times of the local wall clock, which files record as milliseconds as if they were UTC."""

from __future__ import annotations

from datetime import datetime, timedelta


def epoch_ms(local_ms: int) -> int:
    """The instant at which the local wall clock showed a time, given as milliseconds as if it were UTC."""
    return int((datetime(1970, 1, 1) + timedelta(milliseconds=local_ms)).astimezone().timestamp() * 1000)
