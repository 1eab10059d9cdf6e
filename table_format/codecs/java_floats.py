"""Converts floating-point numbers to Java's text, as in partition directories, CASTs and statistics."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

_PLAIN_EXPONENTS: Final = range(-3, 7)


def float_text(value: float, *, single: bool) -> str:
    """Return the text of ``Double.toString``, or of ``Float.toString`` if ``single``.

    >>> [float_text(v, single=False) for v in (1.0, 1e20, -0.00012, 1234567.5, float("inf"))]
    ['1.0', '1.0E20', '-1.2E-4', '1234567.5', 'Infinity']
    >>> float_text(0.10000000149011612, single=True)
    '0.1'
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    shortest = np.format_float_scientific(np.float32(value) if single else value, trim="-")
    mantissa, _, exponent = shortest.removeprefix("-").partition("e")
    if len(mantissa) == 1:
        # Java always shows at least two digits, the most exact two: the smallest double is 4.9E-324, not 5.0E-324.
        mantissa, _, exponent = f"{abs(value):.1e}".partition("e")
    sign = "-" if shortest.startswith("-") else ""
    return sign + _place_point(mantissa.replace(".", "").removesuffix("0") or "0", int(exponent))


def _place_point(digits: str, exponent: int) -> str:
    """Return ``digits`` as text, with one digit before the decimal point, times ten to the power of ``exponent``."""
    if exponent not in _PLAIN_EXPONENTS:
        return f"{digits[0]}.{digits[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"
