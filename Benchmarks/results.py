#!/usr/bin/env python3
"""Writes the page of results, and its charts, from what compare.sh has measured.

usage: results.py FIGURES FACTS PAGE [DOCUMENTS]

FIGURES: lines of round,engine,vsize,workload,metric,value. FACTS: lines of name: value.
DOCUMENTS: what DocumentBenchmark has printed. The charts go to the folder Charts beside PAGE. If an engine gave a wrong answer, or other answers than the
rest, or failed, nothing is written, and the status is 1.
"""
import pathlib
import re
import sys

import chart
import report

# The name of the chart, the heading, the length of values, the workloads.
SECTIONS = [
    ("writes", "Writing in batches, unsynced", "100", ["fillseq", "fillrandom", "overwrite", "delete"]),
    (
        "reads",
        "Reading",
        "100",
        [
            "readseq-first",
            "readseq",
            "readrandom",
            "readrandom-snap",
            "readmissing",
            "scan100",
            "readrandom-2t",
            "readrandom-aged",
            "readseq-halfdeleted",
            "readwhilewriting:read",
            "readwhilewriting:write",
            "readwhilewriting-held:read",
            "readwhilewriting-held:write",
        ],
    ),
    ("durable", "Durable transactions", "100", ["fillsync", "fillsync-mt", "fillbatchsync"]),
    (
        "cloud",
        "YCSB, values of 1,000 bytes, unsynced",
        "1000",
        ["ycsb-load", "ycsb-A", "ycsb-B", "ycsb-C", "ycsb-D", "ycsb-E", "ycsb-F"],
    ),
]

# Costs: heading, metric, what it is, and the workloads that have it, as pairs of name and length.
COSTS = [
    (
        "Latency of durable transactions: median",
        "p50_us",
        "Microseconds.",
        [("fillsync", "100"), ("fillsync-mt", "100")],
    ),
    (
        "Latency of durable transactions: 99th percentile",
        "p99_us",
        "Microseconds.",
        [("fillsync", "100"), ("fillsync-mt", "100")],
    ),
    (
        "Bytes written",
        "wchar_op",
        "Bytes handed to write calls, by operation, within the measured time. The next table has what is "
        "left for later.",
        [(name, "100") for name in ["fillseq", "fillrandom", "overwrite", "delete", "fillsync", "fillbatchsync"]]
        + [("ycsb-load", "1000"), ("ycsb-A", "1000")],
    ),
    (
        "Bytes written later",
        "close_wchar_MiB",
        "MiB handed to write calls by compactions that were due at the end, and by closing.",
        [(name, "100") for name in ["fillseq", "fillrandom", "overwrite", "delete"]]
        + [("ycsb-load", "1000"), ("ycsb-end", "1000")],
    ),
    (
        "Space on the disk",
        "alloc_MiB",
        "MiB of the blocks that all files have after closing. A hole in a file takes none.",
        [(name, "100") for name in ["fillseq", "fillrandom", "overwrite", "delete"]]
        + [("ycsb-load", "1000"), ("ycsb-end", "1000")],
    ),
    (
        "Length of files",
        "size_MiB",
        "MiB of all files after closing, holes included.",
        [(name, "100") for name in ["fillseq", "fillrandom", "overwrite", "delete"]]
        + [("ycsb-load", "1000"), ("ycsb-end", "1000")],
    ),
    (
        "Memory",
        "anon_MiB",
        "The most memory that belonged to no file, in MiB: caches and buffers of the engine, and the driver.",
        [("fillrandom", "100"), ("reads", "100"), ("rand", "100"), ("ycsb", "1000")],
    ),
    ("Opening", "open_ms", "Milliseconds; the file is in the page cache.", [("open", "100")]),
]
EXPLANATION = """\
Written by `Benchmarks/compare.sh`; [WORKLOADS.md](WORKLOADS.md) says what is measured and how each
engine is set up. All figures are medians over the rounds. In brackets: how many times better
Latewood is, in rates as in costs. **Below 1 the peer is better**, and all of these are listed once
more at the end. Where the spread of Latewood's own rounds, the greatest over the least, is more
than a ratio is away from 1, that ratio says nothing.
"""


def parts(workload):
    """Splits the name of a row: a workload that reads while it writes has two rates."""
    name, _, kind = workload.partition(":")
    return name, f"{kind}_ops_s" if kind else "ops_s"


