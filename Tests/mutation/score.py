#!/usr/bin/env python3
"""Would the tests notice? Takes out or turns round one check of the engine at a time, runs the tests, and says which mutants survive.

usage: Tests/mutation/score.py                 all mutants that have no result yet
       Tests/mutation/score.py --only NAME ...  these, whatever was found before
       Tests/mutation/score.py --list           the mutants, with what was found
       Tests/mutation/score.py --check          only that each is still to be found in the sources, once

The mutants are in mutants.toml. All are built at once, into a copy of the repository: each place becomes
`(activeMutant == 17 ? mutated : original)`, and an environment variable says which one is active. So the tests are compiled once and run once
for each mutant, in several steps, the likely killers first, and no further than the first failure. Results go to a file, so that a run that was
ended goes on where it stopped: delete the file to begin anew.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_name("mutants.toml")
VARIABLE = "LATEWOOD_MUTANT"
FILES = ["Package.swift", "Sources", "Tests", "Benchmarks", "Fuzz", "FORMAT.md", "README.md", ".swift-format"]

# What may read the environment once for all modules: every one that has mutants imports
# LatewoodBytes.
SWITCH = """#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@usableFromInline package let activeMutant: Int32 = getenv("%s").map { atoi($0) } ?? -1
""" % VARIABLE

# The steps in which the tests are run, by the module that the mutant is in; after them comes
# everything.
STORE = r"^LatewoodStoreTests\."
STEPS = {
    "LatewoodDevice": [r"^LatewoodDeviceTests\.", r"^LatewoodFileTests\.|" + STORE],
    "LatewoodFile": [r"^LatewoodFileTests\.|^LatewoodFormatTests\.", STORE],
    "LatewoodTree": [r"^LatewoodTreeTests\.|^LatewoodFormatTests\.", STORE],
    "LatewoodStore": [STORE],
    "LatewoodFleece": [r"^LatewoodFleeceTests\."],
    "LatewoodText": [r"^LatewoodTextTests\.", r"^LatewoodDocumentsTests\."],
    "LatewoodQuery": [r"^LatewoodQueryTests\.", r"^LatewoodDocumentsTests\.|^LatewoodTests\."],
    "LatewoodDocuments": [r"^LatewoodDocumentsTests\."],
    "Latewood": [r"^LatewoodTests\."],
    "LatewoodBytes": [r"^LatewoodBytesTests\.|^LatewoodTreeTests\."],
    "LatewoodInspection": [r"^LatewoodInspectionTests\.|^LatewoodFormatTests\."],
    "LatewoodTool": [r"^LatewoodToolTests\."],
}
# Before those, where a part of the path says more.
LIKELY = {
    "Compaction": r"CompactionTests|CopyTests|SwitchTests|ReadBack|FollowingTests|CopyCrashTests",
    "/Copy/": r"ReadBackTests|CompactionTests",
    "Space/": r"PunchingTests|BackupTests|HistoryTests",
    "Public/": r"TransactionTests|KeyspaceTests|RefusalTests|CursorTests|StoreTests",
    "Inspection": r"HistoryTests|VerifyBesideCheckpointTests|RefusalTests|OpeningTests|CompactionTests",
    "Engine+Write": r"TransactionTests|FoundStateTests|FullDiskTests|StoreTests|MisuseTests",
    "Checkpoint": r"PunchingTests|FullDiskTests|StoreTests|SnapshotConcurrencyTests|ModelTests",
    "CatalogVerify": r"CatalogVerifyTests",
    "Backup/": r"BackupTests|BackupBranchTests|BackupCrashTests",
}
# A test that measures speed says nothing about a mutant.
SKIPPED = r"BaseTimingTests|DigestSpeedTests"


def is_expression(text):
    """Whether the text has no keyword of a statement, no label, no list and no half of a pair of brackets."""
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0 or (depth == 0 and character == ","):
            return False
    return depth == 0 and not re.match(r"(if|return|guard|let|var|throw|for|while)\b|\w+: ", text)


class Mutant:
    def __init__(self, number, entry):
        self.number = number
        self.name = entry["name"]
        self.what = entry["what"]
        self.file = entry["file"]
        self.was = entry["was"]
        self.becomes = entry.get("is")
        self.within = entry.get("within", self.was)
        self.suites = entry.get("suites")
        self.immaterial = entry.get("immaterial")
        unknown = set(entry) - {"name", "what", "file", "was", "is", "within", "suites", "immaterial"}
        if unknown:
            sys.exit(f"{self.name}: unknown fields {unknown}")
        # An expression stands in parentheses: what is not one would only fail in the build.
        for text in [self.was, self.becomes] if self.becomes is not None else []:
            if not is_expression(text):
                sys.exit(f"{self.name}: not an expression, of which a part has to be chosen by `within`:\n{text}")

    def place(self, text):
        """Where the text to be changed begins in the file."""
        if text.count(self.within) != 1:
            sys.exit(f"{self.name}: found {text.count(self.within)} times in {self.file}, instead of once:\n{self.within}")
        if self.within.count(self.was) != 1:
            sys.exit(f"{self.name}: found {self.within.count(self.was)} times in what it should be within:\n{self.was}")
        return text.index(self.within) + self.within.index(self.was)

    def mutated(self):
        if self.becomes is None:
            return f"if activeMutant != {self.number} {{ {self.was} }}"
        return f"(activeMutant == {self.number} ? ({self.becomes}) : ({self.was}))"

    def steps(self, limit):
        steps = [self.suites] if self.suites else []
        steps += [suites for part, suites in LIKELY.items() if part in self.file]
        steps += STEPS.get(self.file.split("/")[1], []) + [""]
        return steps[: limit or len(steps)]


def read_mutants():
    with open(LIST, "rb") as file:
        entries = tomllib.load(file)["mutant"]
    mutants = [Mutant(number, entry) for number, entry in enumerate(entries, 1)]
    names = [mutant.name for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"two mutants are named {name}")
    return mutants


def mutated_sources(mutants):
    """The text of each file that has mutants, with all of them in it."""
    places = {}
    for mutant in mutants:
        text = (ROOT / mutant.file).read_text()
        places.setdefault(mutant.file, []).append((mutant.place(text), mutant))
    result = {}
    for file, found in places.items():
        text = (ROOT / file).read_text()
        found.sort(key=lambda item: item[0], reverse=True)
        end = len(text)
        for start, mutant in found:
            if start + len(mutant.was) > end:
                sys.exit(f"{mutant.name}: overlaps with another mutant in {file}")
            text = text[:start] + mutant.mutated() + text[start + len(mutant.was) :]
            end = start
        if "import LatewoodBytes" not in text and "/LatewoodBytes/" not in file:
            text = "import LatewoodBytes\n" + text
        result[file] = text
    # Constant conditions and code that is never reached are what mutants are made of.
    manifest = (ROOT / "Package.swift").read_text()
    result["Package.swift"] = manifest.replace("[.treatAllWarnings(as: .error)]", "[]")
    return result


def copy_tree(scratch, changed):
    """Files that are as they were keep their dates, so that only what changed is compiled again."""
    wanted = set()
    for top in FILES:
        path = ROOT / top
        for source in [path] if path.is_file() else sorted(path.rglob("*")):
            if source.is_dir() or "__pycache__" in source.parts:
                continue
            name = str(source.relative_to(ROOT))
            wanted.add(name)
            target = scratch / name
            content = changed[name].encode() if name in changed else source.read_bytes()
            if target.exists() and target.read_bytes() == content:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(source.stat().st_mode)
    switch = "Sources/LatewoodBytes/ActiveMutant.swift"
    wanted.add(switch)
    if not (scratch / switch).exists() or (scratch / switch).read_text() != SWITCH:
        (scratch / switch).write_text(SWITCH)
    for top in FILES:
        for target in sorted((scratch / top).rglob("*")) if (scratch / top).is_dir() else []:
            if target.is_file() and str(target.relative_to(scratch)) not in wanted:
                target.unlink()


def build(scratch):
    command = ["swift", "build", "-c", "release", "-Xswiftc", "-enable-testing", "--build-tests"]
    print("building", flush=True)
    began = time.monotonic()
    with open(scratch / "build.log", "w") as log:
        if subprocess.run(command, cwd=scratch, stdout=log, stderr=subprocess.STDOUT).returncode != 0:
            lines = [line for line in open(scratch / "build.log") if "error:" in line]
            sys.exit("the build failed, see " + log.name + "\n" + "".join(sorted(set(lines))[:20]))
    print(f"built in {time.monotonic() - began:.0f} s", flush=True)


class Run:
    """One run of some of the tests with one mutant; ends with the first failure."""

    def __init__(self, scratch, number, suites, limit):
        bundle = scratch / ".build/release/LatewoodPackageTests.xctest"
        command = [str(bundle), "--testing-library", "swift-testing", "--skip", SKIPPED]
        if suites:
            command += ["--filter", suites]
        environment = dict(os.environ, LATEWOOD_EFFORT="low", SWIFT_BACKTRACE="enable=no", NO_COLOR="1")
        # The tests that run first also end first, so that the first failure comes early.
        environment["SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"] = "4"
        environment[VARIABLE] = str(number)
        self.killer = None
        began = time.monotonic()
        # A hang of one test may keep the others from being reported, so the whole group goes.
        self.process = subprocess.Popen(
            command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        timer = threading.Timer(limit, self.hung, [limit])
        timer.start()
        last = ""
        try:
            for line in self.process.stdout:
                line = line.decode(errors="replace").rstrip()
                failed = re.match(r"^✘ Test (.*?) recorded an issue", line)
                if failed and not self.killer:
                    self.killer = failed.group(1)
                    self.stop()
                if line.strip():
                    last = line
            status = self.process.wait()
        finally:
            timer.cancel()
            self.stop()
        if not self.killer and status != 0:
            self.killer = f"ended with {status}: {last[:100]}"
        self.seconds = time.monotonic() - began

    def hung(self, limit):
        self.killer = f"hung for {limit} s"
        self.stop()

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def try_mutant(scratch, mutant, limit, steps):
    seconds = 0
    for suites in mutant.steps(steps):
        run = Run(scratch, mutant.number, suites, limit)
        seconds += run.seconds
        if run.killer:
            # Once more: a test that fails now and then for another reason is no killer.
            again = Run(scratch, mutant.number, suites, limit)
            seconds += again.seconds
            if again.killer:
                return "killed", run.killer, seconds
    return "doubtful" if steps else "survived", "", seconds


def read_results(path):
    results = {}
    if path.exists():
        for line in path.read_text().splitlines():
            name, outcome, seconds, by = (line.split("\t") + ["", "", ""])[:4]
            results[name] = (outcome, seconds, by)
    return results


def summary(mutants, results):
    survivors = [m for m in mutants if results.get(m.name, ("",))[0] == "survived"]
    killed = sum(results.get(m.name, ("",))[0] == "killed" for m in mutants)
    print(f"\n{len(mutants)} mutants: {killed} killed, {len(survivors)} survived, "
          f"{len(mutants) - killed - len(survivors)} without a result, or with a doubtful one")
    unexplained = 0
    for mutant in survivors:
        print(f"survived: {mutant.name} ({mutant.file}): {mutant.what}")
        print(f"          {mutant.immaterial or 'NOT EXPLAINED'}")
        unexplained += not mutant.immaterial
    for mutant in mutants:
        if mutant.immaterial and results.get(mutant.name, ("",))[0] == "killed":
            print(f"explained, and yet killed: {mutant.name}")
    return unexplained


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--quick", type=int, default=0, metavar="STEPS",
                        help="only so many steps, the likely killers: what survives is called doubtful")
    parser.add_argument("--again", choices=["survived", "doubtful"], help="those of which this was found")
    parser.add_argument("--scratch", default=str(ROOT / ".build-mutants"))
    parser.add_argument("--built", action="store_true", help="with what was built last, whatever has changed since")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=600, help="seconds for one step; longer is a hang")
    arguments = parser.parse_args()

    mutants = read_mutants()
    changed = mutated_sources(mutants)
    scratch = pathlib.Path(arguments.scratch).resolve()
    path = scratch / "results.tsv"
    results = read_results(path)
    if arguments.check:
        return print(f"{len(mutants)} mutants, each found once")
    if arguments.list:
        for mutant in mutants:
            outcome, seconds, by = results.get(mutant.name, ("", "", ""))
            print(f"{mutant.number:3} {mutant.name:32} {outcome:9} {mutant.what}{': ' + by if by else ''}")
        return
    if not arguments.built:
        scratch.mkdir(parents=True, exist_ok=True)
        copy_tree(scratch, changed)
        build(scratch)

    unknown = set(arguments.only) - {m.name for m in mutants} - {str(m.number) for m in mutants}
    if unknown:
        sys.exit(f"no such mutants: {unknown}")
    if arguments.only:
        todo = [m for m in mutants if m.name in arguments.only or str(m.number) in arguments.only]
    elif arguments.again:
        # Whoever asks for these has just tried the tests.
        todo = [m for m in mutants if results.get(m.name, ("",))[0] == arguments.again]
    else:
        todo = [m for m in mutants if m.name not in results]
        without = Run(scratch, -1, "" if not arguments.quick else STORE, arguments.limit)
        if without.killer:
            sys.exit(f"without a mutant the tests fail already: {without.killer}")
        print(f"without a mutant the tests pass, in {without.seconds:.0f} s", flush=True)

    lock = threading.Lock()

    def attempt(mutant):
        outcome, by, seconds = try_mutant(scratch, mutant, arguments.limit, arguments.quick)
        with lock:
            results[mutant.name] = (outcome, f"{seconds:.0f}", by)
            with open(path, "a") as file:
                file.write(f"{mutant.name}\t{outcome}\t{seconds:.0f}\t{by}\n")
            print(f"{outcome:9} {seconds:4.0f} s  {mutant.name}{'  by ' + by if by else ''}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(attempt, todo))
    if summary(mutants, results):
        sys.exit(1)


main()
