#!/usr/bin/env python3
"""Tests of the report and of the page of results: python3 Benchmarks/results_test.py"""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

import chart
import instruction_parts
import results

HERE = pathlib.Path(__file__).resolve().parent
SVG = "{http://www.w3.org/2000/svg}"

# Three rounds; the second of each is a disturbed one.
FIGURES = """\
1,latewood,100,readrandom,ops_s,1000000
2,latewood,100,readrandom,ops_s,10
3,latewood,100,readrandom,ops_s,1200000
1,latewood,100,readrandom,cpu_us,1
1,latewood,100,readrandom,checksum,42
1,lmdb,100,readrandom,ops_s,500000
2,lmdb,100,readrandom,ops_s,400000
3,lmdb,100,readrandom,ops_s,9999999
1,lmdb,100,readrandom,cpu_us,2
1,lmdb,100,readrandom,checksum,42
1,leveldb,100,readrandom,ops_s,2000000
1,leveldb,100,readrandom,cpu_us,0.5
1,leveldb,100,readrandom,checksum,42
1,latewood,100,readwhilewriting,read_ops_s,300
1,lmdb,100,readwhilewriting,read_ops_s,100
1,latewood,100,fillrandom,ops_s,900
1,latewood,100,fillrandom,size_MiB,200
1,lmdb,100,fillrandom,ops_s,300
1,lmdb,100,fillrandom,size_MiB,100
1,latewood,1000,ycsb-A,ops_s,50
"""
DOCUMENTS = """\
100000 documents; Latewood beside SQLite 3.40.1, CPU time of an operation
round 1: save 6.00 / 4.00 µs
save in batches: 6.00 µs, SQLite 4.50 µs, ratio 0.75 (2.50)
feed, an entry: 0.090 µs, SQLite 0.260 µs, ratio 2.91 (8.00)
blob in: 225.15 MiB a second of processor time (400.00)
"""
FACTS = "commit: abc1234\nprocessor: one | two\n"


