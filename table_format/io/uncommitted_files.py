"""Deletes files that no snapshot names, after the work that wrote them failed or no longer needs them.

A file that cannot be deleted stays as an orphan and is logged; it never hides the error that made its deletion
necessary. ``Table.remove_orphan_files`` deletes it later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from table_format.io.file_io import FileIO

_log = logging.getLogger(__name__)


def delete_uncommitted(io: FileIO, paths: Iterable[str]) -> None:
    """Delete files that no snapshot names. Those that cannot be deleted stay as orphans, with a warning."""
    for path in paths:
        try:
            io.delete(path)
        except OSError as error:
            _log.warning("%s is in no snapshot and could not be deleted; it stays as an orphan: %s", path, error)


@dataclass(frozen=True, slots=True)
class DeletingOnFailure:
    """Calls ``delete`` if the block fails or is interrupted; the error is raised unchanged.

    ``delete`` follows the rule above: it raises no error itself. Nothing is deleted after an error of ``unless``.
    This is a class, not a generator: an interrupted generator would delete when it is garbage-collected, which
    may be during the next call.
    """

    delete: Callable[[], object]
    unless: tuple[type[BaseException], ...] = ()

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        """End the block. An interrupt is handled like an error."""
        if kind is not None and not issubclass(kind, self.unless):
            self.delete()
