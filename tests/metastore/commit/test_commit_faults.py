"""Commits on a store that fails, forgets to answer, or is slow."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from table_format.codecs.publishable import snapshot_bytes
from table_format.errors import CommitOutcomeUnknown
from table_format.metastore.commit.history_link import Link, verify_link
from table_format.model.snapshot import BATCH_COMMIT_IDENTIFIER as BATCH
from table_format.model.snapshot import CommitKind
from tests.support.metastore_table import a_table, committable, failing, once

MINUTE = 60_000


def lost_answer():
    return failing(OSError(errno.EIO, "the answer is lost"))


def test_a_commit_whose_answer_was_lost_lands_once():
    table = a_table()
    file = table.file()
    table.io.after("create", "/snapshot-1", once(lost_answer()))
    (snapshot,) = table.committer().commit(committable(1, table.message(new_files=(file,))))
    assert (snapshot.id, table.snapshots.latest_id(), table.live_names()) == (1, 1, [file.file_name])


def test_a_request_that_did_not_arrive_is_repeated_with_the_same_bytes():
    table = a_table()
    table.io.before("create", "/snapshot-1", once(lost_answer()))
    assert table.append().id == 1
    assert table.snapshots.latest_id() == 1


def test_a_put_that_the_client_repeated_meets_its_own_file():
    table = a_table()
    table.io.after("create", "/snapshot-1", once(failing(FileExistsError(errno.EEXIST, "412"))))
    assert table.append().id == 1
    table.io.after("create", "/manifest-", once(failing(FileExistsError(errno.EEXIST, "412"))))
    assert table.append(identifier=2).id == 2


def test_without_any_answer_the_outcome_is_unknown_and_nothing_is_deleted():
    table = a_table()
    message = table.message(new_files=(table.file(),))
    table.write(message)
    committer = table.committer("u")
    table.io.after("create", "/snapshot-1", lost_answer())
    table.io.before("read", "/snapshot-1", failing(OSError(errno.EIO, "no read either")))
    with pytest.raises(CommitOutcomeUnknown) as caught:
        committer.commit(committable(4, message))
    assert (caught.value.user, caught.value.identifier, caught.value.attempted_id) == ("u", 4, 1)
    table.io.calm()
    assert not [call for call in table.io.calls if call[0] == "delete"]
    # The same committer asked again does not repeat it blindly.
    with pytest.raises(CommitOutcomeUnknown):
        committer.abort([message])
    (snapshot,) = committer.commit(committable(4, message))
    assert (snapshot.id, table.snapshots.latest_id()) == (1, 1)
    assert committer.filter_committed([4, 5], since=0) == (5,)


def test_an_unknown_commit_that_did_not_land_is_made_when_asked_again():
    table = a_table()
    committer = table.committer("u")
    message = table.message(new_files=(table.file(),))
    table.io.before("create", "/snapshot-1", lost_answer())
    with pytest.raises(CommitOutcomeUnknown):
        committer.commit(committable(4, message))
    table.io.calm()
    assert committer.filter_committed([4], since=0) == (4,)
    assert [s.id for s in committer.commit(committable(4, message))] == [1]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_refused_publication_has_certainly_failed_and_leaves_no_metadata(code):
    table = a_table()
    table.append()
    before = table.all_files()
    table.io.before("create", "/snapshot-2", failing(OSError(code, "refused")))
    with pytest.raises(OSError, match="refused"):
        table.committer().commit(committable(2, table.message(new_files=(table.file(),))))
    assert table.all_files() == before


@pytest.mark.parametrize("part", ["/manifest-0", "/manifest-list-"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failure_before_publication_leaves_no_metadata(part, when):
    table = a_table()
    table.append()
    before = table.all_files()
    getattr(table.io, when)("create", part, failing(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"):
        table.committer().commit(committable(2, table.message(new_files=(table.file(),))))
    assert table.all_files() == before


def test_a_hint_that_cannot_be_written_does_not_fail_the_commit():
    table = a_table()
    table.io.before("overwrite", "/LATEST", lost_answer())
    table.io.before("create", "/EARLIEST", lost_answer())
    assert [table.append(identifier=i).id for i in (1, 2)] == [1, 2]
    assert table.snapshots.latest_id() == 2


def test_the_twin_of_a_commit_that_was_faster_makes_it_once():
    table = a_table()
    first, twin = table.committer("u"), table.committer("u")
    message = table.message(new_files=(table.file(),))
    table.io.before("create", "/snapshot-1", once(lambda: twin.commit(committable(3, message))))
    (snapshot,) = first.commit(committable(3, message))
    assert (snapshot.id, table.snapshots.latest_id(), len(table.live_names())) == (1, 1, 1)


def test_an_attempt_that_took_too_long_begins_again():
    table = a_table()

    def sleep():
        table.clock.ms += 6 * MINUTE

    table.io.after("create", "/manifest-list-", once(sleep))
    table.append()
    # The base was written for the attempt given up, and again for the one that landed.
    assert len([p for p in table.all_files() if "/manifest-list-" in p]) == 2
    assert len([c for c in table.io.calls if c[0] == "create" and "/manifest-list-" in c[1]]) == 3


def sleep_while_others_go_on(table, *, commits: int, keep: int):
    """Others commit snapshots and expire all but the last ones, regardless of running writers."""

    def run():
        for i in range(commits):
            table.append(user="other", identifier=i + 1)
            table.clock.ms += MINUTE
        table.expire(retain_min=keep, retain_max=keep, retain_floor_ms=0, older_than_ms=table.clock.ms + 1)

    return run


@pytest.mark.parametrize("keep", [1, 2])
def test_an_id_that_was_used_and_expired_is_not_taken_again(keep):
    table = a_table()
    table.append()
    mine = table.file(name="mine.parquet")
    message = table.message(new_files=(mine,))
    table.write(message)
    table.io.before("create", "/snapshot-2", once(sleep_while_others_go_on(table, commits=4, keep=keep)))
    (snapshot,) = table.committer("sleeper").commit(committable(BATCH, message))
    assert snapshot.id == 6
    assert table.snapshots.latest_id() == 6
    assert "mine.parquet" in table.live_names()
    assert not table.snapshots.exists(2)


def test_an_id_between_base_and_successor_that_was_expired_is_not_taken_again():
    table = a_table()
    table.append()
    mine = table.file(name="mine.parquet")
    message = table.message(new_files=(mine,))
    table.write(message)
    table.io.before("create", "/snapshot-2", once(sleep_while_others_go_on(table, commits=2, keep=1)))
    (snapshot,) = table.committer("sleeper").commit(committable(BATCH, message))
    assert (snapshot.id, table.snapshots.ids()) == (4, [3, 4])
    assert "mine.parquet" in table.live_names()


def test_a_user_who_may_have_a_twin_is_told_that_history_is_missing():
    table = a_table()
    table.append()
    table.io.before("create", "/snapshot-2", once(sleep_while_others_go_on(table, commits=4, keep=1)))
    committer = table.committer("streaming")
    with pytest.raises(CommitOutcomeUnknown, match="the snapshots after 1 have expired"):
        committer.commit(committable(7, table.message(new_files=(table.file(name="mine.parquet"),))))
    assert "mine.parquet" not in table.live_names()
    assert not table.snapshots.exists(2)


def test_a_base_that_expires_after_the_publication_does_no_harm():
    table = a_table()
    table.append()

    def others():
        sleep_while_others_go_on(table, commits=2, keep=1)()

    table.io.after("create", "/snapshot-2", once(others))
    (snapshot,) = table.committer("first").commit(
        committable(1, table.message(new_files=(table.file(name="mine.parquet"),)))
    )
    # Others have built on it, though snapshot 2 itself has been expired.
    assert (snapshot.id, table.snapshots.ids()) == (2, [4])
    assert table.live_names().count("mine.parquet") == 1


def test_a_history_that_was_expired_makes_the_answer_unknown():
    table = a_table()
    since = table.committer("u").latest_id()
    for i in range(6):
        table.append(user="other", identifier=i)
    table.clock.ms += 60 * MINUTE
    table.expire(retain_min=2, retain_max=2)
    with pytest.raises(CommitOutcomeUnknown, match="snapshot 4 has been expired"):
        table.committer("u").filter_committed([1], since=since)
    assert table.committer("u").filter_committed([1], since=4) == (1,)
    assert table.committer("u").filter_committed([1]) == (1,)


def test_a_link_is_valid_while_its_base_or_its_successor_confirms_it():
    table = a_table()
    snapshots = [table.append(identifier=i) for i in range(1, 5)]
    assert [verify_link(s, table.snapshots, table.manifests) for s in snapshots] == [Link.SOUND] * 4
    for i in (1, 2):
        table.snapshots.delete(i)
    assert verify_link(snapshots[2], table.snapshots, table.manifests) is Link.SOUND
    assert verify_link(snapshots[1], table.snapshots, table.manifests) is Link.SOUND


def test_a_commit_whose_snapshot_another_engine_replaced_is_repeated():
    """Apache Paimon renames its snapshot to a name that it found free, and replaces one that came in between."""
    table = a_table()
    table.append()
    theirs = table.append(user="other", identifier=7)
    renamed = table.io.read(table.store.paths.snapshot(2))
    table.snapshots.delete(2)
    table.io.after("create", "/snapshot-2", once(lambda: table.io.overwrite(table.store.paths.snapshot(2), renamed)))
    ours = table.append(identifier=3)
    assert (theirs.id, ours.id) == (2, 3)
    assert len(table.live_names()) == 3


def test_a_commit_upon_a_snapshot_that_another_engine_replaced_is_taken_back_and_repeated():
    table = a_table()
    table.append()
    table.append(user="other", identifier=7)
    theirs = table.live_names()
    renamed = table.io.read(table.store.paths.snapshot(2))
    table.snapshots.delete(2)
    table.append(identifier=3)
    table.io.after("create", "/snapshot-3", once(lambda: table.io.overwrite(table.store.paths.snapshot(2), renamed)))
    assert table.append(identifier=4).id == 3
    assert set(theirs) < set(table.live_names())
    assert len(table.live_names()) == 3


def test_a_commit_upon_which_another_was_built_is_sound_whatever_was_replaced():
    """To take it back would leave a gap below the later commit, which holds its rows."""
    table = a_table()
    first, second, third = (table.append(identifier=number) for number in (1, 2, 3))
    other = replace(first, delta_manifest_list="manifest-list-other-0")
    for replaced, base in ((other, first), (replace(other, id=2), first)):
        path = table.store.paths.snapshot(replaced.id)
        before = table.io.read(path)
        table.io.overwrite(path, snapshot_bytes(replaced, path=path))
        assert verify_link(second, table.snapshots, table.manifests, base) is Link.SOUND
        table.io.overwrite(path, before)
    assert verify_link(third, table.snapshots, table.manifests, first) is Link.FALSE


def test_an_overwrite_through_lost_answers_lands_once():
    table = a_table()
    table.append()
    table.io.after("create", "/snapshot-2", once(lost_answer()))
    (snapshot,) = table.committer().truncate()
    assert (snapshot.id, snapshot.commit_kind, table.live_names()) == (2, CommitKind.OVERWRITE, [])


@pytest.mark.parametrize(
    ("options", "rest"),
    [
        ({}, "the next compaction takes them"),
        ({"deletion-vectors.enabled": "true"}, "they are visible after the next compaction"),
    ],
)
def test_rows_whose_compaction_the_store_refuses_are_committed_with_a_warning(
    caplog: pytest.LogCaptureFixture, options: dict[str, str], rest: str
):
    table = a_table(primary_keys=("k",), options={"bucket": "1", **options})
    new = table.file(1)
    message = table.message(new_files=(new,), compact_before=(new,), compact_after=(new.upgrade(5),))
    table.write(message)
    table.io.before("create", "/snapshot-2", failing(PermissionError(errno.EACCES, "no")))
    (snapshot,) = table.committer().commit(committable(1, message))
    assert (snapshot.commit_kind, table.live_names()) == (CommitKind.APPEND, [new.file_name])
    (record,) = caplog.records
    assert "the compaction that belongs to snapshot 1 failed" in record.message
    assert record.message.endswith(f"The rows are committed; {rest}")
