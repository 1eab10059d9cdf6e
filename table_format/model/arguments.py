"""Checks the arguments of public calls: a value of the wrong type is refused, with the name of its argument.

The format's numbers are integers of 64 bits and its texts are UTF-8. Whatever counts as an integer (``__index__``, as
integers of NumPy have) is taken for one; a bool, a float or a text is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Final, NoReturn, TypeVar

from table_format.errors import InvalidInputError, InvalidOption
from table_format.limits import MAX_COMMIT_USER_BYTES

MIN_LONG: Final = -(1 << 63)
MAX_LONG: Final = (1 << 63) - 1

_SHOWN: Final = 80
_V = TypeVar("_V")


def whole_number(value: object, argument: str, *, minimum: int = MIN_LONG, maximum: int = MAX_LONG) -> int:
    """The integer that a caller gave for an argument.

    >>> import numpy as np
    >>> whole_number(np.int64(7), "identifier")
    7

    Raises:
        InvalidInputError: it is no integer, or outside of the range.
    """
    expected = f"an integer from {minimum} to {maximum}"
    if isinstance(value, bool) or type(value).__name__ == "bool_" or not hasattr(value, "__index__"):
        refuse(argument, expected, value)
    try:
        number = index(value)
    except TypeError:
        refuse(argument, expected, value)
    if not minimum <= number <= maximum:
        refuse(argument, expected, value)
    return number


def optional_whole_number(
    value: object, argument: str, *, minimum: int = MIN_LONG, maximum: int = MAX_LONG
) -> int | None:
    """The integer that a caller gave for an argument, if any; raises as ``whole_number``."""
    return None if value is None else whole_number(value, argument, minimum=minimum, maximum=maximum)


def whole_numbers(value: object, argument: str, *, minimum: int = MIN_LONG, maximum: int = MAX_LONG) -> tuple[int, ...]:
    """The integers that a caller gave for an argument.

    Raises:
        InvalidInputError: it is no series of them.
    """
    items = _items(value, argument, "a sequence of integers")
    return tuple(
        whole_number(item, f"{argument}[{i}]", minimum=minimum, maximum=maximum) for i, item in enumerate(items)
    )


def text(value: object, argument: str) -> str:
    """The text that a caller gave for an argument, which has a UTF-8 form.

    Raises:
        InvalidInputError: it is no text, or holds half of a surrogate pair.
    """
    if not isinstance(value, str):
        refuse(argument, "a text", value)
    if not value.isascii() and any(0xD800 <= ord(c) < 0xE000 for c in value):
        refuse(argument, "a text with a UTF-8 form, without halves of surrogate pairs", value)
    return value


def optional_text(value: object, argument: str) -> str | None:
    """The text that a caller gave for an argument, if any; raises as ``text``."""
    return None if value is None else text(value, argument)


def name_or_names(value: object, argument: str) -> tuple[str, ...]:
    """Names that a caller gave as one text or a series of them; raises as ``text``."""
    if isinstance(value, str):
        return (text(value, argument),)
    items = _items(value, argument, "a name or a sequence of names")
    return tuple(text(item, f"{argument}[{i}]") for i, item in enumerate(items))


def texts_by_text(value: object, argument: str) -> dict[str, str]:
    """The texts by key that a caller gave for an argument, such as options or properties; ``None`` is none.

    Raises:
        InvalidInputError: it is no mapping, or a key or a value is no text.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        refuse(argument, "a mapping of texts to texts", value)
    return {text(key, f"a key of {argument}"): text(member, f"{argument}[{key!r}]") for key, member in value.items()}


def flag(value: object, argument: str) -> bool:
    """The bool that a caller gave for an argument.

    Raises:
        InvalidInputError: it is none.
    """
    if not isinstance(value, bool):
        refuse(argument, "True or False", value)
    return value


def commit_user(value: object, argument: str = "commit_user") -> str:
    """The commit user that a caller gave.

    Raises:
        InvalidInputError: it is no text, blank, too long, or holds NUL or half of a surrogate pair.
    """
    user = text(value, argument)
    if not user.strip() or "\0" in user or len(user.encode()) > MAX_COMMIT_USER_BYTES:
        refuse(argument, f"a text that is not blank, without NUL and of at most {MAX_COMMIT_USER_BYTES} bytes", value)
    return user


def mappings(value: Sequence[Mapping[str, _V]], argument: str) -> Sequence[Mapping[str, _V]]:
    """The mappings with texts for keys, such as partitions, that a caller gave for an argument.

    Raises:
        InvalidInputError: it is no sequence of them.
    """
    expected = "a sequence of mappings, each of column names to values"
    found: list[Mapping[str, _V]] = []
    for item in _items(value, argument, expected):
        if not isinstance(item, Mapping):
            refuse(argument, expected, item)
        for key in item:
            text(key, f"a key of {argument}")
        found.append(item)
    return found


def options_by_key(value: object, argument: str) -> dict[str, str]:
    """The options that a caller gave for an argument; ``None`` is none.

    Raises:
        InvalidInputError: it is no mapping, or a key is no text.
        InvalidOption: a value is no text.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        refuse(argument, "a mapping of texts to texts", value)
    found: dict[str, str] = {}
    for key, member in value.items():
        name = text(key, f"a key of {argument}")
        try:
            found[name] = text(member, f"{argument}[{name!r}]")
        except InvalidInputError as error:
            raise InvalidOption(name, str(error)) from error
    return found


def _items(value: object, argument: str, expected: str) -> tuple[object, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        refuse(argument, expected, value)
    return tuple(value)


def refuse(argument: str, expected: str, found: object) -> NoReturn:
    """Refuse what a caller gave for an argument.

    Raises:
        InvalidInputError: always.
    """
    message = f"{argument}: expected {expected}, found {shown(found)}"
    raise InvalidInputError(message)


def shown(value: object) -> str:
    """A value for a message: its type and the beginning of its ``repr``.

    >>> shown(2**70), shown("7"), shown(None)
    ('int 1180591620717411303424', "str '7'", 'None')
    """
    if value is None:
        return "None"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 4 * _SHOWN:
        return f"{type(value).__name__} of {value.bit_length()} bits"
    if isinstance(value, str | bytes) and len(value) > _SHOWN:
        return f"{type(value).__name__} of {len(value)}, {value[:_SHOWN]!r}..."
    if isinstance(value, str | bytes | int | float):
        return f"{type(value).__name__} {value!r}"
    return type(value).__name__ if len(written := _written(value)) > _SHOWN else f"{type(value).__name__} {written}"


def _written(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the repr of an unknown object may raise anything, and an error is being made
        return type(value).__name__
