"""64-bit Roaring bitmaps in the form of Java's ``Roaring64Bitmap.serialize``: an adaptive radix tree and containers.

The tree maps the upper 48 bits of a value to the place of its container. Containers are stored in insertion order, in
an array with spare capacity, and nodes with 17 to 48 children store the insertion order of their children. A union
therefore repeats the insertions of the Java library (``HighLowContainer``, ``Art``, ``Node4`` to ``Node256``).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import numpy as np

from table_format.counted import counted
from table_format.kernels.aggregates.roaring import Container, Kind, Reader, RoaringFormatError

_KEY_BYTES: Final = 6
_EMPTY: Final = 0
_FILLED: Final = 1
_NOT_TRIMMED: Final = -2
_SLOT_FREE: Final = 0xFF


class NodeKind(IntEnum):
    """The layout of a node, by its maximum number of children."""

    NODE4 = 0
    NODE16 = 1
    NODE48 = 2
    NODE256 = 3
    LEAF = 4


_ROOM: Final = {NodeKind.NODE4: 4, NodeKind.NODE16: 16, NodeKind.NODE48: 48, NodeKind.NODE256: 256}


@dataclass
class Leaf:
    """A key and the place of its container."""

    key: bytes
    place: int
    prefix: bytes = b""


@dataclass
class InnerNode:
    """Children by the byte of the key that follows the prefix."""

    kind: NodeKind
    prefix: bytes
    children: dict[int, Leaf | InnerNode] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    """For a NODE48, the slot of each child."""

    def add(self, byte: int, child: Leaf | InnerNode) -> None:
        """Add a child; a full node changes to the next larger layout."""
        if len(self.children) == _ROOM[self.kind]:
            self.kind = NodeKind(self.kind + 1)
            if self.kind is NodeKind.NODE48:
                self.slots = {b: i for i, b in enumerate(sorted(self.children))}
        self.children[byte] = child
        if self.kind is NodeKind.NODE48:
            taken = set(self.slots.values())
            place = len(self.slots)
            self.slots[byte] = place if place not in taken else next(i for i in range(48) if i not in taken)


Node = Leaf | InnerNode


@dataclass
class Bitmap64:
    """A tree and its containers; ``places`` is the array of the containers."""

    root: Node | None = None
    places: list[Container | None] = field(default_factory=list)
    last_place: int = -1

    def find(self, key: bytes) -> int | None:
        """Return the place of the container of a key, or ``None``."""
        node, depth = self.root, 0
        while isinstance(node, InnerNode):
            if key[depth : depth + len(node.prefix)] != node.prefix:
                return None
            depth += len(node.prefix)
            node = node.children.get(key[depth])
            depth += 1
        return node.place if node is not None and node.key == key else None

    def entries(self) -> list[tuple[bytes, int]]:
        """Return all keys in order, with the places of their containers."""
        found: list[tuple[bytes, int]] = []
        stack = [] if self.root is None else [self.root]
        while stack:
            node = stack.pop()
            if isinstance(node, Leaf):
                found.append((node.key, node.place))
            else:
                stack.extend(node.children[byte] for byte in sorted(node.children, reverse=True))
        return found

    def put(self, key: bytes, container: Container) -> None:
        """Add a container for a key that has none."""
        self.last_place += 1
        if self.last_place >= len(self.places):
            # Java's array grows by half.
            room = max(len(self.places) + len(self.places) // 2, self.last_place + 1)
            self.places.extend([None] * (room - len(self.places)))
        self.places[self.last_place] = container
        self.root = _inserted(self.root, Leaf(key, self.last_place), 0)

    def unite(self, newer: Bitmap64) -> None:
        """Add the values of another bitmap (Java ``Roaring64Bitmap.or`` and ``runOptimize``)."""
        for key, place in newer.entries():
            container = newer.places[place]
            if container is None:
                continue
            here = self.find(key)
            there = None if here is None else self.places[here]
            if here is None or there is None:
                self.put(key, container)
            else:
                self.places[here] = there.union(container)
        for place, container in enumerate(self.places):
            if container is not None:
                optimized = container.optimized()
                # The Java library keeps an optimised container only if it consists of runs.
                self.places[place] = optimized if optimized.kind is Kind.RUN else container


def _inserted(node: Node | None, leaf: Leaf, depth: int) -> Node:
    if node is None:
        return leaf
    if isinstance(node, Leaf):
        common = _common(node.key[depth:], leaf.key[depth:])
        node.prefix = b""
        branch = InnerNode(NodeKind.NODE4, leaf.key[depth : depth + common])
        branch.add(node.key[depth + common], node)
        branch.add(leaf.key[depth + common], leaf)
        return branch
    common = _common(node.prefix, leaf.key[depth:])
    if common < len(node.prefix):
        branch = InnerNode(NodeKind.NODE4, node.prefix[:common])
        branch.add(node.prefix[common], node)
        node.prefix = node.prefix[common + 1 :]
        branch.add(leaf.key[depth + common], leaf)
        return branch
    depth += len(node.prefix)
    byte = leaf.key[depth]
    if byte in node.children:
        node.children[byte] = _inserted(node.children[byte], leaf, depth + 1)
    else:
        node.add(byte, leaf)
    return node


def _common(a: bytes, b: bytes) -> int:
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))


def decode_bitmap64(data: bytes) -> Bitmap64:
    """Decode the bytes of ``Roaring64Bitmap.serialize``.

    Raises:
        RoaringFormatError: the bytes are not a 64-bit Roaring bitmap.
    """
    reader = Reader(data)
    if reader.number("B") == _EMPTY:
        return Bitmap64()
    reader.number("q")
    root = _node(reader, 0)
    lists = reader.number("i")
    if lists != 1:
        message = f"expected one list of containers, found {lists}"
        raise RoaringFormatError(message)
    reader.number("b")
    places: list[Container | None] = []
    for _ in range(reader.number("i")):
        if not reader.number("B"):
            places.append(None)
            continue
        kind = reader.number("B")
        cardinality = reader.number("i")
        if kind not in set(Kind):
            message = f"expected a container of kind 0 to 2, found {kind}"
            raise RoaringFormatError(message)
        places.append(reader.container(Kind(kind), cardinality))
    reader.number("q")
    reader.number("i")
    bitmap = Bitmap64(root, places, reader.number("i"))
    found = [place for _, place in bitmap.entries()]
    if not all(0 <= place < len(places) for place in found) or not -1 <= bitmap.last_place < len(places):
        message = f"the tree references a container beyond the {len(places)} stored ones"
        raise RoaringFormatError(message)
    return bitmap


def _node(reader: Reader, depth: int) -> Node:
    kind = reader.number("B")
    count = reader.number("H")
    prefix = reader.take(reader.number("B"))
    if kind == NodeKind.LEAF:
        return Leaf(reader.take(_KEY_BYTES), reader.number("q"), prefix)
    depth += len(prefix) + 1
    if kind > NodeKind.LEAF or depth > _KEY_BYTES:
        message = f"a node of kind {kind} cannot be at depth {depth} of a key of {_KEY_BYTES} bytes"
        raise RoaringFormatError(message)
    branch = InnerNode(NodeKind(kind), prefix)
    body, branch.slots = _bytes_of_children(reader, branch.kind, count)
    if len(set(body)) != count or sorted(body) != body:
        message = f"a node states {counted(count, 'child', 'children')} but has keys for {len(set(body))}"
        raise RoaringFormatError(message)
    for byte in body:
        branch.children[byte] = _node(reader, depth)
    return branch


def _bytes_of_children(reader: Reader, kind: NodeKind, count: int) -> tuple[list[int], dict[int, int]]:
    match kind:
        case NodeKind.NODE4:
            return list(reader.take(4)[::-1][:count]), {}
        case NodeKind.NODE16:
            return list((reader.take(8)[::-1] + reader.take(8)[::-1])[:count]), {}
        case NodeKind.NODE48:
            table = b"".join(reader.take(8)[::-1] for _ in range(32))
            slots = {byte: place for byte, place in enumerate(table) if place != _SLOT_FREE}
            return list(slots), slots
    mask = np.unpackbits(np.frombuffer(reader.take(32), np.uint8), bitorder="little")
    return np.flatnonzero(mask).tolist(), {}


def encode_bitmap64(bitmap: Bitmap64) -> bytes:
    """Encode a bitmap as ``Roaring64Bitmap.serialize`` does."""
    if bitmap.root is None:
        return bytes([_EMPTY])
    parts = [struct.pack("<Bq", _FILLED, len(bitmap.entries()))]
    _write_node(bitmap.root, parts)
    parts.append(struct.pack("<ibi", 1, _NOT_TRIMMED, len(bitmap.places)))
    for container in bitmap.places:
        if container is None:
            parts.append(b"\0")
        else:
            parts.append(struct.pack("<BBi", 1, container.kind, len(container.lows)) + container.data())
    filled = sum(container is not None for container in bitmap.places)
    parts.append(struct.pack("<qii", filled, 0, bitmap.last_place))
    return b"".join(parts)


def _write_node(node: Node, parts: list[bytes]) -> None:
    kind = NodeKind.LEAF if isinstance(node, Leaf) else node.kind
    count = 0 if isinstance(node, Leaf) else len(node.children)
    parts.append(struct.pack("<BHB", kind, count, len(node.prefix)) + node.prefix)
    if isinstance(node, Leaf):
        parts.append(node.key + struct.pack("<q", node.place))
        return
    keys = sorted(node.children)
    match kind:
        case NodeKind.NODE4:
            parts.append(bytes(keys).ljust(4, b"\0")[::-1])
        case NodeKind.NODE16:
            padded = bytes(keys).ljust(16, b"\0")
            parts.append(padded[:8][::-1] + padded[8:][::-1])
        case NodeKind.NODE48:
            table = bytes(node.slots.get(byte, _SLOT_FREE) for byte in range(256))
            parts.extend(table[i : i + 8][::-1] for i in range(0, 256, 8))
        case _:
            mask = np.zeros(256, np.bool_)
            mask[keys] = True
            parts.append(np.packbits(mask, bitorder="little").tobytes())
    for byte in keys:
        _write_node(node.children[byte], parts)
