"""Steps of writes, commits and scans that stay open."""

from __future__ import annotations

from table_format.errors import CorruptionError, TableFormatError
from table_format.table.write.batch_commit import BatchCommit
from tests.simulation.open_history import Effect, OpenHistory, OpenWrite, Prepared, in_order
from tests.simulation.open_tables import arrow_of
from tests.simulation.world import Violation
from tests.support.compaction import OnDemand


class WriteSteps(OpenHistory):
    """What is done with the open objects."""

    def open_write(self) -> object:
        table = self.opened()
        self.made += 1
        user = self.draw.choice(("u1", "u2", f"w{self.made}"))
        compactor = OnDemand() if self.draw.random() < 0.4 else None
        write = table.new_write(self.draw.choice((None, user)), compactor=compactor)
        self.writes.append(OpenWrite(self.made, user, write, table.schema, table.arrow_schema, compactor))
        if len(self.writes) > 5:
            self.writes.pop(0)
        return f"{self.made} of {user}, schema {table.schema.id}"

    def write(self) -> object:
        one = self.draw.choice(self.writes)
        if not one.waiting:
            # As long as rows wait for their commit, the write numbers later rows after these, as Apache Paimon does:
            # what others commit meanwhile is concurrent, and either may win.
            one.known = self.seen()
        rows = self.source.rows(self.kind, one.schema, one.known | one.own)
        data = arrow_of(self.kind, one.schema, one.columns, rows)
        try:
            messages = one.write.write(data)
        except TableFormatError as error:
            if not isinstance(error, CorruptionError) and self.draw.random() < 0.5:
                self.writes.remove(one)
            raise
        one.own |= {row.number for row in rows}
        one.prepared.append(Prepared(messages, rows))
        return f"{one.number}: {[row.number for row in rows]}"

    def finish(self) -> object:
        one = self.draw.choice(self.writes)
        messages = one.write.finish()
        if messages:
            one.prepared.append(Prepared(messages, ()))
        return one.number

    def abort_write(self) -> object:
        one = self.draw.choice(self.writes)
        one.write.abort()
        return one.number

    def run_compactors(self) -> object:
        return sum(w.compactor.run() for w in self.writes if w.compactor is not None)

    def committer(self, user: str) -> tuple[BatchCommit, int | None]:
        """A commit of a user, a new one or one that is open; or one of nobody else."""
        if self.draw.random() < 0.2:
            return self.opened().new_commit(), None
        known = self.commits.setdefault(user, [])
        if not known or self.draw.random() < 0.15:
            known.append(self.opened().new_commit(user))
        self.identifiers[user] += 1
        return self.draw.choice(known), self.identifiers[user]

    def commit(self, *, in_order: bool = True) -> object:
        one = self.draw.choice([w for w in self.writes if w.waiting])
        waiting = one.waiting
        many = self.draw.choice((1, 1, 2, len(waiting)))
        chosen = waiting[:many] if in_order else self.draw.sample(waiting, 1)
        commit, identifier = self.committer(one.user)
        rows = tuple(row for p in chosen for row in p.rows)
        text = f"{one.number}: {[row.number for row in rows]}"
        try:
            snapshots = commit.commit([m for p in chosen for m in p.messages], identifier=identifier)
        except TableFormatError as error:
            if isinstance(error, CorruptionError):
                raise
            if self.look(Effect(rows)):
                raise Violation(f"W3 a commit failed and has an effect: {error}") from error
            then = self.draw.random()
            if then < 0.4:
                commit.abort([m for p in chosen for m in p.messages])
                for p in chosen:
                    p.is_aborted = True
            if then < 0.2:
                self.writes.remove(one)
            self.note(f"   {text}, then {then:.1f}")
            raise
        happened = self.look(Effect(rows))
        if rows and any(m.new_files or m.compact_after for p in chosen for m in p.messages) and not happened:
            raise Violation(f"W4 a commit returned {snapshots} and has no effect")
        for p in chosen:
            p.committed = (commit, identifier)
        return f"{text} by {commit.commit_user[:8]} {identifier} {[s.id for s in snapshots]}"

    def some_committed(self) -> Prepared:
        return self.draw.choice([p for w in self.writes for p in w.prepared if p.committed])

    def commit_again(self) -> object:
        """Commit messages again: they may be refused, or found committed, or, after a rollback, committed again."""
        done = self.some_committed()
        assert done.committed is not None
        commit, identifier = done.committed
        how = self.draw.choice(("same", "open", "new"))
        if how != "same":
            user = commit.commit_user if identifier is not None else "u1"
            commit = commit if how == "open" and identifier is not None else self.opened().new_commit(user)
            self.identifiers[user] += 1
            identifier = self.identifiers[user]
        numbers = {row.number for row in done.rows}
        is_there = numbers & self.seen()
        try:
            snapshots = commit.commit(done.messages, identifier=identifier)
        except TableFormatError as error:
            if self.look(Effect(done.rows)):
                raise Violation(f"W3 a commit failed and has an effect: {error}") from error
            if self.draw.random() < 0.5:
                commit.abort(done.messages)
            raise
        if self.look(Effect(done.rows)) and is_there:
            raise Violation(f"W5 rows {sorted(is_there)} were committed twice ({how})")
        return f"{how} {sorted(numbers)}: {[s.id for s in snapshots]}"

    def abort_messages(self) -> object:
        one = self.draw.choice([w for w in self.writes if w.waiting])
        chosen = one.waiting[-1:] if self.draw.random() < 0.5 else one.waiting
        self.opened().new_commit(one.user).abort([m for p in chosen for m in p.messages])
        for p in chosen:
            p.is_aborted = True
        return f"{one.number}: {[row.number for p in chosen for row in p.rows]}"

    def abort_committed(self) -> object:
        done = self.some_committed()
        assert done.committed is not None
        commit = done.committed[0] if self.draw.random() < 0.5 else self.opened().new_commit()
        commit.abort(done.messages)
        return [row.number for row in done.rows]

    # --- open readers -------------------------------------------------------------------------------------------------

    def scan(self) -> object:
        table = self.opened()
        self.scans.append((table.scan(), in_order(table.scan().to_arrow(threads=1))))
        self.scans[-1][0].plan()
        return len(self.scans)

    def read_scan(self) -> object:
        scan, rows = self.scans.pop(self.draw.randrange(len(self.scans)))
        found = in_order(scan.to_arrow(threads=1))
        if found != rows:
            raise Violation(f"W6 an open scan reads other rows later: {found} instead of {rows}")
        return len(found)
