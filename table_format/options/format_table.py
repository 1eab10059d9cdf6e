"""Options of format tables (Java ``CsvOptions``, ``JsonOptions``, ``TextOptions``, ``CoreOptions``)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.limits import MIB
from table_format.nearest_names import did_you_mean
from table_format.options.check_secrets import refuse_secret
from table_format.options.declare import Option, declared_in, parse_group, parse_value, unsupported
from table_format.options.files import PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME, TARGET_FILE_SIZE
from table_format.options.identity import PATH
from table_format.options.kind import kind_of
from table_format.options.values import boolean, choice, optional, text, verbatim, word

FORMAT_TABLE: Final = "format-table"
HIVE_NULL_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"
"""The directory of a null in Hive and Spark."""
PERMISSIVE: Final = "permissive"
DROP_MALFORMED: Final = "dropmalformed"
FAIL_FAST: Final = "failfast"
_DEFAULT_FILE_BYTES: Final = 128 * MIB
_LINE_ENDS: Final = ("\n", "\r\n", "\r")
_NO_CHARACTER: Final = "\0"

TYPE = Option("type", choice(FORMAT_TABLE), FORMAT_TABLE, "Must be 'format-table'.", immutable=True)
FILE_FORMAT = Option(
    "file.format", choice("csv", "json", "orc", "parquet", "text"), "parquet", "Format of the files.", immutable=True
)
COMPRESSION = Option(
    "format-table.file.compression",
    optional(word(uncompressed="none", gz="gzip")),
    None,
    "Compression of new files: snappy, zstd, gzip, lz4 or none in Parquet; zstd, snappy, zlib, lz4 or none in ORC; "
    "gzip or none in CSV, JSON and text. By default snappy in Parquet, zstd in ORC, and none in the others.",
    fallback_keys=("file.compression", "compression"),
)
ONLY_VALUES_IN_PATH = Option(
    "format-table.partition-path-only-value",
    boolean,
    False,
    "Whether the directory of a partition is its value, `2026-01-01`, instead of `dt=2026-01-01`.",
    immutable=True,
)
IMPLEMENTATION = Option(
    "format-table.implementation",
    choice("paimon", "engine"),
    "paimon",
    "Whether Spark in Java reads the files itself.",
    hint=True,
)
SYNC_URL = unsupported(
    "format-table.commit-hive-sync-url", optional(text), None, "Another metastore that lists new partitions."
)
FIELD_DELIMITER = Option(
    "csv.field-delimiter",
    verbatim,
    ",",
    "Character between the values of a line.",
    fallback_keys=("field-delimiter", "seq"),
)
LINE_DELIMITER = Option(
    "csv.line-delimiter",
    verbatim,
    "\n",
    "End of a line: a line feed, a carriage return, or both.",
    fallback_keys=("lineSep",),
    honoured=_LINE_ENDS,
)
QUOTE = Option(
    "csv.quote-character", verbatim, '"', "Character around values. U+0000 for none.", fallback_keys=("quote",)
)
ESCAPE = Option(
    "csv.escape-character",
    verbatim,
    "\\",
    "Character before a quote or another escape character in a value. U+0000 for none.",
    fallback_keys=("escape",),
)
HEADER = Option(
    "csv.include-header",
    boolean,
    False,
    "Whether the first line of each file has the names of the columns. Readers skip it.",
    fallback_keys=("header",),
)
NULL_LITERAL = Option(
    "csv.null-literal",
    verbatim,
    "",
    "Text of a null. A text column with this value is read as null.",
    fallback_keys=("nullvalue",),
)
MODE = Option(
    "csv.mode",
    choice(PERMISSIVE, DROP_MALFORMED, FAIL_FAST),
    PERMISSIVE,
    "What becomes of a value that does not fit its column: null, the line is left out, or an error.",
    fallback_keys=("mode",),
)
JSON_IGNORE_ERRORS = Option(
    "json.ignore-parse-errors",
    boolean,
    False,
    "Whether a line that is not JSON is left out, and a value that does not fit its column is null.",
)
JSON_LINE_DELIMITER = Option("json.line-delimiter", verbatim, "\n", "End of a line, as for CSV.", honoured=_LINE_ENDS)
JSON_NULL_KEYS = unsupported("json.map-null-key-mode", choice("fail", "drop", "literal"), "fail", "Null keys of maps.")
JSON_NULL_KEY_LITERAL = Option("json.map-null-key-literal", text, "null", "Text of a null key of a map.", hint=True)
TEXT_LINE_DELIMITER = Option(
    "text.line-delimiter",
    verbatim,
    "\n",
    "End of a line, as for CSV.",
    fallback_keys=("lineSep",),
    honoured=_LINE_ENDS,
)
_OF_FORMAT: Final[Mapping[str, str]] = {"csv": "csv.", "json": "json.", "text": "text."}
_COMPRESSIONS: Final[Mapping[str, Collection[str]]] = {
    "parquet": ("snappy", "zstd", "gzip", "lz4", "none"),
    "orc": ("zstd", "snappy", "zlib", "lz4", "none"),
}
_DEFAULT_COMPRESSION: Final[Mapping[str, str]] = {"parquet": "snappy", "orc": "zstd"}
_OF_TEXTS: Final = ("gzip", "none")


@dataclass(frozen=True, slots=True)
class FormatTableOptions:
    """What the files of a format table look like, and how their partitions are named."""

    type: str = TYPE.field()
    file_format: str = FILE_FORMAT.field()
    path: str | None = PATH.field()
    given_compression: str | None = COMPRESSION.field()
    given_file_bytes: int | None = TARGET_FILE_SIZE.field()
    partition_default_name: str = PARTITION_DEFAULT_NAME.field()
    partition_legacy_name: bool = PARTITION_LEGACY_NAME.field()
    only_values_in_path: bool = ONLY_VALUES_IN_PATH.field()
    implementation: str = IMPLEMENTATION.field()
    sync_url: str | None = SYNC_URL.field()
    field_delimiter: str = FIELD_DELIMITER.field()
    csv_line_delimiter: str = LINE_DELIMITER.field()
    quote: str = QUOTE.field()
    escape: str = ESCAPE.field()
    header: bool = HEADER.field()
    null_literal: str = NULL_LITERAL.field()
    mode: str = MODE.field()
    json_ignore_errors: bool = JSON_IGNORE_ERRORS.field()
    json_line_delimiter: str = JSON_LINE_DELIMITER.field()
    json_null_keys: str = JSON_NULL_KEYS.field()
    json_null_key_literal: str = JSON_NULL_KEY_LITERAL.field()
    text_line_delimiter: str = TEXT_LINE_DELIMITER.field()

    @property
    def compression(self) -> str:
        """The compression of new files.

        >>> FormatTableOptions().compression, FormatTableOptions(file_format="csv").compression
        ('snappy', 'none')
        """
        return self.given_compression or _DEFAULT_COMPRESSION.get(self.file_format, "none")

    @property
    def line_delimiter(self) -> str:
        """The end of a line of the files."""
        ends = {"json": self.json_line_delimiter, "text": self.text_line_delimiter}
        return ends.get(self.file_format, self.csv_line_delimiter)

    @property
    def quote_character(self) -> str | None:
        """The character around values; ``None`` without one."""
        return None if self.quote == _NO_CHARACTER else self.quote

    @property
    def escape_character(self) -> str | None:
        """The character before a quote in a value; ``None`` without one."""
        return None if self.escape == _NO_CHARACTER else self.escape

    @property
    def target_file_bytes(self) -> int:
        """The size of the rows in memory, in bytes, at which a new file is closed."""
        return self.given_file_bytes or _DEFAULT_FILE_BYTES


_KNOWN: Final[Mapping[str, Option[object]]] = {
    key: option for option in declared_in(FormatTableOptions) if isinstance(option, Option) for key in option.keys
}


def is_format_table(options: Mapping[str, str]) -> bool:
    """Return whether the options are those of a format table.

    >>> is_format_table({"type": "format-table"}), is_format_table({})
    (True, False)
    """
    return kind_of(options) == FORMAT_TABLE


def is_known(key: str) -> bool:
    """Return whether a format table has the option."""
    return key in _KNOWN


def check_new_options(options: Mapping[str, str]) -> FormatTableOptions:
    """Check the options of a new format table.

    Raises:
        InvalidOption: a key is unknown to format tables or has no effect on this one, or a value is malformed.
        UnsupportedFeature: a value is not supported.
    """
    for key, value in options.items():
        refuse_secret(key, value)
        option = _KNOWN.get(key)
        if option is None:
            advice = did_you_mean(key, _KNOWN, show=repr, cutoff=0.75)
            raise InvalidOption(key, f"is not an option of a format table{advice}")
        parse_value(key, option.parser, value)
    parsed = parse_options(options)
    for key in options:
        owner = next((name for name, prefix in _OF_FORMAT.items() if _KNOWN[key].key.startswith(prefix)), None)
        # The key 'lineSep' is that of CSV and of text.
        if owner not in (None, parsed.file_format) and key != "lineSep":
            raise InvalidOption(key, f"has no effect on a format table of {parsed.file_format} files; leave it out")
    return parsed


def parse_options(options: Mapping[str, str]) -> FormatTableOptions:
    """Read the options of a format table. Keys that it does not know are ignored.

    Raises:
        InvalidOption: a value is malformed. UnsupportedFeature: a value is not supported.
    """
    parsed = parse_group(FormatTableOptions, options)
    for option in declared_in(FormatTableOptions):
        if isinstance(option, Option) and not option.is_honoured(option.read(options)):
            _refuse(option.key, option.read(options))
    if parsed.compression not in _COMPRESSIONS.get(parsed.file_format, _OF_TEXTS):
        _refuse(COMPRESSION.key, parsed.compression)
    if parsed.file_format == "csv":
        _check_characters(parsed)
    return parsed


def _check_characters(options: FormatTableOptions) -> None:
    characters = {FIELD_DELIMITER: options.field_delimiter, QUOTE: options.quote, ESCAPE: options.escape}
    for option, value in characters.items():
        if len(value) != 1 or not value.isascii() or value in "\r\n" or value == options.field_delimiter == "\0":
            raise InvalidOption(option.key, f"{value!r} is not a legal value; it takes one ASCII character")
    for option in (QUOTE, ESCAPE):
        if characters[option] == options.field_delimiter:
            raise InvalidOption(option.key, "is the same as the field delimiter")
    if options.quote == options.escape != _NO_CHARACTER:
        raise InvalidOption(ESCAPE.key, "is the same as the quote character")
    special = [c for c in (options.field_delimiter, options.quote_character, options.escape_character) if c]
    if any(c in options.null_literal for c in (*special, "\r", "\n")):
        message = (
            f"{options.null_literal!r} has the field delimiter, the quote or the escape character, so no reader would "
            f"find it; set '{QUOTE.key}' or '{ESCAPE.key}' to another character"
        )
        raise InvalidOption(NULL_LITERAL.key, message)


def _refuse(key: str, value: object) -> None:
    feature = f"{key}={value!r}"
    message = f"option '{key}' = {value!r} is not supported for format tables by this version"
    raise UnsupportedFeature(feature, message)
