#!/usr/bin/env python3
"""Moves the types that a product re-exports into its symbol graph.

A typealias of a type of another module, under the same name, stands for that type: it is replaced
by the type with its members, so that its documentation and the links to it are in the product.

usage: .ci/reexports.py GRAPHS PRODUCT MODULE
"""
import json
import pathlib
import sys

graphs, product, module = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def load(name):
    path = graphs / f"{name}.symbols.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"symbols": [], "relationships": []}


def save(name, graph):
    (graphs / f"{name}.symbols.json").write_text(json.dumps(graph), encoding="utf-8")


own, other, extensions = load(product), load(module), load(f"{product}@{module}")
types = {symbol["pathComponents"][0]: symbol["identifier"]["precise"]
         for symbol in other["symbols"] if len(symbol["pathComponents"]) == 1}
aliases = {}
for symbol in own["symbols"]:
    named = [part.get("preciseIdentifier") for part in symbol.get("declarationFragments", [])]
    name = symbol["pathComponents"][0]
    if symbol["kind"]["identifier"] == "swift.typealias" and len(symbol["pathComponents"]) == 1:
        if name in types and types[name] in named:
            aliases[symbol["identifier"]["precise"]] = name

names = set(aliases.values())
moved = [symbol for symbol in other["symbols"] if symbol["pathComponents"][0] in names]
moved += [symbol for symbol in extensions["symbols"] if symbol["pathComponents"][0] in names]
identifiers = {symbol["identifier"]["precise"] for symbol in moved}
# The compiler may have put what is exported into the graph already.
own["symbols"] = [symbol for symbol in own["symbols"] if symbol["identifier"]["precise"] not in identifiers]
own["relationships"] = [
    relation for relation in own["relationships"] if relation["source"] not in identifiers]
own["symbols"] = [symbol for symbol in own["symbols"] if symbol["identifier"]["precise"] not in aliases] + moved
own["relationships"] = [
    relation for relation in own["relationships"] if relation["source"] not in aliases
] + [
    relation for graph in (other, extensions) for relation in graph["relationships"]
    if relation["source"] in identifiers
]
save(product, own)
extensions["symbols"] = [
    symbol for symbol in extensions["symbols"] if symbol["identifier"]["precise"] not in identifiers]
extensions["relationships"] = [
    relation for relation in extensions["relationships"] if relation["source"] not in identifiers]
if extensions["symbols"]:
    save(f"{product}@{module}", extensions)
else:
    (graphs / f"{product}@{module}.symbols.json").unlink(missing_ok=True)
print(f"{product}: {len(names)} types of {module} with {len(moved)} symbols")
