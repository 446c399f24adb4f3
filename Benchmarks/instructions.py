#!/usr/bin/env python3
"""Counts the instructions of core operations, and compares them with Benchmarks/Baselines.

Instructions are counted by valgrind's callgrind, so that a busy machine changes nothing. Each
operation runs in a process of its own, with fixed seeds, and only the operation itself is
counted. What it costs to wait for the disk or for other threads is not seen.

A count depends on the compiler, its options, the C library and the kind of processor. The
baseline names them; with others, the comparison is skipped.

An operation that other threads help with is counted by the difference of two runs of the whole
process, with it and without it.

usage: Benchmarks/instructions.py PROGRAM [OPERATION…]            compares
       Benchmarks/instructions.py --update PROGRAM [OPERATION…]   writes the baseline
PROGRAM is LatewoodBenchmark, built as .ci/run does. The status is 1 if an operation takes more than
5% more instructions than its baseline, or has none; 2 if one cannot be counted.
"""
import concurrent.futures
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

TOLERANCE = 0.05
RECORDS = "20000"
ATTEMPTS = 5
baseline_path = pathlib.Path(__file__).parent / "Baselines" / "instructions.txt"


def compiler():
    text = subprocess.run(["swift", "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"Swift version \S+", text).group()


def circumstances():
    """What a count depends on, beside the sources."""
    return f"{compiler()}, -enable-testing, {platform.machine()}, {' '.join(platform.libc_ver())}"


def run(program, operation, directory, *more, prefix=()):
    arguments = ["--group", "instructions", "--n", RECORDS, "--dir", directory, "--operation", operation]
    # The vector instructions that C functions choose would depend on the processor.
    tunables = "glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM"
    environment = dict(os.environ, SWIFT_DETERMINISTIC_HASHING="1", GLIBC_TUNABLES=tunables)
    return subprocess.run(
        [*prefix, program, *arguments, *more], capture_output=True, text=True, timeout=300, env=environment)


def collect(program, operation, options, *more):
    """The number of instructions of one run, and the number of operations."""
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory(prefix="latewood-instructions.") as directory:
            result = run(
                program, operation, directory + "/db", *more,
                prefix=["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *options])
        # Valgrind 3.19 now and then fails in its own bookkeeping of mappings.
        if "Valgrind: FATAL" not in result.stderr:
            break
    operations = re.search(r"^operations (\d+)$", result.stdout, re.M)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or not operations or not collected or collected.group(1) == "0":
        raise RuntimeError(f"{operation} cannot be counted:\n{result.stdout}{result.stderr}")
    return int(collected.group(1)), int(operations.group(1))


def count(program, operation, uses_threads):
    """The number of instructions of one operation."""
    if uses_threads:
        total, operations = collect(program, operation, [])
        collected = total - collect(program, operation, [], "--omit", "1")[0]
    else:
        options = ["--collect-atstart=no", "--toggle-collect=*countInstructions*"]
        collected, operations = collect(program, operation, options)
    if collected < operations:
        raise RuntimeError(f"{operation}: {collected} instructions of {operations} operations")
    return collected / operations


def read_baseline():
    if not baseline_path.exists():
        return None, {}
    head, counts = None, {}
    for line in baseline_path.read_text(encoding="utf-8").splitlines():
        if line.startswith("with "):
            head = line.removeprefix("with ")
        elif line and not line.startswith("#"):
            name, value = line.split()
            counts[name] = float(value)
    return head, counts


def write_baseline(head, counts):
    lines = ["# Instructions per operation. Written by Benchmarks/instructions.py --update.", f"with {head}"]
    lines += [f"{name} {value:.1f}" for name, value in counts.items()]
    baseline_path.parent.mkdir(exist_ok=True)
    baseline_path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compare(names, now, baseline):
    """Prints a line for each operation. Returns the names of those that fail."""
    failed = []
    print(f"{'operation':<22}{'baseline':>14}{'now':>14}{'ratio':>8}")
    for name in names:
        if name not in baseline:
            print(f"{name:<22}{'none':>14}{now[name]:>14,.0f}")
            failed.append(name)
            continue
        ratio = now[name] / baseline[name]
        remark = ""
        if ratio > 1 + TOLERANCE:
            remark = "  MORE"
            failed.append(name)
        elif ratio < 1 - TOLERANCE:
            remark = "  fewer: --update keeps that"
        print(f"{name:<22}{baseline[name]:>14,.0f}{now[name]:>14,.0f}{ratio:>8.3f}{remark}")
    return failed


def main(arguments):
    is_update = "--update" in arguments
    arguments = [argument for argument in arguments if argument != "--update"]
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 2
    if not shutil.which("valgrind"):
        print("instructions: skipped, there is no valgrind")
        return 0
    program, wanted = os.path.abspath(arguments[0]), arguments[1:]
    here = circumstances()
    head, baseline = read_baseline()
    if not is_update and head != here:
        print(f"instructions: skipped, the baseline is of {head}, and this is {here}")
        return 0
    with tempfile.TemporaryDirectory(prefix="latewood-instructions.") as directory:
        lines = run(program, "", directory).stdout.splitlines()
    names = [line.split()[0] for line in lines]
    threaded = {line.split()[0] for line in lines if line.endswith(" threads")}
    unknown = set(wanted) - set(names)
    if unknown or not names:
        print(f"instructions: the program does not know {' '.join(sorted(unknown)) or 'any operation'}")
        return 2
    chosen = wanted or names
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        now = dict(zip(chosen, pool.map(lambda name: count(program, name, name in threaded), chosen)))
    if is_update:
        kept = baseline if head == here else {}
        merged = {**kept, **now}
        write_baseline(here, {name: merged[name] for name in names if name in merged})
    failed = compare(chosen, now, now if is_update else baseline)
    gone = sorted(set(baseline) - set(names)) if not is_update else []
    if gone:
        print(f"the baseline has {' '.join(gone)}, and the program does not")
    if failed:
        print(f"more than {TOLERANCE:.0%} above the baseline, or without one: {' '.join(failed)}")
        print("If that is meant: Benchmarks/instructions.py --update, and say why in the commit message.")
    return 1 if failed or gone else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RuntimeError, subprocess.TimeoutExpired) as failure:
        print(failure)
        sys.exit(2)
