#!/usr/bin/env python3
"""Tests of the page about how costs grow, and of its charts: python3 Benchmarks/scale_test.py"""
import contextlib
import io
import pathlib
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

import chart
import scale

HERE = pathlib.Path(__file__).resolve().parent
SVG = "{http://www.w3.org/2000/svg}"

FIGURES = """\
1,latewood,100,fillseq@1000,ops_s,1000000
1,latewood,100,fillseq@10000,ops_s,500000
1,latewood,100,fillseq@1000,size_MiB,1
1,latewood,100,readrandom@1000,checksum,7
1,latewood,100,readrandom@10000,checksum,8
1,latewood,100,readrandom@1000,ops_s,2000000
1,latewood,100,fillseq@1000,alloc_MiB,0.5
1,lmdb,100,fillseq@1000,ops_s,2000000
1,lmdb,100,fillseq@10000,ops_s,250000
1,lmdb,100,fillseq@1000,size_MiB,2
1,lmdb,100,readrandom@1000,checksum,7
1,lmdb,100,readrandom@1000,ops_s,1000000
1,latewood,100,readers-1,ops_s,300
1,lmdb,100,readers-1,ops_s,100
1,latewood,100,readers-0-writing,write_ops_s,50
1,latewood,100,readers-8-writing,write_ops_s,20
1,latewood,100,readers-8-writing,read_ops_s,400
1,lmdb,100,readers-0-writing,write_ops_s,60
1,lmdb,100,readers-8-writing,read_ops_s,800
1,latewood,1048576,values-write@1048576,ops_s,300
1,latewood,1048576,values-write@1048576,records,100
1,latewood,1048576,values-write@1048576,size_MiB,110
1,lmdb,1048576,values-write@1048576,ops_s,600
1,latewood,10,values-write@10,ops_s,1000000
1,latewood,100,snapshots-take@200,ops_s,100000
1,latewood,100,snapshots-take@1000,ops_s,100000
1,latewood,100,snapshots-held@1000,anon_growth_MiB,3.5
1,latewood,100,keyspaces-create@200,ops_s,100000
"""
LIMITED = """\
1,latewood,1000,limited-read,ops_s,10000
1,lmdb,1000,limited-read,ops_s,20000
"""
FACTS = "commit: abc1234\nmemory limit: none: skipped, since there is none\n"


