"""The goals: what is promised, and whether a run has met it. The only list of them.

What is asked of documents and queries is written in DocumentBenchmark, which prints it beside its
figures; here are only the names, so that what was not measured is missed.
"""
import re
from typing import NamedTuple

import figures
from figures import LATEWOOD


class Sizes(NamedTuple):
    """The numbers of records that goals are named for. A short run has others."""

    records: int = 1_000_000
    readers: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    large: int = 10_000_000
    imported: int = 1_000_000

    @classmethod
    def of(cls, facts):
        """The sizes of a run, from the facts that its script has written down: pairs of name and value."""
        facts = dict(facts)
        usual = cls()
        readers = tuple(int(size) for size in facts.get("records of readers", "").split())
        return cls(
            int(facts.get("records", usual.records)),
            readers or usual.readers,
            int(facts.get("records of large", 0)) or usual.large,
            int(facts.get("documents imported", 0)) or usual.imported,
        )

    def is_full(self, facts):
        """Whether figures of this size are those that the goals are about."""
        return self == Sizes() and dict(facts).get("scale", "1") == "1"


class Row(NamedTuple):
    """A goal, and what a run says about it."""

    what: str
    # Figures, as texts; None if there is none.
    own: str | None
    peer: str | None
    other: str | None
    ratio: float | None
    asked: str
    # None if it was not measured.
    is_met: bool | None
    # The heading in BOUNDS.md of what bounds it; None if that is not known.
    bound: str | None
    rounds: int | None


def short(number, unit=""):
    return None if number is None else figures.short(number) + (f" {unit}" if unit else "")


class Against(NamedTuple):
    """A rate is so many times that of a peer: of the named one, or of whichever is the best."""

    what: str
    least: float
    workload: str
    bound: str | None
    peer: str | None = None
    metric: str = "ops_s"
    length: str = "100"

    def row(self, results):
        place = (self.workload, self.metric, self.length)
        own = results.median(LATEWOOD, *place)
        if self.peer:
            peer, other = results.peer(self.peer, *place)
        else:
            peer, other = results.best(lambda engine: results.median(engine, *place))
        ratio = own / other if own and other else None
        is_met = None if ratio is None else ratio >= self.least
        rounds = results.rounds(*place)
        return Row(
            self.what, short(own), peer, short(other), ratio, f"≥ {self.least:g}", is_met, self.bound, rounds
        )


class Scaling(NamedTuple):
    """A rate is so many times another of the same engine. A peer's own ratio stands beside it."""

    what: str
    least: float
    workload: str
    base: str
    bound: str | None

    def of(self, results, engine):
        rate, base = results.median(engine, self.workload), results.median(engine, self.base)
        return rate / base if rate and base else None

    def row(self, results):
        ratio = self.of(results, LATEWOOD)
        peer, other = results.best(lambda engine: self.of(results, engine))
        is_met = None if ratio is None else ratio >= self.least
        texts = [None if value is None else f"{value:.2f} times" for value in (ratio, other)]
        rounds = results.rounds(self.workload)
        return Row(
            self.what, texts[0], peer, texts[1], ratio, f"≥ {self.least:g}", is_met, self.bound, rounds
        )


class Limit(NamedTuple):
    """A figure is at most so much. What stands beside it is the least of the peers' figures, which
    may be of another workload."""

    what: str
    most: float
    unit: str
    workload: str
    metric: str
    bound: str | None
    length: str = "100"
    peers_workload: str | None = None

    def row(self, results):
        own = results.median(LATEWOOD, self.workload, self.metric, self.length)
        beside = (self.peers_workload or self.workload, self.metric, self.length)
        peer, other = results.best(lambda engine: results.median(engine, *beside), is_cost=True)
        is_met = None if own is None else own <= self.most
        asked = f"≤ {self.most:g} {self.unit}"
        rounds = results.rounds(self.workload, self.metric, self.length)
        texts = short(own, self.unit), peer, short(other, self.unit)
        return Row(self.what, *texts, None, asked, is_met, self.bound, rounds)


