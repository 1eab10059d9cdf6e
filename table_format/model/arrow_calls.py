"""Functions of pyarrow and numpy that the published type stubs lack or describe too narrowly.

At run time these names are the original functions; ``arrow_calls.pyi`` in this directory contains their types.
Functions that the stubs describe correctly are called directly.
"""

from __future__ import annotations

from numpy import frombuffer
from pyarrow import (
    ListArray,
    MapArray,
    NativeFile,
    PythonFile,
    chunked_array,
    concat_batches,
    map_,
    nulls,
    py_buffer,
    repeat,
    schema,
)
from pyarrow import array as arrow_array
from pyarrow.compute import (
    add,
    binary_join,
    binary_join_element_wise,
    binary_length,
    bit_wise_and,
    equal,
    fill_null,
    greater,
    if_else,
    not_equal,
    or_,
    struct_field,
    utf8_length,
)

list_array = ListArray.from_arrays
map_array = MapArray.from_arrays
read_at = NativeFile.read_at

__all__ = [
    "PythonFile",
    "add",
    "arrow_array",
    "binary_join",
    "binary_join_element_wise",
    "binary_length",
    "bit_wise_and",
    "chunked_array",
    "concat_batches",
    "equal",
    "fill_null",
    "frombuffer",
    "greater",
    "if_else",
    "list_array",
    "map_",
    "map_array",
    "not_equal",
    "nulls",
    "or_",
    "py_buffer",
    "read_at",
    "repeat",
    "schema",
    "struct_field",
    "utf8_length",
]
