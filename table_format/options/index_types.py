"""The declarations of file index types: name, supported columns and settings.

The options ``file-index.<type>.columns`` and ``file-index.<type>.<column>.<setting>`` are made of these declarations,
and so are the checks of CREATE and ALTER and the reference in docs/options.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
from table_format.options.values import MAX_INT, MAX_LONG, Parser, integer, names, probability, size

PREFIX: Final = "file-index."

SMALLEST_BLOCK: Final = 20
"""Its number of entries, and one entry: a value of 8 bytes, an offset and a length. Java fails at larger entries."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of the index of a column. A builder uses ``default`` if it is absent.

    ``needs`` is another setting with the value that this one requires.
    """

    name: str
    parser: Parser[Any]
    default: object
    doc: str
    needs: tuple[str, object] | None = None


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
    "Columns with a bloom filter in each new data file. A filter with = or IN skips files that do not contain the "
    "value. m[key] stands for the values of one key of the column m, a MAP with text keys.",
    has_fast_hash,
    (
        Setting(
            "fpp",
            probability,
            DEFAULT_FPP,
            "False-positive rate: the share of files without the value that are read nevertheless; by default 0.1.",
        ),
        Setting(
            "items",
            integer(1, MAX_INT),
            DEFAULT_ITEMS,
            "Number of distinct values per file for which the filter is sized; by default 1000000.",
        ),
    ),
    _check_bloom_size,
)

BITMAPS: Final = IndexDeclaration(
    BITMAP,
    "a bitmap index",
    "Columns with a bitmap of rows for each value in each new data file, for columns with few distinct values. Filters "
    "with any comparison skip files and select rows.",
    has_bitmap,
    (
        Setting(
            "version",
            integer(1, 2),
            2,
            "Version of the index: 1 can be read by Paimon 0.9, 2 has blocks of which a reader needs only one; by "
            "default 2.",
        ),
        Setting(
            "index-block-size",
            replace(size(1), edges=(f"{SMALLEST_BLOCK} b", "1 kb", f"{MAX_LONG} b")),
            16_384,
            "Size of a block of values in version 2, at least 20 b; by default 16 kb. Apache Paimon cannot write a "
            "text that is longer than a block less 16 bytes.",
            needs=("version", 2),
        ),
    ),
)

BIT_SLICES: Final = IndexDeclaration(
    BSI,
    "a bit-slice index",
    "Integer, date, time or DECIMAL columns with a bit-slice index in each new data file, for columns with many "
    "distinct values. Filters with any comparison skip files and select rows.",
    has_bit_slices,
)

RANGE_BITMAPS: Final = IndexDeclaration(
    RANGE_BITMAP,
    "a range bitmap",
    "Columns with bit slices of the ranks of their values in each new data file, for columns with many distinct values "
    "of any comparable type. Filters with any comparison skip files and select rows.",
    has_range_bitmap,
    (
        Setting(
            "chunk-size",
            size(),
            None,
            "Size of a chunk of the dictionary of values; by default 16 kb, and one value for BOOLEAN, TINYINT and "
            "SMALLINT.",
        ),
    ),
)

DECLARED_INDEXES: Final[Mapping[str, IndexDeclaration]] = {
    declared.identifier: declared for declared in (BLOOM_FILTERS, BITMAPS, BIT_SLICES, RANGE_BITMAPS)
}
"""By the name they have in options and in files."""
