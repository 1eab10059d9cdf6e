"""Arguments of procedures: what is converted, what is refused and how."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from table_format.errors import AlreadyExistsError, InvalidInputError, UnsupportedFeature
from table_format.procedures.arguments import (
    COUNT,
    DURATION,
    FLAG,
    INSTANT,
    NAMES,
    NUMBERS,
    OPTIONS,
    PARTITIONS,
    PATTERN,
    TEXT,
    WHOLE,
    Argument,
    ArgumentType,
    choice,
    required,
)
from table_format.procedures.declare import Procedure
from table_format.procedures.documentation import procedures_markdown
from table_format.procedures.operations import InProcess
from table_format.procedures.registry import PROCEDURES, register_procedure
from table_format.procedures.run import bound_arguments, run_procedure
from tests.support.registries import forgotten_again
from tests.support.tables import memory_warehouse

ECHO = Procedure(
    "echo",
    "Say what was given.",
    (required("words", NAMES, "Words."), Argument("howOften", COUNT, "Times.", default=1)),
    lambda call: [(word,) for word in call["words"]] * call["howOften"],
    pa.schema([pa.field("word", pa.string())]),
)


@pytest.fixture
def operations() -> Iterator[InProcess]:
    with forgotten_again(PROCEDURES):
        register_procedure(ECHO)
        yield InProcess(memory_warehouse().catalog)


def one(argument_type: ArgumentType, value: object) -> object:
    procedure = Procedure("p", "", (Argument("a", argument_type, ""),), lambda _: ())
    return bound_arguments(procedure, {"a": value})["a"]


@pytest.mark.parametrize(
    ("argument_type", "value", "expected"),
    [
        (TEXT, " a ", "a"),
        (WHOLE, "-7", -7),
        (WHOLE, 7, 7),
        (COUNT, "1", 1),
        (FLAG, "TRUE", True),
        (FLAG, False, False),
        (INSTANT, "1700000000000", 1_700_000_000_000),
        (INSTANT, 5, 5),
        (INSTANT, "2026-01-31T12:00:00+00:00", 1_769_860_800_000),
        (INSTANT, "2026-01-31 12:00:00", int(datetime(2026, 1, 31, 12).timestamp() * 1000)),
        (INSTANT, datetime(2026, 1, 31, 12), int(datetime(2026, 1, 31, 12).timestamp() * 1000)),
        (DURATION, "1 d", 86_400_000),
        (NAMES, "a, b", ("a", "b")),
        (NAMES, ["a"], ("a",)),
        (NUMBERS, "1,2", (1, 2)),
        (NUMBERS, [3], (3,)),
        (PARTITIONS, "dt=a,hh=1;dt=b", ({"dt": "a", "hh": "1"}, {"dt": "b"})),
        (PARTITIONS, {"dt": 3}, ({"dt": 3},)),
        (PARTITIONS, [{"dt": 3}, {"dt": 4}], ({"dt": 3}, {"dt": 4})),
        (OPTIONS, "bucket=1,write-only=true", {"bucket": "1", "write-only": "true"}),
        (OPTIONS, {"bucket": "1"}, {"bucket": "1"}),
        (choice("full", "minor"), "FULL", "full"),
    ],
)
def test_a_value_or_its_text_becomes_what_the_procedure_works_with(
    argument_type: ArgumentType, value: object, expected: object
) -> None:
    assert one(argument_type, value) == expected


@pytest.mark.parametrize(
    ("argument_type", "value"),
    [
        (TEXT, " "),
        (TEXT, 7),
        (WHOLE, "7.5"),
        (WHOLE, 7.5),
        (WHOLE, True),
        (WHOLE, "9" * 19),
        (COUNT, "0"),
        (FLAG, "yes"),
        (FLAG, 1),
        (INSTANT, "yesterday"),
        (INSTANT, 1.5),
        (DURATION, "long"),
        (DURATION, 5),
        (NAMES, "a,,b"),
        (NAMES, []),
        (NAMES, [1]),
        (NUMBERS, "1;2"),
        (NUMBERS, ["1"]),
        (PARTITIONS, "dt"),
        (PARTITIONS, []),
        (PARTITIONS, 3),
        (OPTIONS, "bucket"),
        (OPTIONS, 3),
        (PATTERN, "("),
        (choice("full", "minor"), "half"),
    ],
)
def test_a_malformed_value_is_refused_with_what_was_expected(argument_type: ArgumentType, value: object) -> None:
    with pytest.raises(InvalidInputError) as refused:
        one(argument_type, value)
    assert str(refused.value).startswith(f"procedure 'p': argument 'a': expected {argument_type.words}, found ")


def test_arguments_come_by_position_and_by_name_whatever_the_case(operations: InProcess) -> None:
    for arguments, positional in (
        ({"words": "a,b", "howOften": 2}, ()),
        ({"HOW_OFTEN": "2"}, ("a,b",)),
        ({"how-often": 2}, (("a", "b"),)),
        ({}, ("a,b", 2)),
    ):
        found = run_procedure(operations, "ECHO", arguments, positional=positional)
        assert found.to_pydict() == {"word": ["a", "b", "a", "b"]}
        assert found.schema == ECHO.columns
    assert run_procedure(operations, "echo", {"words": "a", "howOften": None}).num_rows == 1


@pytest.mark.parametrize(
    ("arguments", "positional", "message"),
    [
        ({}, (), "procedure 'echo': argument 'words' is missing; it takes names separated by commas"),
        ({"words": None}, (), "procedure 'echo': argument 'words' is missing"),
        (
            {"word": "a"},
            (),
            "'echo' has no argument 'word'; did you mean 'words'[?]; they are words, howOften",
        ),
        ({"words": "a"}, ("b",), "procedure 'echo': argument 'words' is given twice"),
        ({"words": "a", "WORDS": "b"}, (), "procedure 'echo': argument 'words' is given twice"),
        ({}, ("a", 1, 2), "procedure 'echo': expected at most 2 arguments, found 3; they are words, howOften"),
    ],
)
def test_unknown_missing_and_repeated_arguments_are_refused(
    operations: InProcess, arguments: dict[str, object], positional: tuple[object, ...], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        run_procedure(operations, "echo", arguments, positional=positional)


@pytest.mark.parametrize("name", ["compactt", "migrate_table", "purge_files"])
def test_an_unknown_procedure_is_refused_with_the_names_of_all(operations: InProcess, name: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"procedure '{name}' is not supported.*it has compact, .*, echo"):
        run_procedure(operations, name)


def test_a_name_that_is_taken_is_refused(operations: InProcess) -> None:
    with pytest.raises(AlreadyExistsError, match="procedure 'echo' already exists"):
        register_procedure(ECHO)


def test_the_reference_is_that_of_the_procedures() -> None:
    written = Path(__file__).parents[2] / "docs" / "procedures.md"
    assert written.read_text() == procedures_markdown(), "run python -m table_format.procedures > docs/procedures.md"


def test_every_declaration_is_sound() -> None:
    for name, procedure in PROCEDURES.items():
        names = [argument.name.lower().replace("_", "") for argument in procedure.arguments]
        assert len(names) == len(set(names)), name
        ranks = [not argument.required for argument in procedure.arguments]
        assert ranks == sorted(ranks), f"{name}: what is required comes first"
        assert all(argument.help.endswith(".") for argument in procedure.arguments), name
        assert procedure.summary.endswith("."), name
