"""Reads result files, lines of round,engine,vsize,workload,metric,value, and answers what is in them."""
import csv
import pathlib
import statistics
from collections import defaultdict

LATEWOOD = "latewood"
# Engines that show what the driver costs. They are nobody's peers.
NO_PEERS = ("null", "sorted")
# A peer that can be built in several ways has several names.
BUILDS = {"leveldb": ["leveldb-rel", "leveldb"]}
# What does not depend on the engine.
ANSWERS = ("checksum", "count", "scanned")


def read(paths):
    """Returns the figures, and the rows that tell of wrong answers or failures."""
    figures = defaultdict(list)
    failures = []
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
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


def read_facts(path):
    """What a script has written down about its run, lines of name: value, as pairs."""
    facts = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        name, separator, value = line.partition(":")
        if separator:
            facts.append((name.strip(), value.strip().replace("|", "\\|")))
    return facts


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


def short(number):
    if number is None:
        return "-"
    if number >= 1e6:
        return f"{number / 1e6:.2f}M"
    if number >= 1e4:
        return f"{number / 1e3:.1f}k"
    return f"{number:.4g}"


class Results:
    def __init__(self, figures):
        self.figures = figures

    def median(self, engine, workload, metric="ops_s", value_length="100"):
        values = self.figures.get((engine, value_length, workload, metric))
        return statistics.median(values) if values else None

    def rounds(self, workload, metric="ops_s", value_length="100"):
        return len(self.figures.get((LATEWOOD, value_length, workload, metric), []))

    def engines(self):
        """All engines in the order in which they were first measured."""
        return list(dict.fromkeys(engine for engine, *_ in self.figures))

    def peer(self, name, workload, metric="ops_s", value_length="100"):
        """The name and the median of whichever build of a peer is there."""
        for build in BUILDS.get(name, [name]):
            rate = self.median(build, workload, metric, value_length)
            if rate is not None:
                return build, rate
        return name, None

    def best(self, measure, is_cost=False):
        """The peer whose measure is the best, and that measure; None twice if no peer has one.

        measure: a function of the name of an engine, which returns a number or None.
        """
        peers = [engine for engine in self.engines() if engine not in (LATEWOOD, *NO_PEERS)]
        found = [(value, engine) for engine in peers if (value := measure(engine)) is not None]
        value, engine = (min if is_cost else max)(found, default=(None, None))
        return engine, value

    def memory(self):
        """The greatest median of memory apart from mapped pages, and where it was."""
        found = [
            (statistics.median(values), workload + ("" if length == "100" else f" of {length} bytes"))
            for (engine, length, workload, metric), values in self.figures.items()
            if engine == LATEWOOD and metric == "anon_MiB"
        ]
        return max(found, default=(None, ""))
