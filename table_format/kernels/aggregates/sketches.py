"""Unions of theta and HLL sketches with the DataSketches library (Java ``ThetaSketch``, ``HllSketchUtil``).

The C++ library of the Python package and the Java library differ in some unused bytes of the header; the results have
those of Java.
"""

from __future__ import annotations

from typing import Any, Final

from table_format.errors import PackageMissing

_EMPTY_THETA: Final = bytes.fromhex("01030300001e0000")
_SAMPLING_ALL: Final = bytes.fromhex("0000803f")
_FLAGS: Final = 5
_SINGLE_ITEM: Final = 0x20
_IS_EMPTY: Final = 0x04
_LG_K: Final = 3


def unite_theta(older: bytes, newer: bytes) -> bytes:
    """Return the ordered compact union of two theta sketches.

    Raises:
        RuntimeError, ValueError: the bytes are not sketches.
    """
    library = _library("theta_sketch")
    union = library.theta_union()
    for data in (older, newer):
        union.update(library.compact_theta_sketch.deserialize(data))
    return _as_java_writes(union.get_result().serialize())


def _as_java_writes(sketch: bytes) -> bytes:
    if sketch[_FLAGS] & _IS_EMPTY:
        return _EMPTY_THETA
    if sketch[0] == 1:
        return sketch[:_FLAGS] + bytes([sketch[_FLAGS] | _SINGLE_ITEM]) + sketch[_FLAGS + 1 :]
    return sketch[:12] + _SAMPLING_ALL + sketch[16:]


def unite_hll(older: bytes, newer: bytes) -> bytes:
    """Return the compact HLL_4 union of two HLL sketches, with the size of the newer one.

    Raises:
        RuntimeError, ValueError: the bytes are not sketches.
    """
    library = _library("hll_sketch")
    second = library.hll_sketch.deserialize(newer)
    union = library.hll_union(second.lg_config_k)
    union.update(second)
    union.update(library.hll_sketch.deserialize(older))
    result: bytes = union.get_result(library.tgt_hll_type.HLL_4).serialize_compact()
    return result


def _library(function: str) -> Any:  # noqa: ANN401 - the package has no types
    try:
        import datasketches  # here, because only columns with sketches need it
    except ImportError as e:
        message = f"aggregate function '{function}' needs the package datasketches, which has wheels up to Python 3.13"
        raise PackageMissing(message) from e
    return datasketches
