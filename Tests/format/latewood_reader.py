#!/usr/bin/env python3
"""Reads a Latewood file and prints what it holds. Written from FORMAT.md alone; shares no code with the library.

    latewood_reader.py FILE               a JSON object for each key, keyspaces by name, keys in order
    latewood_reader.py --summary FILE     one JSON object about the file

The file is only read. Exit code 0: the file is sound; 2: wrong usage; 3: the file is damaged, the offset and the reason
are on standard error; 4: it is not a Latewood file, or of a version or with features this reader does not know.
"""

import argparse
import bisect
import json
import mmap
import os
import sys

from latewood_log import (
    DELETE, DELETE_RANGE, FRAMES_START, Damaged, Log, Rejected, file_seed, operations, read_slots)
from latewood_tree import read_tree

MAX_NUMBER = 4294967294


class Entries:
    """Full keys and where their values are; the order of the keys is only made when a range asks for it."""

    def __init__(self, values):
        self.values = values
        self.order = None

    def put(self, key, value):
        if self.order is not None and key not in self.values:
            bisect.insort(self.order, key)
        self.values[key] = value

    def delete(self, key):
        if self.values.pop(key, None) is not None and self.order is not None:
            del self.order[bisect.bisect_left(self.order, key)]

    def delete_range(self, low, high):
        if self.order is None:
            self.order = sorted(self.values)
        first, last = bisect.bisect_left(self.order, low), bisect.bisect_left(self.order, high)
        for key in self.order[first:last]:
            del self.values[key]
        del self.order[first:max(first, last)]


class Database:
    """The newest committed state of a file."""

    def __init__(self, data):
        self.data = data
        self.seed = file_seed(data)
        if len(data) < FRAMES_START:
            raise Damaged(len(data), "the file ends before its first frame")
        self.slot, self.checkpoint, floor = read_slots(data, self.seed)
        self.log = Log(data, self.seed, self.checkpoint, floor)
        self.entries = Entries(read_tree(data, self.seed, self.checkpoint))
        for _, frames in self.log.committed:
            for frame in frames:
                self._apply(frame)
        self.keyspaces = self._read_catalog()

    def _apply(self, frame):
        for code, key, second in operations(self.data, self.seed, frame):
            if code == DELETE:
                self.entries.delete(key)
            elif code == DELETE_RANGE:
                self.entries.delete_range(key, second)
            else:
                self.entries.put(key, second)

    def value(self, key):
        start, end = self.entries.values[key]
        return self.data[start:end]

    def _read_catalog(self):
        """Section 9: the number of each keyspace by its name, which the two kinds of entries must agree on."""
        names, numbers = {}, {}
        for key in sorted(key for key in self.entries.values if key[:4] == bytes(4)):
            value, place = self.value(key), self.entries.values[key][0]
            if key[4:5] == b"n" and len(value) == 4 and 1 <= len(key) - 5 <= 1024:
                names[key[5:]] = int.from_bytes(value, "little")
            elif key[4:5] == b"i" and len(key) == 9:
                numbers[int.from_bytes(key[5:], "big")] = value
            elif key[4:] != b"c" or len(value) != 4:
                raise Damaged(place, "an entry of the catalog is none that is known")
        if {number: name for name, number in names.items()} != numbers or len(names) != len(numbers):
            raise Damaged(FRAMES_START, "the names and the numbers of the catalog do not agree")
        if any(not 1 <= number <= MAX_NUMBER for number in numbers):
            raise Damaged(FRAMES_START, "the number of a keyspace is not allowed")
        try:
            return {name.decode("utf-8"): number for name, number in sorted(names.items())}
        except UnicodeDecodeError as error:
            raise Damaged(FRAMES_START, "the name of a keyspace is not UTF-8") from error

    def listing(self):
        """Yields (name of the keyspace, key, value)."""
        by_number = {}
        for key in sorted(self.entries.values):
            by_number.setdefault(int.from_bytes(key[:4], "big"), []).append(key)
        unknown = set(by_number) - set(self.keyspaces.values()) - {0}
        if unknown:
            place = self.entries.values[by_number[min(unknown)][0]][0]
            raise Damaged(place, f"entries of keyspace {min(unknown)}, which the catalog does not know")
        for name, number in self.keyspaces.items():
            for key in by_number.get(number, []):
                yield name, key[4:], self.value(key)

    def summary(self):
        counts = {name: 0 for name in self.keyspaces}
        for name, _, _ in self.listing():
            counts[name] += 1
        tail = max(0, len(self.data) - self.log.end)
        return {
            "keyspaces": counts,
            "newest_transaction": self.log.newest,
            "generation": self.slot.generation,
            "checkpoint_offset": self.slot.checkpoint,
            "log_end": self.log.end,
            "torn_tail_bytes": tail,
        }


def read(path):
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise Rejected("the file is empty")
        return Database(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def main():
    parser = argparse.ArgumentParser(description="Print what a Latewood file holds.")
    parser.add_argument("--summary", action="store_true", help="print one object about the file")
    parser.add_argument("file")
    arguments = parser.parse_args()
    try:
        database = read(arguments.file)
        if arguments.summary:
            print(json.dumps(database.summary(), ensure_ascii=False))
            return 0
        for name, key, value in database.listing():
            line = {"keyspace": name, "key_hex": key.hex(), "value_hex": value.hex()}
            print(json.dumps(line, ensure_ascii=False))
        return 0
    except Damaged as error:
        print(error, file=sys.stderr)
        return 3
    except Rejected as error:
        print(f"rejected: {error}", file=sys.stderr)
        return 4


if __name__ == "__main__":
    sys.exit(main())
