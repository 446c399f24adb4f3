#!/usr/bin/env python3
"""Reads a Latewood file and prints what it holds. Written from FORMAT.md alone; shares no code with the library.

    latewood_reader.py FILE                  a line for each keyspace, by name, and after it one for each key, in order
    latewood_reader.py --export NAME FILE    one keyspace, as `latewood export --format entries` prints it
    latewood_reader.py --summary FILE        one JSON object about the file

An encrypted file needs --password TEXT, or --raw-key with 64 hexadecimal digits.

The file is only read. Exit code 0: the file is sound; 2: wrong usage; 3: the file is damaged, the offset and the reason
are on standard error; 4: it is not a Latewood file, or of a version or with features this reader does not know.
"""

import argparse
import base64
import bisect
import json
import mmap
import os
import sys

from latewood_log import (
    DELETE, DELETE_RANGE, FRAMES_START, Damaged, Log, Rejected, file_units, operations, read_anchors, read_slots)
from latewood_tree import read_tree

MAX_NUMBER = 4294967294
MAX_NAME = 1024


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

    def __init__(self, data, key=None):
        self.data = data
        self.units = file_units(data, key)
        self.slot, self.checkpoint, floor = read_slots(data, self.units)
        self.log = Log(data, self.units, self.checkpoint, floor)
        self.entries = Entries(read_tree(self.units, self.checkpoint))
        for _, frames in self.log.committed:
            for frame in frames:
                self._apply(frame)
        self.keyspaces = self._read_catalog()

    def _apply(self, frame):
        for code, key, second in operations(self.units, frame):
            if code == DELETE:
                self.entries.delete(key)
            elif code == DELETE_RANGE:
                self.entries.delete_range(key, second)
            else:
                self.entries.put(key, second)

    def value(self, key):
        start, end = self.entries.values[key]
        return bytes(self.units.plain[start:end])

    def _read_catalog(self):
        """Section 9: the number of each keyspace by its name, which the two kinds of entries must agree on."""
        names, numbers = {}, {}
        for key in sorted(key for key in self.entries.values if key[:4] == bytes(4)):
            value, place = self.value(key), self.entries.values[key][0]
            tag, rest = key[4:5], key[5:]
            if tag in (b"n", b"c") and len(value) != 4 or tag == b"i" and len(rest) != 4:
                raise Damaged(place, "an entry of the catalog has a wrong length")
            if tag == b"n":
                names[rest] = int.from_bytes(value, "little")
            elif tag == b"i":
                numbers[int.from_bytes(rest, "big")] = value
        for name, number in names.items():
            if numbers.get(number) != name or not 1 <= number <= MAX_NUMBER or not 1 <= len(name) <= MAX_NAME:
                raise Damaged(self.entries.values[b"\0\0\0\0n" + name][0], "a keyspace has a wrong number or name")
        if len(numbers) != len(names):
            raise Damaged(FRAMES_START, "the catalog has a number without a name")
        return {name: names[name] for name in sorted(names)}

    def stray(self):
        """How many entries are in keyspaces that the catalog does not name."""
        known = set(self.keyspaces.values()) | {0}
        return sum(int.from_bytes(key[:4], "big") not in known for key in self.entries.values)

    def entries_of(self, number):
        """Yields key and value of each entry of a keyspace, in order."""
        prefix = number.to_bytes(4, "big")
        for key in sorted(key for key in self.entries.values if key[:4] == prefix):
            yield key[4:], self.value(key)

    def torn_tail(self):
        """Bytes after the log, unless all of them are zero (room that was reserved) or it ends for good."""
        if self.log.has_ended:
            return 0
        step = 1 << 20
        after = range(self.log.end, len(self.data), step)
        return len(self.data) - self.log.end if any(any(self.data[at:at + step]) for at in after) else 0

    def anchors(self):
        """Section 14: the anchors of an encrypted file in the form in which the tool prints them."""
        if not self.checkpoint or not self.units.trailer:
            return []
        return [f"{number}-{first:016x}{last:016x}" for number, first, last in read_anchors(self.data, self.units, self.slot)]

    def summary(self):
        """What --summary prints."""
        return {
            "keyspaces": {text(name): len(list(self.entries_of(number))) for name, number in self.keyspaces.items()},
            "newest_transaction": self.log.newest,
            "generation": self.slot.generation,
            "checkpoint_offset": self.slot.checkpoint,
            "log_end": self.log.end,
            "torn_tail_bytes": self.torn_tail(),
            "stray_entries": self.stray(),
            "anchors": self.anchors(),
        }


def text(name):
    """The name of a keyspace: section 9 says that it is UTF-8."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(FRAMES_START, "the name of a keyspace is not UTF-8") from error


def data_text(data):
    """Bytes as `latewood export` writes them: a string if they are UTF-8, else base64."""
    try:
        shown = data.decode("utf-8")
    except UnicodeDecodeError:
        return '{"base64":' + quoted(base64.b64encode(data).decode("ascii")) + "}"
    return quoted(shown)


def quoted(shown):
    """JSON with the escapes of `latewood export`."""
    return json.dumps(shown, ensure_ascii=False)


def print_listing(database):
    """Every keyspace with a line of its own, and then its entries, one to a line."""
    for name, number in database.keyspaces.items():
        entries = list(database.entries_of(number))
        print(json.dumps({"keyspace": text(name), "number": number, "entries": len(entries)}, ensure_ascii=False))
        for key, value in entries:
            print(json.dumps({"key_hex": key.hex(), "value_hex": value.hex()}))


def print_export(database, name):
    """What `latewood export --format entries` prints of a keyspace."""
    number = database.keyspaces.get(name.encode("utf-8"))
    if number is None:
        sys.exit(f"there is no keyspace {name}")
    for key, value in database.entries_of(number):
        print(f'{{"key":{data_text(key)},"value":{data_text(value)}}}')


def read(path, key=None):
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise Rejected("the file is empty")
        return Database(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), key)


def main():
    parser = argparse.ArgumentParser(description="Print what a Latewood file holds.")
    parser.add_argument("--export", metavar="NAME", help="print one keyspace as the tool exports it")
    parser.add_argument("--summary", action="store_true", help="print one object about the file")
    parser.add_argument("--password", help="the password of an encrypted file")
    parser.add_argument("--raw-key", type=bytes.fromhex, help="the key of an encrypted file, in hexadecimal")
    parser.add_argument("file")
    arguments = parser.parse_args()
    try:
        key = arguments.raw_key if arguments.password is None else arguments.password
        database = read(arguments.file, key)
        if arguments.summary:
            print(json.dumps(database.summary(), ensure_ascii=False))
        elif arguments.export is not None:
            print_export(database, arguments.export)
        else:
            print_listing(database)
        return 0
    except Damaged as error:
        print(error, file=sys.stderr)
        return 3
    except Rejected as error:
        print(f"rejected: {error}", file=sys.stderr)
        return 4


if __name__ == "__main__":
    sys.exit(main())
