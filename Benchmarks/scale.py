#!/usr/bin/env python3
"""Writes the page about how costs grow, and its charts, from what scale.sh has measured.

usage: scale.py FIGURES FACTS PAGE

FIGURES: lines of round,engine,vsize,workload@size,metric,value. FACTS: lines of name: value. The
charts go to the folder Charts beside PAGE. If an engine gave a wrong answer, or other answers than
the rest, nothing is written. The status is 1 then, and if a run has failed.
"""
import pathlib
import sys
from collections import defaultdict

import chart
from figures import LATEWOOD, read, read_facts, short
from page import Page, problems_of, write_page

MEBIBYTE = 1 << 20
# Costs by the number of records: heading, workload, metric, unit.
RECORDS = [
    ("Sequential fill", "fillseq", "us", "µs a record"),
    ("Random fill", "fillrandom", "us", "µs a record"),
    ("Random read", "readrandom", "us", "µs"),
    ("Scan of 100", "scan100", "us", "µs"),
    ("First full scan after opening", "readseq-first", "us", "µs a record"),
    ("Overwrite", "overwrite", "us", "µs"),
    ("Durable commit, median", "commit", "p50_us", "µs"),
    ("Durable commit, 99th percentile", "commit", "p99_us", "µs"),
    ("Opening and a read, closed cleanly", "open", "open_get_ms", "ms"),
    ("Opening and a read once more", "open2", "open_get_ms", "ms"),
    ("On the disk, sequential fill", "fillseq", "alloc", "bytes a record"),
    ("Length, sequential fill", "fillseq", "size", "bytes a record"),
    ("On the disk, random fill", "fillrandom", "alloc", "bytes a record"),
    ("Length, random fill", "fillrandom", "size", "bytes a record"),
    ("On the disk, overwritten", "overwrite", "alloc", "bytes a record"),
    ("Length, overwritten", "overwrite", "size", "bytes a record"),
    ("Memory that belongs to no file", "growth", "anon_MiB", "MiB"),
]
# Rates by the number of readers: heading, the end of the workload's name, metric, unit.
READERS = [
    ("Readers alone", "", "ops_s", "reads a second"),
    ("Readers beside a writer", "-writing", "read_ops_s", "reads a second"),
    ("The writer beside them", "-writing", "write_ops_s", "puts a second"),
]
# By the length of values: heading, workload, metric, unit, whether it is a cost.
VALUES = [
    ("Written", "values-write", "MiB_s", "MiB a second", False),
    ("First read after opening", "values-read-first", "MiB_s", "MiB a second", False),
    ("Read once more", "values-read", "MiB_s", "MiB a second", False),
    ("On the disk", "values-write", "alloc", "bytes for a byte", True),
    ("Length of the files", "values-write", "size", "bytes for a byte", True),
    ("Memory that belongs to no file", "values", "anon_MiB", "MiB", True),
]
# With little memory: row, workload, metric.
LIMITED = [
    ("fill, a record", "limited-fill", "us"),
    ("random read", "limited-read", "us"),
    ("overwrite", "limited-overwrite", "us"),
    ("random read after overwriting", "limited-read-aged", "us"),
]
# Of Latewood alone: heading, workload, metric.
SNAPSHOTS = [
    ("take one, with a commit, µs", "snapshots-take", "us"),
    ("memory, MiB", "snapshots-held", "anon_growth_MiB"),
    ("commit before, µs", "snapshots-none:commit", "us"),
    ("commit while they are held, µs", "snapshots-held:commit", "us"),
    ("commit afterwards, µs", "snapshots-closed:commit", "us"),
    ("get before, µs", "snapshots-none:get", "us"),
    ("get while they are held, µs", "snapshots-held:get", "us"),
    ("get afterwards, µs", "snapshots-closed:get", "us"),
    ("close one, µs", "snapshots-close", "us"),
]
KEYSPACES = [
    ("create one, with a put, µs", "keyspaces-create", "us"),
    ("bytes on the disk for each", "keyspaces-create", "alloc"),
    ("bytes of the file for each", "keyspaces-create", "size"),
    ("open the file, ms", "keyspaces-open", "open_ms"),
    ("open and get in one, ms", "keyspaces-open", "open_get_ms"),
    ("first gets by name, µs", "keyspaces-first", "us"),
    ("gets by name, µs", "keyspaces-get", "us"),
    ("gets in one keyspace, µs", "keyspaces-get-one", "us"),
    ("commits by name, µs", "keyspaces-commit", "us"),
    ("memory in all, MiB", "keyspaces", "anon_growth_MiB"),
]


