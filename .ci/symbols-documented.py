#!/usr/bin/env python3
"""Finds what lacks in the documentation of a product: in its symbol graphs, and in what docc made.

A public symbol that the sources declare must have a text, and one that throws must say what. The
page of the module, and those of types whose topics the articles list, must list all that they have:
docc puts the rest into groups of its own.

usage: .ci/symbols-documented.py GRAPHS ARCHIVE PRODUCT
"""
import json
import pathlib
import sys

graphs, archive, product = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
root = pathlib.Path(__file__).resolve().parent.parent
sources = root / "Sources"


def throws(fragments):
    """Whether a declaration throws itself, and not only a closure among its parameters."""
    depth = 0
    for fragment in fragments:
        text = fragment["spelling"]
        if depth == 0 and fragment["kind"] == "keyword" and text in ("throws", "rethrows"):
            return True
        depth += text.count("(") - text.count(")")
    return False


def symbols():
    for path in [graphs / f"{product}.symbols.json", *graphs.glob(f"{product}@*.symbols.json")]:
        for symbol in json.loads(path.read_text(encoding="utf-8"))["symbols"]:
            uri = symbol.get("location", {}).get("uri", "")
            # What the compiler makes by itself has no place in our sources.
            if "::SYNTHESIZED::" not in symbol["identifier"]["precise"] and uri.startswith(sources.as_uri()):
                yield symbol


faults = []
count = 0
for symbol in symbols():
    count += 1
    place = symbol["location"]
    path = ".".join(symbol["pathComponents"])
    text = "\n".join(line["text"] for line in symbol.get("docComment", {}).get("lines", []))
    where = f"{place['uri'].removeprefix(root.as_uri() + '/')}:{place['position']['line'] + 1}"
    if not text:
        faults.append(f"{where}: {path} has no documentation")
    elif throws(symbol.get("declarationFragments", [])) and "- Throws:" not in text:
        faults.append(f"{where}: {path} does not say what it throws")

catalog = sources / product / f"{product}.docc"
pages = archive / "data/documentation"
for article, page in [
    (catalog / f"{product}.md", f"{product}.json"),
    *((path, f"{product}/{path.stem}.json") for path in sorted(catalog.glob("Extensions/*.md"))),
]:
    content = json.loads((pages / page.lower()).read_text(encoding="utf-8"))
    for section in content["topicSections"]:
        if section.get("generated") and section["title"] != "Default Implementations":
            for name in section["identifiers"]:
                faults.append(f"{article.relative_to(root)}: no topic lists {name.split('/')[-1]}")

overview = (catalog / f"{product}.md").read_text(encoding="utf-8")
for article in sorted(catalog.glob("*.md")):
    if article.stem != product and f"- <doc:{article.stem}>" not in overview:
        faults.append(f"{catalog.relative_to(root)}/{product}.md: no topic lists the article {article.stem}")

print("\n".join(sorted(faults)), end="\n" if faults else "")
print(f"{product}: {count} public symbols, {len(faults)} faults in their documentation")
sys.exit(1 if faults else 0)
