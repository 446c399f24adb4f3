"""Reads what DocumentBenchmark prints: figures of documents and queries, each with what is asked of it."""
import pathlib
import re
from typing import NamedTuple

NUMBER = r"([\d.]+)"
# Beside a peer. What is asked is a ratio, or the most that it may take.
COMPARED = re.compile(
    rf"(.+): {NUMBER} (µs|bytes), (\w+) {NUMBER} (?:µs|bytes), ratio {NUMBER} \((at most )?{NUMBER}(?: bytes)?\)"
)
# Alone: a rate with the least that is asked, and a time with the most.
RATE = re.compile(rf"(.+): {NUMBER} (MiB a second) of processor time \({NUMBER}\)")
TIME = re.compile(rf"(.+), median of \d+: {NUMBER} (µs), asked {NUMBER}")


class Work(NamedTuple):
    name: str
    own: float
    unit: str
    # The name of the peer, its figure, and how many times better Latewood is; None without a peer.
    peer: str | None
    other: float | None
    ratio: float | None
    # What is asked, as a text, and whether it is met.
    asked: str
    is_met: bool


def work(line):
    """What a line says; None if it says nothing of the kind."""
    if row := COMPARED.fullmatch(line):
        own, other, ratio, asked = float(row[2]), float(row[5]), float(row[6]), float(row[8])
        if row[7]:
            return Work(row[1], own, row[3], row[4], other, ratio, f"≤ {asked:g} {row[3]}", own <= asked)
        return Work(row[1], own, row[3], row[4], other, ratio, f"≥ {asked:g}", ratio >= asked)
    if row := RATE.fullmatch(line):
        own, asked = float(row[2]), float(row[4])
        return Work(row[1], own, row[3], None, None, None, f"≥ {asked:g} {row[3]}", own >= asked)
    if row := TIME.fullmatch(line):
        own, asked = float(row[2]), float(row[4])
        return Work(row[1], own, row[3], None, None, None, f"≤ {asked:g} {row[3]}", own <= asked)
    return None


def read(path):
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    return [found for line in lines if (found := work(line))]