class MemoryOfAll(NamedTuple):
    """No workload takes more memory than this, apart from mapped pages."""

    most: float
    bound: str | None

    def row(self, results):
        value, where = results.memory()
        what = "memory beside the mapping, the most of all workloads" + (f": {where}" if where else "")
        is_met = None if value is None else value <= self.most
        asked = f"≤ {self.most:g} MiB"
        return Row(what, short(value, "MiB"), None, None, None, asked, is_met, self.bound, None)


MEMORY = "Memory beside the mapping"
READERS = "Two readers"
BESIDE = "Reads beside a writer at full speed"
WRITTEN = "Bytes written and space"
QUERIES = "Points and ranges"
WORDS = "Words"


def of_readers(sizes):
    kinds = [("readers", "two readers over one"), ("readers-snap", "two readers of one snapshot over one")]
    for size in sizes.readers:
        for name, what in kinds:
            yield Scaling(f"{what}, {size:,} records", 1.9, f"{name}-2@{size}", f"{name}-1@{size}", READERS)


def of_store(sizes):
    """The goals of keys and values."""
    large, named = f"@{sizes.large}", f"{sizes.large:,} records"
    return [
        Against("random reads", 2, "readrandom", "Random reads"),
        Against("random reads on a snapshot", 2, "readrandom-snap", "Random reads"),
        Against("random reads on two threads", 2, "readrandom-2t", "Random reads"),
        *of_readers(sizes),
        Against("a full scan", 1, "readseq", None, "lmdb"),
        Against("scans of 100", 1, "scan100", "Random reads", "lmdb"),
        Against("reads beside a writer at full speed", 1, "readwhilewriting", BESIDE, metric="read_ops_s"),
        Against("reads beside 100,000 writes a second", 1.3, "readwhilewriting-held", BESIDE, metric="read_ops_s"),
        Against("YCSB E, scans and inserts", 1.3, "ycsb-E", "Random reads", length="1000"),
        Against("sequential fill", 1.7, "fillseq", "Sequential fill"),
        Against("random fill", 1.2, "fillrandom", WRITTEN, "leveldb"),
        Against("overwriting", 1.2, "overwrite", WRITTEN, "leveldb"),
        Against("durable commits of one put", 1.7, "fillsync", "Durable commits", "leveldb"),
        Against("durable commits of one put, relative to SQLite", 1.2, "fillsync", "Durable commits", "sqlite"),
        Against("durable commits of eight threads", 1.7, "fillsync-mt", "Durable commits", "leveldb"),
        Scaling("durable commits of eight threads relative to one", 2.3, "fillsync-mt", "fillsync", "Durable commits"),
        Limit("bytes written for an overwrite", 500, "bytes", "overwrite", "wchar_op", WRITTEN),
        Limit("bytes written for a durable commit", 300, "bytes", "fillsync", "wchar_op", WRITTEN),
        Limit("the longest transaction of 1,000 puts", 20, "ms", "overwrite", "max_commit_ms", None),
        Limit("memory beside the mapping, YCSB", 128, "MiB", "ycsb", "anon_MiB", MEMORY, "1000"),
        Limit("memory beside the mapping, with a writer", 128, "MiB", "readwhilewriting", "anon_MiB", MEMORY),
        Limit(f"memory beside the mapping, {named}", 128, "MiB", f"fillrandom{large}", "anon_MiB", MEMORY),
        MemoryOfAll(160, MEMORY),
        Against(f"reads after overwriting a tenth, {named}", 1.3, f"readrandom-aged{large}", "Random reads", "lmdb"),
        Limit(
            f"opening after a clean close, {sizes.records:,} records",
            0.5,
            "ms",
            "opening",
            "open_ms",
            "Opening",
            peers_workload="open",
        ),
        Limit(
            f"opening after a clean close, {named}",
            0.5,
            "ms",
            f"opening{large}",
            "open_ms",
            "Opening",
            peers_workload=f"open{large}",
        ),
        Limit("opening after a crash, 64 MiB of log", 2, "s", "recover", "seconds", None),
        Limit(f"import of {sizes.imported:,} JSON Lines", 4, "s", "import", "cpu_s", "Saves", "0"),
    ]


