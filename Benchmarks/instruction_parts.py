#!/usr/bin/env python3
"""Shows where the instructions of core operations go: which part of Latewood, Swift's runtime or
the C library takes how many of them.

The counts are those of Benchmarks/instructions.py: only the operation itself, with fixed seeds, by
valgrind's callgrind. What is inlined counts for the file that it was written in. The time in the
kernel and the time of waiting for memory are in no count.

usage: Benchmarks/instruction_parts.py PROGRAM [OPERATION…]           a table of parts, as Markdown
       Benchmarks/instruction_parts.py --lines PROGRAM OPERATION      the functions that take the most
PROGRAM is LatewoodBenchmark, built as .ci/run does. Without operations: those of documents and
queries. The status is 2 if one cannot be counted.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

import instructions

USUAL = [
    "document-save", "document-update", "document-get-member", "feed-opened", "query-point",
    "query-range-documents", "query-covering", "query-top-10", "index-build", "index-update",
]
# The first pattern that is found in a line of callgrind_annotate, "FILE:FUNCTION [OBJECT]", names
# the part.
PARTS = [
    ("digest of the revision", r"/BLAKE2b\.swift:"),
    ("checksums", r"/XXH64\.swift:"),
    ("JSON and bodies", r"Sources/LatewoodFleece/"),
    ("tree and write buffer", r"Sources/LatewoodTree/"),
    ("log and file", r"Sources/LatewoodFile/|Sources/LatewoodDevice/"),
    ("store", r"Sources/LatewoodStore/"),
    ("documents", r"Sources/LatewoodDocuments/"),
    ("queries", r"Sources/LatewoodQuery/"),
    ("public interface", r"Sources/Latewood/"),
    ("keys, numbers, locks", r"Sources/LatewoodBytes/|Sources/LatewoodConcurrency/|pthread_"),
    ("allocation", r"malloc|_int_free|:free|calloc|swift_alloc|swift_dealloc|swift_slowAlloc|swift_slowDealloc"),
    ("copies and comparisons of memory", r"memcpy|memmove|memset|memcmp|bcmp"),
    ("reference counts, access checks", r"swift_|RefCount|swift::"),
    ("strings and arrays of Swift", r"libswiftCore"),
]
OTHER = "other"
# What the compiler makes, as copies of structures, belongs to the module that the mangled name of
# the function has.
MODULES = {
    "LatewoodFleece": "JSON and bodies", "LatewoodTree": "tree and write buffer",
    "LatewoodFile": "log and file", "LatewoodDevice": "log and file", "LatewoodStore": "store",
    "LatewoodDocuments": "documents", "LatewoodQuery": "queries", "Latewood": "public interface",
    "LatewoodBytes": "keys, numbers, locks", "LatewoodConcurrency": "keys, numbers, locks",
}


def annotated(program, operation):
    """The lines of callgrind_annotate, and the number of operations."""
    with tempfile.TemporaryDirectory(prefix="latewood-parts.") as directory:
        out = os.path.join(directory, "callgrind.out")
        options = [
            "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
            "--toggle-collect=*countInstructions*"]
        for _ in range(instructions.ATTEMPTS):
            result = instructions.run(program, operation, directory + "/db", prefix=options)
            if "Valgrind: FATAL" not in result.stderr:
                break
        operations = re.search(r"^operations (\d+)$", result.stdout, re.M)
        if result.returncode != 0 or not operations:
            raise RuntimeError(f"{operation} cannot be counted:\n{result.stdout}{result.stderr}")
        text = subprocess.run(
            ["callgrind_annotate", "--threshold=100", "--auto=no", "--show-percs=no", out],
            capture_output=True, text=True, check=True).stdout
    lines = []
    for line in text.splitlines():
        found = re.match(r"\s*([\d,]+)\s+(\S.*)$", line)
        if found and "PROGRAM TOTALS" not in line:
            lines.append((int(found.group(1).replace(",", "")), found.group(2)))
    if not lines:
        raise RuntimeError(f"{operation}: callgrind counted nothing")
    return lines, int(operations.group(1))


def part(place):
    for name, pattern in PARTS:
        if re.search(pattern, place):
            return name
    module = re.search(r"\$s.*?\d(Latewood[A-Z][a-z]+|Latewood)\d", place)
    return MODULES.get(module.group(1), OTHER) if module else OTHER


def parts(lines, operations):
    """The instructions of each part for one operation."""
    sums = {}
    for count, place in lines:
        sums[part(place)] = sums.get(part(place), 0) + count
    return {name: count / operations for name, count in sums.items()}


def table(profiles):
    """Markdown with a row for each part and a column for each operation."""
    names = [name for name, _ in PARTS] + [OTHER]
    rows = [["instructions"] + list(profiles)]
    for name in names:
        if any(profile.get(name, 0) >= 0.5 for profile in profiles.values()):
            rows.append([name] + [f"{profile.get(name, 0):,.0f}" for profile in profiles.values()])
    rows.append(["all"] + [f"{sum(profile.values()):,.0f}" for profile in profiles.values()])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "| --- |" + " ---: |" * len(profiles))
    return "\n".join(lines)


def demangled(places):
    if not shutil.which("swift"):
        return places
    result = subprocess.run(
        ["swift", "demangle", "--simplified"], input="\n".join(places), capture_output=True, text=True)
    return result.stdout.splitlines() if result.returncode == 0 else places


def main(arguments):
    shows_lines = "--lines" in arguments
    arguments = [argument for argument in arguments if argument != "--lines"]
    if not arguments or arguments[0].startswith("-") or (shows_lines and len(arguments) != 2):
        print(__doc__)
        return 2
    for needed in ("valgrind", "callgrind_annotate"):
        if not shutil.which(needed):
            print(f"instruction_parts: skipped, there is no {needed}")
            return 0
    program, wanted = os.path.abspath(arguments[0]), arguments[1:] or USUAL
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(wanted, pool.map(lambda name: annotated(program, name), wanted)))
    if shows_lines:
        lines, operations = found[wanted[0]]
        for (count, _), place in zip(lines[:40], demangled([place for _, place in lines[:40]])):
            print(f"{count / operations:10,.1f}  {re.sub(r' .[^ ]*.$', '', place)[:140]}")
    else:
        print(table({name: parts(*found[name]) for name in wanted}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RuntimeError, subprocess.SubprocessError) as failure:
        print(failure)
        sys.exit(2)