def times(ratio):
    """A ratio with two digits that say something."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


DOCUMENTS = """\
Microseconds of processor time by operation, with the same JSON in both: medians over the rounds of
100,000 documents of about 900 bytes; then 50,000 of 400 bytes with indexes, which are built once;
at last the bytes that 300,000 small documents take. SQLite has them as text in a table, with indexes
on expressions."""
# A line that DocumentBenchmark prints: name, figure, peer, its figure, ratio.
COMPARED = re.compile(r"(.+): ([\d.]+) (?:µs|bytes), (\w+) ([\d.]+) (?:µs|bytes), ratio ([\d.]+) \(")


class Page:
    TITLE, EXPLANATION = "Results", EXPLANATION
    # The head of the column that names a row, and whether the spread of Latewood's own rounds
    # has a column.
    ROWS, HAS_SPREAD = "workload", True

    def __init__(self, figures, facts, documents=()):
        self.results = report.Results(figures)
        self.facts = facts
        self.documents = documents
        engines = []
        for engine, *_ in figures:
            if engine not in engines and engine != report.LATEWOOD:
                engines.append(engine)
        self.peers = engines
        self.behind = []
        self.lines = []

    # MARK: Figures

    def median(self, engine, workload, metric, length):
        return self.results.median(engine, workload, metric, length)

    def spread(self, workload, metric, length):
        values = self.results.figures.get((report.LATEWOOD, length, workload, metric))
        return f"{max(values) / min(values):.2f}" if values and min(values) > 0 else "-"

    def advantage(self, own, other, is_cost):
        """How many times better Latewood is; None if that cannot be said."""
        if own is None or other is None or own <= 0 or other <= 0:
            return None
        return other / own if is_cost else own / other

    # MARK: Tables

    def table(self, rows, what, is_cost):
        """rows: label, workload, metric, length. A row that Latewood has not is left out."""
        head = [self.ROWS, report.LATEWOOD] + self.peers + ["spread"] * self.HAS_SPREAD
        cells = []
        for name, workload, metric, length in rows:
            own = self.median(report.LATEWOOD, workload, metric, length)
            if own is None:
                continue
            cell = [name, report.short(own)]
            for engine in self.peers:
                other = self.median(engine, workload, metric, length)
                ratio = self.advantage(own, other, is_cost)
                cell.append(report.short(other) + (f" ({times(ratio)})" if ratio else ""))
                if ratio and ratio < 1:
                    self.behind.append((ratio, name, what, engine, own, other))
            cells.append(cell + [self.spread(workload, metric, length)] * self.HAS_SPREAD)
        if cells:
            self.write_table(head, cells)
        return bool(cells)

    def titled(self, title, rows, what, is_cost):
        """A table below its title; neither without figures. Returns whether there are any."""
        start = len(self.lines)
        self.lines += [title, ""]
        if self.table(rows, what, is_cost):
            return True
        del self.lines[start:]
        return False

    def write_table(self, head, rows):
        self.lines.append("| " + " | ".join(head) + " |")
        self.lines.append("| --- |" + " ---: |" * (len(head) - 1))
        self.lines += ["| " + " | ".join(row) + " |" for row in rows]
        self.lines.append("")

    def head(self):
        self.lines += [f"# {self.TITLE}", "", self.EXPLANATION, "| | |", "| --- | --- |"]
        self.lines += [f"| {name} | {value} |" for name, value in self.facts]
        self.lines.append("")

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
            own = self.median(report.LATEWOOD, workload, metric, length)
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

    def document_work(self):
        """What documents and queries cost, each row beside the peer that it names."""
        rows = []
        for name, own, peer, other, ratio in self.documents:
            rows.append([name, report.short(own), peer, report.short(other), f"{ratio:.2f}"])
            if ratio < 1:
                self.behind.append((ratio, name, "processor time", peer, own, other))
        if rows:
            self.lines += ["## Documents and queries", "", DOCUMENTS, ""]
            self.write_table(["work", report.LATEWOOD, "peer", "the peer's", "ratio"], rows)

    def disadvantages(self):
        self.lines += ["## Where a peer is better", ""]
        if not self.behind:
            self.lines += ["Nowhere in this run." if self.peers else "There were no peers in this run.", ""]
            return
        rows = [
            [name, what, engine, report.short(own), report.short(other), times(ratio)]
            for ratio, name, what, engine, own, other in sorted(self.behind)
        ]
        self.write_table([self.ROWS, "figure", "peer", report.LATEWOOD, "the peer's", "ratio"], rows)

    def write(self):
        """Returns the text of the page, and the charts by name."""
        charts = {}
        self.head()
        for section in SECTIONS:
            self.section(*section, charts)
        self.costs()
        self.document_work()
        self.disadvantages()
        return "\n".join(self.lines).rstrip() + "\n", charts


def read_facts(path):
    facts = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        name, separator, value = line.partition(":")
        if separator:
            facts.append((name.strip(), value.strip().replace("|", "\\|")))
    return facts


def read_documents(path):
    """The rows of the output of DocumentBenchmark: name, figure, peer, its figure, ratio."""
    found = map(COMPARED.match, pathlib.Path(path).read_text(encoding="utf-8").splitlines())
    return [(row[1], float(row[2]), row[3], float(row[4]), float(row[5])) for row in found if row]


def problems_of(figures, failures):
    """Says why there is no page: wrong answers, answers that differ, no figures of Latewood."""
    problems = ["wrong answer or failure: " + ",".join(row) for row in failures]
    problems += ["answers differ: " + difference for difference in report.disagreements(figures)]
    if not any(engine == report.LATEWOOD for engine, *_ in figures):
        problems.append("there are no figures of Latewood")
    return problems


def write_page(path, text, charts):
    """Writes a page, and its charts to the folder beside it."""
    folder = path.parent / "Charts"
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in charts.items():
        (folder / f"{name}.svg").write_text(image, encoding="utf-8")
    path.write_text(text, encoding="utf-8")


def main(arguments):
    if len(arguments) not in (3, 4):
        sys.exit(__doc__)
    figures, failures = report.read([arguments[0]])
    problems = problems_of(figures, failures)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    documents = read_documents(arguments[3]) if len(arguments) == 4 else []
    text, charts = Page(figures, read_facts(arguments[1]), documents).write()
    path = pathlib.Path(arguments[2])
    write_page(path, text, charts)
    print(f"{path}: {len(figures)} figures, {len(charts)} charts; all answers agree")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
