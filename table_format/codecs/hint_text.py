"""Hints, ``LATEST`` and ``EARLIEST``: the digits of a snapshot's id and nothing else (format chapter 03, section 2)."""

from __future__ import annotations

from typing import Final

_MAX_DIGITS: Final = 19


def encode_hint(snapshot_id: int) -> bytes:
    """The content of the hint."""
    return str(snapshot_id).encode()


def decode_hint(data: bytes) -> int | None:
    """The id that a hint names; ``None`` for anything else, which is no hint.

    >>> decode_hint(b"7"), decode_hint(b"-1"), decode_hint(b"seven")
    (7, None, None)
    """
    stripped = data.strip()
    if not stripped.isdigit() or len(stripped) > _MAX_DIGITS:
        return None
    return int(stripped) or None
