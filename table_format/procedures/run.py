"""Calls a procedure: finds it, checks and converts its arguments, runs it, and returns its rows as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from table_format.counted import counted
from table_format.errors import InvalidInputError, UnsupportedFeature
from table_format.model.arguments import shown
from table_format.nearest_names import did_you_mean
from table_format.procedures.arguments import NOT_CONVERTED, Argument
from table_format.procedures.declare import Call, Procedure
from table_format.procedures.operations import Operations
from table_format.procedures.registry import PROCEDURES


def run_procedure(
    operations: Operations,
    name: str,
    arguments: Mapping[str, object] | None = None,
    *,
    positional: Sequence[object] = (),
) -> pa.Table:
    """Call a procedure. Values may be given as text; ``None`` means the default.

    ``positional`` arguments are in the order of the declaration, before those by name. Case, ``_`` and ``-`` do not
    matter in argument names.

    Raises:
        UnsupportedFeature: the procedure does not exist.
        InvalidInputError: an argument is unknown, missing, given twice or malformed, or the operation refuses it.
    """
    procedure = find_procedure(name)
    call = Call(procedure.name, bound_arguments(procedure, arguments or {}, positional), operations)
    rows = list(procedure.run(call))
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(procedure.columns)]
    return pa.Table.from_arrays(columns, schema=procedure.columns)


def find_procedure(name: str) -> Procedure:
    """Return a procedure by its name, which is case-insensitive.

    Raises:
        UnsupportedFeature: the procedure does not exist; the message lists all names.
    """
    found = PROCEDURES.get(name.lower())
    if found is None:
        feature = f"procedure '{name}'"
        message = (
            f"{feature} is not supported by this version{_advice(name, PROCEDURES)}; it has {', '.join(PROCEDURES)}"
        )
        raise UnsupportedFeature(feature, message)
    return found


def bound_arguments(
    procedure: Procedure, named: Mapping[str, object], positional: Sequence[object] = ()
) -> dict[str, Any]:
    """Return a converted value for each argument of a procedure.

    Raises:
        InvalidInputError: names the procedure, the argument, what was expected and what was found.
    """
    declared = {_plain(argument.name): argument for argument in procedure.arguments}
    if len(positional) > len(declared):
        message = (
            f"procedure '{procedure.name}': expected at most {counted(len(declared), 'argument')}, found "
            f"{len(positional)}; they are {_names(procedure)}"
        )
        raise InvalidInputError(message)
    given = {argument.name: value for argument, value in zip(procedure.arguments, positional, strict=False)}
    for name, value in named.items():
        found = declared.get(_plain(name))
        if found is None:
            advice = _advice(name, [argument.name for argument in procedure.arguments])
            message = f"procedure '{procedure.name}' has no argument '{name}'{advice}; they are {_names(procedure)}"
            raise InvalidInputError(message)
        if found.name in given:
            message = f"procedure '{procedure.name}': argument '{found.name}' is given twice"
            raise InvalidInputError(message)
        given[found.name] = value
    return {
        argument.name: _converted(procedure, argument, given.get(argument.name)) for argument in procedure.arguments
    }


def _converted(procedure: Procedure, argument: Argument, value: object) -> Any:  # noqa: ANN401 - by the argument's type
    if value is None:
        if argument.required:
            message = (
                f"procedure '{procedure.name}': argument '{argument.name}' is missing; it takes {argument.type.words}"
            )
            raise InvalidInputError(message)
        return argument.default
    try:
        return argument.type.convert(value)
    except NOT_CONVERTED as error:
        message = (
            f"procedure '{procedure.name}': argument '{argument.name}': expected {argument.type.words}, "
            f"found {shown(value)}"
        )
        raise InvalidInputError(message) from error


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _names(procedure: Procedure) -> str:
    return ", ".join(argument.name for argument in procedure.arguments)


def _advice(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    return did_you_mean(name.lower(), known, show=repr, cutoff=0.75)
