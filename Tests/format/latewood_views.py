#!/usr/bin/env python3
"""Checks the views of Latewood files. Written from section 13 of FORMAT.md alone; shares no code with the library.

    latewood_views.py FILE...    a line for each view; exit code 3 if rows, lists and sums do not agree
"""

import struct

from latewood_checks import need, run, varint, varints
from latewood_fleece import Fleece
from latewood_reader import Database, text
from xxh64 import xxh64

REDUCTIONS = ["none", "count", "sum", "stats", "custom"]
ADDING = (2, 3)
LEVELS = 12


class View:
    def __init__(self, database, spaces, collection, name, record):
        self.name, self.reduction = name, record[1]
        need(record[0] == 1 and self.reduction < len(REDUCTIONS), "a record of an unknown form")
        self.number, self.version, self.through, self.failures = varints(record, 2, 4)

        def space(kind):
            full = kind + b"/" + collection + b"/" + str(self.number).encode()
            need(full in spaces, "a keyspace is missing: " + text(full))
            return dict(database.entries_of(spaces[full]))

        self.rows, self.emitted = space(b"rows"), space(b"emitted")
        self.sums = space(b"sums") if self.reduction in ADDING else {}

    def check(self):
        listed, failures = set(), 0
        for document, value in self.emitted.items():
            if value[0] == 1:
                failures += 1
                need(len(value) <= 1001, "a reason is too long")
                value[1:].decode("utf-8")
                continue
            need(value[0] == 0 and len(value) > 1, "a list of no kind")
            at, number = 1, 0
            while at < len(value):
                length, at = varint(value, at)
                need(1 <= length <= 8192 and at + length <= len(value), "a key in a list is too long")
                row = value[at:at + length] + document + b"\0" + number.to_bytes(4, "big")
                need(row in self.rows and varint(self.rows[row], 0)[0] == length, "a row is missing")
                listed.add(row)
                at, number = at + length, number + 1
        need(failures == self.failures, "failures are counted wrongly")
        need(listed == set(self.rows), "a row is listed nowhere")
        if self.reduction in ADDING:
            self.check_sums()

    def check_sums(self):
        below, wanted = [(row, self.stats(self.value(row))) for row in sorted(self.rows)], {}
        for level in range(1, LEVELS + 1):
            blocks = [(b"", [])]
            for row, stats in below:
                if row and level_of(row) >= level:
                    blocks.append((row, []))
                blocks[-1][1].append(stats)
            if len(blocks) == 1:
                break
            below = [(row, fold(parts)) for row, parts in blocks if parts]
            wanted.update((bytes([level]) + row, stats) for row, stats in below)
        found = {key: self.decoded(value) for key, value in self.sums.items()}
        need(found == wanted, "the sums are not those of the rows")

    def value(self, row):
        stored = self.rows[row]
        return Fleece(stored[varint(stored, 0)[1]:]).root()

    @staticmethod
    def stats(value):
        need(type(value) in (int, float), "a value is no number")
        return 1, float(value), float(value), float(value), float(value) * float(value)

    @staticmethod
    def decoded(value):
        count, at = varint(value, 0)
        need(count > 0 and len(value) == at + 32, "a sum of a wrong length")
        return (count,) + struct.unpack_from(">4d", value, at)


def level_of(row):
    value = xxh64(0, row)
    zeros = (value & -value).bit_length() - 1 if value else 64
    return min(LEVELS, zeros // 4)


def fold(parts):
    count, total, least, greatest, squares = 0, 0.0, parts[0][2], parts[0][3], 0.0
    for part in parts:
        count, total, squares = count + part[0], total + part[1], squares + part[4]
        least, greatest = min(least, part[2]), max(greatest, part[3])
    return count, total, least, greatest, squares


def check(path):
    with open(path, "rb") as file:
        database = Database(file.read())
    spaces = database.keyspaces
    if b"database" not in spaces:
        return
    facts = dict(database.entries_of(spaces[b"database"]))
    for key, state in sorted(facts.items()):
        if not key.startswith(b"collection/"):
            continue
        collection = key[len(b"collection/"):]
        prefix = b"view/" + collection + b"/"
        views = [View(database, spaces, collection, text(name[len(prefix):]), record)
                 for name, record in sorted(facts.items()) if name.startswith(prefix)]
        numbers = varints(state, 17, 8 + state[0])
        need((state[0] == 3 or state[0] == (2 if views else 1)) and (numbers + [0])[9] == len(views),
             "views are counted wrongly")
        for view in views:
            need(view.number <= numbers[8] and view.through <= numbers[0], "a number was not given out")
            view.check()
            print(f"{path}: {text(collection)}: {view.name}, version {view.version}, {REDUCTIONS[view.reduction]}: "
                  f"{len(view.rows)} rows, {view.failures} failures, {len(view.sums)} sums, "
                  f"behind by {numbers[0] - view.through}")


if __name__ == "__main__":
    run(check)
