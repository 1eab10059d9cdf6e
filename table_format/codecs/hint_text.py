"""Hints, ``LATEST`` and ``EARLIEST``: text files that contain only a snapshot id (format chapter 03, section 2)."""

from __future__ import annotations

from typing import Final

_MAX_DIGITS: Final = 19


def encode_hint(snapshot_id: int) -> bytes:
    """Return the content of a hint."""
    return str(snapshot_id).encode()


def decode_hint(data: bytes) -> int | None:
    """Return the id in a hint; ``None`` if the content is not a hint.

    >>> decode_hint(b"7"), decode_hint(b"-1"), decode_hint(b"seven")
    (7, None, None)
    """
    stripped = data.strip()
    if not stripped.isdigit() or len(stripped) > _MAX_DIGITS:
        return None
    return int(stripped) or None
