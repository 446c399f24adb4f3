#!/usr/bin/env python3
"""Writes the page at /_utils/ into a Swift file, from the files in
Sources/LatewoodServing/Console/Page, so that the server is one program without other files.

    Tests/console/generate.py            writes Sources/LatewoodServing/Console/ConsoleSources.swift
    Tests/console/generate.py --check    fails if that file is not what would be written
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "Sources/LatewoodServing/Console/Page"
OUTPUT = ROOT / "Sources/LatewoodServing/Console/ConsoleSources.swift"
# One script, in the order in which its parts need each other.
SCRIPTS = ["json", "elements", "server", "databases", "documents", "document", "compare", "page"]


def read(name):
    return (PAGE / name).read_text(encoding="utf-8").rstrip("\n")


def literal(name, comment, text):
    # What would end the literal, an escape in it, or the element in the page early.
    for bad in ('"""#', "\\#", "\r", "\0"):
        assert bad not in text, f"{name} contains {bad!r}"
    return f'  /// {comment}\n  static let {name} = #"""\n{text}\n"""#\n'


script = "\n\n".join(read(f"{name}.js") for name in SCRIPTS)
style = read("page.css")
for text in (script, style):
    assert not re.search(r"</|<!--", text), "markup in a script or a style"
listed = {f"{name}.js" for name in SCRIPTS} | {"page.css", "page.html"}
assert {file.name for file in PAGE.iterdir()} == listed, "a file that is not part of the page"

before, rest = read("page.html").split("<style></style>")
between, after = rest.split('<script type="module"></script>')
output = f'''// Written by Tests/console/generate.py from the files in Console/Page.
// swift-format-ignore-file

/// The texts of ``ConsolePage``, in their order in the page.
enum ConsoleSources {{
{literal("beforeStyle", "The markup up to the style.", before + "<style>")}
{literal("style", "The only style.", style)}
{literal("beforeScript", "The markup between style and script.", "</style>" + between + '<script type="module">')}
{literal("script", "The only script.", script)}
{literal("afterScript", "The rest of the markup.", "</script>" + after)}}}
'''

if sys.argv[1:] == ["--check"]:
    if not OUTPUT.exists() or OUTPUT.read_text(encoding="utf-8") != output:
        sys.exit(f"{OUTPUT.relative_to(ROOT)} is out of date: run Tests/console/generate.py")
elif not sys.argv[1:]:
    OUTPUT.write_text(output, encoding="utf-8")
else:
    sys.exit(__doc__)
