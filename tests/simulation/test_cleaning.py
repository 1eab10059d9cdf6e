"""Orphans are cleaned beside writers, compactors, expirers and taggers that fail and die.

Nothing is taken away that somebody still needs or commits; and when all is quiet, one more cleaning leaves nothing that
nothing needs, whatever has failed before.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from table_format.io.table_store import TableStore
from table_format.metastore.expiry.expire_snapshots import expire_snapshots
from table_format.metastore.expiry.orphans import remove_orphan_files
from table_format.options.table_options import TableOptions
from table_format.runtime import Runtime
from tests.simulation.history import History
from tests.simulation.quiescence import files_nothing_needs
from tests.simulation.run import run
from tests.simulation.settings import Settings
from tests.simulation.store import SharedStore
from tests.simulation.sum_table import PATHS, schema_with
from tests.simulation.world import Violation

SEEDS = 12
_seen: Counter[str] = Counter()


@pytest.mark.parametrize("first", range(0, SEEDS, 4))
def test_cleaning_takes_only_what_nobody_needs(first: int) -> None:
    for seed in range(first, first + 4):
        settings = Settings.draw_cleaning(seed)
        try:
            _seen.update(
                run(seed, settings, at_the_end=lambda shared, history, s=settings: clean(s, shared, history)).coverage
            )
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise


def clean(settings: Settings, shared: SharedStore, history: History) -> None:
    """Clean a table at rest, and look for what is left."""
    options = TableOptions.parse(schema_with(settings.options).options)
    store = TableStore(shared.files, PATHS, Runtime(random=random.Random(0)))
    expire_snapshots(store, options)  # ends what an expiry that died has begun
    remove_orphan_files(store, options, older_than_ms=1 << 60, grace_ms=0)
    there = {path for path in files_nothing_needs(shared, history) if shared.files.status(path) is not None}
    if there:
        raise Violation(f"I11 files that nothing needs are left after cleaning: {sorted(there)}")


def test_there_was_something_to_clean() -> None:
    if not _seen:
        pytest.skip("runs after the seeds")
    assert _seen["cleaned"] > 2
    assert _seen["crashes"] > 10