def size_of(workload):
    """Splits the name of a workload from the size that it was run with, if there is one."""
    name, separator, size = workload.rpartition("@")
    return (name, int(size)) if separator else (workload, None)


def derive(figures):
    """Adds what is not measured, but follows: microseconds of an operation, bytes a second, bytes
    of the file for each record and for each byte of values."""
    derived = defaultdict(list, figures)
    for (engine, length, workload, metric), found in figures.items():
        name, size = size_of(workload)

        def add(metric, convert):
            derived[engine, length, workload, metric] = [convert(value) for value in found]

        if metric == "ops_s":
            add("us", lambda rate: 1e6 / rate)
            add("MiB_s", lambda rate: rate * int(length) / MEBIBYTE)
        elif metric in ("size_MiB", "alloc_MiB") and size:
            count = size
            if name.startswith("values"):
                count = int(length) * figures.get((engine, length, workload, "records"), [0])[0]
            if count:
                add(metric.removesuffix("_MiB"), lambda mebibytes: mebibytes * MEBIBYTE / count)
    return derived


def counted(number, noun):
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def length_name(number):
    for size, unit in [(MEBIBYTE, "MiB"), (1024, "KiB")]:
        if number >= size and number % size == 0:
            return f"{number // size} {unit}"
    return f"{number} B"


