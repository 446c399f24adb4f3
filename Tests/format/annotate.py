#!/usr/bin/env python3
"""Prints the table of section 12 of FORMAT.md for a small file: every field that is not zero, with what it means.

    annotate.py FILE

For files like Tests/golden/annotated.latewood: leaves only, values within them, lengths below 128.
"""

import struct
import sys

from latewood_log import CHECKPOINT, COMMIT, NODES, SLOTS, file_units, read_frame

HEADER = [
    (0, 8, "magic"), (8, 4, "format version"), (16, 16, "file id"), (32, 8, "created: {} us after 1970"),
    (48, 16, "database id"), (4088, 8, "checksum")]
SLOT = [
    (0, 8, "checksum"), (8, 8, "generation {}"), (16, 8, "checkpoint offset {}"), (24, 8, "checkpoint checksum"),
    (32, 8, "durable through {}"), (40, 8, "transaction {}"), (48, 8, "time: {} us after 1970")]
FRAME = [
    (0, 8, "checksum"), (8, 4, "magic"), (12, 1, "kind {}"), (16, 8, "own offset {}"), (24, 8, "transaction {}"),
    (32, 8, "previous checksum"), (40, 8, "durable through {}"), (48, 8, "payload length {}")]
CHECKPOINT_FIELDS = [
    (0, 8, "root offset {}"), (8, 4, "root length {}"), (12, 4, "root checksum: the first 4 bytes of the root"),
    (16, 8, "entries {}"), (24, 8, "live bytes {}"), (40, 8, "replay offset {}"),
    (48, 8, "replay previous checksum: of the nodes frame"), (56, 8, "transaction {}"), (64, 8, "time: {} us after 1970")]
NODE = [
    (0, 8, "checksum"), (8, 1, "kind {}: leaf"), (10, 2, "count {}"), (12, 4, "length {}"), (16, 8, "own offset {}"),
    (24, 8, "transaction {}"), (32, 2, "prefix length {}")]
OPERATIONS = {1: "put", 2: "put extent", 3: "delete", 4: "delete range"}


class Annotation:
    """The rows of the table, in the order of the file."""

    def __init__(self, data):
        self.data = data

    def row(self, offset, length, meaning):
        shown = self.data[offset:offset + length]
        if any(shown):
            number = int.from_bytes(shown, "little")
            print(f"| {offset} | {shown.hex(' ')} | {meaning.format(number)} |")
        return offset + length

    def fields(self, offset, fields, what):
        for at, length, meaning in fields:
            self.row(offset + at, length, f"{what}: {meaning}")

    def text(self, offset, length):
        shown = self.data[offset:offset + length]
        return "".join(chr(byte) if 33 <= byte < 127 else f"\\x{byte:02x}" for byte in shown)

    def full_key(self, offset, length):
        return f"keyspace {int.from_bytes(self.data[offset:offset + 4], 'big')}, `{self.text(offset + 4, length - 4)}`"

    def commit(self, frame):
        at = frame.payload
        while at < frame.end:
            code, key, value = self.data[at:at + 3]
            at = self.row(at, 3, f"{OPERATIONS[code]}, full key of {key}, value of {value}")
            at = self.row(at, key, f"full key: {self.full_key(at, key)}")
            at = self.row(at, value, f"value: `{self.text(at, value)}`")

    def leaf(self, offset):
        self.fields(offset, NODE, "leaf")
        count, prefix = struct.unpack_from("<H", self.data, offset + 10)[0], self.data[offset + 32]
        heads, slots = offset + 40, offset + 40 + 4 * count
        for index in range(count):
            self.row(heads + 4 * index, 4, f"head {index}")
        cells = [self.row(slots + 2 * index, 2, "slot %d: {}" % index) and
                 struct.unpack_from("<H", self.data, slots + 2 * index)[0] for index in range(count)]
        self.row(slots + 2 * count, prefix, "prefix")
        for cell in cells:
            at = offset + cell
            key, value = self.data[at], self.data[at + 1] >> 1
            at = self.row(at, 2, f"cell: key of {key} after the prefix, value of {value} within it")
            at = self.row(at, key, f"the rest of the full key: `{self.text(at, key)}`")
            at = self.row(at, value, f"value: `{self.text(at, value)}`")

    def whole(self):
        units = file_units(self.data)
        self.fields(0, HEADER, "header")
        self.fields(4096, HEADER, "copy of the header")
        for place, offset in enumerate(SLOTS):
            self.fields(offset, SLOT, f"slot {place}")
        frame = read_frame(self.data, units, 16384)
        while frame:
            kind = {COMMIT: "commit", NODES: "nodes", CHECKPOINT: "checkpoint"}[frame.header.kind]
            self.fields(frame.offset, FRAME, kind)
            if frame.header.kind == COMMIT:
                self.commit(frame)
            elif frame.header.kind == NODES:
                self.leaf((frame.payload + 63) & ~63)
            else:
                self.fields(frame.payload, CHECKPOINT_FIELDS, kind)
            frame = read_frame(self.data, units, frame.next)
        print(f"| {len(self.data)} | | the end of the file |")


HEAD = "| offset | bytes | meaning |\n| ---: | --- | --- |"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    print(HEAD)
    Annotation(data).whole()


if __name__ == "__main__":
    main()
