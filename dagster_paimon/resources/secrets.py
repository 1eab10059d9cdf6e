"""Secrets of resources, and masking them in errors.

Dagster stores and shows the configuration of resources, so it must not contain secrets: a field names the environment
variable of a secret (``secret_options``, ``secret_conf``) or is a ``dg.EnvVar``. A field whose secret came from a
variable keeps only the name of the variable, so ``repr``, pickles and copies have no secret.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final

import dagster as dg
from pydantic import ConfigDict, ValidationInfo, field_validator

from table_format.secrets import Secret, holds_secret, is_secret_key, redact

_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")
_NAMES: Final = "secret_"
"""Fields with this prefix map keys to names of environment variables."""
_LINKS: Final = 100
"""The maximum number of errors in a chain that are checked."""

HIDES_INPUT: Final = ConfigDict(hide_input_in_errors=True, extra="forbid")
"""Prevents pydantic from repeating a refused value in its error, which Dagster stores."""


class Guarded(dg.ConfigurableResource):
    """A resource whose fields hold no secrets. Fields in ``may_hold_secret`` may name a variable with a secret."""

    model_config = HIDES_INPUT
    may_hold_secret: ClassVar[frozenset[str]] = frozenset()

    @field_validator("*")
    @classmethod
    def _keep_secrets_out(cls, value: object, info: ValidationInfo) -> object:
        name = str(info.field_name)
        if isinstance(value, dict) and name.startswith(_NAMES):
            _check_variables(name, value)
        elif isinstance(value, dict):
            _check_settings(name, value)
        elif isinstance(value, str) and not isinstance(value, dg.EnvVar) and holds_secret(value):
            if name not in cls.may_hold_secret:
                message = (
                    f"{name} holds credentials (a password, token or key), and it is shown in paths, plans and "
                    "messages; remove them, and pass them in a field for secrets, such as secret_options"
                )
                raise ValueError(message)
            return _by_reference(name, value)
        return value


def secrets_from(names: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Secret]:
    """Return the values of environment variables as secrets.

    >>> secrets_from({"s3.secret-key": "SHOP_SECRET"}, {"SHOP_SECRET": "xyz"})
    {'s3.secret-key': Secret('******')}

    Raises:
        KeyError: a variable is not set. The message names the variable, never a value.
    """
    values = {}
    for key, name in names.items():
        if name not in environment:
            message = f"'{key}' needs the environment variable {redact(name)}, which is not set"
            raise KeyError(message)
        values[key] = Secret(environment[name])
    return values


def known_secrets(names: Mapping[str, str], environment: Mapping[str, str]) -> tuple[Secret, ...]:
    """Return the values of the environment variables that are set."""
    return tuple(Secret(environment[name]) for name in names.values() if name in environment)


def value_of(field: str) -> str:
    """Return the value of a field, which may come from an environment variable.

    Raises:
        KeyError: the variable is not set.
    """
    if not isinstance(field, dg.EnvVar):
        return field
    value = field.get_value()
    if value is None:
        message = f"the environment variable {field.env_var_name} is not set"
        raise KeyError(message)
    return value


@contextmanager
def redacted_errors(secrets: Iterable[Secret] = ()) -> Iterator[None]:
    """Mask secrets in errors that leave the block: these, and everything that looks like one.

    An error keeps its class, traceback and causes. Dagster stores the texts of all of them.
    """
    try:
        yield
    except Exception as error:
        redact_error(error, tuple(secrets))
        raise


@contextmanager
def without_wire_logs() -> Iterator[None]:
    """Suppress the log lines of py4j and pyspark at level DEBUG that repeat what they send."""
    loggers = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger) and name.split(".")[0] in ("py4j", "pyspark", "grpc")
    ]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(max(logger.getEffectiveLevel(), logging.INFO))
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def redact_error(error: BaseException, secrets: tuple[Secret, ...] = ()) -> None:
    """Mask secrets in the texts of an error, of its causes and of its context."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _LINKS:
        link = waiting.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        _redact_one(link, secrets)
        waiting += [link.__cause__, link.__context__]
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions


def _redact_one(error: BaseException, secrets: tuple[Secret, ...]) -> None:
    # Bypass setters of the class, which may be frozen. The text at the end covers attributes that cannot be set.
    object.__setattr__(error, "args", _redacted(error.args, secrets))
    carried = getattr(error, "__dict__", {})
    carried.update({name: _redacted(value, secrets) for name, value in carried.items()})
    for name in _PARTS:
        value = getattr(error, name, None)
        if isinstance(value, str) and redact(value, secrets) != value:
            with suppress(AttributeError, TypeError):
                object.__setattr__(error, name, redact(value, secrets))
    text = str(error)
    shown = redact(text, secrets)
    if shown != text and type(error).__flags__ & _HEAP_TYPE:
        # Some errors, such as those of the JVM, build their text in other ways, so the error gets a class that shows
        # this text.
        of = type(error)
        members = {"__str__": lambda _: shown, "__repr__": lambda _: f"{of.__name__}({shown!r})"}
        with suppress(TypeError):
            object.__setattr__(error, "__class__", type(of.__name__, (of,), {**members, "__module__": of.__module__}))


_PARTS: Final = ("strerror", "filename", "filename2", "reason", "msg", "text")
"""The attributes besides ``args`` from which Python's own errors build their text."""
_HEAP_TYPE: Final = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``: a class defined in Python, whose objects can get another class."""


def _redacted(value: Any, secrets: tuple[Secret, ...]) -> Any:  # noqa: ANN401 - attributes of errors are of any type
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {key: _redacted(held, secrets) for key, held in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_redacted(held, secrets) for held in value)
    return value


def _check_variables(field: str, names: Mapping[str, str]) -> None:
    wrong = sorted(key for key, name in names.items() if not _VARIABLE.fullmatch(name) or holds_secret(name))
    if wrong:
        message = (
            f"{field}: {', '.join(map(redact, wrong))}: expected the NAME of an environment variable (upper case "
            "letters, digits, _), whose value is the secret; the given text is not a name and is not repeated here"
        )
        raise ValueError(message)


def _check_settings(field: str, settings: Mapping[str, str]) -> None:
    secret = sorted(
        redact(key)
        for key, value in settings.items()
        if is_secret_key(key) or holds_secret(key) or (isinstance(value, str) and holds_secret(value))
    )
    if secret:
        message = (
            f"{field}: {', '.join(secret)}: secrets must not be in {field}, which the UI shows; put the name of an "
            f"environment variable into {_NAMES}{field}, if this field exists"
        )
        raise ValueError(message)


def _by_reference(field: str, value: str) -> dg.EnvVar:
    name = next((name for name, held in os.environ.items() if held == value), None)
    if name is None:
        message = (
            f"{field} holds a secret (a password, token or key), and the UI shows it; put it into an environment "
            "variable and pass that: dg.EnvVar('NAME'), or {'env': 'NAME'} in a run's configuration"
        )
        raise ValueError(message)
    return dg.EnvVar(name)
