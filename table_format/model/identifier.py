"""Names of tables: ``db.table``, ``db.table$branch_b``, ``db.table$system``, ``db.table$branch_b$system``.

A name is parsed only here. A name that passes the checks is safe as a directory name (format chapter 01).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_format.errors import InvalidIdentifier
from table_format.limits import MAX_NAME_BYTES

SYSTEM_DATABASE: Final = "sys"
MAIN_BRANCH: Final = "main"
_BRANCH_PREFIX: Final = "branch_"
_FORBIDDEN: Final = frozenset("/\\$`\"'<>|*?:")


def check_name(name: str, what: str) -> str:
    """Return the name if it is a legal database, table, tag, branch or consumer name.

    Raises:
        InvalidIdentifier: the name is not a text, is blank, too long, ``.`` or ``..``, or contains a path or control
            character.
    """
    _refuse_other_than_text(name, f"{what} name")
    problem = _problem_of(name)
    if problem:
        message = f"{what} name {name!r} is not legal: {problem}"
        raise InvalidIdentifier(message)
    return name


def _refuse_other_than_text(name: object, what: str) -> None:
    if not isinstance(name, str):
        message = f"{what}: expected a text, found {type(name).__name__}"
        raise InvalidIdentifier(message)


def _problem_of(name: str) -> str | None:
    if not name or not name.strip():
        return "it is blank"
    if name != name.strip():
        return "it begins or ends with a space"
    if name.startswith("."):
        return "it begins with a dot"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME_BYTES} bytes"
    bad = sorted(
        {c for c in name if c in _FORBIDDEN or ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000}
    )
    if bad:
        return f"it holds {', '.join(repr(c) for c in bad)}"
    return None


def branch_suffix(branch: str) -> str:
    """Return the suffix of a table name that names a branch.

    >>> branch_suffix("b1"), branch_suffix("main")
    ('$branch_b1', '')
    """
    return "" if branch == MAIN_BRANCH else f"${_BRANCH_PREFIX}{branch}"


@dataclass(frozen=True, slots=True)
class Identifier:
    """A parsed table name."""

    database: str
    table: str
    branch: str = MAIN_BRANCH
    system_table: str | None = None

    @classmethod
    def parse(cls, text: str) -> Identifier:
        """Parse ``database.table[$branch_<b>][$<system table>]``.

        >>> Identifier.parse("shop.orders$branch_b1$files")
        Identifier(database='shop', table='orders', branch='b1', system_table='files')

        Raises:
            InvalidIdentifier: the text does not have this form, or a part is not a legal name.
        """
        _refuse_other_than_text(text, "table name")
        database, dot, rest = text.partition(".")
        if not dot:
            message = f"table name {text!r} lacks its database; write 'database.table'"
            raise InvalidIdentifier(message)
        check_name(database, "database")
        table, *suffixes = rest.split("$")
        check_name(table, "table")
        if "." in table:
            message = f"table name {text!r} has more than one dot"
            raise InvalidIdentifier(message)
        branch, system_table = MAIN_BRANCH, None
        if suffixes and suffixes[0].startswith(_BRANCH_PREFIX):
            branch = check_name(suffixes.pop(0).removeprefix(_BRANCH_PREFIX), "branch")
        if suffixes:
            system_table = check_name(suffixes.pop(0), "system table")
        if suffixes:
            message = f"table name {text!r} has more than one system table"
            raise InvalidIdentifier(message)
        return cls(database, table, branch, system_table)

    def __str__(self) -> str:
        system = f"${self.system_table}" if self.system_table else ""
        return f"{self.database}.{self.table}{branch_suffix(self.branch)}{system}"
