"""Reads a statement word by word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NoReturn, TypeVar

from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.sql.words import Word, WordKind, fail_at, place, words_of

Value = str | int | float | Decimal | bool | None
"""A literal."""

CATALOG_NAME: Final = "paimon"
"""The first part of a name with three parts."""

_T = TypeVar("_T")
_OPEN: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_NOTHING: Final = "the end of the statement"


@dataclass(frozen=True, slots=True)
class SqlName:
    """A name of one or more parts as written, and its position in the statement."""

    parts: tuple[str, ...]
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return ".".join(self.parts)

    def table_name(self, database: str) -> str:
        """Return ``database.table`` for the name of a table of the catalog; a name of one part is in ``database``.

        >>> SqlName(("paimon", "shop", "orders")).table_name("d"), SqlName(("orders",)).table_name("d")
        ('shop.orders', 'd.orders')

        Raises:
            InvalidInputError: the name has another catalog.
        """
        match self.parts:
            case (table,):
                return f"{database}.{table}"
            case (_, _):
                return str(self)
            case (catalog, of_database, table) if catalog.lower() == CATALOG_NAME:
                return f"{of_database}.{table}"
        message = (
            f"'{self}' is not a table of this catalog; write table, database.table or {CATALOG_NAME}.database.table"
        )
        raise InvalidInputError(message)


@dataclass(slots=True)
class Reader:
    """Reads the words of one statement in order. ``parameters`` are the values of ``:name``.

    ``passed_on`` are the parts of the text that the statement keeps as text, and the parts whose hints it has read.
    """

    text: str
    words: Sequence[Word]
    parameters: Mapping[str, object] = field(default_factory=dict)
    position: int = 0
    passed_on: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def of(cls, text: str, parameters: Mapping[str, object] | None = None) -> Reader:
        """Return a reader at the first word.

        Raises:
            InvalidSql: a quote or a comment is not closed.
        """
        return cls(text, words_of(text), parameters or {})

    # --- looking ----------------------------------------------------------------------------------------------------

    @property
    def word(self) -> Word | None:
        """The next word, or ``None`` at the end."""
        return self.words[self.position] if self.position < len(self.words) else None

    @property
    def offset(self) -> int:
        """The offset of the next word."""
        return len(self.text) if self.word is None else self.word.start

    @property
    def last_end(self) -> int:
        """The end of the previous word."""
        return self.words[self.position - 1].end if self.position else 0

    def sees(self, *texts: str) -> bool:
        """Return whether the next words are these keywords or symbols."""
        if self.position + len(texts) > len(self.words):
            return False
        return all(self.words[self.position + i].says(text) for i, text in enumerate(texts))

    def sees_any(self, *texts: str) -> bool:
        """Return whether the next word is one of these keywords or symbols."""
        return any(self.sees(text) for text in texts)

    def fail(self, message: str, offset: int | None = None) -> NoReturn:
        """Raise an error at an offset; by default at the next word."""
        fail_at(self.text, self.offset if offset is None else offset, message)

    def expected(self, what: str) -> NoReturn:
        """Raise an error with what was expected and what was found."""
        found = _NOTHING if self.word is None else repr(self.text[self.word.start : self.word.end])
        self.fail(f"expected {what}, found {found}")

    def refuse(self, clause: str, advice: str, offset: int | None = None) -> NoReturn:
        """Raise an error because a clause is not supported.

        Raises:
            UnsupportedFeature: always.
        """
        line, column = place(self.text, self.offset if offset is None else offset)
        message = f"line {line}, column {column}: {clause} is not supported; {advice}"
        raise UnsupportedFeature(clause, message)

    # --- taking -----------------------------------------------------------------------------------------------------

    def take(self, *texts: str) -> bool:
        """Skip these keywords or symbols if they come next. Return whether they did."""
        if not self.sees(*texts):
            return False
        self.position += len(texts)
        return True

    def take_any(self, *texts: str) -> str | None:
        """Skip one of these keywords if it comes next, and return it."""
        return next((text for text in texts if self.take(text)), None)

    def expect(self, *texts: str) -> None:
        """Skip these keywords or symbols, which must come next.

        Raises:
            InvalidSql: something else comes next.
        """
        for text in texts:
            if not self.take(text):
                self.expected(text)

    def end(self) -> None:
        """Require the end of the statement.

        Raises:
            InvalidSql: more words follow.
        """
        if self.word is not None:
            self.expected(_NOTHING)

    def name(self, what: str = "a name") -> str:
        """Read a name."""
        word = self.word
        if word is None or not word.is_name:
            self.expected(what)
        self.position += 1
        return word.text

    def qualified_name(self, what: str = "the name of a table") -> SqlName:
        """Read names that are separated by dots."""
        start = self.offset
        parts = [self.name(what)]
        while self.take("."):
            parts.append(self.name())
        return SqlName(tuple(parts), start, self.last_end)

    def string(self, what: str = "a text within quotes") -> str:
        """Read a string literal. Adjacent literals are concatenated, as in Spark."""
        if self.sees(":"):
            start = self.offset
            value = self.parameter()
            if not isinstance(value, str):
                self.fail(f"expected {what}", start)
            return value
        start = self.position
        while self.position < len(self.words) and self.words[self.position].kind is WordKind.TEXT:
            self.position += 1
        if self.position == start:
            self.expected(what)
        return "".join(word.text for word in self.words[start : self.position])

    def whole_number(self) -> int:
        """Read a whole number."""
        start = self.offset
        value = self.value()
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail("expected a whole number", start)
        return value

    def parameter(self) -> object:
        """Read ``:name`` and return the value of the parameter.

        Raises:
            InvalidSql: the parameter does not exist.
        """
        start = self.offset
        self.expect(":")
        name = self.name("the name of a parameter")
        if name not in self.parameters:
            known = ", ".join(self.parameters) or "none"
            self.fail(f"there is no parameter '{name}'; the parameters are {known}", start)
        return self.parameters[name]

    def value(self) -> object:
        """Read a literal or a parameter and return its value. DATE and TIMESTAMP literals return their text."""
        if self.sees(":"):
            return self.parameter()
        if self.word is not None and self.word.kind is WordKind.TEXT:
            return self.string()
        for keyword, found in (("TRUE", True), ("FALSE", False), ("NULL", None)):
            if self.take(keyword):
                return found
        if self.take("DATE") or self.take("TIMESTAMP") or self.take("TIMESTAMP_NTZ") or self.take("TIMESTAMP_LTZ"):
            return self.string()
        sign = -1 if self.take("-") else 1
        word = self.word
        if word is None or word.kind is not WordKind.NUMBER:
            self.expected("a literal")
        self.position += 1
        return sign * _number(word.text)

    def in_parentheses(self, item: Callable[[], _T]) -> list[_T]:
        """Read items in parentheses, separated by commas. The list may be empty."""
        self.expect("(")
        found: list[_T] = []
        if self.take(")"):
            return found
        while True:
            found.append(item())
            if self.take(")"):
                return found
            self.expect(",")

    def options(self) -> dict[str, str]:
        """Read options in parentheses: ``('key' = 'value', a.b = 1)``."""
        return dict(self.in_parentheses(self._option))

    def option_key(self) -> str:
        """Read the key of an option: a string, or names separated by dots."""
        word = self.word
        if word is not None and word.kind is WordKind.TEXT:
            # The value may follow without ``=``, so a second text is not a part of the key.
            self.position += 1
            return word.text
        return str(self.qualified_name("the key of an option"))

    def _option(self) -> tuple[str, str]:
        key = self.option_key()
        self.take("=")
        value = self.value()
        if value is None:
            self.expected(f"a value for option '{key}'")
        return key, str(value).lower() if isinstance(value, bool) else str(value)

    # --- text that stays as it is -------------------------------------------------------------------------------------

    def rest(self) -> str:
        """Return the rest of the text, with spaces before it, so that offsets stay valid."""
        found = blank(self.text[: self.offset]) + self.text[self.offset :]
        self.passed_on.append((self.offset, len(self.text)))
        self.position = len(self.words)
        return found

    def skip_parentheses(self) -> None:
        """Skip an opening parenthesis, its content and the closing one."""
        start = self.offset
        self.expect("(")
        depth = 1
        while depth:
            word = self.word
            if word is None:
                self.fail("this parenthesis is not closed", start)
            depth += _OPEN.get(word.text, 0) if word.kind is WordKind.SYMBOL else 0
            self.position += 1

    def expression(self, *stops: str) -> str:
        """Read an expression up to one of these keywords or symbols outside parentheses and CASE ... END; return its
        text.

        Raises:
            InvalidSql: the expression is empty.
        """
        start, depth, cases = self.offset, 0, 0
        while (word := self.word) is not None:
            if depth == 0 and cases == 0 and any(word.says(stop) for stop in stops):
                break
            if word.kind is WordKind.SYMBOL:
                depth += _OPEN.get(word.text, 0)
            if depth < 0:
                break
            cases += word.says("CASE")
            cases -= word.says("END") and cases > 0
            self.position += 1
        if self.offset == start or self.last_end <= start:
            self.expected("an expression")
        self.passed_on.append((start, self.last_end))
        return self.text[start : self.last_end]


def blank(text: str) -> str:
    """Replace all characters except line breaks by spaces.

    >>> blank("ab\\nc")
    '  \\n '
    """
    return "".join("\n" if character == "\n" else " " for character in text)


def _number(text: str) -> int | float | Decimal:
    plain = text.rstrip("LSYFDBlsyfdb")
    if plain.isdigit():
        return int(plain)
    return float(plain) if "e" in plain.lower() else Decimal(plain)
