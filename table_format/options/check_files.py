"""Checks the options of new data files: known formats, their compressions, and the types they can hold.

Format chapter 06, section 3; Java ``FileFormat.validateDataFields``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from table_format.errors import InvalidOption, UnsupportedFeature
from table_format.model.schema import TableSchema
from table_format.model.types import (
    AnyTimestampType,
    CharType,
    TimeType,
    types_in,
)
from table_format.options import changelog as changelog_options
from table_format.options import manifest as manifest_options
from table_format.options.bucket import BUCKET, POSTPONED
from table_format.options.changelog import COMPRESSION as CHANGELOG_COMPRESSION
from table_format.options.changelog import PREFIX
from table_format.options.file_formats import AVRO, FILE_FORMATS, FileFormatFacts
from table_format.options.files import (
    AVRO_COMPRESSION,
    COMPRESSION,
    COMPRESSION_PER_LEVEL,
    EXTERNAL_KEYS,
    EXTERNAL_PATHS,
    EXTERNAL_PATHS_SPECIFIC_FS,
    FORMAT,
    FORMAT_PER_LEVEL,
    ORC_COMPRESSION,
    FileOptions,
)
from table_format.options.stored_text import uncompressed_word
from table_format.options.stream import CHANGELOG_PRODUCER, ChangelogProducer
from table_format.options.table_options import TableOptions

FILE_KEYS = frozenset(
    {
        FORMAT.key,
        FORMAT_PER_LEVEL.key,
        COMPRESSION.key,
        COMPRESSION_PER_LEVEL.key,
        ORC_COMPRESSION.key,
        AVRO_COMPRESSION.key,
        BUCKET.key,
        CHANGELOG_PRODUCER.key,
        PREFIX.key,
        changelog_options.FORMAT.key,
        changelog_options.COMPRESSION.key,
        manifest_options.FORMAT.key,
        manifest_options.COMPRESSION.key,
        *EXTERNAL_KEYS,
    }
)
"""Options that decide what new files are."""


def check_files(schema: TableSchema, options: TableOptions) -> None:
    """Refuse formats and compressions that this version cannot write, and types that a format cannot hold.

    Raises:
        UnsupportedFeature: names the option and its value, or the column and its type.
        InvalidOption: no engine accepts a file name or a compression.
    """
    files, changelog = options.files, options.changelog
    if files.external_paths and files.external_paths_strategy != "none" and not files.external_paths_in_use:
        message = f"is {files.external_paths_specific_fs!r}; name the scheme of one of '{EXTERNAL_PATHS.key}'"
        raise InvalidOption(EXTERNAL_PATHS_SPECIFIC_FS.key, message)
    levels = {level for level, _ in (*files.format_per_level, *files.compression_per_level)}
    written = [files, *(files.at_level(level) for level in sorted(levels))]
    if options.stream.changelog_producer is not ChangelogProducer.NONE:
        if "/" in changelog.prefix:
            raise InvalidOption(PREFIX.key, f"{changelog.prefix!r} has a '/'; the name of a file begins with it")
        written += [changelog.files_like(at) for at in written]
    if _postpones_in_avro(schema, options):
        written += [replace(at, format=AVRO.name) for at in (files, files.at_level(0))]
    for at in written:
        facts = FILE_FORMATS.get(at.format)
        if facts is None:
            raise _unsupported(FORMAT_PER_LEVEL.key, FORMAT_PER_LEVEL.parser.show(files.format_per_level), FILE_FORMATS)
        codec = at.codec_of(facts.name)
        if codec not in facts.codecs:
            key = f"compression of {facts.name} files"
            raise _unsupported(key, codec, facts.codecs)
        check_columns(schema, facts)
    _check_word_for_no_compression(schema, options)
    manifests = options.manifest
    if manifests.format != AVRO.name and manifests.compression not in manifest_options.COLUMNAR_CODECS:
        key = f"{manifest_options.COMPRESSION.key} of {manifests.format} manifests"
        raise _unsupported(key, manifests.compression, manifest_options.COLUMNAR_CODECS)


def can_hold(schema: TableSchema, facts: FileFormatFacts) -> bool:
    """Return whether files of a format can hold all columns."""
    try:
        check_columns(schema, facts)
    except UnsupportedFeature:
        return False
    return True


def _postpones_in_avro(schema: TableSchema, options: TableOptions) -> bool:
    return options.bucket.count == POSTPONED and can_hold(schema, AVRO)


def _check_word_for_no_compression(schema: TableSchema, options: TableOptions) -> None:
    """Each format has its own word for it, and the engines in Java know no other."""
    files, changelog = options.files, options.changelog
    of_data = {files.format, *(name.lower() for _, name in files.format_per_level)}
    of_changelogs = of_data if changelog.format is None else {changelog.format}
    has_changelogs = options.stream.changelog_producer is not ChangelogProducer.NONE
    if has_changelogs and changelog.compression == "none":
        stored = changelog.format or files.format
        _require_one_word(CHANGELOG_COMPRESSION.key, files, stored, of_changelogs, "'orc.compress' or 'avro.codec'")
    if files.compression != "none":
        return
    if _postpones_in_avro(schema, options):
        of_data = of_data | {AVRO.name}
    instead = f"'{COMPRESSION_PER_LEVEL.key}', 'orc.compress' or 'avro.codec'"
    _require_one_word(COMPRESSION.key, files, files.format, of_data, instead)
    if has_changelogs and changelog.compression is None:
        both = of_data | of_changelogs
        _require_one_word(COMPRESSION.key, files, files.format, both, f"'{CHANGELOG_COMPRESSION.key}'")


def _require_one_word(key: str, files: FileOptions, stored: str, formats: Collection[str], instead: str) -> None:
    """Refuse an option that means no compression if one of the formats does not know the word that is stored for it.

    The stored word is that of the format ``stored``.

    Raises:
        InvalidOption: names the formats, their words, and what to set ``instead``.
    """
    words = {name: uncompressed_word(name) for name in sorted(formats) if files.own_codec_of(name) is None}
    word = uncompressed_word(stored)
    if any(own != word and not (word == "none" and FILE_FORMATS[name].knows_none) for name, own in words.items()):
        message = (
            f"files of {' and '.join(words)} have different words for no compression ({', '.join(words.values())}), so "
            f"one value cannot stand for both; set {instead}"
        )
        raise InvalidOption(key, message)


def check_columns(schema: TableSchema, facts: FileFormatFacts) -> None:
    """Refuse columns that files of a format cannot hold.

    Raises:
        UnsupportedFeature: names the column and its type.
    """
    for field in schema.fields:
        for data_type in types_in(field.type):
            if isinstance(data_type, CharType) and data_type.length > facts.char_length:
                feature = f"{data_type.with_nullable(True)} in {facts.title} files"
                message = (
                    f"column '{field.name}': {feature} is not supported: each value is padded to that length; take at "
                    f"most CHAR({facts.char_length}), or VARCHAR or STRING"
                )
                raise UnsupportedFeature(feature, message)
            if not isinstance(data_type, TimeType | AnyTimestampType):
                continue
            limit = facts.time_precision if isinstance(data_type, TimeType) else facts.timestamp_precision
            if data_type.precision > limit:
                feature = f"{data_type.with_nullable(True)} in {facts.title} files"
                message = f"column '{field.name}': {feature} is not part of the format; precision {limit} is the finest"
                raise UnsupportedFeature(feature, message)


def _unsupported(key: str, value: str, supported: Iterable[str]) -> UnsupportedFeature:
    message = f"{key} = '{value}' is not supported by this version; it writes {', '.join(supported)}"
    return UnsupportedFeature(f"{key}={value}", message)
