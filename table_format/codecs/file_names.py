"""Names of files inside metadata: data that came from a file must never lead out of the table's directories."""

from __future__ import annotations


def is_safe_file_name(name: str) -> bool:
    """Whether a name is the name of a file and not a way to another directory.

    >>> [is_safe_file_name(n) for n in ("manifest-1", "", "..", "a/b", "a\\\\b", "a\\0")]
    [True, False, False, False, False, False]
    """
    return not ("/" in name or "\\" in name or "\0" in name or name in ("", ".", ".."))