class Written(unittest.TestCase):
    """The program, run on figures in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = self.folder / "SCALE.md"
        self.errors = ""

    def run_on(self, figures, facts=FACTS):
        (self.folder / "figures.csv").write_text(figures)
        (self.folder / "facts.txt").write_text(facts)
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            status = scale.main([str(self.folder / name) for name in ["figures.csv", "facts.txt", "SCALE.md"]])
        self.errors = errors.getvalue()
        return status

    def cell(self, heading, row, column):
        """A cell of the first table after a heading."""
        lines = [line for line in self.page.read_text().split(heading, 1)[1].splitlines() if line.startswith("|")]
        table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        return next(line for line in table if line[0] == row)[table[0].index(column)]

    def test_rates_become_costs_of_an_operation_by_size(self):
        self.assertEqual(self.run_on(FIGURES), 0)
        self.assertEqual(self.cell("### Sequential fill", "1,000 records", "latewood"), "1")
        self.assertEqual(self.cell("### Sequential fill", "10,000 records", "latewood"), "2")
        self.assertEqual(self.cell("### Sequential fill", "10,000 records", "lmdb"), "4 (2.00)")

    def test_a_file_is_in_bytes_of_a_record(self):
        self.run_on(FIGURES)
        self.assertEqual(self.cell("### Length, sequential fill", "1,000 records", "latewood"), "1049")
        self.assertEqual(self.cell("### On the disk, sequential fill", "1,000 records", "latewood"), "524.3")
        self.assertEqual(self.cell("### Length of the files", "1 MiB", "latewood"), "1.1")

    def test_values_are_in_bytes_a_second(self):
        self.run_on(FIGURES)
        self.assertEqual(self.cell("### Written", "1 MiB", "latewood"), "300")
        self.assertEqual(self.cell("### Written", "10 B", "latewood"), "9.537")

    def test_a_writer_without_readers_is_in_the_table_and_not_in_the_chart(self):
        self.run_on(FIGURES)
        self.assertEqual(self.cell("### The writer beside them", "0 readers", "latewood"), "50")
        titles = self.titles("scale-readers")
        self.assertIn("latewood, 8: 20", titles)
        self.assertNotIn("latewood, 0: 50", titles)

    def test_every_figure_in_which_a_peer_is_better_is_listed_and_no_other(self):
        self.run_on(FIGURES)
        tail = self.page.read_text().split("## Where a peer is better")[1].splitlines()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in tail if line.startswith("| ")]
        self.assertEqual(
            sorted((row[0], row[1], row[2], row[5]) for row in rows[2:]),
            [
                ("0 readers", "The writer beside them, puts a second", "lmdb", "0.83"),
                ("1 MiB", "Written, MiB a second", "lmdb", "0.50"),
                ("1,000 records", "Sequential fill, µs a record", "lmdb", "0.50"),
                ("8 readers", "Readers beside a writer, reads a second", "lmdb", "0.50"),
            ],
        )

    def test_answers_are_compared_by_size(self):
        self.assertEqual(self.run_on(FIGURES + "1,lmdb,100,readrandom@10000,checksum,7\n"), 1)
        self.assertIn("readrandom@10000", self.errors)
        self.assertFalse(self.page.exists())

    def test_a_wrong_answer_leaves_no_page(self):
        self.assertEqual(self.run_on(FIGURES + "1,lmdb,100,readrandom@1000,MISSES,3\n"), 1)
        self.assertFalse(self.page.exists())

    def test_a_run_that_failed_is_on_the_page_and_in_the_status(self):
        failures = "1,lmdb,0,growth@1000000,FAILED,124\n2,lmdb,0,limited,FAILED,137\n"
        self.assertEqual(self.run_on(FIGURES + failures), 1)
        self.assertIn("| growth@1000000 | lmdb | 1 | stopped, since it took too long |", self.page.read_text())
        self.assertIn("| limited | lmdb | 2 | status 137 |", self.page.read_text())

    def test_a_limit_that_cannot_be_set_is_said(self):
        self.run_on(FIGURES)
        self.assertIn("Memory limit: none: skipped, since there is none.", self.page.read_text())
        self.run_on(FIGURES, "commit: abc1234\n")
        self.assertNotIn("Less memory", self.page.read_text())

    def test_figures_with_little_memory_are_in_their_table(self):
        self.run_on(FIGURES + LIMITED, "memory limit: 512 MiB\n")
        self.assertEqual(self.cell("## Less memory than the file takes", "random read", "lmdb"), "50 (0.50)")

    def test_latewood_alone_has_a_column_for_each_size(self):
        self.run_on(FIGURES)
        self.assertEqual(self.cell("## Snapshots held", "memory, MiB", "1,000 snapshots"), "3.5")
        self.assertEqual(self.cell("## Snapshots held", "memory, MiB", "200 snapshots"), "-")

    def titles(self, name):
        root = xml.parse(self.folder / "Charts" / f"{name}.svg").getroot()
        return [mark.find(f"{SVG}title").text for mark in root.iter() if mark.get("class", "").startswith("mark")]

    def test_every_chart_on_the_page_exists_and_has_a_mark_for_each_figure(self):
        self.run_on(FIGURES)
        text = self.page.read_text()
        for name in ["scale-records", "scale-readers", "scale-values", "scale-snapshots", "scale-keyspaces"]:
            self.assertIn(f"(Charts/{name}.svg)", text)
            self.titles(name)
        found = self.titles("scale-records")
        self.assertIn("lmdb, 10k: 4", found)
        # Two of the legend; fills, files and reads of the engines.
        self.assertEqual(len(found), 2 + 4 + 3 + 2)
        self.assertEqual(self.titles("scale-keyspaces")[0], "latewood")
        self.assertNotIn("lmdb", self.titles("scale-keyspaces"))


class Headings(unittest.TestCase):
    def test_each_fits_above_its_panel(self):
        for heading, *_, unit in [row[:4] for row in scale.RECORDS + scale.READERS + scale.VALUES]:
            self.assertLessEqual(len(f"{heading}, {unit}"), 44, heading)
        for heading, *_ in scale.SNAPSHOTS + scale.KEYSPACES:
            self.assertLessEqual(len(heading), 44)


class Drawn(unittest.TestCase):
    def marks(self, points):
        places = [(x, str(x)) for x, _ in points]
        image = chart.growth("Costs", "What grows.", [("A cost", places, {"own": points})], "own", [])
        root = xml.fromstring(image)
        found = [mark for mark in root.iter(f"{SVG}circle")][1:]
        return root, [(float(mark.get("cx")), float(mark.get("cy"))) for mark in found]

    def test_larger_is_farther_to_the_right_and_higher(self):
        _, [(x0, y0), (x1, y1)] = self.marks([(10, 1.0), (1000, 50.0)])
        self.assertLess(x0, x1)
        self.assertGreater(y0, y1)

    def test_all_marks_are_inside_of_the_picture(self):
        for points in [[(1, 1e-6)], [(10, 5.0), (10**9, 5.0)], [(1, 1e-9), (2, 1e9)]]:
            root, found = self.marks(points)
            _, _, width, height = map(float, root.get("viewBox").split())
            self.assertEqual(len(found), len(points))
            for x, y in found:
                self.assertTrue(chart.PANEL_LEFT <= x <= width and chart.TOP <= y <= height - 20, (points, x, y))

    def test_a_figure_of_zero_is_left_out(self):
        _, found = self.marks([(10, 0.0), (100, 1.0)])
        self.assertEqual(len(found), 1)

    def test_nothing_to_show_is_no_chart(self):
        self.assertIsNone(chart.growth("Costs", "", [("A cost", [], {"own": []})], "own", []))

    def test_there_are_a_few_round_steps_in_any_range(self):
        for low, high in [(1, 10), (0.03, 0.31), (1e-6, 1e6), (7, 8e4), (900, 12000)]:
            found = chart.steps(low, high)
            self.assertTrue(2 <= len(found) <= 7, (low, high, found))
            self.assertTrue(all(low <= step <= high for step in found))

    def test_numbers_are_brief(self):
        numbers = [0.05, 2, 999, 1000, 10_000, 5e6, 2e9]
        self.assertEqual([chart.brief(number) for number in numbers], ["0.05", "2", "999", "1k", "10k", "5M", "2G"])


class Script(unittest.TestCase):
    def run_with(self, *arguments):
        return subprocess.run([HERE / "scale.sh", *arguments], capture_output=True, text=True)

    def test_help_names_every_option(self):
        text = self.run_with("--help").stdout
        options = re.findall(r"^ +(--[a-z-]+)\)", (HERE / "scale.sh").read_text(), re.MULTILINE)
        self.assertGreater(len(options), 15)
        for option in options:
            self.assertIn(option, text)

    def test_an_unknown_option_or_part_is_refused(self):
        for arguments in [["--wrong", "1"], ["--wrong"], ["--parts", "records wrong"]]:
            run = self.run_with(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertIn("wrong", run.stderr)

    def limit(self, commands, **files):
        """Runs commands of memory-limit.sh with a folder that looks like a control group."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                (pathlib.Path(folder) / name.replace("__", ".")).write_text(text)
            setup = f"memory=64 limit=10 cgroup={folder}; . {HERE}/peers.sh; . {HERE}/memory-limit.sh; "
            run = subprocess.run(["bash", "-c", setup + commands], capture_output=True, text=True)
            return run, {file.name: file.read_text().strip() for file in pathlib.Path(folder).iterdir()}

    def test_a_group_of_either_version_gets_the_limit_and_the_process(self):
        for limit in ["memory.max", "memory.limit_in_bytes"]:
            files = {limit.replace(".", "__"): "0"}
            run, found = self.limit("find_memory_limit && with_little_memory echo ran && memory_limit", **files)
            self.assertEqual(run.stdout.split()[0], "ran", run.stderr)
            self.assertIn("64 MiB", run.stdout)
            self.assertEqual(found[limit], str(64 << 20))
            self.assertTrue(found["cgroup.procs"].isdigit())

    def test_a_folder_that_is_no_group_is_refused(self):
        run, _ = self.limit("find_memory_limit")
        self.assertEqual(run.returncode, 1)
        self.assertIn("is no group", run.stderr)


if __name__ == "__main__":
    unittest.main()