class Written(unittest.TestCase):
    """The program, run on figures in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = self.folder / "RESULTS.md"
        self.errors = ""

    def run_on(self, figures, documents=""):
        (self.folder / "figures.csv").write_text(figures)
        (self.folder / "facts.txt").write_text(FACTS)
        (self.folder / "documents.txt").write_text(documents, encoding="utf-8")
        names = ["figures.csv", "facts.txt", "RESULTS.md", "documents.txt"]
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            status = results.main([str(self.folder / name) for name in names])
        self.errors = errors.getvalue()
        return status

    def row(self, heading, name):
        """The cells of a row of the first table after a heading."""
        lines = self.page.read_text().split(heading, 1)[1].splitlines()
        row = next(line for line in lines if line.startswith(f"| {name} |"))
        return [cell.strip() for cell in row.strip("|").split("|")]

    def columns(self, heading):
        return self.row(heading, "workload")

    def test_documents_stand_beside_the_peer_that_they_were_measured_with(self):
        self.assertEqual(self.run_on(FIGURES, DOCUMENTS), 0)
        text = self.page.read_text()
        self.assertIn("| feed, an entry | 0.09 | SQLite | 0.26 | 2.91 |", text)
        behind = text.split("## Where a peer is better", 1)[1]
        self.assertIn("| save in batches | processor time | SQLite | 6 | 4.5 | 0.75 |", behind)
        self.assertEqual(self.run_on(FIGURES), 0)
        self.assertNotIn("## Documents", self.page.read_text())

    def test_figures_are_medians_and_ratios_are_of_medians(self):
        self.assertEqual(self.run_on(FIGURES), 0)
        columns = self.columns("## Reading")
        row = dict(zip(columns, self.row("## Reading", "readrandom")))
        self.assertEqual(row["latewood"], "1.00M")
        self.assertEqual(row["lmdb"], "500.0k (2.00)")
        self.assertEqual(row["leveldb"], "2.00M (0.50)")

    def test_a_cost_that_is_higher_than_the_peers_is_a_ratio_below_one(self):
        self.run_on(FIGURES)
        row = dict(zip(self.columns("Processor time of all"), self.row("Processor time of all", "readrandom")))
        self.assertEqual((row["lmdb"], row["leveldb"]), ("2 (2.00)", "0.5 (0.50)"))
        size = dict(zip(self.columns("## Length of files"), self.row("## Length of files", "fillrandom")))
        self.assertEqual((size["latewood"], size["lmdb"]), ("200", "100 (0.50)"))

    def test_every_figure_in_which_a_peer_is_better_is_listed_and_no_other(self):
        self.run_on(FIGURES)
        tail = self.page.read_text().split("## Where a peer is better")[1].splitlines()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in tail if line.startswith("| ")]
        self.assertEqual(
            sorted((row[0], row[1], row[2], row[5]) for row in rows[2:]),
            [
                ("fillrandom", "length of files", "lmdb", "0.50"),
                ("readrandom", "operations per second", "leveldb", "0.50"),
                ("readrandom", "processor time", "leveldb", "0.50"),
            ],
        )

    def test_a_part_of_the_rates_that_a_peer_has_not_leaves_its_cell_empty(self):
        self.run_on(FIGURES)
        row = dict(zip(self.columns("## Reading"), self.row("## Reading", "readwhilewriting:read")))
        self.assertEqual((row["lmdb"], row["leveldb"]), ("100 (3.00)", "-"))

    def test_a_table_without_figures_has_no_title(self):
        self.run_on(FIGURES)
        self.assertEqual(self.page.read_text().count("Processor time of all"), 1)
        self.assertNotIn("## Opening", self.page.read_text())

    def test_facts_of_the_machine_are_on_the_page(self):
        self.run_on(FIGURES)
        self.assertIn("| commit | abc1234 |\n| processor | one \\| two |", self.page.read_text())

    def test_checksums_that_differ_are_an_error_and_write_no_page(self):
        self.assertEqual(self.run_on(FIGURES + "2,leveldb,100,readrandom,checksum,43\n"), 1)
        self.assertFalse(self.page.exists())
        self.assertIn("checksum differs", self.errors)
        self.assertIn("leveldb", self.errors)

    def test_a_checksum_that_changes_from_round_to_round_is_an_error(self):
        self.assertEqual(self.run_on(FIGURES + "2,latewood,100,readrandom,checksum,7\n"), 1)

    def test_checksums_of_other_lengths_of_values_are_not_compared(self):
        self.assertEqual(self.run_on(FIGURES + "1,lmdb,1000,readrandom,checksum,43\n"), 0)

    def test_an_engine_that_stores_nothing_has_no_answers(self):
        self.assertEqual(self.run_on(FIGURES + "1,null,100,readrandom,checksum,1\n"), 0)

    def test_a_wrong_answer_or_a_failure_is_an_error(self):
        for line in [
            "1,lmdb,100,readrandom,MISSES,3",
            "1,lmdb,0,rand,FAILED,124",
            "1,lmdb,100,readrandom,MISMATCH,checksum 1 instead of 2",
        ]:
            self.assertEqual(self.run_on(FIGURES + line + "\n"), 1, line)
            self.assertFalse(self.page.exists())
            self.assertIn(line, self.errors)

    def test_a_run_without_latewood_is_an_error(self):
        self.assertEqual(self.run_on("1,lmdb,100,readrandom,ops_s,5\n"), 1)

    def test_latewood_alone_makes_a_page_without_charts(self):
        self.assertEqual(self.run_on("1,latewood,100,readrandom,ops_s,5\n"), 0)
        self.assertIn("There were no peers", self.page.read_text())
        self.assertEqual(list((self.folder / "Charts").iterdir()), [])

    def test_every_chart_on_the_page_exists_and_has_a_mark_for_each_ratio(self):
        self.run_on(FIGURES)
        self.assertIn("(Charts/reads.svg)", self.page.read_text())
        root = xml.parse(self.folder / "Charts" / "reads.svg").getroot()
        titles = [mark.find(f"{SVG}title").text for mark in root.iter() if mark.get("class") == "mark"]
        self.assertIn("readrandom: leveldb 2.00 times the rate of Latewood", titles)
        # Two of the legend, two of readrandom, one of readwhilewriting.
        self.assertEqual(len(titles), 5)

    def test_a_run_of_one_size_that_was_stopped_is_named_and_any_other_is_an_error(self):
        self.assertEqual(self.run_on(FIGURES + "1,lmdb,0,growth@10000000,FAILED,124\n"), 0)
        self.assertIn("| growth@10000000 | lmdb | 1 | stopped, since it took too long |", self.page.read_text())
        for line in ["1,lmdb,0,growth@10000000,FAILED,1", "1,latewood,0,live,FAILED,124"]:
            self.page.unlink(missing_ok=True)
            self.assertEqual(self.run_on(FIGURES + line + "\n"), 1, line)
            self.assertFalse(self.page.exists())

    def test_sizes_have_tables_of_their_own_beside_the_peers_that_were_measured(self):
        more = "".join(
            f"1,{engine},100,{workload},{metric},{value}\n"
            for engine, workload, metric, value in [
                ("latewood", "readers-2@10000", "ops_s", 19),
                ("latewood", "twothreads@10000", "ratio", 1.97),
                ("lmdb", "readers-2@10000", "ops_s", 38),
                ("latewood", "readrandom-aged@10000000", "ops_s", 60),
                ("lmdb", "readrandom-aged@10000000", "ops_s", 30),
            ]
        )
        self.assertEqual(self.run_on(FIGURES + more), 0)
        self.assertEqual(self.columns("## Readers that scale"), ["workload", "latewood", "lmdb", "spread"])
        self.assertEqual(self.row("## Readers that scale", "readers-2")[:3], ["readers-2", "19", "38 (0.50)"])
        self.assertEqual(self.row("## Readers that scale", "random reads")[1], "1.97")
        self.assertEqual(self.row("## 10,000,000 records", "readrandom-aged")[1:3], ["60", "30 (2.00)"])
        self.assertIn("| readers-2 | operations per second, 10,000 records | lmdb |", self.page.read_text())

    def test_what_has_no_peer_stands_alone(self):
        more = "1,latewood,0,import,cpu_s,3.5\n1,latewood,100,doc-blob-in,cpu_us,2000\n"
        self.assertEqual(self.run_on(FIGURES + more, DOCUMENTS), 0)
        text = self.page.read_text().split("## Latewood alone")[1]
        self.assertIn("| import of JSON Lines, processor time | 3.5 | s |", text)
        self.assertIn("| a large blob in | 500 | MiB a second of processor time |", text)
        self.assertIn("| blob in | 225.2 | MiB a second |", text)

    def test_the_report_too_ends_with_an_error_if_checksums_differ(self):
        file = self.folder / "figures.csv"
        for more, status in [("", 0), ("2,leveldb,100,readrandom,checksum,43\n", 1)]:
            file.write_text(FIGURES + more)
            run = subprocess.run([sys.executable, HERE / "report.py", file], capture_output=True, text=True)
            self.assertEqual(run.returncode, status, run.stdout)
            self.assertEqual("ANSWERS DIFFER" in run.stdout, bool(more))


class Drawn(unittest.TestCase):
    def marks(self, ratios):
        image = xml.fromstring(chart.chart("Rates", [("one", ratios)], list(ratios)))
        found = [mark for mark in image.iter() if mark.get("class") == "mark"][len(ratios) :]
        return image, [float(mark.get("cx") or mark.get("x")) for mark in found]

    def test_the_order_of_marks_is_the_order_of_rates(self):
        image, (slow, fast) = self.marks({"slow": 0.01, "fast": 30.0})
        one = next(float(line.get("x1")) for line in image.iter(f"{SVG}line") if line.get("class") == "one")
        self.assertLess(slow, one)
        self.assertLess(one, fast)

    def test_all_marks_are_inside_of_the_picture(self):
        for ratio in [1e-6, 0.5, 1.0, 2.0, 1e6]:
            _, places = self.marks({"one": ratio})
            self.assertTrue(chart.LEFT - 1 <= places[0] <= chart.WIDTH - chart.RIGHT + 1, (ratio, places))

    def test_nothing_to_compare_is_no_chart(self):
        self.assertIsNone(chart.chart("Rates", [("one", {})], ["lmdb"]))


class Parts(unittest.TestCase):
    def test_an_instruction_counts_for_the_file_that_it_was_written_in(self):
        for place, part in [
            ("Sources/LatewoodDocuments/Revisions/BLAKE2b.swift:$s17LatewoodDocuments7BLAKE2bV", "digest of the revision"),
            ("Sources/LatewoodBytes/XXH64.swift:$s12LatewoodTree4NodeV", "checksums"),
            ("Sources/LatewoodTree/Base/Node.swift:$s13LatewoodStore6EngineC", "tree and write buffer"),
            ("//<compiler-generated>:$s12LatewoodTree8ReadViewV4scan [/a/LatewoodBenchmark]", "tree and write buffer"),
            ("//<compiler-generated>:$s8Latewood8DocumentVWOs [/a/LatewoodBenchmark]", "public interface"),
            ("???:swift_retain [/usr/lib/libswiftCore.so]", "reference counts, access checks"),
            ("???:$sSS8_copyingyS2SFZ [/usr/lib/libswiftCore.so]", "strings and arrays of Swift"),
            ("./malloc/./malloc/malloc.c:_int_free [/usr/lib/libc.so.6]", "allocation"),
            ("???:0x1234 [/usr/lib/libz.so]", instruction_parts.OTHER),
        ]:
            self.assertEqual(instruction_parts.part(place), part, place)

    def test_the_parts_are_of_one_operation_and_add_up(self):
        lines = [(30, "Sources/LatewoodTree/A.swift:a"), (10, "Sources/LatewoodTree/B.swift:b"), (2, "???:c")]
        found = instruction_parts.parts(lines, 2)
        self.assertEqual(found, {"tree and write buffer": 20, instruction_parts.OTHER: 1})
        self.assertIn("| all | 21 |", instruction_parts.table({"get": found}))


if __name__ == "__main__":
    unittest.main()
