#!/usr/bin/env python3
"""Reads result files (round,engine,vsize,workload,metric,value) and prints two tables: the medians of all engines, and
each goal with the figure, what is asked, and whether it is met.

usage: report.py results.csv... [--facts FILE] [--documents FILE] [--strict]

--facts: what compare.sh has written down about the run; without it, sizes are the usual ones. --documents: what
DocumentBenchmark has printed. --strict: the status is 1 if a goal is missed.
"""
import argparse
import sys

import documents
import goals
from figures import LATEWOOD, Results, disagreements, read, read_facts, short


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


def print_goals(rows):
    """Prints the goals. Returns the number of those that are missed."""
    lines = []
    for row in rows:
        beside = f"{row.peer} {row.other}" if row.other else "-"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        verdict = "not measured" if row.is_met is None else "pass" if row.is_met else "MISS"
        lines.append([row.what, row.own or "-", beside, ratio, row.asked or "-", row.rounds or "-", verdict])
    print("Goals, by medians over the rounds:\n")
    table(lines, ["goal", LATEWOOD, "best peer", "ratio", "asked", "rounds", "verdict"])
    print(goals.count(rows))
    return sum(row.is_met is False for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="results.csv")
    parser.add_argument("--facts")
    parser.add_argument("--documents")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    figures, failures = read(options.paths)
    results = Results(figures)
    sizes = goals.Sizes.of(read_facts(options.facts)) if options.facts else goals.Sizes()
    works = documents.read(options.documents) if options.documents else []
    print_rates(results)
    missed = print_goals(goals.rows(results, works, sizes))
    for row in failures:
        print("WRONG ANSWER OR FAILURE: " + ",".join(row))
    differences = list(disagreements(figures))
    for difference in differences:
        print("ANSWERS DIFFER: " + difference)
    return 1 if failures or differences or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
