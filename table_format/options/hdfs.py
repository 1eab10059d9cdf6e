"""Options of a catalog whose warehouse is in HDFS. The keys are those of Hadoop."""

from __future__ import annotations

from dataclasses import dataclass

from table_format.options.declare import Option
from table_format.options.values import optional, text

HTTP_ADDRESS = Option(
    "dfs.namenode.http-address",
    optional(text),
    None,
    "Host and port of the namenode's web interface, such as 'namenode:9870'; several are separated by commas. By "
    "default those of a 'webhdfs://' warehouse; required for 'hdfs://'.",
    fallback_keys=("hadoop.dfs.namenode.http-address",),
)
USER = Option(
    "hadoop.username",
    optional(text),
    None,
    "The user of HDFS. By default HADOOP_USER_NAME of the environment, or the user of the process.",
)


@dataclass(frozen=True, slots=True)
class HdfsOptions:
    """How the namenodes are reached."""

    http_address: str | None = HTTP_ADDRESS.field()
    user: str | None = USER.field()
