"""Python runs this at the start of each process of PySpark that a session of the tests starts (``spark_session.py``).

Spark puts archives of PySpark and Py4J first on the path. Each new process compiles what it imports from there, which
takes longer than its work in tests of data sources. The daemon of ``table_format.spark`` does without them by itself.

Spark has a daemon of PySpark for each step of planning a Python data source. Each process that such a daemon forks,
after an error or an idle minute, imports this library, which takes longer than its work too. So the daemon imports it,
except the one that looks for data sources by their names, which Spark needs once.
"""

import gc
import os
import sys
from pathlib import Path

if any(argument.startswith("pyspark.") for argument in sys.orig_argv[1:3]):
    from table_format.spark.daemon import without_archive

    _path = without_archive(sys.path, os.environ.get("SPARK_HOME"))
    if len(_path) < len(sys.path):  # PySpark is installed, and with it the Py4J that it needs
        sys.path[:] = [entry for entry in _path if not Path(entry).name.startswith("py4j-")]

if "pyspark.daemon" in sys.orig_argv[1:3] and "pyspark.sql.worker.lookup_data_sources" not in sys.orig_argv:
    import table_format.spark.source.data_source  # noqa: F401

    gc.freeze()
