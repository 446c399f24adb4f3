#!/usr/bin/env python3
"""Tests of the goals, and of the scripts that measure them: python3 Benchmarks/goals_test.py"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import documents
import goals
import results
from figures import Results

HERE = pathlib.Path(__file__).resolve().parent
HEADINGS = re.findall(r"^#+ (.+)$", (HERE / "BOUNDS.md").read_text(encoding="utf-8"), re.MULTILINE)
# What DocumentBenchmark prints.
PRINTED = """\
100000 documents; Latewood beside SQLite 3.40.1, CPU time of an operation
round 1: save 6.00 / 4.00 µs, get 0.605 / 3.94 µs
save in batches of 1,000: 6.00 µs, SQLite 15.00 µs, ratio 2.50 (2.50)
durable save: 57.82 µs, SQLite 102.00 µs, ratio 1.76 (2.00)
Codable to a document: 3.94 µs, JSONEncoder 9.43 µs, ratio 2.39 (1.50)
blob in: 399.99 MiB a second of processor time (400.00)
300000 documents of 78 bytes of JSON, compacted
a small document, bytes on the disk: 150.00 bytes, SQLite 140.00 bytes, ratio 0.933 (at most 150.00 bytes)
a save takes 12.00 µs of processor time alone, 40.00 µs with its update
an update of 100000 rows, median of 5: 20.10 µs, asked 20.00
page behind 25000: 14.73 µs, SQLite 522.00 µs, ratio 35.44 (50.00)
something new: 2.00 µs, SQLite 1.00 µs, ratio 0.500 (1.00)
"""


def figures(*lines):
    """Figures by engine, workload and metric: engine, workload, metric, value; a length may stand
    before the value."""
    found = {}
    for engine, workload, metric, *length, value in lines:
        found.setdefault((engine, length[0] if length else "100", workload, metric), []).append(value)
    return found


class Computed(unittest.TestCase):
    def row(self, what, found, printed="", sizes=goals.Sizes()):
        works = [work for line in printed.splitlines() if (work := documents.work(line))]
        rows = goals.rows(Results(found), works, sizes)
        return next(row for row in rows if row.what.startswith(what))

    def test_a_ratio_at_the_goal_is_met_and_one_below_is_missed(self):
        for rate, is_met in [(200, True), (199, False)]:
            found = figures(("latewood", "readrandom", "ops_s", rate), ("lmdb", "readrandom", "ops_s", 100))
            self.assertIs(self.row("random reads", found).is_met, is_met)

    def test_the_best_peer_counts_and_an_engine_that_stores_nothing_is_no_peer(self):
        found = figures(
            ("latewood", "ycsb-E", "ops_s", "1000", 130),
            ("lmdb", "ycsb-E", "ops_s", "1000", 90),
            ("wiredtiger", "ycsb-E", "ops_s", "1000", 100),
            ("null", "ycsb-E", "ops_s", "1000", 9000),
            ("sorted", "ycsb-E", "ops_s", "1000", 9000),
        )
        row = self.row("YCSB E", found)
        self.assertEqual((row.peer, row.other, row.ratio, row.is_met), ("wiredtiger", "100", 1.3, True))

    def test_a_named_peer_counts_even_if_another_is_better_and_in_any_of_its_builds(self):
        found = figures(
            ("latewood", "fillsync", "ops_s", 170),
            ("leveldb-rel", "fillsync", "ops_s", 100),
            ("wiredtiger", "fillsync", "ops_s", 500),
        )
        row = self.row("durable commits of one put", found)
        self.assertEqual((row.peer, row.ratio, row.is_met), ("leveldb-rel", 1.7, True))

    def test_two_readers_are_compared_with_one_of_the_same_size_and_engine(self):
        found = figures(
            ("latewood", "readers-1@10000", "ops_s", 100),
            ("latewood", "readers-2@10000", "ops_s", 189),
            ("latewood", "readers-1@1000000", "ops_s", 10),
            ("latewood", "readers-2@1000000", "ops_s", 19),
            ("lmdb", "readers-1@10000", "ops_s", 50),
            ("lmdb", "readers-2@10000", "ops_s", 99),
        )
        row = self.row("two readers over one, 10,000 records", found)
        self.assertEqual((row.peer, row.other, row.ratio, row.is_met), ("lmdb", "1.98 times", 1.89, False))
        self.assertTrue(self.row("two readers over one, 1,000,000 records", found).is_met)
        self.assertIsNone(self.row("two readers over one, 100,000 records", found).is_met)

    def test_a_cost_at_the_limit_is_met_and_the_least_of_the_peers_is_beside_it(self):
        for milliseconds, is_met in [(0.5, True), (0.51, False)]:
            found = figures(
                ("latewood", "opening@10000000", "open_ms", milliseconds),
                ("latewood", "open@10000000", "open_ms", 9),
                ("lmdb", "open@10000000", "open_ms", 0.1),
                ("leveldb", "open@10000000", "open_ms", 50),
            )
            row = self.row("opening after a clean close, 10,000,000", found)
            self.assertEqual((row.peer, row.other, row.is_met), ("lmdb", "0.1 ms", is_met))
            self.assertIsNone(self.row("opening after a clean close, 1,000,000", found).is_met)

    def test_the_most_memory_of_all_workloads_is_named(self):
        found = figures(("latewood", "ycsb", "anon_MiB", "1000", 161), ("latewood", "seq", "anon_MiB", 3))
        row = self.row("memory beside the mapping, the most of all", found)
        self.assertIn("ycsb of 1000 bytes", row.what)
        self.assertFalse(row.is_met)

    def test_medians_count(self):
        found = figures(*(("latewood", "import", "cpu_s", "0", seconds) for seconds in [3.9, 90, 1]))
        self.assertTrue(self.row("import of 1,000,000 JSON Lines", found).is_met)

    def test_goals_of_documents_are_those_that_are_printed(self):
        for what, ratio, asked, is_met in [
            ("save in batches", 2.5, "≥ 2.5", True),
            ("durable save", 1.76, "≥ 2", False),
            ("Codable to a document", 2.39, "≥ 1.5", True),
            ("a small document", 0.933, "≤ 150 bytes", True),
            ("blob in", None, "≥ 400 MiB a second", False),
            ("an update of 100000 rows", None, "≤ 20 µs", False),
            ("page behind 25000", 35.44, "≥ 50", False),
            ("something new", 0.5, "≥ 1", False),
        ]:
            row = self.row(what, {}, PRINTED)
            self.assertEqual((row.ratio, row.asked, row.is_met), (ratio, asked, is_met), what)

    def test_everything_is_missed_that_was_not_measured(self):
        rows = goals.rows(Results({}))
        self.assertEqual({row.is_met for row in rows}, {None})
        self.assertEqual(len(rows), len(list(goals.of_store(goals.Sizes()))) + len(goals.DOCUMENTS))
        self.assertIsNone(self.row("document to Codable", {}, PRINTED).is_met)
        # A peer alone says nothing, and neither does Latewood.
        self.assertIsNone(self.row("random reads", figures(("lmdb", "readrandom", "ops_s", 1))).is_met)
        self.assertIsNone(self.row("random reads", figures(("latewood", "readrandom", "ops_s", 1))).is_met)

    def test_sizes_are_those_of_the_run(self):
        facts = [("records", "10000"), ("records of readers", "1000 2000"), ("records of large", "20000")]
        sizes = goals.Sizes.of(facts)
        self.assertEqual(sizes, goals.Sizes(10_000, (1000, 2000), 20_000, 1_000_000))
        self.assertFalse(sizes.is_full(facts))
        self.assertTrue(goals.Sizes.of([]).is_full([("scale", "1")]))
        self.assertFalse(goals.Sizes.of([]).is_full([("scale", "0.1")]))
        name = "readrandom-aged@20000"
        found = figures(("latewood", name, "ops_s", 13), ("lmdb", name, "ops_s", 10))
        self.assertTrue(self.row("reads after overwriting", found, sizes=sizes).is_met)

    def test_no_two_goals_have_the_same_name(self):
        names = [row.what for row in goals.rows(Results({}))]
        self.assertEqual(len(names), len(set(names)))


class Linked(unittest.TestCase):
    def test_what_bounds_a_goal_is_a_heading_of_the_page_of_bounds(self):
        bounds = {row.bound for row in goals.rows(Results({})) if row.bound}
        self.assertGreater(len(bounds), 10)
        for bound in bounds:
            self.assertIn(bound, HEADINGS)

    def test_anchors_are_those_of_the_headings(self):
        anchors = [goals.anchor(heading) for heading in HEADINGS]
        self.assertEqual(len(anchors), len(set(anchors)))
        self.assertEqual(goals.anchor("Reads beside a writer, at full speed"), "reads-beside-a-writer-at-full-speed")

    def test_only_a_goal_that_is_missed_has_a_link(self):
        row = goals.rows(Results({}))[0]
        self.assertEqual(goals.verdict(row), "not measured")
        self.assertEqual(goals.verdict(row._replace(is_met=True)), "yes")
        self.assertEqual(goals.verdict(row._replace(is_met=False)), "**no**: [why](BOUNDS.md#random-reads)")
        self.assertIn("**no**", goals.verdict(row._replace(is_met=False, bound=None)))


class Shown(unittest.TestCase):
    """The page and the report, of the same figures."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rates = [("latewood", 1.5), ("lmdb", 1)]
        lines = [f"1,{engine},100,readrandom,ops_s,{rate}" for engine, rate in rates]
        (self.folder / "figures.csv").write_text("\n".join(lines) + "\n")
        (self.folder / "facts.txt").write_text("records: 1000000\nscale: 1\n")
        (self.folder / "documents.txt").write_text(PRINTED, encoding="utf-8")

    def goals_of_page(self):
        names = ["figures.csv", "facts.txt", "RESULTS.md", "documents.txt"]
        command = [sys.executable, HERE / "results.py", *(self.folder / name for name in names)]
        subprocess.run(command, check=True, capture_output=True)
        return (self.folder / "RESULTS.md").read_text(encoding="utf-8").split("## Goals")[1].split("\n## ")[0]

    def test_the_page_has_a_row_for_each_goal(self):
        text = self.goals_of_page()
        for row in [
            "| random reads | 1.5 | lmdb | 1 | 1.50 | ≥ 2 | **no**: [why](BOUNDS.md#random-reads) |",
            "| sequential fill | - | - | - | - | ≥ 1.7 | not measured |",
            "| import of 1,000,000 JSON Lines | - | - | - | - | ≤ 4 s | not measured |",
            "| durable save | 57.82 µs | SQLite | 102 µs | 1.76 | ≥ 2 | **no**: [why](BOUNDS.md#durable-saves) |",
            "| a small document, bytes on the disk | 150 bytes | SQLite | 140 bytes | 0.93 | ≤ 150 bytes | yes |",
            "| document to Codable | - | - | - | - | - | not measured |",
        ]:
            self.assertIn(row, text)
        self.assertIn("3 of ", text)
        self.assertNotIn("smaller than", text)

    def test_every_link_of_the_page_leads_somewhere(self):
        found = set(re.findall(r"\(BOUNDS\.md#([^)]*)\)", self.goals_of_page()))
        self.assertGreater(len(found), 2)
        self.assertLessEqual(found, {goals.anchor(heading) for heading in HEADINGS})

    def test_a_short_run_says_so(self):
        (self.folder / "facts.txt").write_text("records: 10000\nscale: 0.02\n")
        self.assertIn(results.SHORT_RUN, self.goals_of_page())

    def test_the_report_prints_the_same_goals(self):
        command = [sys.executable, HERE / "report.py", self.folder / "figures.csv"]
        command += ["--documents", self.folder / "documents.txt", "--strict"]
        run = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        printed = [line.split("|") for line in run.stdout.split("Goals, by")[1].splitlines() if line.startswith("| ")]
        shown = [line.split("|") for line in self.goals_of_page().splitlines() if line.startswith("| ")]
        self.assertEqual([line[1].strip() for line in printed[2:]], [line[1].strip() for line in shown[2:]])
        verdicts = {"pass": "yes", "MISS": "**no**", "not measured": "not measured"}
        for line, cells in zip(printed[2:], shown[2:]):
            self.assertTrue(cells[7].strip().startswith(verdicts[line[7].strip()]), cells)


class Script(unittest.TestCase):
    def run_with(self, *arguments):
        return subprocess.run([HERE / "compare.sh", *arguments], capture_output=True, text=True)

    def test_help_names_every_option_and_every_group(self):
        text = self.run_with("--help").stdout
        script = (HERE / "compare.sh").read_text(encoding="utf-8")
        options = re.findall(r"^ +(--[a-z-]+)\)", script, re.MULTILINE)
        self.assertGreater(len(options), 13)
        for name in options + re.search(r'^groups="(.*?)"', script, re.MULTILINE)[1].split():
            self.assertIn(name, text)

    def test_an_unknown_option_is_refused(self):
        for arguments in [["--wrong", "1"], ["--wrong"]]:
            run = self.run_with(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertIn("wrong", run.stderr)

    def test_lines_for_the_import_are_the_same_each_time_and_of_the_length_that_is_told(self):
        command = ["bash", "-c", f". {HERE}/documents.sh; json_lines 2000"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.assertEqual(text, subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        lines = text.splitlines()
        self.assertEqual(len(set(lines)), 2000)
        self.assertTrue(100 <= len(text) / 2000 <= 120, len(text) / 2000)


if __name__ == "__main__":
    unittest.main()
