"""Random INSERT, UPDATE, DELETE and MERGE on small tables, with the whole table after each.

``python -m tests.oracle.random_dml --seed 1 --count 500`` runs so many statements here and by the real Paimon; exit
code 1 when a result differs.
"""
# ruff: noqa: S608 - texts of SQL are what is made here

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from tests.oracle.sql_sides import BothSides, are_equal

KINDS: Final = {
    "deduplicate": "'primary-key' = 'k', 'bucket' = '2'",
    "append": "'bucket' = '-1'",
    "marked": "'bucket' = '-1', 'deletion-vectors.enabled' = 'true'",
}
"""Options of the tables; those of kind ``marked`` are append tables with deletion vectors."""
STATEMENTS_OF_TABLE: Final = 6
_KEYS: Final = 12
_TEXTS: Final = ("'a'", "'b'", "'ab'", "''", "NULL")


@dataclass(frozen=True)
class Script:
    """The statements on one table."""

    name: str
    statements: tuple[str, ...]


@dataclass(frozen=True)
class Draw:
    """Statements on one table, drawn by chance. ``keyed`` tables have a primary key."""

    chance: Random
    name: str
    keyed: bool

    def insert(self) -> str:
        """Rows, some of which have existing keys."""
        rows = ", ".join(self._row(key) for key in self._keys(1, 4))
        match self.chance.randrange(4):
            case 0:
                keys = ", ".join(f"({key}, {self._number()})" for key in self._keys(1, 3))
                return f"INSERT INTO {self.name} (k, n) VALUES {keys}"
            case 1:
                query = f"SELECT k + {_KEYS}, n, s, x, p FROM {self.name} WHERE {self._condition()}"
                return f"INSERT INTO {self.name} {query}"
            case _:
                return f"INSERT INTO {self.name} VALUES {rows}"

    def update(self) -> str:
        """Some columns of some rows; those of the primary key stay."""
        return f"UPDATE {self.name} SET {self._assignments()} WHERE {self._condition()}"

    def delete(self) -> str:
        """Some rows."""
        if self.chance.random() < 0.2:
            listed = ", ".join(f"({key})" for key in self._keys(1, 3))
            return f"DELETE FROM {self.name} WHERE k IN (SELECT c FROM VALUES {listed} AS v(c))"
        return f"DELETE FROM {self.name} WHERE {self._condition()}"

    def merge(self) -> str:
        """Rows of a list into the table, with clauses of each kind; each key is in the list once."""
        rows = ", ".join(self._row(key) for key in self._keys(2, 5))
        columns = "k, n, s, x, p"
        clauses = [self._matched() for _ in range(self.chance.randint(0, 2))]
        if self.chance.random() < 0.7 or not clauses:
            when = self.chance.choice(["", " AND s.n > 0", " AND s.s IS NOT NULL"])
            values = self.chance.choice(["INSERT *", "INSERT (k, n, s, x, p) VALUES (s.k, s.n + 1, s.s, s.x, s.p)"])
            clauses.append(f"WHEN NOT MATCHED{when} THEN {values}")
        if self.chance.random() < 0.25:
            act = self.chance.choice(["DELETE", "UPDATE SET n = -1"])
            clauses.append(f"WHEN NOT MATCHED BY SOURCE AND k > {self._key()} THEN {act}")
        source = f"(SELECT * FROM VALUES {rows} AS v({columns}))"
        return f"MERGE INTO {self.name} t USING {source} s ON t.k = s.k {' '.join(clauses)}"

    def any(self) -> str:
        """A statement of any kind."""
        draws = (self.insert, self.update, self.delete, self.merge)
        return self.chance.choices(draws, weights=(3, 3, 2, 4))[0]()

    # --- parts --------------------------------------------------------------------------------------------------------

    def _matched(self) -> str:
        when = self.chance.choice(["", " AND s.n > t.n", " AND t.s IS NULL", " AND s.x < 2"])
        act = self.chance.choice(
            ["DELETE", "UPDATE SET *", "UPDATE SET n = t.n + s.n, s = s.s", "UPDATE SET x = coalesce(s.x, 0)"]
        )
        return f"WHEN MATCHED{when} THEN {act}"

    def _assignments(self) -> str:
        values = {
            "n": ["n + 1", "coalesce(n, 0) * 2", "NULL", "CASE WHEN s IS NULL THEN 0 ELSE n END", "length(s)"],
            "s": ["concat(s, 'c')", "upper(s)", "NULL", "'new'", "CAST(n AS STRING)"],
            "x": ["x / 2", "n", "0.5"],
        }
        chosen = self.chance.sample(sorted(values), self.chance.randint(1, 2))
        return ", ".join(f"{column} = {self.chance.choice(values[column])}" for column in chosen)

    def _condition(self, depth: int = 0) -> str:
        if depth < 2 and self.chance.random() < 0.3:
            word = self.chance.choice(["AND", "OR"])
            return f"({self._condition(depth + 1)} {word} {self._condition(depth + 1)})"
        if depth < 2 and self.chance.random() < 0.1:
            return f"NOT {self._condition(depth + 1)}"
        operator = self.chance.choice(["=", "<>", "<", "<=", ">", ">="])
        return self.chance.choice(
            [
                f"k {operator} {self._key()}",
                f"k IN ({', '.join(map(str, self._keys(1, 3)))})",
                f"k BETWEEN {self._key()} AND {self._key()}",
                f"n {operator} {self.chance.randint(-2, 9)}",
                f"s {operator} {self.chance.choice(_TEXTS[:4])}",
                "s LIKE 'a%'",
                "s IS NULL",
                "n IS NOT NULL",
                f"x {operator} 1.5",
                f"p {operator} 'q'",
                "k % 2 = 0",
            ]
        )

    def _row(self, key: int) -> str:
        part = self.chance.choice(["'p'", "'q'", "'r'"]) if not self.keyed else "'p'"
        number = self.chance.choice(["1.5", "0.25", "2.0", "NULL"])
        wide = f"CAST({number} AS DOUBLE)"
        return f"({key}, CAST({self._number()} AS BIGINT), {self.chance.choice(_TEXTS)}, {wide}, {part})"

    def _keys(self, least: int, most: int) -> list[int]:
        return self.chance.sample(range(_KEYS), self.chance.randint(least, most))

    def _key(self) -> int:
        return self.chance.randrange(_KEYS)

    def _number(self) -> str:
        return self.chance.choice(["NULL", *(str(self.chance.randint(-3, 9)) for _ in range(4))])


