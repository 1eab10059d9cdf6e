"""Checks file names in metadata: a name that was read from a file must never leave the table's directories."""

from __future__ import annotations


def is_safe_file_name(name: str) -> bool:
    """Return whether a name is a plain file name without a path to another directory.

    >>> [is_safe_file_name(n) for n in ("manifest-1", "", "..", "a/b", "a\\\\b", "a\\0")]
    [True, False, False, False, False, False]
    """
    return not ("/" in name or "\\" in name or "\0" in name or name in ("", ".", ".."))
