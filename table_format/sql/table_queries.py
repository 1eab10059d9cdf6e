"""Rewrites the query ``TABLE name`` for sqlglot as ``SELECT * FROM name``, which has the same meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import Token, TokenType

_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)
_SET_OPERATORS: Final = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_SELECT: Final = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))


def without_table_queries(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a query with ``SELECT * FROM name`` in place of ``TABLE name``.

    The same is done with ``TABLE name`` and ``TABLE(name)`` as arguments of functions.
    """
    found: list[Token] = []
    dropped: set[int] = set()
    calls = [False]
    """For each open parenthesis, whether it belongs to a call of a function."""
    for number, token in enumerate(tokens):
        if number in dropped:
            continue
        before = tokens[number - 1] if number else None
        if token.token_type is TokenType.L_PAREN:
            calls.append(before is not None and before.token_type in _NAMES)
        elif token.token_type is TokenType.R_PAREN and len(calls) > 1:
            calls.pop()
        elif token.token_type is TokenType.TABLE and _begins_query(tokens, number, in_call=calls[-1]):
            closing = _closing(tokens, number + 1)
            if closing is None and not _names_table(tokens, number + 1):
                found.append(token)
                continue
            if closing is not None:
                dropped |= {number + 1, closing}
            found += _select(token)
            continue
        found.append(token)
    return found


def _begins_query(tokens: Sequence[Token], number: int, *, in_call: bool) -> bool:
    before = tokens[number - 1] if number else None
    if before is None or before.token_type in (TokenType.L_PAREN, TokenType.R_PAREN, *_SET_OPERATORS):
        return True
    if before.token_type is TokenType.COMMA:
        return in_call
    is_all = before.token_type in (TokenType.ALL, TokenType.DISTINCT)
    return is_all and number > 1 and tokens[number - 2].token_type in _SET_OPERATORS


def _names_table(tokens: Sequence[Token], number: int) -> bool:
    following = [token.token_type for token in tokens[number : number + 2]]
    return bool(following) and (following[0] in _NAMES or following[1:] == [TokenType.DOT])


def _closing(tokens: Sequence[Token], number: int) -> int | None:
    """Return the place of the parenthesis that closes ``(name)``; ``None`` if this is something else."""
    if (
        number >= len(tokens)
        or tokens[number].token_type is not TokenType.L_PAREN
        or not _names_table(tokens, number + 1)
    ):
        return None
    for place in range(number + 2, len(tokens), 2):
        if tokens[place].token_type is not TokenType.DOT:
            return place if tokens[place].token_type is TokenType.R_PAREN else None
    return None


def _select(token: Token) -> Iterator[Token]:
    for kind, text in _SELECT:
        yield Token(kind, text, token.line, token.col, token.start, token.end)
