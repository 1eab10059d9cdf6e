"""Splits SQL into words: names, strings, numbers and symbols, each with its position."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import ClassVar, Final, NoReturn

from sqlglot import Token, TokenType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from table_format.errors import InvalidSql

_NAME: Final = re.compile(r"\w+", re.UNICODE)
_PART: Final = re.compile(r"\S+")
RECENT_TEXTS: Final = 64
"""The number of texts whose words and trees are kept: those of a script, or of queries that run repeatedly."""
_QUOTES: Final = frozenset("'\"")
_TEXTS: Final = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING})


class _Tokenizer(Spark.Tokenizer):
    # With commands, the whole text after a word such as SHOW would be one token.
    COMMANDS: ClassVar[set[TokenType]] = set()


class WordKind(Enum):
    """The kind of a word."""

    NAME = "name"
    QUOTED_NAME = "quoted name"
    TEXT = "text"
    NUMBER = "number"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Word:
    """One word. ``text`` has no quotes; ``start`` and ``end`` are offsets in the SQL text."""

    kind: WordKind
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether the word can be a name."""
        return self.kind in (WordKind.NAME, WordKind.QUOTED_NAME)

    def says(self, text: str) -> bool:
        """Return whether the word is this keyword or symbol."""
        return self.kind in (WordKind.NAME, WordKind.SYMBOL) and self.text.upper() == text


def place(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column of an offset; both start at 1.

    >>> place("a\\nbc", 3)
    (2, 2)
    """
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def fail_at(text: str, offset: int, message: str) -> NoReturn:
    """Raise an error with the line and column of an offset.

    Raises:
        InvalidSql: always.
    """
    line, column = place(text, offset)
    raise InvalidSql(message, line=line, column=column)


@lru_cache(maxsize=2)
def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of sqlglot, with ``t$files`` as one name.

    Raises:
        InvalidSql: a quote or a comment is not closed.
    """
    try:
        found = _Tokenizer(dialect=Spark()).tokenize(text)
    except TokenError:
        fail_at(text, len(text.rstrip()), "a quote or a comment is not closed")
    return tuple(_with_suffixed_names(found))


def _with_suffixed_names(tokens: Sequence[Token]) -> Iterator[Token]:
    """Join the five tokens of an unquoted ``t$branch_b$files``."""
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        while (
            position + 1 < len(tokens)
            and tokens[position].text == "$"
            and token.end + 1 == tokens[position].start
            and tokens[position].end + 1 == tokens[position + 1].start
            and _NAME.fullmatch(token.text.replace("$", "_"))
            and _NAME.fullmatch(tokens[position + 1].text)
        ):
            last = tokens[position + 1]
            token = Token(
                TokenType.VAR,
                f"{token.text}${last.text}",
                token.line,
                last.col,
                token.start,
                last.end,
                [*token.comments, *last.comments],
            )
            position += 2
        yield token


@lru_cache(maxsize=RECENT_TEXTS)
def words_of(text: str) -> tuple[Word, ...]:
    """Return all words without comments. Several steps need them, so the words of recent texts are cached.

    >>> [word.text for word in words_of("SELECT `a b`, 'it''s' -- d")]
    ['SELECT', 'a b', ',', "it's"]

    Raises:
        InvalidSql: a quote or a comment is not closed.
    """
    return tuple(_with_doubled_quotes(text, _words(text, tokens_of(text))))


def _with_doubled_quotes(text: str, words: Iterable[Word]) -> Iterator[Word]:
    """Join the parts of a text that contains its own quote, doubled, as in ``'it''s'``."""
    held: Word | None = None
    for word in words:
        if held is not None and _continues(text, held, word):
            held = Word(WordKind.TEXT, held.text + text[held.start] + word.text, held.start, word.end)
            continue
        if held is not None:
            yield held
        held = word
    if held is not None:
        yield held


def _continues(text: str, held: Word, word: Word) -> bool:
    quote = text[held.start]  # a raw text begins with its r
    both = held.kind is word.kind is WordKind.TEXT
    return both and quote in _QUOTES and held.end == word.start and text[word.start] == quote


def _words(text: str, tokens: Iterable[Token]) -> Iterator[Word]:
    last = -1
    for token in tokens:
        if token.start == last:
            continue  # the suffix of a number, as in 1L
        last = token.start
        written = text[token.start : token.end + 1]
        if token.token_type is TokenType.IDENTIFIER:
            yield Word(WordKind.QUOTED_NAME, token.text, token.start, token.end + 1)
        elif token.token_type in _TEXTS:
            yield Word(WordKind.TEXT, token.text, token.start, token.end + 1)
        elif token.token_type is TokenType.NUMBER:
            yield Word(WordKind.NUMBER, written, token.start, token.end + 1)
        else:
            # Some keywords come in one token, such as PRIMARY KEY.
            for part in _PART.finditer(written):
                is_name = _NAME.fullmatch(part[0].replace("$", "_")) is not None
                kind = WordKind.NAME if is_name else WordKind.SYMBOL
                yield Word(kind, part[0], token.start + part.start(), token.start + part.end())
