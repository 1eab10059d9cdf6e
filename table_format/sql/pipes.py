"""Rewrites pipe operators (``FROM t |> WHERE ...``) for sqlglot, which finds the tables in them.

sqlglot does not know all operators of Spark. Only the places of tables are read from its tree: what a pipe does to the
rows is not, because sqlglot merges operators that must stay apart, such as LIMIT before WHERE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import Token, TokenType

from table_format.sql.reader import Reader

_SET_OPERATORS: Final = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_LIKE: Final = {"SET": "EXTEND", "DROP": "EXTEND", "OFFSET": "LIMIT"}
"""Operators that sqlglot lacks, and others whose operands look the same."""


def has_pipes(text: str) -> bool:
    """Return whether a query has pipe operators.

    >>> has_pipes("FROM t |> LIMIT 1"), has_pipes("SELECT '|>'")
    (True, False)
    """
    return any(word.says("|>") for word in Reader.of(text).words)


def without_unknown_operators(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens in which sqlglot can find the tables of all pipe operators.

    Other operators replace those that sqlglot lacks, and the operand of UNION and similar operators gets parentheses.
    """
    found: list[Token] = []
    depth = 0
    open_at: list[int] = []
    """The depths at which an added parenthesis is open."""
    for number, token in enumerate(tokens):
        kind, word = token.token_type, token.text.upper()
        before = tokens[number - 1].token_type if number else None
        depth -= kind is TokenType.R_PAREN
        if open_at and ((kind is TokenType.PIPE_GT and depth == open_at[-1]) or depth < open_at[-1]):
            open_at.pop()
            found.append(_at(token, TokenType.R_PAREN, ")"))
        if before is TokenType.PIPE_GT and word in _LIKE:
            like = _LIKE[word]
            token = _at(token, TokenType.LIMIT if like == "LIMIT" else TokenType.VAR, like)
        found.append(token)
        depth += kind is TokenType.L_PAREN
        if _ends_set_operator(tokens, number):
            open_at.append(depth)
            found.append(_at(tokens[number + 1], TokenType.L_PAREN, "("))
    return [*found, *(_at(tokens[-1], TokenType.R_PAREN, ")") for _ in open_at)]


def _ends_set_operator(tokens: Sequence[Token], number: int) -> bool:
    """Return whether an operand without parentheses follows ``|> UNION ALL`` or similar words, which end here."""
    first = number - (tokens[number].text.upper() in ("ALL", "DISTINCT"))
    if first < 1 or tokens[first].text.upper() not in _SET_OPERATORS or number + 1 >= len(tokens):
        return False
    following = tokens[number + 1]
    return (
        tokens[first - 1].token_type is TokenType.PIPE_GT
        and following.text.upper() not in ("ALL", "DISTINCT")
        and following.token_type is not TokenType.L_PAREN
    )


def _at(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
