"""A change of history dies before or after each of its changes; somebody else does something; then it is done again.

Neither the target nor the retained history loses a file in between, whichever operation comes next. Repeating the
change gives the result of an undisturbed one, apart from orphan files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest

from table_format import Table
from table_format.errors import AlreadyExistsError, CorruptionError, NotFoundError, SnapshotExpired
from table_format.metastore.expiry import tag_deletion
from table_format.metastore.history import rollback as going_back
from table_format.metastore.references.completeness import missing_file
from table_format.metastore.references.tag_store import TagStore
from tests.simulation.failing_io import Crash, Mode, OneFailure
from tests.simulation.remembered import Remembered
from tests.simulation.test_damaged_history import (
    SOON,
    Store,
    _kept_if_hinted,
    _needs_of_hinted,
    copied,
    expire,
    history,
    keys,
    keys_of,
    opened,
    rows,
)

STEP = int(os.environ.get("EVERY_CALL_STEP", "7"))
KINDS = ((), (("changelog.num-retained.max", "100"), ("snapshot.num-retained.max", "3")))


def last_ids(memory: Store) -> list[int]:
    return [snapshot.id for snapshot in opened(memory).snapshots()]


def time_of(table: Table, snapshot_id: int) -> int:
    return table.facts.snapshots.load(snapshot_id).time_millis


TO_EXPIRED = "to the tag of an expired snapshot"
REWRITES: Mapping[str, Callable[[Table], object]] = {
    "to a retained snapshot": lambda t: t.rollback_to(max(s.id for s in t.snapshots() if s.id <= 8)),
    TO_EXPIRED: lambda t: t.rollback_to("old"),
    "to the tag of a retained snapshot": lambda t: t.rollback_to("new"),
    "to a time": lambda t: t.rollback_to_timestamp(time_of(t, 8)),
    "fast-forward": lambda t: t.fast_forward("b"),
    "replacement of a tag": lambda t: t.replace_tag("old"),
    "deletion of a tag": lambda t: t.delete_tag("old"),
    "new name of a tag": lambda t: t.rename_tag("old", "renamed"),
    "creation of a tag": lambda t: t.create_tag("created", 9),
    "creation of a branch": lambda t: t.create_branch("c", tag="old"),
    "deletion of a branch": lambda t: t.delete_branch("b"),
    "new name of a branch": lambda t: t.rename_branch("b", "c"),
}


def commit(table: Table) -> None:
    table.store.runtime.clock.sleep_ms(100_000)
    table.copy({"write-only": "false", "tag.time-expire-enabled": "true"}).append(rows(9))


NEXT: Mapping[str, Callable[[Table], object]] = {
    "nobody": lambda t: None,
    "a commit with upkeep": commit,
    "an expiry": lambda t: expire(t, 1),
    "the deletion of a tag": lambda t: t.delete_tag("older"),
    "the cleaning of orphans": lambda t: t.remove_orphan_files(older_than_ms=SOON, nobody_else_writes=True),
    "the expiry of changelogs": lambda t: t.expire_changelogs(retain_min=1, retain_max=1, older_than_ms=SOON),
    "all of them": lambda t: [NEXT[name](t) for name in list(NEXT)[1:6]],
}


class OvertakenAndDead(OneFailure):
    """Somebody acts before one call of a process, which dies after a later change of the store."""

    def __init__(self, inner: Store, act_at: int, act: Callable[[], object], dies_at: int) -> None:
        super().__init__(inner, dies_at, Mode.CRASH_AFTER, changes_only=True)
        self._act_at, self._act = act_at, act
        self.all_calls = 0

    def _call(self, verb: str, *arguments: Any) -> Any:
        number, self.all_calls = self.all_calls, self.all_calls + 1
        if number == self._act_at:
            self._act()
        return super()._call(verb, *arguments)


@Remembered
def tables(store: Any) -> tuple[str, ...]:
    """The table and its branches."""
    return ("db.t", *(f"db.t$branch_{branch}" for branch in opened(store).branches()))


@Remembered
def promises(store: Any, name: str) -> tuple[int | str, ...] | None:
    """Snapshots that no expiry has begun to delete, and tags that nobody deletes.

    ``None`` for a branch that nobody may rely on: its creation was not finished.
    """
    facts = opened(store, name).facts
    tags = TagStore(facts.store)
    if name != "db.t" and tags.names_being_deleted():
        return None
    snapshots = (id_ for id_ in facts.snapshots.listed_ids() if not facts.snapshots.is_expiring(id_))
    return (*snapshots, *(tag for tag in tags.all() if not tags.is_being_deleted(tag)))


@Remembered
def lacks(store: Any, name: str, promised: int | str) -> str | None:
    """The first file that a snapshot or tag lacks."""
    facts = opened(store, name).facts
    kept = promised if isinstance(promised, int) else TagStore(facts.store).all()[promised].snapshot
    return missing_file(facts.store, facts.snapshots.load(kept) if isinstance(kept, int) else kept)


def check_all_is_there(memory: Store, what: str) -> None:
    """Every snapshot that no expiry has begun to delete, and every tag that nobody deletes, of every branch."""
    for name in tables(memory):
        promised = promises(memory, name)
        if promised is None:
            continue
        for each in promised:
            assert lacks(memory, name, each) is None, f"{what}: {each} of {name}"
        keys_of(memory, name)


def try_every_change(start: Store, rewrite: str, then: str, mode: Mode, step: int) -> int:
    """Let the change die at every change of the store; the number of trials."""
    intact = copied(start)
    REWRITES[rewrite](opened(intact))
    ends = keys_of(intact)
    number = trials = 0
    while True:
        memory = copied(start)
        store = OneFailure(memory, number, mode, changes_only=True)
        store._clock = memory._clock  # type: ignore[attr-defined]
        died = False
        try:
            with suppress(OSError):
                REWRITES[rewrite](opened(store))  # type: ignore[arg-type]
        except Crash:
            died = True
        what = f"{rewrite}, {mode} {number}, then {then}"
        check_all_is_there(memory, what)
        with suppress(NotFoundError):
            NEXT[then](opened(memory))
        check_all_is_there(memory, what)
        with suppress(AlreadyExistsError, NotFoundError):  # it had taken effect
            REWRITES[rewrite](opened(memory))
            if then == "nobody":
                assert keys_of(memory) == ends, what
        check_all_is_there(memory, f"{what}, and again")
        trials += 1
        if store.calls <= number and not died:
            return trials
        number += step


@pytest.mark.parametrize("rewrite", REWRITES)
def test_no_operation_after_an_unfinished_change_of_history_loses_a_file(rewrite: str) -> None:
    try_every_change(history(()), rewrite, "all of them", Mode.CRASH_AFTER, 1)
    for options in KINDS if STEP == 1 else KINDS[: rewrite in (TO_EXPIRED, "fast-forward")]:
        for then in NEXT:
            try_every_change(history(options), rewrite, then, Mode.CRASH_AFTER, 1 if STEP == 1 else 7)


@pytest.mark.parametrize("mode", [Mode.CRASH_BEFORE, Mode.ERROR_AFTER])
def test_a_change_of_history_is_done_again_from_every_step(mode: Mode) -> None:
    for rewrite in REWRITES:
        assert try_every_change(history(()), rewrite, "nobody", mode, 1 if STEP == 1 else 2) > 1


REFERENCES: Mapping[str, tuple[Callable[[Table], object], Callable[[Table], object]]] = {
    "new name of a tag": (lambda t: t.rename_tag("old", "renamed"), lambda t: t.delete_tag("old")),
    "creation of a branch": (lambda t: t.create_branch("c", tag="old"), lambda t: t.delete_tag("old")),
    "creation of a tag": (lambda t: t.create_tag("created", 9), lambda t: expire(t, 1)),
    "replacement of a tag": (lambda t: t.replace_tag("older", 9), lambda t: expire(t, 1)),
}
"""What makes a reference of something else, and what takes that something away."""


@pytest.mark.parametrize("made", REFERENCES)
def test_a_reference_whose_source_is_deleted_while_it_is_made_by_a_process_that_dies_promises_nothing(
    made: str,
) -> None:
    start = history(())
    make, take_away = REFERENCES[made]
    act_at = trials = 0
    while True:
        dies_at = 0
        while True:
            memory = copied(start)

            def act(memory: Store = memory) -> None:
                with suppress(NotFoundError):
                    take_away(opened(memory))

            store = OvertakenAndDead(memory, act_at, act, dies_at)
            store._clock = memory._clock  # type: ignore[attr-defined]
            died = False
            with suppress(NotFoundError):
                try:
                    make(opened(store))  # type: ignore[arg-type]
                except Crash:
                    died = True
            what = f"{made}, taken away before call {act_at}, dead after change {dies_at}"
            check_all_is_there(memory, what)
            NEXT["an expiry"](opened(memory))
            NEXT["the cleaning of orphans"](opened(memory))
            with suppress(AlreadyExistsError, NotFoundError):
                make(opened(memory))
            check_all_is_there(memory, f"{what}, and again")
            trials += 1
            if not died:
                break
            dies_at += 1
        if store.all_calls <= act_at:
            break
        act_at += 1 if STEP == 1 else 3
    assert trials > 10


def test_nobody_goes_back_to_a_snapshot_that_is_half_gone() -> None:
    memory = copied(history(()))
    table = opened(memory)
    first = last_ids(memory)[0]
    table.facts.snapshots.notices.announce(first + 2)
    snapshot = table.facts.snapshots.load(first)
    memory.delete(table.store.paths.manifest(snapshot.base_manifest_list))
    before = dict(memory._files)
    with pytest.raises(SnapshotExpired, match=f"snapshot {first} was expired"):
        table.rollback_to(first)
    assert dict(memory._files) == before


def test_a_tag_is_gone_back_to_also_where_its_id_was_used_again() -> None:
    memory = copied(history(()))
    table = opened(memory)
    new = table.tags()["new"].snapshot
    was = keys(opened(memory).copy({"scan.tag-name": "new"}))
    table.create_tag("kept", new.id)
    data = memory.read(table.store.paths.tag("kept"))
    table.rollback_to(new.id - 1)
    for key in (21, 23):
        opened(memory).append(rows(key))
    memory.create(table.store.paths.tag("again"), data)
    if missing_file(table.store, new) is None:
        opened(memory).rollback_to("again")
        assert keys_of(memory) == was


# --- mutants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mutant", ["tags rest on EARLIEST", "nothing is looked at before"])
def test_a_mutant_is_noticed(mutant: str) -> None:
    if mutant == "nothing is looked at before":
        with patch.object(going_back, "_require_complete", lambda *_: None), pytest.raises(pytest.fail.Exception):
            test_nobody_goes_back_to_a_snapshot_that_is_half_gone()
        return
    with (
        patch.object(tag_deletion, "_kept_otherwise", _kept_if_hinted),
        patch.object(tag_deletion, "needs_beside_tags", _needs_of_hinted),
        patch.dict(NEXT, {"the deletion of a tag": lambda t: t.delete_tag("old")}),
        pytest.raises((AssertionError, CorruptionError)),
    ):
        try_every_change(history(()), TO_EXPIRED, "the deletion of a tag", Mode.CRASH_AFTER, 1)
