"""Indexes of keys that nobody closes."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import pyarrow as pa

from table_format.indexes.key_index import GlobalKeyIndex


class CollectingPath(type(Path())):
    """Python collects garbage when it looks at the path of a file, as it may at any time."""

    def __hash__(self):
        self._collect()
        return super().__hash__()

    def __str__(self):
        self._collect()
        return super().__str__()

    def _collect(self):
        if self.suffix:
            gc.collect()


def open_index(directory):
    return GlobalKeyIndex.open(directory, "keys", [pa.int64()], "fitting")


def forget_an_index(directory):
    index = open_index(directory)
    index.cycle = index


def test_a_forgotten_index_is_closed_while_another_is_opened(tmp_path):
    opened = []

    def open_another():
        gc.disable()
        try:
            forget_an_index(tmp_path)
            opened.append(open_index(CollectingPath(tmp_path)))
            opened.append(open_index(tmp_path))
        finally:
            gc.enable()

    opening = threading.Thread(target=open_another, daemon=True)
    opening.start()
    opening.join(20)
    assert not opening.is_alive()
    # The forgotten one has given its slot back.
    assert {index._store.path.name for index in opened} == {"keys-0.duckdb", "keys-1.duckdb"}
    for index in opened:
        index.close()
