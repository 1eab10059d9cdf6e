"""What workers keep between tasks is out of the search for garbage."""

from __future__ import annotations

import gc

import pytest

from table_format.spark.tasks import worker


def test_existing_objects_are_excluded_from_garbage_collection_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_is_settled", False)
    try:
        worker.settle()
        frozen = gc.get_freeze_count()
        assert frozen > 10_000
        more = [[] for _ in range(1000)]  # type: ignore[var-annotated]
        worker.settle()
        assert gc.get_freeze_count() <= frozen
        assert len(more) == 1000
    finally:
        gc.unfreeze()
