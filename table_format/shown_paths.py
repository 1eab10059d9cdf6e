"""Shows paths in remote stores as the URIs that the user has written.

Within the library, ``/bucket/warehouse/t`` is a path, whatever its store. Code that reads a file often does not know
the store, and its errors have the path. So a process remembers the URI of each root that it opens, and every error
shows this URI in place of the path. If a process opens one path by several URIs, the last one is shown. A path that it
also opens on this machine is shown as it is, because it could mean either.
"""

from __future__ import annotations

import re
from typing import Final

_BEGIN: Final = re.compile(r"(?<![\w:/.~+-])/(?=\w)")
_ENDS: Final = re.compile(r"(?![\w.-])|(?=\.(?:\s|$))")
_URIS: Final[dict[str, str | None]] = {}


def remember_root(path: str, uri: str) -> None:
    """Show a path in a remote store, and everything below it, by this URI.

    A path below a known root needs no entry if the URI of the root already shows it so. A catalog with many tables
    therefore needs one.
    """
    root, shown = path.rstrip("/"), uri.rstrip("/")
    if root and shown_paths(root) != shown and _URIS.get(root, uri) is not None:
        _URIS[root] = shown


def remember_local_root(path: str) -> None:
    """Show a path on this machine as it is, even if a store has the same."""
    if shown_paths(path) != path:
        _URIS[path] = None


def shown_paths(text: str) -> str:
    """Return a text in which each known path begins with the URI of its root.

    >>> remember_root("/lake/w", "s3://lake/w")
    >>> shown_paths("/lake/w/shop.db/t: expected 2 bytes; not '/lake/w2' or s3://lake/w, and /lake/w.")
    "s3://lake/w/shop.db/t: expected 2 bytes; not '/lake/w2' or s3://lake/w, and s3://lake/w."
    """
    if not _URIS or "/" not in text:
        return text
    pieces, done = [], 0
    for begin in _BEGIN.finditer(text):
        root = _root_at(text, begin.start())
        uri = None if root is None else _URIS[root]
        if root is None or uri is None or begin.start() < done:
            continue
        pieces += [text[done : begin.start()], uri]
        done = begin.start() + len(root)
    return "".join([*pieces, text[done:]])


def _root_at(text: str, start: int) -> str | None:
    """Return the longest known root that begins there."""
    found = [root for root in tuple(_URIS) if text.startswith(root, start) and _ENDS.match(text, start + len(root))]
    return max(found, key=len, default=None)
