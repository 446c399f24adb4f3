#!/usr/bin/env python3
"""Finds out whether the tool, the changelog and the README name the same release.

usage: .ci/version.py               compares them
       .ci/version.py --releases    prints the releases of the changelog, the newest first
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
changelog = (root / ".github/CHANGELOG.md").read_text(encoding="utf-8")
sections = re.findall(r"^## (.*)$", changelog, flags=re.M)
releases = [re.fullmatch(r"(\d+\.\d+\.\d+) \(\d{4}-\d{2}-\d{2}\)", section) for section in sections[1:]]
if sections[:1] != ["Unreleased"] or not releases or None in releases:
    sys.exit(".github/CHANGELOG.md: not `## Unreleased` and then a `## VERSION (YEAR-MONTH-DAY)` for each release")
releases = [release[1] for release in releases]
if sys.argv[1:] == ["--releases"]:
    print(*releases, sep="\n")
    sys.exit()

faults = 0
for path, pattern in [
    ("Sources/LatewoodTool/LatewoodCommand.swift", r'^  static let version = "(.*)"$'),
    ("README.md", r'\.package\(url: .*?, from: "(.*?)"\)'),
]:
    found = re.findall(pattern, (root / path).read_text(encoding="utf-8"), flags=re.M)
    if found != releases[:1]:
        faults += 1
        print(f"{path}: names release {' and '.join(found) or 'none'}, the changelog {releases[0]}")
if faults:
    sys.exit(1)
print(f"release {releases[0]} in the tool, the changelog and the README")
