"""Files that no snapshot names: how they are deleted when the work that wrote them fails, or needs them no more.

One rule holds everywhere. A file that cannot be deleted stays as an orphan and is logged; it never hides the error that
made its deletion necessary. ``Table.remove_orphan_files`` deletes it later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from table_format.io.file_io import FileIO

_log = logging.getLogger(__name__)


def delete_uncommitted(io: FileIO, paths: Iterable[str]) -> None:
    """Delete files that no snapshot names; those that cannot be deleted stay as orphans, with a warning."""
    for path in paths:
        try:
            io.delete(path)
        except OSError as error:
            _log.warning("%s is in no snapshot and could not be deleted; it stays as an orphan: %s", path, error)


@dataclass(frozen=True, slots=True)
class DeletingOnFailure:
    """Calls ``delete`` when the block fails or is interrupted, and lets the error go on.

    ``delete`` follows the rule above: it raises nothing of its own. Nothing is deleted after an error of ``unless``.
    This is a class and no generator: a generator that an interrupt cuts off would delete when it is collected, which
    may be in the middle of the next call.
    """

    delete: Callable[[], object]
    unless: tuple[type[BaseException], ...] = ()

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        """End the block, also by an interrupt, which leaves files as an error does."""
        if kind is not None and not issubclass(kind, self.unless):
            self.delete()