def random_script(seed: int, number: int) -> Script:
    """The script of that number: a table, and statements on it, each followed by the rows of the table."""
    chance = Random(f"{seed}-{number}")
    kind = list(KINDS)[number % len(KINDS)]
    name = f"r{seed}_{number}"
    draw = Draw(chance, name, keyed=kind == "deduplicate")
    parts = "PARTITIONED BY (p) " if not draw.keyed and chance.random() < 0.5 else ""
    create = f"CREATE TABLE {name} (k INT, n BIGINT, s STRING, x DOUBLE, p STRING) {parts}TBLPROPERTIES ({KINDS[kind]})"
    changes = [draw.insert(), *(draw.any() for _ in range(STATEMENTS_OF_TABLE - 1))]
    reads = [f"SELECT * FROM {name}"] * len(changes)
    followed = [text for pair in zip(changes, reads, strict=True) for text in pair]
    return Script(name, (create, *followed, f"DROP TABLE {name}"))


def differences(sides: BothSides, script: Script) -> Iterator[str]:
    """The first difference of a script, with what led to it."""
    for number, (theirs, ours) in enumerate(sides.run(script.statements)):
        if not are_equal(theirs, ours):
            before = "\n".join(f"{text};" for text in script.statements[: number + 1])
            yield f"{before}\n  there: {theirs}\n  here:  {ours}"
            return


def main() -> int:
    """Run and print the totals."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.random_dml", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="what tables and statements are drawn from")
    parser.add_argument("--count", type=int, default=500, help="statements that change rows")
    parser.add_argument("--first", type=int, default=0, help="the number of the first table")
    arguments = parser.parse_args()
    begun, found, done = time.monotonic(), 0, 0
    with BothSides(Path(tempfile.mkdtemp(prefix="random-dml-"))) as sides:
        sides.run(["CREATE DATABASE d", "USE d"])
        for number in count(arguments.first):
            if done >= arguments.count:
                break
            for text in differences(sides, random_script(arguments.seed, number)):
                found += 1
                print(f"--- table {number}\n{text}", flush=True)
            done += STATEMENTS_OF_TABLE
    print(f"{done} statements, {found} tables with a difference, {time.monotonic() - begun:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
