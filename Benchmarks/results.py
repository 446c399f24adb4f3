#!/usr/bin/env python3
"""Writes the page of results, and its charts, from what compare.sh has measured.

usage: results.py FIGURES FACTS PAGE [DOCUMENTS]

FIGURES: lines of round,engine,vsize,workload,metric,value. FACTS: lines of name: value. DOCUMENTS:
what DocumentBenchmark has printed. The charts go to the folder Charts beside PAGE. If an engine
gave a wrong answer, or other answers than the rest, or failed, nothing is written, and the status
is 1. A run of one of several sizes that was stopped, since it took too long, is named on the page.
"""
import pathlib
import sys

import chart
import documents
import goals
from figures import LATEWOOD, read, read_facts, short
from page import Page, problems_of, write_page
from rows import ALONE, COSTS, LARGE, LARGE_COSTS, READERS, SECTIONS, TWO_THREADS

EXPLANATION = """\
This page is written by `Benchmarks/compare.sh`. [WORKLOADS.md](WORKLOADS.md) defines the workloads
and the setup of each engine, and [BOUNDS.md](BOUNDS.md) explains the goals that are missed and the
rows in which a peer is better. All figures are medians over the rounds. The number in brackets is
how many times better Latewood is, in rates as well as in costs. **Below 1 the peer is better**, and
all such rows are listed again at the end. The spread is the greatest of Latewood's own rounds
divided by the least. If it is further from 1 than a ratio is, that ratio is not conclusive.
"""

GOALS = """\
The table shows the goals, and whether this run meets them. If several peers were measured, the best
of their figures is shown. The ratio is how many times better Latewood is. For two readers, and for
commits of eight threads, the ratio is their rate divided by the rate of one, and the peer's figure
is the same ratio for the peer. Rates are in operations per second."""
SHORT_RUN = "**This run was smaller than the goals require, and does not allow conclusions about them.**"
DOCUMENTS = """\
Microseconds of processor time per operation, with the same JSON in both. The first rows are medians
over the rounds of 100,000 documents of about 900 bytes. The next rows are for 50,000 documents of
400 bytes with indexes, which are built once. Then comes the number of bytes that a small document
takes, out of 300,000. SQLite stores the documents as text in a table, with indexes on expressions.
The last rows are for an index of the words of 200,000 texts of 100 words by Zipf's law; SQLite's is
an FTS5 table of external content with triggers."""


def parts(workload):
    """Splits the name of a row: a workload that reads while it writes has two rates."""
    name, _, kind = workload.partition(":")
    return name, f"{kind}_ops_s" if kind else "ops_s"


def derive(figures):
    """Adds operations per second of processor time."""
    derived = dict(figures)
    for (engine, length, workload, metric), found in figures.items():
        if metric == "cpu_us":
            derived[engine, length, workload, "cpu_rate"] = [1e6 / value for value in found if value > 0]
    return derived


