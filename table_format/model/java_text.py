"""Java's encoding of text in streams, and its text hash (``DataOutput.writeUTF``, ``String.hashCode``)."""

from __future__ import annotations

_NUL, _LONG_NUL = b"\0", b"\xc0\x80"
_MASK = 0xFFFFFFFF


def modified_utf8(text: str) -> bytes:
    """Encode each UTF-16 code unit of a text in UTF-8; NUL takes two bytes.

    >>> modified_utf8("a\\0"), modified_utf8("\\U0001f600").hex()
    (b'a\\xc0\\x80', 'eda0bdedb880')
    """
    units = _code_units(text)
    return "".join(map(chr, units)).encode("utf-8", "surrogatepass").replace(_NUL, _LONG_NUL)


def text_of_modified_utf8(data: bytes) -> str:
    """Decode the result of ``modified_utf8``.

    >>> text_of_modified_utf8(modified_utf8("a\\0\\U0001f600")) == "a\\0\\U0001f600"
    True

    Raises:
        ValueError: the bytes are not a text in this encoding.
    """
    units = data.replace(_LONG_NUL, _NUL).decode("utf-8", "surrogatepass")
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")


def java_hash(text: str) -> int:
    """Return the hash of a string, as an unsigned 32-bit number.

    >>> java_hash("bloom-filter")
    862074498
    """
    code = 0
    for unit in _code_units(text):
        code = (31 * code + unit) & _MASK
    return code


def _code_units(text: str) -> memoryview:
    return memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
