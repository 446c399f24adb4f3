#!/usr/bin/env python3
"""Lists the source files that an operation passes through, and counts its lock operations.

A file counts if, on average, at least one instruction of each operation comes from it, inlined or
not. What happens once in many operations, such as the growth of a buffer, is left out. Of what is
done once for many entries (a checkpoint, a compaction, a recovery), each file counts. The profile
is valgrind's callgrind, as in Benchmarks/instructions.py; what is done by generic code of the
standard library has no file here.

usage: Benchmarks/walks.py PROGRAM [WALK…]         a table: files, lines in them, locks
       Benchmarks/walks.py --files PROGRAM WALK    the files, by their share of the instructions
       Benchmarks/walks.py --source                what can be counted without a program
PROGRAM is LatewoodBenchmark, built as .ci/run does, with the sources beside it.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import instructions

WALKS = {
    "put and commit": "put-durable", "get": "get-base", "checkpoint": "checkpoint-changes",
    "compaction": "compaction", "recovery": "open-log", "save": "document-save",
    "edit": "document-update", "find": "query-point", "typed find": "query-top-10-documents",
}
THREADED = {"compaction"}
WHOLE = {"checkpoint-new", "checkpoint-changes", "compaction", "open-log"}
LOCKS = ("pthread_mutex_lock", "pthread_mutex_trylock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock")


def profile(program, operation, directory, *more):
    """The text of callgrind's file, and the number of operations."""
    out = os.path.join(directory, "callgrind.out")
    options = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    if operation not in THREADED:
        options += ["--collect-atstart=no", "--toggle-collect=*countInstructions*"]
    for attempt in range(instructions.ATTEMPTS):
        result = instructions.run(program, operation, f"{directory}/db{attempt}", *more, prefix=options)
        if "Valgrind: FATAL" not in result.stderr:
            break
    operations = re.search(r"^operations (\d+)$", result.stdout, re.M)
    if result.returncode != 0 or not operations:
        raise RuntimeError(f"{operation} cannot be counted:\n{result.stdout}{result.stderr}")
    return pathlib.Path(out).read_text(encoding="utf-8", errors="replace"), int(operations.group(1))


def costs(text):
    """The instructions of each file, and the number of calls of each function that locks."""
    names, files, calls = {}, {}, {}
    file, called, is_call = "", "", False

    def name(kind, value):
        found = re.match(r"\((\d+)\)(?: (.*))?$", value)
        if not found:
            return value
        if found.group(2) is not None:
            names[kind, found.group(1)] = found.group(2)
        return names.get((kind, found.group(1)), "")

    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key in ("fl", "fi", "fe"):
            file = name("file", value)
        elif key in ("cfi", "cfl"):
            name("file", value)
        elif key == "fn":
            name("fn", value)
        elif key == "cfn":
            called = name("fn", value)
        elif key == "calls":
            base = called.split("@")[0].split("'")[0]
            calls[base] = calls.get(base, 0) + int(value.split()[0])
            is_call = True
        elif re.match(r"[+*\-\d]", line):
            if not is_call:
                files[file] = files.get(file, 0) + int(line.split()[1])
            is_call = False
    return files, sum(calls.get(lock, 0) for lock in LOCKS)


def walk(program, operation, root):
    """The files below Sources with the instructions of one operation in each, and its locks."""
    with tempfile.TemporaryDirectory(prefix="latewood-walks.") as directory:
        text, count = profile(program, operation, directory)
        files, locks = costs(text)
        if operation in THREADED:
            text, _ = profile(program, operation, directory, "--omit", "1")
            others, other_locks = costs(text)
            files = {file: cost - others.get(file, 0) for file, cost in files.items()}
            locks -= other_locks
    passed = {}
    for file, cost in files.items():
        found = re.search(r"(?:^|/)(Sources/Latewood.*\.swift)$", file)
        if found and (root / found.group(1)).exists():
            passed[found.group(1)] = passed.get(found.group(1), 0) + cost / count
    # Two runs differ a little in what neither of them is about.
    least = 200 / count if operation in WHOLE else 1
    return {file: cost for file, cost in passed.items() if cost >= least}, locks / count


def lines_of(path):
    return sum(1 for _ in open(path, encoding="utf-8"))


def source(root):
    """What can be counted in the sources: files, lines, public types, crossings of errors."""
    files = sorted((root / "Sources").rglob("*.swift"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    lengths = [text.count("\n") for text in texts.values()]
    every = "\n".join(texts.values())
    print(f"{'files':<42}{len(files):>8,}")
    print(f"{'lines':<42}{sum(lengths):>8,}")
    print(f"{'files under 40 lines':<42}{sum(length < 40 for length in lengths):>8,}")
    print(f"{'longest file':<42}{max(lengths):>8,}")
    public = r"^\s*public (?:final |indirect )*(?:struct|class|enum|protocol|actor|typealias) "
    print(f"{'public types and aliases':<42}{len(re.findall(public, every, re.M)):>8,}")
    hidden = r"^\s*(?:public )?(?:func|var|init|static func) _\w+"
    print(f"{'underscored declarations':<42}{len(re.findall(hidden, every, re.M)):>8,}")
    for name, pattern in [
        ("DatabaseError.typed", r"(?:Document|Database)Error\.typed\b"), ("translating", r"\btranslating\b"),
        ("DatabaseError.translated", r"DatabaseError\.translated\b"), ("Failure(error)", r"Failure\(error\)"),
        ("do throws(", r"\bdo throws\("), ("closures that throw a type", r"\(\) throws\([A-Za-z]+\) in\b"),
        ("Result { … throws", r"Result \{ \(\) throws"), ("result boxes", r"preconditionFailure\(\"the closure"),
    ]:
        print(f"{name:<42}{len(re.findall(pattern, every)):>8,}")


def main(arguments):
    root = pathlib.Path(__file__).resolve().parent.parent
    if arguments == ["--source"]:
        source(root)
        return 0
    shows_files = "--files" in arguments
    arguments = [argument for argument in arguments if argument != "--files"]
    if not arguments or arguments[0].startswith("-") or (shows_files and len(arguments) != 2):
        print(__doc__)
        return 2
    if not shutil.which("valgrind"):
        print("walks: skipped, there is no valgrind")
        return 0
    program = os.path.abspath(arguments[0])
    wanted = arguments[1:] or list(WALKS)
    if not shows_files:
        print(f"{'walk':<18}{'files':>6}{'lines':>8}{'targets':>9}{'locks':>8}")
    for name in wanted:
        files, locks = walk(program, WALKS.get(name, name), root)
        if shows_files:
            for file, cost in sorted(files.items(), key=lambda item: -item[1]):
                print(f"{cost:10,.1f}  {lines_of(root / file):>5}  {file}")
        lengths = sum(lines_of(root / file) for file in files)
        targets = len({file.split("/")[1] for file in files})
        print(f"{name:<18}{len(files):>6}{lengths:>8,}{targets:>9}{locks:>8.1f}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RuntimeError, subprocess.SubprocessError) as failure:
        print(failure)
        sys.exit(2)
