"""Operations tried with one fault at every call in turn: each is prepared, done until it is done, and looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from table_format.errors import TagNotFound
from table_format.metastore.expiry.expire_snapshots import expire_snapshots
from table_format.metastore.references.tag_store import TagStore
from table_format.model.snapshot import CommitKind
from tests.simulation.history import History
from tests.simulation.maintenance import compact, create_tag, remove_tag
from tests.simulation.process import Process
from tests.simulation.settings import FLOOR_MS
from tests.simulation.writers import batch_job, commit_checkpoint, write_checkpoint

USER = "op"


@dataclass(frozen=True)
class Operation:
    """``act`` is called again after a crash; ``done`` says whether the table is as it should be.

    ``finds_rest`` means that repeating it cleans up whatever a crash has left.
    """

    name: str
    prepare: Callable[[Process], None]
    act: Callable[[Process], None]
    done: Callable[[History], bool]
    finds_rest: bool = False


def _appends(p: Process) -> None:
    for number in range(3):
        batch_job(p, f"setup.{number}", "append")


def _appends_and_compactions(p: Process) -> None:
    _appends(p)
    for number in range(4):
        compact(p, f"setup.c{number}")
    batch_job(p, "setup.last", "append")
    p.world.now_ms += 3 * FLOOR_MS


def _tagged(p: Process) -> None:
    _appends(p)
    create_tag(p, "t")
    compact(p, "setup.c")
    batch_job(p, "setup.overwrite", "overwrite all")
    p.world.now_ms += 3 * FLOOR_MS


def _tag_of_expired(p: Process) -> None:
    _tagged(p)
    expire_snapshots(p.store, p.options)


def _streaming(p: Process) -> None:
    p.actor.durable.setdefault("next", 1)
    if p.actor.durable["next"] == 1:
        p.persistently("writing a checkpoint", lambda: write_checkpoint(p))
        p.persistently("committing a checkpoint", lambda: commit_checkpoint(p))


def _streaming_with_compaction(p: Process) -> None:
    p.actor.durable["compact"] = True
    _streaming(p)


def _batch(work: str) -> Callable[[Process], None]:
    def act(p: Process) -> None:
        if p.actor.incarnation == 0:
            batch_job(p, USER, work)

    return act


def _batch_is_told_the_truth(history: History) -> bool:
    # Nobody is told anything when the process dies; else the history has checked what it was told.
    landed = history.landed.get(next((job for job in history.promises.intents if job[0] == USER), (USER, 0)), [])
    return len(landed) <= 1


def _landed_once(history: History) -> bool:
    kinds = [kind for kind, _ in history.landed[USER, 1]]
    return kinds.count(CommitKind.APPEND) == 1


def _compact(p: Process) -> None:
    if p.actor.incarnation == 0:
        p.persistently("compacting", lambda: compact(p, USER) is None)


def _expire(p: Process) -> None:
    p.persistently("expiring", lambda: not expire_snapshots(p.store, p.options).snapshot_ids)


def _create_tag(p: Process) -> None:
    p.persistently("tagging", lambda: TagStore(p.store).find("t") is not None or create_tag(p, "t"))


def _delete_tag(p: Process) -> None:
    p.history.let_tag_go("t")
    try:
        p.persistently("deleting a tag", lambda: remove_tag(p, "t"))
    except TagNotFound:
        return


def _always(history: History) -> bool:
    return True


OPERATIONS = (
    Operation("streaming commit", _appends, _streaming, _landed_once),
    Operation("first commit of a table", lambda p: None, _streaming, _landed_once),
    Operation("streaming commit with compaction", _appends, _streaming_with_compaction, _landed_once),
    Operation("batch append", _appends, _batch("append"), _batch_is_told_the_truth),
    Operation("overwrite of a partition", _appends, _batch("overwrite one"), _batch_is_told_the_truth),
    Operation("dynamic overwrite", _appends, _batch("overwrite touched"), _batch_is_told_the_truth),
    Operation("overwrite of the table", _appends, _batch("overwrite all"), _batch_is_told_the_truth),
    Operation("drop of a partition", _appends, _batch("drop"), _batch_is_told_the_truth),
    Operation("compaction", _appends, _compact, _always),
    Operation("expiry", _appends_and_compactions, _expire, lambda h: len(h.retained) == 1, finds_rest=True),
    Operation("expiry beside a tag", _tagged, _expire, lambda h: len(h.retained) == 1, finds_rest=True),
    Operation("creation of a tag", _appends, _create_tag, lambda h: "t" in h.tags),
    Operation("deletion of a tag", _tagged, _delete_tag, lambda h: not h.tags, finds_rest=True),
    Operation(
        "deletion of the tag of an expired snapshot",
        _tag_of_expired,
        _delete_tag,
        lambda h: not h.tags,
        finds_rest=True,
    ),
)
