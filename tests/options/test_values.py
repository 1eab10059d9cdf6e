"""The text forms of option values."""

from __future__ import annotations

import pytest

from table_format.errors import InvalidOption
from table_format.options import values
from table_format.options.declare import parse_value
from table_format.options.merge import MergeEngine
from table_format.options.values import duration_within


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1 h", 3_600_000),
        ("5 d", 432_000_000),
        ("30s", 30_000),
        ("250", 250),
        ("10 ms", 10),
        ("2 Minutes", 120_000),
        ("PT1H", 3_600_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("1500 micros", 1),
    ],
)
def test_a_duration_is_a_number_with_a_unit_or_an_iso_duration(text: str, milliseconds: int) -> None:
    assert values.duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", "h", "1 fortnight", "-1 h", "PT", "P", "1.5 h"])
def test_another_text_is_no_duration_and_the_error_says_what_is(text: str) -> None:
    with pytest.raises(InvalidOption, match=r"snapshot\.time-retained.*such as '1 h'"):
        parse_value("snapshot.time-retained", values.duration, text)


@pytest.mark.parametrize(
    ("text", "size"), [("128 mb", 128 << 20), ("500 B", 500), ("1024", 1024), ("2gb", 2 << 30), ("64 kibibytes", 65536)]
)
def test_a_size_is_a_number_with_a_unit_of_bytes(text: str, size: int) -> None:
    assert values.size()(text) == size


@pytest.mark.parametrize("text", ["mb", "1 mib", "-5", "1.5 gb", ""])
def test_another_text_is_no_size(text: str) -> None:
    with pytest.raises(ValueError):
        values.size()(text)


def test_a_size_or_number_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError):
        values.size(1)("0")
    with pytest.raises(ValueError):
        values.integer(1, 9)("10")


def test_an_enumeration_takes_any_case_and_both_separators() -> None:
    parser = values.one_of(MergeEngine)
    assert parser("PARTIAL_UPDATE") is MergeEngine.PARTIAL_UPDATE
    assert parser(" first-row ") is MergeEngine.FIRST_ROW
    assert "deduplicate, partial-update" in parser.accepts


@pytest.mark.parametrize(("text", "mode"), [("TRUNCATE(8)", "truncate(8)"), ("none", "none"), ("full", "full")])
def test_statistics_modes_are_normalised(text: str, mode: str) -> None:
    assert values.stats_mode(text) == mode


@pytest.mark.parametrize("text", ["truncate", "truncate(0)", "some"])
def test_another_word_is_no_statistics_mode(text: str) -> None:
    with pytest.raises(ValueError):
        values.stats_mode(text)


def test_names_are_separated_by_commas_and_differ() -> None:
    assert values.names(" a, b ") == ("a", "b")
    for text in ("a,,b", "a,a", ""):
        with pytest.raises(ValueError):
            values.names(text)


@pytest.mark.parametrize("text", ["yes", "1", ""])
def test_a_boolean_is_true_or_false_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError):
        values.boolean(text)


@pytest.mark.parametrize(
    ("parser", "value", "text"),
    [
        (values.duration, 3_600_000, "1 h"),
        (values.duration, 10, "10 ms"),
        (values.size(), 8 << 20, "8 mb"),
        (values.size(), 500, "500 b"),
        (values.boolean, True, "true"),
    ],
)
def test_a_shown_value_parses_to_itself(parser: values.Parser[object], value: object, text: str) -> None:
    assert parser.show(value) == text
    assert parser(text) == value


def test_a_duration_may_have_a_range() -> None:
    parser = duration_within(100, 2_000)
    assert [parser(text) for text in parser.edges] != []
    assert (parser("100 ms"), parser("PT2S")) == (100, 2_000)
    for text in ("99 ms", "0 ms", "3 s", "x"):
        with pytest.raises(ValueError, match=text):
            parser(text)
