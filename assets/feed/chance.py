"""Random numbers without state: a number is a pure function of (seed, stream, id).

Numbers are not drawn in sequence, so each day can be generated without the days before it, and a change of a library
cannot change the data. The mixer is SplitMix64.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Truths: TypeAlias = npt.NDArray[np.bool_]
Words: TypeAlias = npt.NDArray[np.object_]

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
_UNIT: Final = 2.0**-53


def chance(seed: int, stream: str, ids: Ints) -> Floats:
    """Return one number in [0, 1) for each id. Streams are independent of each other.

    >>> [round(float(x), 4) for x in chance(7, "amount", np.array([1, 2, 1]))]
    [0.8171, 0.967, 0.8171]
    """
    start = np.uint64(int.from_bytes(blake2b(f"{seed}/{stream}".encode(), digest_size=8).digest(), "little"))
    with np.errstate(over="ignore"):
        mixed = start + (ids.astype(np.uint64) + np.uint64(1)) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * _UNIT


def between(low: int, high: int, numbers: Floats) -> Ints:
    """Map numbers in [0, 1) to whole numbers in [low, high).

    >>> between(10, 20, np.array([0.0, 0.55, 0.999])).tolist()
    [10, 15, 19]
    """
    return low + np.floor(numbers * (high - low)).astype(np.int64)


def favourite(count: int, numbers: Floats) -> Ints:
    """Map numbers to ranks in [0, count). Low ranks are much more frequent: hot keys.

    >>> favourite(1000, np.array([0.1, 0.5, 0.9])).tolist()
    [1, 125, 729]
    """
    return np.floor(numbers * numbers * numbers * count).astype(np.int64)
