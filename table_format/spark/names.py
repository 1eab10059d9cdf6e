"""Column names: quoted for Spark, and matched with the columns of a table as a session matches them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from table_format.sql.column_paths import check_names

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


@dataclass(frozen=True, slots=True)
class Names:
    """The name resolution of a session."""

    is_case_sensitive: bool

    @classmethod
    def of(cls, spark: SparkSession) -> Names:
        """Return the name resolution of a session."""
        return cls(str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true")

    def find(self, name: str, names: Iterable[str]) -> str | None:
        """Return the matching name, if there is one.

        >>> Names(False).find("ID", ["id", "v"])
        'id'
        """
        known = tuple(names)
        if name in known:
            return name
        if self.is_case_sensitive:
            return None
        found = {n.lower(): n for n in known}
        return found.get(name.lower())

    def check_new(self, names: Sequence[str]) -> None:
        """Check that the session can tell the columns of a new table apart.

        Raises:
            InvalidInputError: two names differ only in case, and the session ignores case.
        """
        if not self.is_case_sensitive:
            check_names(names)

    def spelled(self, given: Sequence[str], known: Sequence[str]) -> list[str]:
        """Return the names of columns as a table spells them.

        A name stays if the table has it, if it has no column or several columns that differ from it in case, or if it
        is not the only given name of that column.

        >>> Names(False).spelled(["ID", "v", "V", "n"], ["id", "v"])
        ['id', 'v', 'V', 'n']
        """
        if self.is_case_sensitive:
            return list(given)
        exact = set(known).intersection(given)
        alike: dict[str, list[str]] = defaultdict(list)
        for name in known:
            alike[name.lower()].append(name)
        requested = Counter(name.lower() for name in given if name not in exact)
        return [
            name if name in exact else _only(name, alike[name.lower()], exact, requested[name.lower()])
            for name in given
        ]


def _only(name: str, alike: Sequence[str], exact: set[str], requested: int) -> str:
    """Return the one column that a name can mean; the name itself if there is none or several."""
    return alike[0] if len(alike) == 1 and requested == 1 and alike[0] not in exact else name


def quoted(name: str) -> str:
    """Return a name in backquotes, so that a dot is not a path into a struct and nothing in the name is syntax.

    >>> quoted("a.`b`")
    '`a.``b```'
    """
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """Return the column with exactly this name."""
    return F.col(quoted(name))
