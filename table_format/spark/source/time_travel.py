"""``versionAsOf`` and ``timestampAsOf``, the options of time travel in Spark and Delta Lake."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from table_format.errors import InvalidInputError, InvalidOption, UnsupportedFeature
from table_format.options.other_names import TIMESTAMP_AS_OF, VERSION_AS_OF
from table_format.options.scan import TIMESTAMP_MILLIS, VERSION

_NAMES: Final = {name.lower(): name for name in (VERSION_AS_OF, TIMESTAMP_AS_OF)}
_KEYS: Final = {VERSION_AS_OF: VERSION.key, TIMESTAMP_AS_OF: TIMESTAMP_MILLIS.key}


def with_time_travel(options: Mapping[str, str]) -> dict[str, str]:
    """Replace Spark's options of time travel by those of the table format.

    >>> with_time_travel({"versionasof": "3"})
    {'scan.version': '3'}
    >>> with_time_travel({"timestampasof": "1970-01-01T01:00:01+01:00"})
    {'scan.timestamp-millis': '1000'}

    Raises:
        InvalidOption: the text is not a time with a time zone.
        InvalidInputError: two options name a state of the table.
    """
    given = {_NAMES[key]: value for key, value in options.items() if key in _NAMES}
    own = {key: value for key, value in options.items() if key not in _NAMES}
    for name, key in _KEYS.items():
        if name in given:
            also = key if key in own else next((other for other in given if other != name), None)
            if also is not None:
                message = f"give {name} or {also}, not both"
                raise InvalidInputError(message)
            own[key] = given[name] if name == VERSION_AS_OF else str(_millis(given[name]))
    return own


def _millis(text: str) -> int:
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidOption(TIMESTAMP_AS_OF, f"{text!r} is not a time such as '2026-01-31 12:00:00Z'") from None
    if time.tzinfo is None:
        message = (
            f"{text!r} has no time zone, and Spark does not pass that of the session on; write '{text}Z' or "
            f"'{text}+01:00', give '{TIMESTAMP_MILLIS.key}', or use TIMESTAMP AS OF in lake.sql"
        )
        raise InvalidOption(TIMESTAMP_AS_OF, message)
    return int(time.timestamp() * 1000)


def refuse_time_travel(options: Mapping[str, str], what: str, advice: str) -> None:
    """Refuse Spark's options of time travel where they have no meaning.

    Raises:
        UnsupportedFeature: the message names the option and the alternative.
    """
    for key, name in _NAMES.items():
        if key in options:
            feature = f"{name} of {what}"
            raise UnsupportedFeature(feature, f"{feature} is not supported; {advice}")
