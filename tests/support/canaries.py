"""Planted secrets, and the search for them in everything that can be read, plain and in the usual encodings."""

from __future__ import annotations

import base64
import json
import pickle
import sqlite3
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus


def canary(name: str) -> str:
    """A secret of its own for each place; its letters look different in every encoding.

    >>> canary("token")
    'Zq7/token+kAnarie'
    """
    return f"Zq7/{name}+kAnarie"


def forms(secret: str) -> set[str]:
    """The secret as it may be found: plain, escaped, and what Base64 makes of it behind 0, 1 or 2 other bytes."""
    data = secret.encode()
    found = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1], data.hex()}
    for before in ("", "a", "ab"):
        for encoded in (base64.b64encode(before.encode() + data), base64.urlsafe_b64encode(before.encode() + data)):
            # The first letters depend on what stands before, the last on what follows.
            found.add(encoded.decode()[4:].rstrip("=")[:-1])
    return found


def leaks(text: str | bytes, *secrets: str) -> list[str]:
    """The secrets that a text shows."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return [secret for secret in secrets if any(form.encode() in data for form in forms(secret))]


def leaks_in(directory: Path, *secrets: str) -> list[str]:
    """Where files below a directory show a secret; databases are read row by row, for they split long texts."""
    found = []
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            found += [f"{path.relative_to(directory)}: {secret}" for secret in leaks(_content(path), *secrets)]
    return found


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if data.startswith(b"SQLite format 3"):
        with sqlite3.connect(path) as database:
            data += "\n".join(database.iterdump()).encode("utf-8", "replace")
        database.close()
    return data


def texts_of(error: BaseException) -> str:
    """Everything an error can be shown as: its whole chain, also what is usually left out, and what it carries."""
    return "\n".join(text for link in _chain(error, set()) for text in _texts_of_one(link))


def _chain(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    if error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        yield from _chain(error.__cause__, seen)
        yield from _chain(error.__context__, seen)


def _texts_of_one(error: BaseException) -> Iterator[str]:
    yield "".join(traceback.format_exception(error))
    yield f"{error!s} {error!r} {error.args!r} {vars(error)!r} {getattr(error, '__notes__', '')}"


def pickled(value: object) -> bytes:
    """The pickle of a value."""
    return pickle.dumps(value)
