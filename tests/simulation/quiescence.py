"""When all is quiet: everything that was promised is there, and nothing else is (I2, I3, I11)."""

from __future__ import annotations

from collections.abc import Set

from tests.simulation.history import History
from tests.simulation.settings import Settings
from tests.simulation.store import SharedStore
from tests.simulation.sum_table import PATHS
from tests.simulation.world import Violation, World


def check_at_the_end(world: World, shared: SharedStore, history: History, settings: Settings) -> None:
    """All final checks.

    Raises:
        Violation: I2, I3 or I11.
    """
    check_doomed_are_gone(history, settings)
    check_exactly_once(history)
    check_retained_are_complete(history)
    check_no_leaks(shared, history, settings)


def check_doomed_are_gone(history: History, settings: Settings) -> None:
    """I11 at the end: what expiry has begun it ends, unless faults kept it from that."""
    if history.doomed and not settings.faults.chances:
        raise Violation(f"I11 snapshots {sorted(history.doomed)} are left without their files")


def check_exactly_once(history: History) -> None:
    """I2 at the end: nothing landed that was rejected, whatever was still on its way."""
    promises = history.promises
    for job, kinds in history.landed.items():
        rows = [snapshot_id for kind, snapshot_id in kinds if kind != "COMPACT"]
        if len(rows) > 1 or (rows and job in promises.rejected):
            raise Violation(f"I2 {job} landed as {rows}")
    for job in promises.acknowledged & (promises.rejected | promises.unknown):
        raise Violation(f"I2 {job} was told two stories")


def check_retained_are_complete(history: History) -> None:
    """I3 at the end: every snapshot but doomed ones, and every tag, has all its files."""
    for snapshot_id in sorted(history.retained - history.doomed):
        history.check_complete(snapshot_id, f"at the end snapshot {snapshot_id}")
    for name in sorted(history.kept_tags):
        history.check_complete(history.tags[name], f"at the end tag {name}")


def check_no_leaks(shared: SharedStore, history: History, settings: Settings) -> None:
    """I11 at the end: without faults no file is left that nothing needs.

    What a tag kept is passed over: a tag's deletion and an expiry at the same time may each leave a file to the other.
    """
    if settings.faults.chances or settings.legacy_writers or history.promises.unknown:
        return
    left = files_nothing_needs(shared, history, also_kept=history.tagged)
    if left:
        raise Violation(f"I11 files that nothing needs are left: {left}")


def files_nothing_needs(shared: SharedStore, history: History, also_kept: Set[int] = frozenset()) -> list[str]:
    """Files that no retained snapshot and no tag needs."""
    kept = history.retained | set(history.tags.values()) | also_kept
    needed = {path for snapshot_id in kept for path in history.states[snapshot_id].paths}
    beside = {PATHS.latest_hint, PATHS.earliest_hint}
    # A deletion that died has left its notice beside the tag.
    beside |= {PATHS.tag_notice(name) for name in history.tags}
    beside |= {PATHS.snapshot(i) for i in history.retained} | {PATHS.tag(name) for name in history.tags}
    schemas = f"{PATHS.schema_directory}/"  # they stay for ever
    return [path for path in shared.paths() if path not in needed | beside and not path.startswith(schemas)]
