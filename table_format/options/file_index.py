"""Indexes over columns of single data files, by which readers skip files and rows (format chapter 09, section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from table_format.model.file_index import column_of
from table_format.options.declare import Option, OptionFamily
from table_format.options.index_types import DECLARED_INDEXES
from table_format.options.values import boolean, size

IN_MANIFEST_THRESHOLD = Option(
    "file-index.in-manifest-threshold",
    size(),
    500,
    "Maximum total size at which the indexes of a data file are stored in the manifest. Larger indexes are stored in a "
    "file next to the data file.",
)
READ_ENABLED = Option("file-index.read.enabled", boolean, True, "Use file indexes to skip files.")
INDEX_OPTIONS = OptionFamily(tuple(option for declared in DECLARED_INDEXES.values() for option in declared.options))


@dataclass(frozen=True, slots=True)
class FileIndexOptions:
    """Which columns have indexes in files, and with which settings."""

    values: Mapping[str, object] = INDEX_OPTIONS.field()
    """The values of the options that types of index declare, by key; those of settings by column."""
    in_manifest_threshold: int = IN_MANIFEST_THRESHOLD.field()
    read_enabled: bool = READ_ENABLED.field()

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """The columns, or keys of map columns, that each type of index is made for.

        >>> FileIndexOptions(values={"file-index.bloom-filter.columns": ("a", "m[k]")}).columns
        {'bloom-filter': ('a', 'm[k]')}
        """
        found = {
            identifier: cast("tuple[str, ...]", self.values.get(declared.columns_key, ()))
            for identifier, declared in DECLARED_INDEXES.items()
        }
        return {identifier: columns for identifier, columns in found.items() if columns}

    def stated(self, index_type: str, setting: str) -> Mapping[str, object]:
        """The values that options state for a setting, by column."""
        return cast("Mapping[str, object]", self.values.get(DECLARED_INDEXES[index_type].setting_key(setting), {}))

    def settings_of(self, index_type: str, column: str) -> Mapping[str, object]:
        """All settings of the index of one column; what is stated for a map counts for all of its keys.

        >>> options = FileIndexOptions(values={"file-index.bloom-filter.<column>.items": {"m": 5, "m[a]": 7}})
        >>> options.settings_of("bloom-filter", "m[a]"), options.settings_of("bloom-filter", "m[b]")
        ({'fpp': 0.1, 'items': 7}, {'fpp': 0.1, 'items': 5})
        """
        return DECLARED_INDEXES[index_type].with_defaults(self.stated_of(index_type, column))

    def stated_of(self, index_type: str, column: str) -> Mapping[str, object]:
        """The same without defaults.

        >>> FileIndexOptions(values={"file-index.bloom-filter.<column>.items": {"m": 5}}).stated_of("bloom-filter", "m")
        {'items': 5}
        """
        return {
            setting.name: values[name]
            for setting in DECLARED_INDEXES[index_type].settings
            for values in (self.stated(index_type, setting.name),)
            for name in (column_of(column), column)
            if name in values
        }
