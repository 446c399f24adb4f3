#!/usr/bin/env python3
"""Finds public symbols that lack documentation, in the symbol graphs of a product.

A symbol that the sources declare must have a text, one that throws must have a text for what it
throws, and a list of topics in the product's articles must have each symbol at the top level.

usage: .ci/symbols-documented.py DIRECTORY PRODUCT
"""
import json
import pathlib
import re
import sys

directory, product = sys.argv[1:]
root = pathlib.Path(__file__).resolve().parent.parent
sources = (root / "Sources" / product).as_uri()


def throws(fragments):
    """Whether a declaration throws itself, and not only a closure among its parameters."""
    depth = 0
    for fragment in fragments:
        text = fragment["spelling"]
        if depth == 0 and fragment["kind"] == "keyword" and text in ("throws", "rethrows"):
            return True
        depth += text.count("(") - text.count(")")
    return False


top_level = set()
faults = []
count = 0
files = [f"{product}.symbols.json", *(path.name for path in pathlib.Path(directory).glob(f"{product}@*"))]
for file in files:
    graph = json.loads((pathlib.Path(directory) / file).read_text(encoding="utf-8"))
    for symbol in graph["symbols"]:
        place = symbol.get("location", {"uri": ""})
        # What the compiler makes by itself has no place in our sources.
        if "::SYNTHESIZED::" in symbol["identifier"]["precise"] or not place["uri"].startswith(sources):
            continue
        count += 1
        path = ".".join(symbol["pathComponents"])
        if len(symbol["pathComponents"]) == 1:
            top_level.add(path)
        text = "\n".join(line["text"] for line in symbol.get("docComment", {}).get("lines", []))
        where = f"{place['uri'].removeprefix(root.as_uri() + '/')}:{place['position']['line'] + 1}"
        if not text:
            faults.append(f"{where}: {path} has no documentation")
        elif throws(symbol.get("declarationFragments", [])) and "- Throws:" not in text:
            faults.append(f"{where}: {path} does not say what it throws")

page = (root / f"Sources/{product}/{product}.docc/{product}.md").read_text(encoding="utf-8")
listed = set(re.findall(r"^- ``([^`]+)``$", page, re.M))
for name in sorted(top_level - listed):
    faults.append(f"{product}.md: no topic lists {name}")
for article in sorted((root / f"Sources/{product}/{product}.docc").glob("*.md")):
    if article.stem != product and f"- <doc:{article.stem}>" not in page:
        faults.append(f"{product}.md: no topic lists the article {article.stem}")

for fault in sorted(faults):
    print(fault)
print(f"{product}: {count} public symbols, {len(faults)} faults in their documentation")
sys.exit(1 if faults else 0)
