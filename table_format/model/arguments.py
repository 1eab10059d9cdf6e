"""Checks the arguments of public calls. An error names the argument that has a wrong type or value.

The format's numbers are integers of 64 bits and its texts are UTF-8. Every value with ``__index__``, such as an integer
of NumPy, is accepted as an integer, but not a bool, a float or a text.
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
    """Return the integer value of an argument.

    >>> import numpy as np
    >>> whole_number(np.int64(7), "identifier")
    7

    Raises:
        InvalidInputError: the value is not an integer, or is out of range.
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
    """Return the integer value of an argument, or ``None``; raises the same errors as ``whole_number``."""
    return None if value is None else whole_number(value, argument, minimum=minimum, maximum=maximum)


def whole_numbers(value: object, argument: str, *, minimum: int = MIN_LONG, maximum: int = MAX_LONG) -> tuple[int, ...]:
    """Return the integer values of an argument.

    Raises:
        InvalidInputError: the value is not a sequence of integers.
    """
    items = _items(value, argument, "a sequence of integers")
    return tuple(
        whole_number(item, f"{argument}[{i}]", minimum=minimum, maximum=maximum) for i, item in enumerate(items)
    )


def text(value: object, argument: str) -> str:
    """Return the text value of an argument; it can be encoded in UTF-8.

    Raises:
        InvalidInputError: the value is not a text, or contains half of a surrogate pair.
    """
    if not isinstance(value, str):
        refuse(argument, "a text", value)
    if not value.isascii() and any(0xD800 <= ord(c) < 0xE000 for c in value):
        refuse(argument, "a text that can be encoded in UTF-8, without halves of surrogate pairs", value)
    return value


def optional_text(value: object, argument: str) -> str | None:
    """Return the text value of an argument, or ``None``; raises the same errors as ``text``."""
    return None if value is None else text(value, argument)


def name_or_names(value: object, argument: str) -> tuple[str, ...]:
    """Return the names in an argument, which is one text or a sequence of texts; raises the same errors as ``text``."""
    if isinstance(value, str):
        return (text(value, argument),)
    items = _items(value, argument, "a name or a sequence of names")
    return tuple(text(item, f"{argument}[{i}]") for i, item in enumerate(items))


def texts_by_text(value: object, argument: str) -> dict[str, str]:
    """Return the texts by key in an argument, such as options or properties; ``None`` counts as empty.

    Raises:
        InvalidInputError: the value is not a mapping, or a key or a value in it is not a text.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        refuse(argument, "a mapping of texts to texts", value)
    return {text(key, f"a key of {argument}"): text(member, f"{argument}[{key!r}]") for key, member in value.items()}


def flag(value: object, argument: str) -> bool:
    """Return the bool value of an argument.

    Raises:
        InvalidInputError: the value is not a bool.
    """
    if not isinstance(value, bool):
        refuse(argument, "True or False", value)
    return value


def commit_user(value: object, argument: str = "commit_user") -> str:
    """Return the commit user in an argument.

    Raises:
        InvalidInputError: the value is not a text, is blank or too long, or contains NUL or half of a surrogate pair.
    """
    user = text(value, argument)
    if not user.strip() or "\0" in user or len(user.encode()) > MAX_COMMIT_USER_BYTES:
        refuse(argument, f"a text that is not blank, without NUL and of at most {MAX_COMMIT_USER_BYTES} bytes", value)
    return user


def mappings(value: Sequence[Mapping[str, _V]], argument: str) -> Sequence[Mapping[str, _V]]:
    """Return the mappings in an argument, such as partitions; their keys are texts.

    Raises:
        InvalidInputError: the value is not a sequence of such mappings.
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
    """Return the options in an argument; ``None`` counts as empty.

    Raises:
        InvalidInputError: the value is not a mapping, or a key is not a text.
        InvalidOption: the value of an option is not a text.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        refuse(argument, "a mapping of texts to texts", value)
    found: dict[str, str] = {}
    for key, member in value.items():
        name = text(key, f"a key of {argument}")
        if not isinstance(member, str):
            written = str(member).lower() if isinstance(member, bool) else str(member)
            advice = f"; write '{written}'" if isinstance(member, int) and len(written) < _SHOWN else ""
            raise InvalidOption(name, f"expected a text, found {shown(member)}{advice}")
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
    """Refuse the value of an argument.

    Raises:
        InvalidInputError: always.
    """
    message = f"{argument}: expected {expected}, found {shown(found)}"
    raise InvalidInputError(message)


def shown(value: object) -> str:
    """Return a description of a value for messages: its type and the beginning of its ``repr``.

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
    written = _written(value)
    return _type_name(value) if len(written) > _SHOWN else f"{_type_name(value)} {written}"


def _type_name(value: object) -> str:
    """Return the name of a type; with its package if that is another one, as pyarrow and this library share names."""
    package = type(value).__module__.partition(".")[0]
    return type(value).__name__ if package in ("builtins", "table_format") else f"{package}.{type(value).__name__}"


def _written(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the repr of an unknown object may raise anything
        return type(value).__name__
