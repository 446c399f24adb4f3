#!/usr/bin/env python3
"""Compares the public interface of the library products with that of the last release.

usage: .ci/api.py               the last release of the changelog whose tag is in this clone
       .ci/api.py COMMIT        any commit, branch or tag

Breaks that are meant stand in .ci/api-breakages.txt, each on a line as it is printed here. Builds
both versions in .build-api: some minutes. `swift package` also compares what is declared as
`package`, which is nobody else's: the declarations of the old version that are not public are taken
out before the comparison.
"""
import json
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
scratch = root / ".build-api"
products = ["Latewood", "LatewoodStore"]


def commit(name):
    found = subprocess.run(
        ["git", "rev-parse", "--quiet", "--verify", name + "^{commit}"], cwd=root, capture_output=True, text=True)
    return found.stdout.strip() or None


def last_release():
    listed = subprocess.run([root / ".ci/version.py", "--releases"], check=True, capture_output=True, text=True)
    releases = listed.stdout.split()
    for release in releases:
        tagged = commit(f"refs/tags/{release}")
        if tagged and tagged != commit("HEAD"):
            return release
    print(f"public interface: skipped, for no earlier release of the changelog is a tag here "
          f"({', '.join(releases)}); `git fetch --tags` gets those that there are")
    sys.exit()


def compare(baseline):
    """Runs the comparison and returns what it calls breaking."""
    result = subprocess.run(
        ["swift", "package", "--scratch-path", scratch, "diagnose-api-breaking-changes", baseline,
         "--baseline-dir", scratch / "baseline", "--products", *products],
        cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    breaks = [line.strip() for line in re.findall(r"API breakage: (.*)", result.stdout)]
    compared = re.findall(r"breaking changes? detected in (\w+)", result.stdout)
    if set(compared) != set(products) or (result.returncode != 0 and not breaks):
        print(result.stdout[-8000:])
        sys.exit("public interface: not compared")
    # A name that begins with an underscore was never for programs to use.
    return [line for line in breaks if not re.match(r"\w+ (\w+\.)*_", line)]


def without_internals(node):
    if isinstance(node, list):
        return [without_internals(child) for child in node
                if not (isinstance(child, dict) and child.get("isInternal"))]
    if isinstance(node, dict):
        return {key: without_internals(value) for key, value in node.items()}
    return node


baseline = sys.argv[1] if len(sys.argv) > 1 else last_release()
folder = scratch / "baseline" / (commit(baseline) or sys.exit(f"{baseline} is no commit of this clone"))
breaks = compare(baseline)
if breaks:
    for file in folder.glob("*.json"):
        file.write_text(json.dumps(without_internals(json.loads(file.read_text()))))
    breaks = compare(baseline)

lines = (root / ".ci/api-breakages.txt").read_text(encoding="utf-8").splitlines()
allowed = {line for line in lines if line and not line.startswith("#")}
for line in breaks:
    if line not in allowed:
        print(line)
for line in sorted(allowed - set(breaks)):
    print(f".ci/api-breakages.txt: no longer there: {line}")
if allowed ^ set(breaks):
    sys.exit(1)
print(f"public interface: compared with {baseline}, {len(breaks)} breaks, all meant")
