"""Random histories in every mode of a table, written by us and the real Paimon in turn.

``make histories`` runs hundreds of them, with other seeds.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.oracle.histories import History, Mode
from tests.oracle.peer import PaimonPeer
from tests.oracle.pypaimon_peer import PyPaimonPeer

HISTORIES = int(os.environ.get("HAND_OVERS", "2"))
"""Of each mode, with each version."""
HISTORIES_OF_THREE = int(os.environ.get("HAND_OVERS_OF_THREE", "1"))
"""Of each mode, with each version, with pypaimon as a third writer."""
FIRST_SEED = int(os.environ.get("HAND_OVERS_FIRST_SEED", "0"))

MARKED = {"deletion-vectors.enabled": "true"}
LOOKUP = {"changelog-producer": "lookup"}
FULL = {"changelog-producer": "full-compaction"}
ADDS = ("+I", "+I", "+U")
EACH_COMMIT = {"full-compaction.delta-commits": "1"}
PARTIAL = {"merge-engine": "partial-update"}
SUM = {"merge-engine": "aggregation", "fields.seq.aggregate-function": "sum"}

MODES: dict[str, Mode] = {
    "merged when read": Mode(switches=(EACH_COMMIT, {"changelog-producer": "input"})),
    "merged when read, then marked": Mode({"deletion-vectors.modifiable": "true"}, switches=(MARKED,)),
    "merged when read, by sequence": Mode({"sequence.field": "seq"}, follows_order=False),
    "merged when copied": Mode(EACH_COMMIT, switches=(FULL,)),
    "marked": Mode(MARKED, switches=(LOOKUP,)),
    "marked, by sequence": Mode({**MARKED, "sequence.field": "seq"}, follows_order=False),
    "marked, wide": Mode({**MARKED, "deletion-vectors.bitmap64": "true"}, is_newer=True),
    "marked, lookup": Mode({**MARKED, **LOOKUP}, tells=True),
    "input": Mode({"changelog-producer": "input"}, switches=(EACH_COMMIT,)),
    "lookup": Mode(LOOKUP, tells=True),
    "lookup, deduplicated": Mode({**LOOKUP, "changelog-producer.row-deduplicate": "true"}, tells=True),
    "full compaction": Mode(FULL, tells=True),
    "full compaction of each commit": Mode({**FULL, **EACH_COMMIT}, tells=True),
    "first row": Mode({**LOOKUP, "merge-engine": "first-row"}, kinds=ADDS, follows_order=False, tells=True),
    "partial update": Mode(PARTIAL, kinds=ADDS, follows_order=False, switches=(EACH_COMMIT,)),
    "partial update, deleted": Mode(
        {**PARTIAL, "partial-update.remove-record-on-delete": "true"},
        follows_order=False,
        is_newer=True,
        takes_three=False,
    ),
    "partial update, lookup": Mode({**PARTIAL, **LOOKUP}, kinds=ADDS, follows_order=False, tells=True),
    "sum": Mode(SUM, kinds=ADDS, follows_order=False, switches=(EACH_COMMIT,)),
    "sum, full compaction": Mode({**SUM, **FULL}, kinds=ADDS, follows_order=False, tells=True),
    "dynamic": Mode({"bucket": "-1", "dynamic-bucket.target-row-num": "3"}),
    "dynamic, marked": Mode({"bucket": "-1", "dynamic-bucket.target-row-num": "3", **MARKED}),
    "dynamic, lookup": Mode({"bucket": "-1", "dynamic-bucket.target-row-num": "3", **LOOKUP}, tells=True),
}


@pytest.mark.parametrize("name", MODES)
def test_both_read_every_step_of_a_history_equally(paimon: PaimonPeer, tmp_path: Path, name: str) -> None:
    if MODES[name].is_newer and paimon.version.startswith("0."):
        pytest.skip("0.9 does not have the options or fails with them")
    found = [run_history(name, seed, paimon, tmp_path / str(seed)) for seed in _seeds(HISTORIES)]
    compared = sum(history.compared for history in found)
    print(f"{name}, Paimon {paimon.version}: {len(found)} histories, {compared} snapshots read equally")
    assert compared >= HISTORIES * 3


@pytest.mark.parametrize("name", [name for name, mode in MODES.items() if mode.takes_three])
def test_all_three_go_on_with_what_the_others_wrote(
    paimon: PaimonPeer, pypaimon: PyPaimonPeer, tmp_path: Path, name: str
) -> None:
    if MODES[name].is_newer and paimon.version.startswith("0."):
        pytest.skip("0.9 does not have the options or fails with them")
    found = [run_history(name, seed, paimon, tmp_path / str(seed), pypaimon) for seed in _seeds(HISTORIES_OF_THREE)]
    wrote = sum(history.handed_over > 0 for history in found)
    print(f"{name}, Paimon {paimon.version}: {len(found)} histories of three, pypaimon wrote in {wrote}")
    assert all(history.compared for history in found)


def _seeds(count: int) -> range:
    return range(FIRST_SEED, FIRST_SEED + count)


def run_history(
    name: str, seed: int, paimon: PaimonPeer, warehouse: Path | str, pypaimon: PyPaimonPeer | None = None
) -> History:
    """Run one history of a mode. What fails says all its steps."""
    history = History(paimon, warehouse, MODES[name], random.Random(f"{name} {seed}"), pypaimon=pypaimon)
    try:
        history.run()
    except Exception as error:
        steps = "\n  ".join(history.steps)
        message = f"{name}, seed {seed}, Paimon {paimon.version}:\n  {steps}\n{error}"
        raise AssertionError(message) from error
    return history