class ScalePage(Page):
    TITLE, ROWS, HAS_SPREAD = "How costs grow", "size", False
    EXPLANATION = """\
This page is written by `Benchmarks/scale.sh`. [WORKLOADS.md](WORKLOADS.md) defines the workloads
and the setup of each engine. Keys have 16 bytes, and values 100 unless stated otherwise. Figures
are medians over the rounds. The number in brackets is how many times better Latewood is, in rates as
well as in costs. **Below 1 the peer is better**, and all such rows are listed again at the end.
Files are in the page cache except where memory is limited. A file may have holes: its space on the
disk is the space that the file system has allocated, and may be less than its length. All engines
gave the same answers.
"""

    def __init__(self, figures, facts, failures=()):
        super().__init__(derive(figures), facts, failures)
        self.charts = {}

    def sizes(self, workload):
        """The sizes with which a workload was run, by any engine, in ascending order."""
        found = {size_of(name) for _, _, name, _ in self.results.figures}
        return sorted({size for name, size in found if name == workload and size is not None})

    def series(self, points):
        """Points by engine. points: x, workload, metric, length."""
        found = {}
        for engine in [LATEWOOD] + self.peers:
            found[engine] = [
                (x, value)
                for x, workload, metric, length in points
                if (value := self.median(engine, workload, metric, length)) is not None
            ]
        return found

    def add_chart(self, key, title, what, panels):
        image = chart.growth(title, what, panels, LATEWOOD, self.peers)
        if image:
            self.charts[f"scale-{key}"] = image
            self.lines += [f"![{title}](Charts/scale-{key}.svg)", ""]

    def costs_by(self, key, title, what, costs):
        """A section with a chart and a table for each cost.

        costs: heading, unit, whether it is a cost, and rows of x, its short name, its name,
        workload, metric, length.
        """
        start = len(self.lines)
        self.lines += [f"## {title}", "", what, ""]
        panels = []
        for heading, unit, _, rows in costs:
            places = [(x, short) for x, short, *_ in rows]
            points = [(x, workload, metric, length) for x, _, _, workload, metric, length in rows]
            panels.append((f"{heading}, {unit}", places, self.series(points)))
        self.add_chart(key, title, what, panels)
        tables = [
            self.titled(f"### {heading}, {unit}", [row[2:] for row in rows], f"{heading}, {unit}", is_cost)
            for heading, unit, is_cost, rows in costs
        ]
        if not any(tables):
            del self.lines[start:]

    def by_records(self):
        costs = []
        for heading, workload, metric, unit in RECORDS:
            rows = [
                (size, chart.brief(size), counted(size, "record"), f"{workload}@{size}", metric, "100")
                for size in self.sizes(workload)
            ]
            costs.append((heading, unit, True, rows))
        what = "The number of operations stays the same, except for fills and full scans."
        self.costs_by("records", "Records", what, costs)

    def by_readers(self):
        costs = []
        for heading, end, metric, unit in READERS:
            # A writer without readers has no place on a logarithmic axis, but a row in the table.
            counts = [1, 2, 4, 8] if metric != "write_ops_s" else [0, 1, 2, 4, 8]
            rows = [
                (count, str(count), counted(count, "reader"), f"readers-{count}{end}", metric, "100")
                for count in counts
            ]
            costs.append((heading, unit, False, rows))
        what = (
            "All readers together, each a thread with random gets; the writer overwrites random records in "
            "unsynced batches of 100, as fast as it can."
        )
        self.costs_by("readers", "Readers", what, costs)

    def by_values(self):
        costs = []
        for heading, workload, metric, unit, is_cost in VALUES:
            rows = [
                (size, length_name(size), length_name(size), f"{workload}@{size}", metric, str(size))
                for size in self.sizes(workload)
            ]
            costs.append((heading, unit, is_cost, rows))
        what = (
            "Values in random order, up to a million records or 256 MiB, in unsynced transactions of up to "
            "1 MiB that end with a sync. Every byte that is read is added up, and keys do not count."
        )
        self.costs_by("values", "Length of values", what, costs)

    def with_little_memory(self):
        limit = dict(self.facts).get("memory limit")
        if limit is None:
            return
        self.lines += ["## Less memory than the file takes", ""]
        if not any(size_of(workload)[0].startswith("limited") for _, _, workload, _ in self.results.figures):
            self.lines += [f"Memory limit: {limit}.", ""]
            return
        self.lines += [f"Values of 1,000 bytes. Memory limit, the page cache included: {limit}.", ""]
        rows = [(name, workload, metric, "1000") for name, workload, metric in LIMITED]
        self.titled("Microseconds an operation:", rows, "time with little memory, µs", is_cost=True)

    def alone(self, key, title, what, noun, columns):
        """A table of Latewood's own figures: a row for each size, and a chart."""
        sizes = self.sizes(columns[0][1])
        if not sizes:
            return
        self.lines += [f"## {title}", "", what, ""]
        places = [(size, chart.brief(size)) for size in sizes]
        panels = []
        rows = [[heading] for heading, _, _ in columns]
        for row, (heading, workload, metric) in zip(rows, columns):
            points = [(size, f"{workload}@{size}", metric, "100") for size in sizes]
            panels.append((heading[0].upper() + heading[1:], places, self.series(points)))
            row += [short(self.median(LATEWOOD, *point[1:])) for point in points]
        self.add_chart(key, title, what, panels)
        self.write_table(["cost"] + [counted(size, noun) for size in sizes], rows)

    def write(self):
        """Returns the text of the page, and the charts by name."""
        self.head()
        self.failed_runs()
        self.by_records()
        self.by_readers()
        self.by_values()
        self.with_little_memory()
        self.alone(
            "snapshots",
            "Snapshots held at once",
            "Latewood alone: snapshots of as many states, in a database of 100,000 records (times the scale). "
            "Commits are relaxed transactions of one put.",
            "snapshot",
            SNAPSHOTS,
        )
        self.alone(
            "keyspaces",
            "Keyspaces",
            "Latewood alone: keyspaces of one entry each, created in transactions of 1,000.",
            "keyspace",
            KEYSPACES,
        )
        self.disadvantages()
        return "\n".join(self.lines).rstrip() + "\n", self.charts


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    figures, failures = read([arguments[0]])
    ended = [row for row in failures if row[4] == "FAILED"]
    # A program that has found a wrong answer ends with status 1.
    problems = problems_of(figures, [row for row in failures if row not in ended])
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    text, charts = ScalePage(figures, read_facts(arguments[1]), ended).write()
    path = pathlib.Path(arguments[2])
    write_page(path, text, charts)
    print(f"{path}: {len(figures)} figures, {len(charts)} charts; all answers agree, {len(ended)} runs failed")
    return 1 if ended else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
