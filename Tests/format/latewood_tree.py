"""The B+tree of a checkpoint: sections 8 and 11 of FORMAT.md, with all the checks a reader may leave out."""

import os
import struct
from collections import namedtuple

from latewood_log import FRAMES_START, MAX_FULL_KEY, MAX_NODE, MAX_VALUE, Damaged, read_varint

LEAF, BRANCH = 1, 2
NODE_HEADER_LENGTH = 40
CHILD_LENGTH = 32
MAX_LEVEL = 27

Header = namedtuple("Header", "checksum kind level count length own_offset transaction prefix_length")
Reference = namedtuple("Reference", "offset length checksum entries live_bytes")


class Node:
    """One node whose checksum, identity and inner bounds are proven."""

    def __init__(self, units, reference, level):
        data, offset, length = units.data, reference.offset, reference.length
        self.offset = offset
        self.data = units.plain
        if offset % 64 or offset < FRAMES_START or length > MAX_NODE or offset + length > len(data):
            raise Damaged(offset, "a reference to a node is outside the file or not aligned")
        if length < NODE_HEADER_LENGTH + units.trailer:
            raise Damaged(offset, "a node is shorter than its header")
        self.header = header = Header(*struct.unpack_from("<QBBHIQQH", data, offset))
        if header.checksum != units.checksum(offset + 8, offset + length):
            raise Damaged(offset, "the checksum of a node is wrong")
        if header.checksum & 0xFFFFFFFF != reference.checksum or header.own_offset != offset or header.length != length:
            raise Damaged(offset, "a node is not the one its reference means")
        if header.level != level or level > MAX_LEVEL or header.kind != (BRANCH if level else LEAF):
            raise Damaged(offset, "a node is of the wrong level or kind")
        if header.count == 0:
            raise Damaged(offset, "a node is empty")
        units.open_node(offset, offset + length)
        self.end = offset + length - units.trailer
        self._read_arrays()

    def _read_arrays(self):
        count, at = self.header.count, self.offset + NODE_HEADER_LENGTH
        children = count * CHILD_LENGTH if self.header.kind == BRANCH else 0
        if at + children + count * 6 + self.header.prefix_length > self.end:
            raise Damaged(self.offset, "the arrays of a node go beyond it")
        self.children = [
            Reference(*struct.unpack_from("<QIIQQ", self.data, at + CHILD_LENGTH * index))
            for index in range(count)] if children else []
        at += children
        heads = struct.unpack_from(f"<{count}I", self.data, at)
        slots = struct.unpack_from(f"<{count}H", self.data, at + 4 * count)
        at += 6 * count
        self.cells_start = at + self.header.prefix_length
        self.prefix = bytes(self.data[at:self.cells_start])
        self.cells = []
        for index in range(count):
            if index == 0 and children:
                if heads[0] or slots[0]:
                    raise Damaged(self.offset, "the first child of a branch has a head or a slot")
                self.cells.append((b"", None))
                continue
            self.cells.append(self._read_cell(self.offset + slots[index]))
            rest = self.cells[-1][0][len(self.prefix):]
            if int.from_bytes(rest[:4].ljust(4, b"\0"), "big") != heads[index]:
                raise Damaged(self.offset, "a head does not match its key")
        keys = [key for key, _ in self.cells[1 if children else 0:]]
        if any(not low < high for low, high in zip(keys, keys[1:])):
            raise Damaged(self.offset, "the keys of a node do not ascend")
        if self.prefix != (os.path.commonprefix([keys[0], keys[-1]]) if keys else b""):
            raise Damaged(self.offset, "the prefix of a node is not the longest common prefix of its keys")

    def _read_cell(self, at):
        """The full key of a cell, and of a leaf where its value is: (low, high, checksum of an extent or None)."""
        if not self.cells_start <= at < self.end:
            raise Damaged(self.offset, "a cell is outside its node")
        length, at = self._read_length(at)
        size = 0
        if self.header.kind == LEAF:
            size, at = self._read_length(at)
        if at + length > self.end or length + len(self.prefix) > MAX_FULL_KEY:
            raise Damaged(self.offset, "a key goes beyond its node")
        key, at = self.prefix + bytes(self.data[at:at + length]), at + length
        if self.header.kind == BRANCH:
            return key, None
        if len(key) < 5 or size >> 1 > MAX_VALUE:
            raise Damaged(self.offset, "the length of a key or a value is not allowed")
        stored = 12 if size & 1 else size >> 1
        if at + stored > self.end:
            raise Damaged(self.offset, "a value goes beyond its node")
        if size & 1:
            offset, checksum = struct.unpack_from("<QI", self.data, at)
            return key, (offset, offset + (size >> 1), checksum)
        return key, (at, at + (size >> 1), None)

    def _read_length(self, at):
        number = read_varint(self.data, at, self.end)
        if number is None:
            raise Damaged(self.offset, "a length in a cell is not a proper number")
        return number


def read_tree(units, checkpoint):
    """The entries of a checkpoint's tree in key order: full key -> range of the value in the file."""
    entries = {}
    if checkpoint is None or checkpoint.root_offset == 0:
        return entries
    root = Reference(
        checkpoint.root_offset, checkpoint.root_length, checkpoint.root_checksum,
        checkpoint.entries, checkpoint.live_bytes)
    places = []
    _read_subtree(units, root, checkpoint.root_level, (b"", None), entries, places)
    places.sort()
    for (_, end), (start, _) in zip(places, places[1:]):
        if start < end:
            raise Damaged(start, "two nodes or extents lie in the same place")
    return entries


def _read_subtree(units, reference, level, bounds, entries, places):
    """Adds what is under a node to `entries` and `places`; gives the totals that its parent should know."""
    low, high = bounds
    node = Node(units, reference, level)
    places.append((node.offset, node.offset + node.header.length))
    live, count = node.header.length, 0
    if level == 0:
        for key, (start, end, checksum) in node.cells:
            if key < low or (high is not None and key >= high):
                raise Damaged(node.offset, "a key is not within the separators around its node")
            if checksum is not None:
                check_extent(units, start, end, checksum)
                live += end - start + units.trailer
                places.append((start, end + units.trailer))
            entries[key] = (start, end)
            count += 1
    else:
        separators = [key for key, _ in node.cells[1:]]
        if any(key <= low or (high is not None and key >= high) for key in separators):
            raise Damaged(node.offset, "a separator is not within the separators around its node")
        edges = [low] + separators + [high]
        for child, below in zip(node.children, zip(edges, edges[1:])):
            totals = _read_subtree(units, child, level - 1, below, entries, places)
            count, live = count + totals[0], live + totals[1]
    if count != reference.entries or live != reference.live_bytes:
        raise Damaged(node.offset, "the totals of a subtree are not what it holds")
    return count, live


def check_extent(units, start, end, checksum):
    if start < FRAMES_START or end + units.trailer > len(units.data):
        raise Damaged(start, "an extent is outside the file")
    units.open_extent(start, end, checksum)
