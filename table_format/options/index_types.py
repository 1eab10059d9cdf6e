"""What each type of file index declares: its name, the columns that can have it, and its settings.

The options ``file-index.<type>.columns`` and ``file-index.<type>.<column>.<setting>`` are made of these declarations,
and so are the checks of CREATE and ALTER and the reference in docs/options.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_format.errors import InvalidData
from table_format.model.file_index import (
    BITMAP,
    BLOOM_FILTER,
    BSI,
    DEFAULT_FPP,
    DEFAULT_ITEMS,
    RANGE_BITMAP,
    bloom_size,
    has_bit_slices,
    has_bitmap,
    has_fast_hash,
    has_range_bitmap,
)
from table_format.model.types import DataType
from table_format.options.declare import AnyOption, Option, OptionPattern
from table_format.options.values import MAX_INT, Parser, integer, names, probability, size

PREFIX: Final = "file-index."


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the index of a column; ``default`` is what a builder takes when it is absent."""

    name: str
    parser: Parser[Any]
    default: object
    doc: str


def _nothing_to_check(settings: Mapping[str, object]) -> None:
    """Settings that are legal one by one are legal together."""


@dataclass(frozen=True, slots=True)
class IndexDeclaration:
    """One type of index.

    ``noun`` names it in messages, ``doc`` says what it is for. ``supports`` is whether columns of a type can have it.
    ``check`` raises ``InvalidData`` for settings that do not go together.
    """

    identifier: str
    noun: str
    doc: str
    supports: Callable[[DataType], bool]
    settings: tuple[Setting, ...] = ()
    check: Callable[[Mapping[str, object]], None] = _nothing_to_check

    @property
    def columns_key(self) -> str:
        """The option that names the columns."""
        return f"{PREFIX}{self.identifier}.columns"

    def setting_key(self, setting: str, column: str = "<column>") -> str:
        """The option of a setting of one column."""
        return f"{PREFIX}{self.identifier}.{column}.{setting}"

    def with_defaults(self, settings: Mapping[str, object]) -> Mapping[str, object]:
        """All settings of a column by name, given those that options state."""
        return {setting.name: setting.default for setting in self.settings} | dict(settings)

    @property
    def options(self) -> tuple[AnyOption, ...]:
        """The options of this type: the columns, then the settings."""
        columns: Option[tuple[str, ...]] = Option(self.columns_key, names, (), self.doc)
        settings = (OptionPattern(self.setting_key(s.name), s.parser, s.doc) for s in self.settings)
        return (columns, *settings)


def _check_bloom_size(settings: Mapping[str, object]) -> None:
    items, fpp = settings["items"], settings["fpp"]
    if not isinstance(items, int) or not isinstance(fpp, float):
        message = f"expected a number of items and a rate, found {items!r} and {fpp!r}"
        raise InvalidData(message)
    bloom_size(items, fpp)


BLOOM_FILTERS: Final = IndexDeclaration(
    BLOOM_FILTER,
    "a bloom filter",
    "Columns with a bloom filter in each new data file: a filter with = or IN skips files that do not have the value. "
    "m[key] is the value that the column m, a MAP with text as keys, has for one key.",
    has_fast_hash,
    (
        Setting(
            "fpp",
            probability,
            DEFAULT_FPP,
            "Share of the files without a value that may be read for it nevertheless; 0.1 when absent.",
        ),
        Setting(
            "items",
            integer(1, MAX_INT),
            DEFAULT_ITEMS,
            "Distinct values in a file that the filter is made for; 1000000 when absent.",
        ),
    ),
    _check_bloom_size,
)

BITMAPS: Final = IndexDeclaration(
    BITMAP,
    "a bitmap index",
    "Columns with a bitmap of rows for each value in each new data file: for columns of few values. Filters of any "
    "comparison skip files and select rows.",
    has_bitmap,
    (
        Setting(
            "version",
            integer(1, 2),
            2,
            "1 is the version that Paimon 0.9 reads, 2 has blocks of which a reader needs one; 2 when absent.",
        ),
        Setting(
            "index-block-size",
            size(1),
            16_384,
            "Bytes of a block of values in version 2; 16 kb when absent.",
        ),
    ),
)

BIT_SLICES: Final = IndexDeclaration(
    BSI,
    "a bit-slice index",
    "Columns of whole numbers, dates, times or DECIMAL with a bit-slice index in each new data file: for columns of "
    "many values. Filters of any comparison skip files and select rows.",
    has_bit_slices,
)

RANGE_BITMAPS: Final = IndexDeclaration(
    RANGE_BITMAP,
    "a range bitmap",
    "Columns with bit slices of the ranks of their values in each new data file: for columns of many values of any "
    "comparable type. Filters of any comparison skip files and select rows.",
    has_range_bitmap,
    (
        Setting(
            "chunk-size",
            size(),
            None,
            "Bytes of a chunk of the dictionary of values; 16 kb when absent, and one value for BOOLEAN, TINYINT and "
            "SMALLINT.",
        ),
    ),
)

DECLARED_INDEXES: Final[Mapping[str, IndexDeclaration]] = {
    declared.identifier: declared for declared in (BLOOM_FILTERS, BITMAPS, BIT_SLICES, RANGE_BITMAPS)
}
"""By the name they have in options and in files."""
