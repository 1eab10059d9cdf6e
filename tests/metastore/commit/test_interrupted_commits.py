"""Commits that are interrupted in a process that continues: what an abort may delete, and what a repetition finds."""

from __future__ import annotations

import errno

import pytest

from table_format.errors import CommitOutcomeUnknown, InvalidInputError
from table_format.metastore.scan.live_state import LiveState
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER as BATCH
from tests.simulation.interrupting_io import KINDS
from tests.support.metastore_table import a_table, committable, failing, once

MINUTE = 60_000


def interrupted(committer, table, job, *, when, kind=KeyboardInterrupt, part="/snapshot-1"):
    getattr(table.io, when)("create", part, once(failing(kind())))
    with pytest.raises(kind):
        committer.commit(job)
    table.io.calm()


def deleted(table):
    return [path for verb, path in table.io.calls if verb == "delete"]


def written(table):
    message = table.message(new_files=(table.file(),))
    table.write(message)
    return message


@pytest.mark.parametrize("kind", KINDS)
def test_an_abort_after_an_interrupt_keeps_what_the_snapshot_names(kind):
    table = a_table()
    message, committer = written(table), table.committer("u")
    interrupted(committer, table, committable(1, message), when="after", kind=kind)
    committer.abort([message])
    assert deleted(table) == []
    assert table.snapshots.latest_id() == 1


def test_an_abort_deletes_nothing_while_the_request_may_take_effect():
    table = a_table()
    message, committer = written(table), table.committer("u")
    interrupted(committer, table, committable(1, message), when="before")
    with pytest.raises(CommitOutcomeUnknown, match="may still take effect"):
        committer.abort([message])
    assert deleted(table) == []
    table.clock.ms += 7 * MINUTE  # longer than an attempt and a request together
    committer.abort([message])
    assert len(deleted(table)) == 1


def test_an_abort_deletes_what_cannot_be_published_any_more_because_others_have_the_id():
    table = a_table()
    message, committer = written(table), table.committer("u")
    interrupted(committer, table, committable(1, message), when="before")
    table.append(user="other")
    committer.abort([message])
    assert len(deleted(table)) == 1


def test_an_abort_deletes_the_files_of_a_commit_that_was_interrupted_before_its_publication():
    table = a_table()
    message, committer = written(table), table.committer("u")
    interrupted(committer, table, committable(1, message), when="after", part="/manifest-list-")
    committer.abort([message])
    assert len(deleted(table)) == 3  # the data file, and with it the manifest and the manifest list of the attempt


@pytest.mark.parametrize("broken", ["read", "status"])
def test_an_abort_deletes_nothing_when_the_store_cannot_be_asked(broken):
    table = a_table()
    message, committer = written(table), table.committer("u")
    interrupted(committer, table, committable(1, message), when="after")
    table.io.before(broken, "/snapshot-1", failing(OSError(errno.EIO, "no answer")))
    with pytest.raises(CommitOutcomeUnknown, match="history cannot be read"):
        committer.abort([message])
    assert deleted(table) == []


def test_an_abort_deletes_nothing_when_the_history_since_has_been_expired():
    table = a_table()
    message, committer = written(table), table.committer("u")
    interrupted(committer, table, committable(1, message), when="after")
    for number in (1, 2, 3):
        table.append(user="other", identifier=number)
        table.clock.ms += MINUTE
    table.expire(retain_min=1, retain_max=1, retain_floor_ms=0, older_than_ms=table.clock.ms + 1)
    before = table.all_files()
    with pytest.raises(CommitOutcomeUnknown, match="has expired in the meantime"):
        committer.abort([message])
    assert table.all_files() == before


@pytest.mark.parametrize("identifier", [7, BATCH])
@pytest.mark.parametrize("when", ["before", "after"])
def test_repeating_the_same_work_commits_it_once(identifier, when):
    table = a_table()
    message, committer = written(table), table.committer("u")
    interrupted(committer, table, committable(identifier, message), when=when)
    assert [s.id for s in committer.commit(committable(identifier, message))] == [1]
    assert [s.id for s in committer.commit(committable(identifier, message))] == [1]
    assert table.snapshots.latest_id() == 1


def test_other_work_of_a_user_without_identifiers_lands_beside_what_was_interrupted():
    table = a_table()
    first, second = written(table), written(table)
    committer = table.committer("u")
    interrupted(committer, table, committable(BATCH, first), when="after")
    assert [s.id for s in committer.commit(committable(BATCH, second))] == [2]
    assert len(table.live_names()) == 2


def test_a_repetition_that_fails_does_not_deny_what_landed():
    table = a_table()
    message, committer = written(table), table.committer("u")
    interrupted(committer, table, committable(7, message), when="after")
    # The look of the second call fails, and the question what became of the first is answered.
    table.io.before("read", "/snapshot-1", once(failing(OSError(errno.EIO, "no answer"))))
    assert [s.id for s in committer.commit(committable(7, message))] == [1]


def test_files_that_an_abort_has_deleted_are_not_committed():
    table = a_table()
    message, committer = written(table), table.committer("u")
    committer.abort([message])
    with pytest.raises(InvalidInputError, match="an abort has deleted it"):
        committer.commit(committable(1, message))
    assert table.snapshots.latest_id() is None


def test_the_live_files_are_right_after_a_delta_was_half_applied(monkeypatch):
    table = a_table()
    files = table.manifests
    going, staying = table.file(), table.file()
    table.append(going, staying, identifier=1)
    state = LiveState(files, table.snapshots, table.schema)
    first = table.snapshots.latest()
    buckets = frozenset((entry.partition, entry.bucket) for entry in table.live(first))
    assert len(state.bucket_files(first, buckets)) == 2
    (latest,) = table.committer().commit(committable(2, table.message(compact_before=(going,))))
    whole = files.delta_entries

    def torn(snapshot):
        yield from whole(snapshot)
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "delta_entries", torn)
    with pytest.raises(KeyboardInterrupt):
        state.bucket_files(latest, buckets)
    monkeypatch.undo()
    assert [entry.file for entry in state.bucket_files(latest, buckets)] == [staying]
