"""Reads columns of an ORC file that decode to far more than their stored size in batches of bounded size.

Arrow's ``ORCFile`` reads stripes only as a whole, and a stripe that repeats one long text can have any number of rows.
Arrow's dataset scanner reads the same file in batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa


class WideColumns:
    """A stream of some columns, from the first row of a file on; the caller closes ``source``."""

    def __init__(self, source: pa.NativeFile, names: tuple[str, ...], batch_rows: int) -> None:
        # Imported here because few files need it, and the import takes longer than opening a table.
        from pyarrow import dataset

        self.names = names
        self._batches: Iterator[pa.RecordBatch] = (
            dataset.OrcFileFormat()
            .make_fragment(cast("Any", source))  # the stubs accept only paths
            .to_batches(
                columns=list(names), batch_size=batch_rows, batch_readahead=0, fragment_readahead=0, use_threads=False
            )
        )
        self._current: pa.RecordBatch | None = None

    def take(self, rows: int) -> dict[str, pa.Array]:
        """Return the next rows by column: at least one, and at most ``rows``.

        Raises:
            ValueError: the file has no more rows.
        """
        while self._current is None or not self._current.num_rows:
            self._current = next(self._batches, None)
            if self._current is None:
                message = "the file has fewer rows than its footer states"
                raise ValueError(message)
        taken = self._current.slice(0, rows)
        self._current = self._current.slice(taken.num_rows)
        return {name: taken.column(name) for name in self.names}
