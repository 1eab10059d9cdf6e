"""The archive with this library that goes to workers."""

from __future__ import annotations

import zipfile
from pathlib import Path
from zipimport import zipimporter

from table_format.spark.tasks.code_shipping import _archive


def test_workers_import_compiled_modules_and_the_source_where_needed(tmp_path: Path) -> None:
    archive = _archive(tmp_path)
    types = f"{archive}/table_format/model/types"
    assert zipimporter(f"{archive}/table_format/model").get_filename("types") == f"{types}.pyc"
    kernels = zipimporter(f"{archive}/table_format/kernels")
    source = f"{archive}/table_format/kernels/compiled.py"
    assert kernels.get_filename("compiled") == kernels.get_code("compiled").co_filename == source
    # As a Python of another version sees it.
    foreign = tmp_path / "foreign.zip"
    with zipfile.ZipFile(archive) as made, zipfile.ZipFile(foreign, "w") as changed:
        changed.writestr("types.py", made.read("table_format/model/types.py"))
        changed.writestr("types.pyc", b"\0\0\r\n" + made.read("table_format/model/types.pyc")[4:])
    assert zipimporter(str(foreign)).get_filename("types") == f"{foreign}/types.py"
