"""Checks and repairs the hints LATEST and EARLIEST of snapshots and changelogs.

A wrong hint hides nothing, because readers check it. It costs a listing, and other engines may rely on it. A missing
hint is not wrong: some engines never write the hint of the earliest snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from table_format.errors import CorruptionError
from table_format.io.regular_files import read_file
from table_format.metastore.snapshot.changelog_store import ChangelogStore
from table_format.metastore.snapshot.hints import Hints
from table_format.metastore.snapshot.snapshot_store import last_run
from table_format.table.facts import TableFacts
from table_format.table.verify.report import Finding, Severity


@dataclass(frozen=True, slots=True)
class _Hint:
    path: str
    says: int | None
    right: int
    write: Callable[[int], None]


def check_hints(facts: TableFacts) -> Iterator[Finding]:
    """Return the wrong hints."""
    for hint in _wrong(facts):
        found = "none that can be read" if hint.says is None else str(hint.says)
        yield Finding(Severity.WARNING, "hint", hint.path, str(hint.right), found)
    latest = facts.snapshots.hints.latest()
    if latest is not None and not facts.snapshots.listed_ids():
        path = facts.store.paths.latest_hint
        yield Finding(Severity.ERROR, "hint", path, "a snapshot that exists", f"{latest}, and there is no snapshot")


def repair_hints(facts: TableFacts) -> tuple[str, ...]:
    """Correct the wrong hints. Return their paths. Raises ``OSError`` if the store fails."""
    wrong = list(_wrong(facts))
    for hint in wrong:
        hint.write(hint.right)
    return tuple(hint.path for hint in wrong)


def _wrong(facts: TableFacts) -> Iterator[_Hint]:
    paths = facts.store.paths
    run = last_run(facts.snapshots.listed_ids())
    changelogs = ChangelogStore(facts.store)
    ids = changelogs.ids()
    if run:
        yield from _of(facts.snapshots.hints, paths.latest_hint, paths.earliest_hint, run[0], run[-1])
    if ids:
        hints = changelogs.hints
        yield from _of(hints, paths.changelog_latest_hint, paths.changelog_earliest_hint, ids[0], ids[-1])


def _of(hints: Hints, latest_path: str, earliest_path: str, earliest: int, latest: int) -> Iterator[_Hint]:
    found = (
        _Hint(latest_path, hints.latest(), latest, hints.write_latest),
        _Hint(earliest_path, hints.earliest(), earliest, hints.write_earliest),
    )
    yield from (hint for hint in found if hint.says != hint.right and not _is_left_open(hints, hint))


def _is_left_open(hints: Hints, hint: _Hint) -> bool:
    """Whether the hint is missing or has the value for unknown, which the reference writes for changelogs."""
    if hint.says is not None:
        return False
    try:
        return read_file(hints.store.io, hint.path).strip() == b"-1"
    except FileNotFoundError:
        return True
    except CorruptionError:
        return False
