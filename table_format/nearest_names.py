"""Suggestions for a misspelt name, as the end of an error message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Final

_SHOWN: Final = 3


def did_you_mean(name: str, names: Iterable[str], *, show: Callable[[str], str] = str, cutoff: float = 0.7) -> str:
    """Return the most similar names as the end of a message; empty if none is similar.

    ``show`` turns each name into its text.

    >>> did_you_mean("shop.ordrs", ["shop.orders", "shop.items"])
    '; did you mean shop.orders?'
    """
    close = nearest(name, names, cutoff=cutoff)
    return f"; did you mean {' or '.join(map(show, close))}?" if close else ""


def nearest(name: str, names: Iterable[str], *, cutoff: float = 0.7) -> Sequence[str]:
    """Return up to three similar names, the most similar first. Case does not count.

    ``cutoff`` is the least similarity, from 0 to 1.

    >>> nearest("order", ["items", "orders", "border"]), nearest("ID", ["v", "id"])
    (['orders', 'border'], ['id'])
    """
    alike: dict[str, list[str]] = {}
    for candidate in names:
        alike.setdefault(candidate.lower(), []).append(candidate)
    close = get_close_matches(name.lower(), alike, n=_SHOWN, cutoff=cutoff)
    return [candidate for lowered in close for candidate in alike[lowered]][:_SHOWN]
