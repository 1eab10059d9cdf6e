"""All hard limits in one place. A file beyond a limit is refused before memory is allocated for it."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

MAX_JSON_BYTES: Final = 64 * MIB
"""Snapshot, schema, tag, consumer and statistics files."""

MAX_JSON_DEPTH: Final = 64

MAX_JSON_MARKS: Final = 1_000_000
"""Commas and colons in one JSON file, an upper bound of its members and items. A schema of ``MAX_COLUMNS`` has a
tenth.
"""

MAX_HINT_BYTES: Final = 1 * MIB
"""The hints ``LATEST`` and ``EARLIEST``, which hold one number."""

MAX_UNANNOUNCED_BYTES: Final = 16 * MIB
"""A manifest or index up to this size is read before its size is compared with the recorded one."""

MAX_AVRO_BYTES: Final = 512 * MIB
"""One manifest, manifest list or index manifest, as stored."""

MAX_AVRO_BLOCK_EXPANSION: Final = 64
"""Decompressed bytes of an Avro block for each stored byte ..."""

MAX_AVRO_BLOCK_BYTES: Final = 256 * MIB
"""... and never more than this."""

MIN_AVRO_BLOCK_ALLOWANCE: Final = 1 * MIB
"""A block may always expand to this much, whatever its stored size."""

MAX_AVRO_EXPANSION: Final = 256
"""Decompressed bytes of all blocks of an Avro file for each byte of it ..."""

MIN_AVRO_ALLOWANCE: Final = 64 * MIB
"""... or this much: entries of wide tables may be long and nearly equal."""

MIN_LIST_ALLOWANCE: Final = 8 * MIB
"""Bytes to which a manifest list may always expand. Its entries are short."""

MIN_ENTRIES_ALLOWANCE: Final = 65_536
"""Entries that a manifest or index manifest may always have, plus one more for each of its bytes."""

MIN_LISTED_ALLOWANCE: Final = 16_384
"""Manifests that a manifest list may always name, plus one for every 8 of its bytes: names contain UUIDs."""

LISTED_BYTES: Final = 8

MAX_DELETION_VECTOR_BYTES: Final = 544 * MIB
"""One deletion vector: an uncompressed bitmap of 2 to the 32 rows."""

MAX_FILE_INDEX_BYTES: Final = 512 * MIB
"""One index of one column of a data file. A bloom filter has at most 256 MiB."""

MAX_FILE_INDEX_HEAD_BYTES: Final = 16 * MIB
"""The header that locates all indexes of a data file."""

MAX_ORC_BLOCK_BYTES: Final = 64 * MIB
"""One compressed chunk of an ORC file, expanded."""

MAX_NAME_BYTES: Final = 255
"""Database, table, column, tag, branch and consumer names, UTF-8."""

MAX_FILE_NAME_BYTES: Final = 255
"""One name in a directory: the limit of local file systems."""

MAX_PATH_BYTES: Final = 4095
"""A whole path: the limit of local file systems."""

TEMPORARY_NAME_BYTES: Final = 42
"""Characters that the name of a temporary file adds: dots, a UUID and ``tmp``."""

MAX_COMMIT_USER_BYTES: Final = 4096

MAX_SEQUENCE_NUMBER: Final = 1 << 62
"""The sequence number of one row. It counts the rows of a bucket, so none comes near."""

MAX_INT: Final = (1 << 31) - 1
"""Buckets, levels and field ids are integers of 32 bits."""

MAX_COLUMNS: Final = 16_384

MAX_BUCKETS: Final = 32_768