class ResultsPage(Page):
    TITLE, EXPLANATION = "Results", EXPLANATION

    def __init__(self, figures, facts, works=(), failures=()):
        super().__init__(derive(figures), facts, failures)
        self.works = works
        self.sizes = goals.Sizes.of(facts)

    def goals(self):
        found = goals.rows(self.results, self.works, self.sizes)
        self.lines += ["## Goals", "", GOALS, ""]
        if not self.sizes.is_full(self.facts):
            self.lines += [SHORT_RUN, ""]
        self.lines += [goals.count(found), ""]
        cells = []
        for row in found:
            figure = row.own if row.ratio is None else f"{row.ratio:.2f}"
            beside = [row.peer, row.other] if row.other else [None, None]
            cells.append([row.what, row.own, *beside, figure, row.asked, goals.verdict(row)])
        head = ["goal", LATEWOOD, "best peer", "the peer's", "ratio or figure", "required", "met"]
        self.write_table(head, [[cell or "-" for cell in line] for line in cells])

    def section(self, key, heading, length, workloads, charts):
        rates = [(name, *parts(name), length) for name in workloads]
        start = len(self.lines)
        self.lines += [f"## {heading}", ""]
        image = chart.chart(heading, list(self.relative(rates)), self.peers)
        if image:
            charts[key] = image
            self.lines += [f"![Rates relative to Latewood's: {heading}](Charts/{key}.svg)", ""]
        if not self.titled("Operations per second:", rates, "operations per second", is_cost=False):
            del self.lines[start:]
            return
        costs = [(name, parts(name)[0], "cpu_us", length) for name in workloads if ":" not in name]
        title = "Processor time of all threads, in microseconds per operation:"
        self.titled(title, costs, "processor time", is_cost=True)

    def relative(self, rates):
        for name, workload, metric, length in rates:
            own = self.median(LATEWOOD, workload, metric, length)
            found = {}
            for engine in self.peers:
                ratio = self.advantage(self.median(engine, workload, metric, length), own, is_cost=False)
                if ratio:
                    found[engine] = ratio
            if found:
                yield name, found

    def costs(self):
        for heading, metric, explanation, workloads in COSTS:
            rows = [(name, name, metric, length) for name, length in workloads]
            self.titled(f"## {heading}\n\n{explanation}", rows, heading[0].lower() + heading[1:], is_cost=True)

    def readers(self):
        start = len(self.lines)
        what = "Threads get random records at the same time, from the store or from one shared snapshot (`snap`)."
        unit = "The figures are gets per second of all threads together."
        self.lines += ["## Readers that scale", "", f"{what} {unit}", ""]
        tables = []
        for size in self.sizes.readers:
            rows = [(name, f"{name}@{size}", "ops_s", "100") for name in READERS]
            records = f"{size:,} records"
            tables.append(self.titled(f"{records}:", rows, f"operations per second, {records}", is_cost=False))
        rows = [(name, f"{workload}@{self.sizes.readers[0]}", "ratio", "100") for name, workload in TWO_THREADS]
        what = "The rate of two threads divided by the rate of one, measured in turn"
        title = f"{what}, {self.sizes.readers[0]:,} records:"
        tables.append(self.titled(title, rows, "two threads over one", is_cost=False))
        if not any(tables):
            del self.lines[start:]

    def large(self):
        """What it is like with many records."""
        start = len(self.lines)
        records = f"{self.sizes.large:,} records"
        what = "Measured in one round. `overwrite` has 1,000,000 puts, and `readrandom-aged` reads after it."
        self.lines += [f"## {records}", "", what, ""]

        def titled(title, names, metric, what, is_cost):
            rows = [(name, f"{name}@{self.sizes.large}", metric, "100") for name in names]
            return self.titled(title, rows, f"{what}, {records}", is_cost)

        tables = [titled("Operations per second:", LARGE, "ops_s", "operations per second", False)]
        title = "Processor time of all threads, in microseconds per operation:"
        tables.append(titled(title, LARGE, "cpu_us", "processor time", True))
        for title, metric, what, names in LARGE_COSTS:
            tables.append(titled(title, names, metric, what, True))
        if not any(tables):
            del self.lines[start:]

    def document_work(self):
        """What documents and queries cost, each row beside the peer that it names."""
        rows = []
        for work in self.works:
            if work.peer:
                rows.append([work.name, short(work.own), work.peer, short(work.other), f"{work.ratio:.2f}"])
                if work.ratio < 1:
                    what = "space on the disk" if work.unit == "bytes" else "processor time"
                    self.behind.append((work.ratio, work.name, what, work.peer, work.own, work.other))
        if rows:
            self.lines += ["## Documents and queries", "", DOCUMENTS, ""]
            self.write_table(["work", LATEWOOD, "peer", "the peer's", "ratio"], rows)

    def alone(self):
        """What has no peer."""
        rows = [
            [name, short(value), unit]
            for name, workload, metric, length, unit in ALONE
            if (value := self.median(LATEWOOD, workload, metric, length)) is not None
        ]
        rows += [[work.name, short(work.own), work.unit] for work in self.works if not work.peer]
        if rows:
            self.lines += ["## Latewood alone", ""]
            self.write_table(["work", LATEWOOD, "unit"], rows)

    def write(self):
        """Returns the text of the page, and the charts by name."""
        charts = {}
        self.head()
        self.failed_runs()
        self.goals()
        for section in SECTIONS:
            self.section(*section, charts)
        self.readers()
        self.costs()
        self.large()
        self.document_work()
        self.alone()
        self.disadvantages()
        return "\n".join(self.lines).rstrip() + "\n", charts


def main(arguments):
    if len(arguments) not in (3, 4):
        sys.exit(__doc__)
    figures, failures = read([arguments[0]])
    stopped = [row for row in failures if row[4:] == ["FAILED", "124"] and "@" in row[3]]
    problems = problems_of(figures, [row for row in failures if row not in stopped])
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    works = documents.read(arguments[3]) if len(arguments) == 4 else []
    text, charts = ResultsPage(figures, read_facts(arguments[1]), works, stopped).write()
    path = pathlib.Path(arguments[2])
    write_page(path, text, charts)
    print(f"{path}: {len(figures)} figures, {len(charts)} charts; all answers agree")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
