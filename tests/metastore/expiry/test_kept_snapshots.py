from __future__ import annotations

import pytest

from table_format.errors import BadEncoding
from table_format.metastore.expiry.kept_snapshots import KeptByFile, KeptByTag, naming, nearest_before, place
from table_format.model.snapshot import CommitKind, Snapshot


def snapshot(number: int, *, time_millis: int | None = None, history: str = "main") -> Snapshot:
    return Snapshot(
        id=number,
        schema_id=0,
        base_manifest_list=f"base-{history}-{number}",
        delta_manifest_list=f"delta-{history}-{number}",
        commit_user="u",
        commit_identifier=number,
        commit_kind=CommitKind.APPEND,
        time_millis=number if time_millis is None else time_millis,
    )


END = snapshot(5)
TAG = KeptByTag("t")


def test_a_tag_of_an_expired_snapshot_has_a_place_before_the_end():
    found = place({TAG: snapshot(3)}, {}, END, is_rewritten=False)
    assert found.before == {TAG: snapshot(3)}
    assert found.unplaced == {}


def test_a_tag_of_a_retained_snapshot_keeps_nothing_apart():
    assert place({TAG: snapshot(7)}, {7: snapshot(7)}, END, is_rewritten=False).all == {}


def test_a_tag_whose_id_was_used_again_has_no_place_in_the_history():
    found = place({TAG: snapshot(3, history="old")}, {3: snapshot(3)}, END, is_rewritten=False)
    assert found.before == {}
    assert found.unplaced == {TAG: snapshot(3, history="old")}


def test_a_tag_with_an_id_that_no_snapshot_has_yet_has_no_place_in_the_history():
    assert place({TAG: snapshot(9)}, {}, END, is_rewritten=False).unplaced == {TAG: snapshot(9)}


def test_times_that_contradict_the_ids_leave_no_place_to_any_tag():
    found = place({TAG: snapshot(3, time_millis=99)}, {}, END, is_rewritten=False)
    assert found.before == {}
    assert found.unplaced == {TAG: snapshot(3, time_millis=99)}


def test_each_retained_snapshot_counts_for_itself_while_the_history_is_rewritten():
    found = place({}, {5: END, 6: snapshot(6)}, END, is_rewritten=True)
    assert found.unplaced == {KeptByFile(5): END, KeptByFile(6): snapshot(6)}


def test_a_tag_called_like_a_snapshot_is_another_keeper_than_the_snapshot():
    assert nearest_before({KeptByTag("snapshot 3"): 3, KeptByFile(3): 3}, [4]) == [KeptByTag("snapshot 3")]
    assert KeptByTag("3") != KeptByFile(3)


@pytest.mark.parametrize(("keeper", "advice"), [(TAG, "delete the tag"), (KeptByFile(3), "delete the snapshot")])
def test_an_error_of_a_kept_file_names_its_keeper(keeper, advice):
    with pytest.raises(BadEncoding) as caught, naming(keeper):
        raise BadEncoding("/f", "broken")
    assert caught.value.__notes__ == [f"{keeper} needs this file; restore it, or {advice}"]
