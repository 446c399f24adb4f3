"""The rows of the page of results, in their order: which workload and metric, below which heading."""

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
        "Bytes passed to write calls per operation, within the measured time. The next table has the bytes "
        "that are written later.",
        [(name, "100") for name in ["fillseq", "fillrandom", "overwrite", "delete", "fillsync", "fillbatchsync"]]
        + [("ycsb-load", "1000"), ("ycsb-A", "1000")],
    ),
    (
        "Bytes written later",
        "close_wchar_MiB",
        "MiB passed to write calls by compactions that were due at the end, and by closing.",
        [(name, "100") for name in ["fillseq", "fillrandom", "overwrite", "delete"]]
        + [("ycsb-load", "1000"), ("ycsb-end", "1000")],
    ),
    (
        "Space on the disk",
        "alloc_MiB",
        "MiB of the blocks that all files occupy after closing. A hole in a file takes no blocks.",
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
        "The greatest memory that was not backed by a file, in MiB: caches and buffers of the engine, and the driver.",
        [
            ("fillseq", "100"),
            ("readwhilewriting", "100"),
            ("fillrandom", "100"),
            ("reads", "100"),
            ("rand", "100"),
            ("ycsb", "1000"),
        ],
    ),
    (
        "Opening",
        "open_ms",
        "Milliseconds, after a clean close; the file is in the page cache. `open` is measured once, in group "
        "`rand`. `opening` is the median of 200 times in one process, and is measured only for Latewood.",
        [(name, "100") for name in ["open", "opening", "opening-readonly", "opening-keyspaces"]],
    ),
]

# Threads that read at once, with each of several numbers of records.
READERS = ["readers-1", "readers-2", "readers-4", "readers-8", "readers-snap-1", "readers-snap-2"]
# Two threads over one, in turn: row, workload.
TWO_THREADS = [
    ("arithmetic without shared data", "arithmetic"),
    ("random reads", "twothreads"),
    ("random reads of one snapshot", "twothreads-snap"),
]
# With many records: the rates, then costs: title, metric, what it is, workloads.
LARGE = ["fillseq", "fillrandom", "readseq-first", "readrandom", "readrandom-snap", "scan100", "overwrite"]
LARGE += ["readrandom-aged"]
LARGE_COSTS = [
    ("Greatest memory so far beside the mapping, in MiB:", "anon_MiB", "memory", ["fillrandom", "growth"]),
    (
        "Opening, in milliseconds, as above:",
        "open_ms",
        "opening",
        ["open", "open2", "opening", "opening-readonly"],
    ),
    ("Space on the disk, in MiB:", "alloc_MiB", "space on the disk", ["fillseq", "fillrandom", "overwrite"]),
]
# What only Latewood has: row, workload, metric, length, unit.
ALONE = [
    ("import of JSON Lines, processor time", "import", "cpu_s", "0", "s"),
    ("import of JSON Lines, until the tool ends", "import", "seconds", "0", "s"),
    ("a large blob in", "doc-blob-in", "cpu_rate", "100", "MiB a second of processor time"),
    ("a large blob in", "doc-blob-in", "ops_s", "100", "MiB a second"),
    ("a large blob in, memory", "doc-blob-in", "anon_growth_MiB", "100", "MiB"),
    ("a large blob out, verified", "doc-blob-out", "cpu_rate", "100", "MiB a second of processor time"),
    ("a large blob out, verified", "doc-blob-out", "ops_s", "100", "MiB a second"),
    ("a large blob out, memory", "doc-blob-out", "anon_growth_MiB", "100", "MiB"),
    ("opening after a crash", "recover", "seconds", "100", "s"),
]
