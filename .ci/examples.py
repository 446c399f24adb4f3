#!/usr/bin/env python3
"""Compiles and runs the Swift examples of README.md and of the articles, as a client would.

usage: .ci/examples.py            extracts, builds and runs all
       .ci/examples.py NAME...    the same, and runs only the pages with these names
       .ci/examples.py --extract  only writes the sources

Each page becomes one async function of a program, Examples, whose other sources are in .ci/client,
and runs in an empty directory of its own. Its fences follow one another there, so that a later one
can use the names of an earlier one. Comments in the Markdown, which no reader sees, add what a page
leaves out:

    <!-- hidden                       Swift that belongs to the page, but is not shown
    let title = "Monday"
    -->

and say how the next fence is compiled, if not like the others:

    <!-- example: scope -->           in a scope of its own: its names are not known later
    <!-- example: blocking -->        in a function that is not async
    <!-- example: endless -->         in a task that is cancelled after a moment
    <!-- example: skipped: REASON --> not at all

The examples in comments of the public sources are compiled too, each by itself, but not run. What
they leave out is in .ci/client/comments.txt.

The pages are compiled twice more, as they would be in an app: in functions of the main actor, and in
a module whose default isolation is the main actor. There the types that are stored are `nonisolated`,
as the first page says. Programs that must not compile are in .ci/client/Refused; each line of them
names the error that it must have in a comment.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
client = root / ".ci/client"
generated = client / "Sources/Examples/Generated"
variants = {
    "ExamplesOnMainActor": lambda text: re.sub(r"^func (\w+\(\) async)", r"@MainActor func \1", text, flags=re.M),
    # A type that is stored says so in its first line.
    "ExamplesIsolated": lambda text: re.sub(
        r"^( *)((?:struct|enum|final class|class|extension) \w+.*\b(?:Codable|Decodable|Encodable)\b)",
        r"\1nonisolated \2", text, flags=re.M),
}
scratch = root / ".build-examples"
products = {"Latewood": ["Foundation", "Latewood"], "LatewoodStore": ["Foundation", "LatewoodStore"],
            "LatewoodReplication": ["Foundation", "Latewood", "LatewoodReplication"],
            "LatewoodTesting": ["Latewood", "LatewoodTesting"]}

# What nobody minds: an example often ends before a value is used, and two pages have one name.
harmless = re.compile(r"was never (used|mutated|read)|strings produced by other paths in the module")


# On the main actor some calls are not async that are elsewhere.
local = re.compile(r"no 'async' operations occur within 'await'")


def fail(path, line, what):
    sys.exit(f"{path.relative_to(root)}:{line}: {what}")


def pieces(path):
    """Yields (line, kind, lines of Swift) of a page; the kind is `hidden`, `plain` or a directive."""
    kind, since = "plain", 0
    lines = path.read_text(encoding="utf-8").split("\n")
    number = 0
    while number < len(lines):
        text = lines[number].strip()
        number += 1
        start = number
        if text == "<!-- hidden":
            body = []
            while lines[number].strip() != "-->":
                body.append(lines[number])
                number += 1
            number += 1
            yield start + 1, "hidden", body
        elif text.startswith("<!-- example:"):
            if kind != "plain":
                fail(path, since, "this comment has no fence")
            kind, since = text.removeprefix("<!-- example:").removesuffix("-->").strip(), start
            while "-->" not in lines[number - 1]:
                number += 1
        elif text.startswith("```"):
            indent = len(lines[number - 1]) - len(lines[number - 1].lstrip())
            body = []
            while lines[number].strip() != "```":
                body.append(lines[number][indent:])
                number += 1
            number += 1
            if text == "```swift":
                yield start + 1, kind, body
                kind = "plain"
    if kind != "plain":
        fail(path, since, "this comment has no fence")


def translate(path, name, imports):
    """Returns the source text of a page and the number of its examples; None if it has none."""
    imports, body = list(imports), []
    count = skipped = 0
    for line, kind, code in pieces(path):
        place = f'#sourceLocation(file: "{path}", line: {line})'
        for at, text in enumerate(code):
            if text.startswith("import ") and not kind.startswith("skipped"):
                imports.append(text.removeprefix("import ").split()[0])
                code[at] = ""
        if kind != "hidden":
            count += 1
        if kind in ("hidden", "plain"):
            body += [place, *code]
        elif kind == "scope":
            body += ["do {", place, *code, "#sourceLocation()", "}"]
        elif kind == "blocking":
            body += [f"func blocking{line}() throws {{", place, *code, "#sourceLocation()", "}"]
            body += [f"try blocking{line}()"]
        elif kind == "endless":
            body += [f"@Sendable func endless{line}() async throws {{", place, *code, "#sourceLocation()", "}"]
            body += [f"try await forAMoment(endless{line})"]
        elif re.match(r"skipped: \w+", kind):
            skipped += 1
        else:
            fail(path, line, f"“{kind}” is no way to compile an example")
    if count == 0:
        return None
    head = [f"import {module}" for module in sorted(set(imports))]
    text = [*head, f"func {name}() async throws {{", *body, "#sourceLocation()", "}", ""]
    return "\n".join(text), count, skipped


def comment_examples(path):
    """Yields (line, lines of Swift) of the examples in the comments of a source file."""
    example = None
    for number, text in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        comment = re.match(r"\s*/// ?(.*)", text)
        if comment is None:
            example = None
        elif comment[1] == "```swift" and example is None:
            example = []
        elif comment[1].startswith("```"):
            if example:
                yield number - len(example), example
            example = None
        elif example is not None:
            example.append(comment[1])


def translate_comments(product, imports):
    """Returns the source text of the examples in the comments of a product, and their number."""
    set_up, path = {}, None
    for text in (client / "comments.txt").read_text(encoding="utf-8").split("\n"):
        if text.startswith("=="):
            path = text.removeprefix("==").strip()
        elif path is not None:
            set_up[path] = [*set_up.get(path, []), text]
    folder = root / "Sources" / product
    # The document layer declares types that `Latewood` exports.
    folders = [folder / "Public" if (folder / "Public").is_dir() else folder]
    folders += [root / "Sources/LatewoodDocuments"] if product == "Latewood" else []
    text, count = [f"import {module}" for module in imports], 0
    for file in sorted(file for folder in folders for file in folder.rglob("*.swift")):
        own = set_up.get(str(file.relative_to(root)), [])
        for line, code in comment_examples(file):
            count += 1
            place = f'#sourceLocation(file: "{file}", line: {line})'
            code = [place, *code, "#sourceLocation()"]
            if code[1].startswith("extension "):
                text += [*own, *code]
                continue
            effects = "async throws" if any("await " in line for line in code) else "throws"
            text += [f"private func comment{count}() {effects} {{"]
            text += [*(set_up[""] if product == "Latewood" else []), "do {", *own, "do {", *code, "}", "}", "}"]
    return "\n".join([*text, ""]), count


def extract():
    """Writes the sources; returns the number of examples and of those that are skipped."""
    shutil.rmtree(generated, ignore_errors=True)
    generated.mkdir(parents=True)
    for target in variants:
        folder = client / "Sources" / target / "Generated"
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.mkdir(parents=True)
        for support in ["ExampleSupport.swift", "ChoreModel.swift", "Views.swift"]:
            shutil.copy(generated.parent / support, folder / support)
    pages = [(root / "README.md", "README", [])]
    for product, imports in products.items():
        catalog = root / f"Sources/{product}/{product}.docc"
        for path in sorted(catalog.glob("*.md")):
            pages.append((path, f"{product}_{path.stem}", imports))
    names, total, total_skipped = [], 0, 0
    for path, name, imports in pages:
        page = translate(path, name, imports)
        if page is None:
            continue
        text, count, skipped = page
        (generated / f"{name}.swift").write_text(text, encoding="utf-8")
        for target, variant in variants.items():
            (client / "Sources" / target / "Generated" / f"{name}.swift").write_text(
                variant(text), encoding="utf-8")
        names.append(name)
        total += count
        total_skipped += skipped
    in_comments = 0
    for product, imports in products.items():
        text, count = translate_comments(product, imports)
        (generated / f"{product}_comments.swift").write_text(text, encoding="utf-8")
        in_comments += count
    entries = "".join(f'  Page(name: "{name}", run: {name}),\n' for name in names)
    (generated / "Pages.swift").write_text(f"let pages: [Page] = [\n{entries}]\n", encoding="utf-8")
    return len(names), total, total_skipped, in_comments


def compile_all(modules):
    """Compiles the examples and their two variants, with what the debug build has made."""
    # The objects, and no archive of them: a linker takes only those members of an archive that
    # define a wanted symbol, and conformances define none.
    libraries = {path.name for path in (root / "Sources").iterdir() if path.is_dir()}
    # The tool's main function; what LatewoodTesting depends on.
    libraries = libraries - {"LatewoodMain"} | {"LatewoodSimulation"}
    objects = [path for name in sorted(libraries)
               for path in sorted((modules.parent / f"{name}.build").rglob("*.o"))]
    common = ["swiftc", "-swift-version", "6", "-I", modules]
    program = client / "Sources/Examples"
    compilations = {"Examples": ["-o", scratch / "Examples", *sorted(program.rglob("*.swift")), *objects]}
    for name in variants:
        sources = sorted((client / "Sources" / name).rglob("*.swift"))
        isolation = ["-default-isolation", "MainActor"] if name == "ExamplesIsolated" else []
        # Errors about isolation are found only after the types have been checked.
        compilations[name] = ["-emit-sil", "-wmo", "-o", os.devnull, *isolation, *sources]
    scratch.mkdir(exist_ok=True)
    for name, arguments in compilations.items():
        done = subprocess.run(
            [*common, "-module-name", name, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        reports = dict.fromkeys(re.findall(r"^/\S+:\d+:\d+: (?:error|warning): .*", done.stdout, re.M))
        reports = [line for line in reports if not harmless.search(line)]
        if name in variants:
            reports = [line for line in reports if not local.search(line)]
        for line in reports:
            print(line.replace(f"{root}/", ""))
        if done.returncode and not reports:
            print(done.stdout)
        if done.returncode or reports:
            sys.exit(f"examples: {name} does not compile without warnings")


def refuse(modules):
    """Compiles the programs that must not compile, and compares the errors of their lines."""
    for path in sorted((client / "Refused").glob("*.swift")):
        lines = enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        wanted = {number: line.split("// error: ")[1] for number, line in lines if "// error: " in line}
        command = ["swiftc", "-swift-version", "6", "-typecheck", "-parse-as-library"]
        done = subprocess.run(
            [*command, "-I", modules, path],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = {int(line): text for line, text in re.findall(r"\.swift:(\d+):\d+: error: (.*)", done.stdout)}
        for line in sorted({*wanted, *found}):
            if line not in wanted or wanted[line] not in found.get(line, ""):
                fail(path, line, f"expected “{wanted.get(line)}”, found “{found.get(line)}”")


def main():
    pages, count, skipped, in_comments = extract()
    if sys.argv[1:] == ["--extract"]:
        return
    build = ["swift", "build", "--package-path", root]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    shown = subprocess.run([*build, "--show-bin-path"], check=True, stdout=subprocess.PIPE, text=True)
    modules = pathlib.Path(shown.stdout.strip()) / "Modules"
    compile_all(modules)
    refuse(modules)
    with tempfile.TemporaryDirectory(prefix="latewood-examples-") as directory:
        program = scratch / "Examples"
        # Where `DatabaseDirectory.standard` has the data of applications.
        environment = {**os.environ, "XDG_DATA_HOME": f"{directory}/data"}
        done = subprocess.run(
            [program, directory, *sys.argv[1:]], stdout=subprocess.PIPE, text=True, env=environment
        )
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-20:]))
        sys.exit("examples: they do not run")
    print(f"examples: {count - skipped} on {pages} pages compiled and run, {skipped} skipped;")
    print(f"          {in_comments} in comments compiled")


main()