# The work of DocumentBenchmark that must be measured: its name, and the heading in BOUNDS.md.
DOCUMENTS = [
    (r"save in batches of [\d,]+", "Saves"),
    (r"get by id, and one member", "Gets and the feed"),
    (r"feed from the start, an entry", "Gets and the feed"),
    (r"read, change and save in batches of [\d,]+", "Edits"),
    (r"durable save", "Durable saves"),
    (r"a small document, bytes on the disk", "Bytes on disk"),
    (r"Codable to a document", None),
    (r"document to Codable", None),
    (r"blob in", "Blobs"),
    (r"index on n, for each document", "Building an index"),
    (r"index on s, for each document", "Building an index"),
    (r"index on day, for each document", "Building an index"),
    (r"point query with body", QUERIES),
    (r"range of \d+, covering", QUERIES),
    (r"range of \d+, with bodies", QUERIES),
    (r"count of a range of \d+", None),
    (r"page behind \d+", "Pages by offset"),
    (r"sum over a range of \d+", None),
    (r"top 10, covering", QUERIES),
    (r"top 10, with bodies", QUERIES),
    (r"scan without an index", "Scans of documents"),
    (r"100 updates with 3 indexes", "Edits"),
    (r"an update of \d+ rows", "Live queries"),
    (r"index of words, for each text", WORDS),
    (r"words of a text, bytes on the disk", WORDS),
    (r"the ten best of a frequent word", WORDS),
    (r"the ten best of a rare word", WORDS),
    (r"the ten best of three words", WORDS),
    (r"the ten best of any of three words", WORDS),
    (r"the ten best of a phrase", WORDS),
    (r"the ten best of a prefix", WORDS),
    (r"the number of a frequent word", WORDS),
    (r"the number of a word of rank 1,000", WORDS),
    (r"the number of two words", WORDS),
    (r"the number of a phrase", WORDS),
    (r"a new text of a document", WORDS),
    (r"1000 new texts in a batch", WORDS),
]


def of_documents(works):
    """Rows of the works in the order of the list, then those that it does not know."""
    left = list(works)

    def row(work, bound):
        own, other = short(work.own, work.unit), short(work.other, work.unit)
        return Row(work.name, own, work.peer, other, work.ratio, work.asked, work.is_met, bound, None)

    for pattern, bound in DOCUMENTS:
        found = [work for work in left if re.fullmatch(pattern, work.name)]
        left = [work for work in left if work not in found]
        name = pattern.replace(r"[\d,]+", "many").replace(r"\d+", "many")
        yield from [row(work, bound) for work in found] or [
            Row(name, None, None, None, None, "", None, bound, None)
        ]
    yield from (row(work, None) for work in left)


def rows(results, works=(), sizes=Sizes()):
    """What a run says about each goal. works: those of documents.read."""
    return [goal.row(results) for goal in of_store(sizes)] + list(of_documents(works))


def count(found):
    """How many goals are met, missed, and not measured, in words."""
    verdicts = [row.is_met for row in found]
    return (
        f"{verdicts.count(True)} of {len(verdicts)} goals are met, {verdicts.count(False)} are missed, "
        f"{verdicts.count(None)} were not measured."
    )


def anchor(heading):
    """The name by which a link finds a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def verdict(row):
    """Whether a goal is met, in Markdown; if not, with a link to what bounds it."""
    if row.is_met is None:
        return "not measured"
    if row.is_met:
        return "yes"
    why = f"[why](BOUNDS.md#{anchor(row.bound)})" if row.bound else "the reason is not documented yet"
    return f"**no**: {why}"
