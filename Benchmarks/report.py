#!/usr/bin/env python3
"""Reads result files (round,engine,vsize,workload,metric,value) and prints two tables: the medians of all engines, and
each requirement with the figure, the limit, and whether it is met.

usage: report.py results.csv... [--strict]      --strict: the status is 1 if a requirement is missed
"""
import csv
import statistics
import sys
from collections import defaultdict

LATEWOOD = "latewood"

# What does not depend on the engine.
ANSWERS = ("checksum", "count", "scanned")

# Rates compared with a peer's: workload, peer, least ratio. A peer that can be built in several
# ways has several names.
AGAINST_PEERS = [
    ("readrandom", "lmdb", 1.3),
    ("readrandom-snap", "lmdb", 1.3),
    ("readseq", "lmdb", 1.0),
    ("scan100", "lmdb", 1.0),
    ("fillrandom", "leveldb", 1.2),
    ("overwrite", "leveldb", 1.2),
    ("fillseq", "lmdb", 1.0),
    ("fillsync", "sqlite", 1.2),
]
BUILDS = {"leveldb": ["leveldb-rel", "leveldb"]}

# Rates compared with another workload of Latewood's own.
AGAINST_ITSELF = [("fillsync-mt", "fillsync", 2.3)]

# Figures with a fixed target: workload, metric, comparison, target.
LIMITS = [
    ("overwrite", "wchar_op", "<=", 500),
    ("fillsync", "wchar_op", "<=", 300),
    ("overwrite", "max_commit_ms", "<", 20),
    ("open", "open_ms", "<", 5),
    ("recover", "seconds", "<", 2),
]
# Two and a half times the write buffer of 64 MiB, for every workload.
MEMORY_LIMIT = 160


def read(paths):
    figures = defaultdict(list)
    failures = []
    for path in paths:
        with open(path, newline="") as file:
            for row in csv.reader(file):
                if len(row) != 6:
                    continue
                _, engine, value_length, workload, metric, value = row
                try:
                    number = float(value)
                except ValueError:
                    failures.append(row)
                    continue
                if metric in ("MISSES", "HITS", "SHORT", "WRONG", "FAILED"):
                    failures.append(row)
                    continue
                if engine == "null" and metric in ANSWERS:
                    continue
                figures[engine, value_length, workload, metric].append(number)
    return figures, failures


def disagreements(figures):
    """Says which answers are not the same in all engines and rounds. Answers that are not to be
    compared, as those of an engine that stores nothing, must not be among the figures."""
    answers = defaultdict(dict)
    for (engine, length, workload, metric), values in figures.items():
        if metric in ANSWERS:
            for value in values:
                answers[workload, length, metric].setdefault(value, set()).add(engine)
    for (workload, length, metric), found in answers.items():
        if len(found) > 1:
            sides = "; ".join(f"{value:.0f}: {', '.join(sorted(engines))}" for value, engines in found.items())
            yield f"{workload}, values of {length} bytes: {metric} differs: {sides}"


class Results:
    def __init__(self, figures):
        self.figures = figures

    def median(self, engine, workload, metric="ops_s", value_length="100"):
        values = self.figures.get((engine, value_length, workload, metric))
        return statistics.median(values) if values else None

    def rounds(self, workload, metric):
        return len(self.figures.get((LATEWOOD, "100", workload, metric), []))

    def peer(self, name, workload):
        """The median of whichever build of a peer is there, and that build's name."""
        for build in BUILDS.get(name, [name]):
            rate = self.median(build, workload)
            if rate is not None:
                return rate, build
        return None, name

    def memory(self):
        """The greatest median of memory apart from mapped pages, and where it was."""
        found = [
            (statistics.median(values), workload + ("" if length == "100" else f" of {length} bytes"))
            for (engine, length, workload, metric), values in self.figures.items()
            if engine == LATEWOOD and metric == "anon_MiB"
        ]
        return max(found, default=(None, ""))


def short(number):
    if number is None:
        return "-"
    if number >= 1e6:
        return f"{number / 1e6:.2f}M"
    if number >= 1e4:
        return f"{number / 1e3:.1f}k"
    return f"{number:.4g}"


def table(rows, head):
    lines = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for index, line in enumerate(lines):
        cells = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths))
        ]
        print("| " + " | ".join(cells) + " |")
        if index == 0:
            rules = ["-" * width if column == 0 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
            print("| " + " | ".join(rules) + " |")
    print()


def print_rates(results):
    engines, names = [], []
    for engine, length, workload, metric in results.figures:
        if not metric.endswith("ops_s"):
            continue
        if engine not in engines:
            engines.append(engine)
        if (workload, metric, length) not in names:
            names.append((workload, metric, length))
    rows = []
    for workload, metric, length in names:
        own = results.median(LATEWOOD, workload, metric, length)
        label = workload + ("" if metric == "ops_s" else ":" + metric.split("_")[0])
        row = [label + ("" if length == "100" else "@" + length)]
        for engine in engines:
            rate = results.median(engine, workload, metric, length)
            ratio = f" ({own / rate:.2f})" if own and rate and engine != LATEWOOD else ""
            row.append(short(rate) + ratio)
        rows.append(row)
    print("Operations per second, medians; in brackets Latewood's rate over the peer's:\n")
    table(rows, ["workload"] + engines)


def requirements(results):
    """Yields what is required, the figure, the limit, the rounds and whether it is met (None: not measured)."""
    for workload, name, least in AGAINST_PEERS:
        own = results.median(LATEWOOD, workload)
        rate, build = results.peer(name, workload)
        ratio = own / rate if own and rate else None
        yield f"{workload} / {build}", ratio, f">= {least}", results.rounds(workload, "ops_s"), ratio and ratio >= least
    for workload, base, least in AGAINST_ITSELF:
        own, rate = results.median(LATEWOOD, workload), results.median(LATEWOOD, base)
        ratio = own / rate if own and rate else None
        yield f"{workload} / {base}", ratio, f">= {least}", results.rounds(workload, "ops_s"), ratio and ratio >= least
    for workload, metric, relation, most in LIMITS:
        value = results.median(LATEWOOD, workload, metric)
        is_met = None if value is None else value < most or (relation == "<=" and value == most)
        yield f"{workload} {metric}", value, f"{relation} {most}", results.rounds(workload, metric), is_met
    value, where = results.memory()
    is_met = None if value is None else value <= MEMORY_LIMIT
    yield f"anon_MiB ({where or 'greatest'})", value, f"<= {MEMORY_LIMIT}", "", is_met


def print_requirements(results):
    rows, missed = [], 0
    for what, figure, limit, rounds, is_met in requirements(results):
        verdict = "not measured" if is_met is None else "pass" if is_met else "MISS"
        missed += verdict == "MISS"
        rows.append([what, "-" if figure is None else f"{figure:.3g}", limit, rounds, verdict])
    print("Requirements, by medians over the rounds:\n")
    table(rows, ["requirement", "figure", "limit", "rounds", "verdict"])
    return missed


def main():
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if not paths:
        sys.exit(__doc__)
    figures, failures = read(paths)
    results = Results(figures)
    print_rates(results)
    missed = print_requirements(results)
    for row in failures:
        print("WRONG ANSWER OR FAILURE: " + ",".join(row))
    differences = list(disagreements(figures))
    for difference in differences:
        print("ANSWERS DIFFER: " + difference)
    sys.exit(1 if failures or differences or ("--strict" in sys.argv and missed) else 0)


if __name__ == "__main__":
    main()
