"""The observer notices harm, and a table under signals takes none; ``make torture`` does the same for longer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_format import load_catalog
from table_format.model.commit import Committable
from tests.torture.actors import Place
from tests.torture.jobs import digest, job_of, properties_of, rows_of
from tests.torture.journal import Change, Commit, Journal, commits_of
from tests.torture.kinds import KINDS, kind_named
from tests.torture.observer import Findings, Observer
from tests.torture.run import torture

SEED = 7


class Written:
    """A table with jobs of one writer, and its observer."""

    def __init__(self, directory, kind, numbers):
        self.kind = kind
        catalog = load_catalog({"warehouse": str(directory / "lake")})
        catalog.create_database("db")
        self.table = catalog.create_table("db.t", kind.schema())
        self.findings = Findings()
        self.place = Place(str(directory), kind.name, SEED)
        self.observer = Observer(kind, self.place, self.findings)
        for number in numbers:
            self.write(number)

    def write(self, number, table=None):
        table = table or self.table
        job = job_of(self.kind, 1, number)
        facts = {"commit_user": job.user, "identifier": number, "properties": properties_of(table.arrow_schema)}
        if job.action == "write":
            table.append(rows_of(self.kind, job, table.arrow_schema), **facts)
        elif job.action == "update":
            table.update({"v": "v + 1"}, job.where, **facts)
        else:
            table.delete(job.where, **facts)

    def sorts(self, acknowledged):
        self.observer.follow()
        self.observer.finish({1: acknowledged})
        return {finding.sort for finding in self.findings.wrong}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_model_agrees_with_every_kind_of_table(tmp_path, kind):
    written = Written(tmp_path, kind, range(1, 9))
    assert written.sorts(8) == set(), written.findings.wrong
    assert written.findings.commits >= 6


def writes(kind, count):
    return [number for number in range(1, 100) if job_of(kind, 1, number).action == "write"][:count]


def test_an_acknowledged_job_without_a_snapshot_is_lost(tmp_path):
    kind = kind_named("keyed")
    numbers = range(1, writes(kind, 4)[3] + 1)
    written = Written(tmp_path, kind, [number for number in numbers if number != writes(kind, 3)[2]])
    assert "lost" in written.sorts(numbers[-1])


def test_rows_that_change_without_a_job_are_wrong(tmp_path):
    written = Written(tmp_path, kind_named("keyed"), range(1, 5))
    written.table.delete("k < 30", commit_user="somebody", identifier=1)
    assert "wrong" in written.sorts(4)


def test_a_missing_data_file_is_unreadable(tmp_path):
    written = Written(tmp_path, kind_named("append"), range(1, 3))
    next((tmp_path / "lake/db.db/t").glob("dt=*/bucket-0/data-*")).unlink()
    with pytest.raises(Exception, match="data-"):
        written.sorts(2)
    assert {finding.sort for finding in written.findings.wrong} == {"unreadable"}


def test_a_job_that_lands_again_is_noticed(tmp_path):
    kind = kind_named("append")
    written = Written(tmp_path, kind, range(1, 4))
    first = writes(kind, 1)[0]
    job = job_of(kind, 1, first)
    schema = written.table.arrow_schema
    messages = written.table.new_write(job.user).write(rows_of(kind, job, schema))
    # Below the API, which would find the first commit.
    again = Committable(identifier=first, messages=messages, properties=dict(properties_of(schema)))
    written.table.facts.committer(job.user).commit(again)
    written.observer.follow()
    assert "twice" in {finding.sort for finding in written.findings.wrong}


def rolled_back(written, target, *, recorded, done=True):
    """Roll back to a snapshot, and say so in the journal."""
    journal = Journal(written.place.warehouse)
    commit = Commit.of(written.table.facts.snapshots.load(target))
    change = Change(1, "rollback", target, commit, commits_of(written.table), progress={1: recorded})
    journal.write(change)
    if done:
        written.table.rollback_to(target)
        journal.write(replace(change, history=(), is_ended=True))


def test_a_rollback_that_is_in_the_journal_is_understood(tmp_path):
    written = Written(tmp_path, kind_named("keyed"), range(1, 7))
    written.observer.follow()
    rolled_back(written, 2, recorded=6)
    for number in range(7, 10):
        written.write(number)
    assert written.sorts(9) == set(), written.findings.wrong
    assert written.findings.rewinds == 1


def test_a_rollback_of_snapshots_that_nobody_has_seen_is_understood(tmp_path):
    written = Written(tmp_path, kind_named("sum"), range(1, 7))
    rolled_back(written, 2, recorded=6)
    written.write(7)
    assert written.sorts(7) == set(), written.findings.wrong


def test_a_rollback_that_nobody_has_announced_is_noticed(tmp_path):
    written = Written(tmp_path, kind_named("keyed"), range(1, 5))
    written.observer.follow()
    written.table.rollback_to(2)
    assert "lost" in written.sorts(4)


def test_a_rollback_further_than_announced_is_noticed(tmp_path):
    written = Written(tmp_path, kind_named("keyed"), range(1, 7))
    written.observer.follow()
    rolled_back(written, 4, recorded=6, done=False)
    written.table.rollback_to(2)
    written.observer.follow()
    assert {finding.sort for finding in written.findings.wrong} == {"lost"}


def test_a_rollback_without_an_effect_is_noticed(tmp_path):
    written = Written(tmp_path, kind_named("keyed"), range(1, 4))
    rolled_back(written, 2, recorded=3)
    written.observer.follow()
    rolled_back(written, 2, recorded=3)
    tag = written.table.create_tag("there")
    written.table.rollback_to(1)
    written.write(4)
    assert tag.snapshot.id == 2
    assert "wrong" in written.sorts(4)


def test_an_acknowledged_job_that_a_rollback_did_not_remove_is_lost(tmp_path):
    kind = kind_named("append")
    written = Written(tmp_path, kind, range(1, 5))
    rolled_back(written, 2, recorded=4)
    after = next(number for number in range(5, 99) if job_of(kind, 1, number).action == "write")
    written.write(after + 1)
    assert "lost" in written.sorts(after + 1)


def test_a_reader_with_other_rows_is_noticed(tmp_path):
    written = Written(tmp_path, kind_named("keyed"), range(1, 4))
    written.observer.follow()
    latest = Commit.of(written.table.latest_snapshot())
    written.observer.claims.append(("a read", latest.name, digest([])))
    assert "wrong" in written.sorts(3)


def test_a_table_under_signals_takes_no_harm(tmp_path):
    outcome = torture(kind_named("keyed"), 5.0, SEED, tmp_path, pause_s=0.08)
    assert outcome.findings.wrong == []
    assert outcome.strikes
    assert outcome.findings.commits
