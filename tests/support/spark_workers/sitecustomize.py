"""Python runs this at the start of each process of PySpark that a session of the tests starts (``spark_session.py``).

Spark puts archives of PySpark and Py4J first on the path. Each new process compiles what it imports from there, which
takes longer than its work in tests of data sources. The daemon of ``table_format.spark`` does without them by itself.

Spark plans reads and writes of a data source in workers of PySpark's own daemons, one for each step of planning. Each
of these workers would import the library again, and Spark ends those that have been idle for a minute.
"""

import gc
import os
import sys
from importlib import import_module
from pathlib import Path

_arguments = sys.orig_argv[1:]
if any(argument.startswith("pyspark.") for argument in _arguments[:2]):
    from table_format.spark.daemon import without_archive

    _path = without_archive(sys.path, os.environ.get("SPARK_HOME"))
    if len(_path) < len(sys.path):  # PySpark is installed, and with it the Py4J that it needs
        sys.path[:] = [entry for entry in _path if not Path(entry).name.startswith("py4j-")]

_PLANNING = ("create_data_source", "plan_data_source_read", "write_into_data_source", "commit_data_source_write")
if _arguments[1:] in [["pyspark.daemon", f"pyspark.sql.worker.{step}"] for step in _PLANNING]:
    import_module(_arguments[2])
    import_module("table_format.spark.source.data_source")
    gc.collect()
    gc.freeze()
