"""CALL sys.procedure(...)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from table_format.sql.grammar import Grammar, openings
from table_format.sql.reader import Reader, SqlName


@dataclass(frozen=True, slots=True)
class CallProcedure:
    """``CALL [catalog.]sys.name(value, ..., name => value, ...)``."""

    name: SqlName
    positional: tuple[object, ...] = ()
    named: Mapping[str, object] = field(default_factory=dict)


def read_call(reader: Reader) -> CallProcedure:
    """Read a CALL statement.

    Raises:
        InvalidSql: the statement cannot be parsed, or an argument is given twice.
    """
    reader.expect("CALL")
    name = reader.qualified_name("the name of a procedure")
    positional: list[object] = []
    named: dict[str, object] = {}

    def argument() -> None:
        start = reader.offset
        following = reader.words[reader.position + 1] if reader.position + 1 < len(reader.words) else None
        if following is not None and following.says("=>"):
            key = reader.name("the name of an argument")
            reader.expect("=>")
            if key in named:
                reader.fail(f"argument '{key}' is given twice", start)
            named[key] = reader.value()
        elif named:
            reader.fail("an argument without a name must not follow a named one", start)
        else:
            positional.append(reader.value())

    if reader.word is not None:
        reader.in_parentheses(argument)
    reader.end()
    return CallProcedure(name, tuple(positional), named)


GRAMMAR: Final = Grammar(openings("CALL"), read_call)
