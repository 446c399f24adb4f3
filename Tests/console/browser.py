#!/usr/bin/env python3
"""Uses the page at /_utils/ as a person would, in a headless browser: creates, edits, resolves
conflicts, queries, and does all of it with the keyboard alone. Documents contain markup, which must
stay text. Needs Debian's chromium and chromium-driver, which root may have it install.

    Tests/console/browser.py TOOL [--pictures FOLDER] [--no-install]

`--pictures` keeps screenshots of each page, light and dark, wide and narrow.
"""
import argparse
import base64
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from webdriver import Browser  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "Sources/LatewoodServing/Console/Page"
MARKUP = "<img src=x onerror=\"window.injected=1\">"
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
                         "gg==")
SIZES = {"wide": (1400, 900), "narrow": (360, 740)}


class Server:
    """The tool, serving a new file."""

    def __init__(self, tool, folder):
        self.process = subprocess.Popen([tool, "serve", f"{folder}/page.latewood", "--create", "--port", "0"],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.address = re.search(r"http://[^/]*/", line)[0]
        # The lines about requests are not read by anybody else, and would fill the pipe.
        self.reader = subprocess.Popen(["cat"], stdin=self.process.stdout, stdout=subprocess.DEVNULL)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.reader.wait()

    def send(self, method, path, body=None, type="application/json"):
        data = body
        if body is not None and not isinstance(body, bytes):
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": type, "Accept": type},
                                         method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read().decode()

    def json(self, method, path, body=None):
        return json.loads(self.send(method, path, body))


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Check:
    """One run. Each method that begins with `check_` uses the page for one purpose."""

    def __init__(self, server, browser, folder, pictures):
        self.server, self.browser, self.folder, self.pictures = server, browser, folder, pictures
        self.page = f"{server.address}_utils/"

    def go(self, *segments, **query):
        """Opens a place of the page. The page itself is loaded once."""
        place = "#/" + "/".join(quoted(one) for one in segments)
        if query:
            place += "?" + urllib.parse.urlencode(query)
        if self.browser.run("return location.pathname") != "/_utils/":
            self.browser.open(self.page + place)
        else:
            # Also leaves a page that is open already, so that it is read again.
            self.browser.run("document.getElementById('content').replaceChildren();"
                             "document.getElementById('status').replaceChildren();"
                             "if (location.hash === arguments[0]) dispatchEvent(new Event('hashchange'));"
                             "else location.hash = arguments[0]", place)
        self.browser.wait(f"{place} is not shown",
                          "return document.querySelector('main h1') && "
                          "!document.querySelector('main').hasAttribute('aria-busy')")

    def look(self, name):
        """Checks what is shown in all sizes and colours: nothing is wider than the window."""
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                self.browser.show(width, height, scheme)
                if scheme == "light":
                    wide = self.browser.run(
                        "return [document.documentElement.scrollWidth, innerWidth]")
                    assert wide[0] <= wide[1], f"{name} is {wide[0]} wide in a window of {wide[1]}"
                if self.pictures:
                    self.browser.picture(f"{self.pictures}/{name}-{size}-{scheme}.png")
        self.browser.show(*SIZES["wide"], "light")

    # MARK: - Databases and documents

    def check_databases(self):
        b = self.browser
        self.go()
        b.wait_for("Databases", "h1")
        b.write("input[name=name]", "notes")
        b.click("button", "Create")
        b.wait_for("notes", "h1")
        b.wait_for("There are no documents here yet.")
        assert "notes" in self.server.json("GET", "_all_dbs")
        # A name that is refused: the reason of the server is shown.
        self.go()
        b.write("input[name=name]", "Notes!")
        b.click("button", "Create")
        b.wait_for("Only lowercase characters", "#alert")
        # A database is deleted only after its name was typed.
        self.server.send("PUT", "constructor")
        self.go()
        b.click("button", "Delete the database constructor")
        b.write("dialog input", "other")
        b.click("dialog button.danger")
        assert "constructor" in self.server.json("GET", "_all_dbs")
        self.look("delete")
        b.write("dialog input", "constructor")
        b.click("dialog button.danger")
        b.wait_for("was deleted", "#status")
        assert "constructor" not in self.server.json("GET", "_all_dbs")

    def check_documents(self):
        b = self.browser
        self.go("notes", "_new")
        b.write("main input", "first")
        b.write("textarea", '{"title": "Oak", "rings": 12345678901234567890, "width": 0.10}')
        b.click("button", "Save")
        b.wait_for("first", "h1")
        # Numbers stay as they were typed, as far as the server keeps them.
        before = self.server.send("GET", "notes/first")
        assert '"rings":12345678901234567890' in before, before
        self.go("notes", "first")
        # What is not JSON is told while it is typed, and is not saved.
        b.write("textarea", '{\n  "title": "Oak",\n}')
        b.wait_for("Line 3, column 1: there is a comma after the last part", ".check")
        b.press("Control+s")
        assert self.server.send("GET", "notes/first") == before
        b.write("textarea", '{"_rev": 1}')
        b.wait_for("reserved", ".check")
        b.write("textarea", '{"title": "Elm", "rings": 12345678901234567890}')
        b.wait_for("Not saved", ".actions")
        # A look at another page does not lose the text.
        self.go("notes")
        self.go("notes", "first")
        assert "Elm" in b.run("return document.querySelector('textarea').value")
        b.click("button", "Save")
        b.wait_for("Saved as revision 2-", "#status")
        after = self.server.send("GET", "notes/first")
        assert '"title":"Elm"' in after and "12345678901234567890" in after, after
        # An older revision can be looked at, and edited as the next one.
        b.click(".items a", "1-")
        b.wait_for("Edit as the next revision")
        assert "Oak" in b.run("return document.querySelector('textarea').value")
        b.click("button", "Edit as the next revision")
        b.wait_for("Not saved", ".actions")
        b.click("button", "Save")
        b.wait_for("Saved as revision 3-", "#status")
        assert '"title":"Oak"' in self.server.send("GET", "notes/first")
        b.click("button", "Delete…")
        b.click("dialog button.danger")
        b.wait_for("Deleted.", "#status")
        self.go("notes", "first")
        b.wait_for("This document was deleted.")

    def check_names(self):
        """Ids and names that mean something elsewhere."""
        b = self.browser
        for id in ["a/b?c#d%e", "constructor", "_design/x/y", "ä ö+", "a\u202eb"]:
            path = "_design/" + quoted(id[8:]) if id.startswith("_design/") else quoted(id)
            self.server.send("PUT", f"notes/{path}", '{"x": {"__proto__": {"a": 1}}}')
            self.go("notes", id)
            b.wait_for(id[0], "h1")
            assert '"__proto__": { "a": 1 }' in b.run("return document.querySelector('textarea').value")
            b.write("textarea", '{"x": {"__proto__": {"a": 2}}}')
            b.press("Control+s")
            b.wait_for("Saved as revision 2-", "#status")
            assert '"__proto__":{"a":2}' in self.server.send("GET", f"notes/{path}"), id
            self.server.send("DELETE", f"notes/{path}?rev=" + self.server.json("GET", f"notes/{path}")["_rev"])
        self.go("notes", "a\u202eb")
        b.wait_for("⟨U+202E⟩", "h1")
        # A browser would ask for /notes/ instead.
        self.server.send("POST", "notes", {"_id": "."})
        self.go("notes", ".")
        b.wait_for("A browser cannot request the name", "main")

    # MARK: - Markup stays text

    def check_markup(self):
        b, s = self.browser, self.server
        s.send("PUT", "markup")
        path = f"markup/{quoted(MARKUP)}"
        body = {MARKUP: MARKUP, "list": [MARKUP, {MARKUP: [MARKUP]}]}
        rev = s.json("PUT", path, body)["rev"]
        rev = s.json("PUT", f"{path}/{quoted(MARKUP)}?rev={rev}", b"text")["rev"]
        other = {**body, "_id": MARKUP, "_rev": "1-00", MARKUP: MARKUP + "2"}
        s.send("POST", "markup/_bulk_docs", {"new_edits": False, "docs": [other]})
        s.send("POST", "markup/_index", {"index": {"fields": [MARKUP.replace(".", "")]}, "name": "<img src=x>"})
        places = [(), ("markup",), ("markup", MARKUP), ("markup", MARKUP, "compare"), ("markup", "_changes"),
                  ("markup", "_find"), ("markup", "_new"), (MARKUP,), ("markup", "none" + MARKUP),
                  ("_active_tasks",), ("_file",)]
        for place in places:
            self.go(*place)
            if place[:1] == ("markup",) and place[1:2] != ("_new",) and place[1:2] != ("_find",):
                b.wait_for("<img src=x" if len(place) > 1 else MARKUP, "main")
            if place == ("markup", MARKUP):
                b.click("button", "Delete the attachment <img")
                b.wait_for(MARKUP, "dialog")
                b.press("Escape")
            assert b.run("return document.querySelectorAll('img').length") == 0, place
        self.go("markup", "_find", selector=json.dumps({"list": {"$exists": True}}))
        b.wait_for("1 document", ".pager")
        b.wait_for(MARKUP, "table")
        self.go("markup", "_find", selector=json.dumps({"$" + MARKUP: 1}))
        b.wait_for(MARKUP, ".problem")
        assert b.run("return document.querySelectorAll('img').length") == 0
        assert b.run("return window.injected") is None
        # The browser would refuse markup, and scripts that are not in the page.
        assert b.run("try { document.body.innerHTML = '<b>x</b>' } catch (error) { return error.name }") == \
            "TypeError"
        b.run("const one = document.createElement('a'); one.setAttribute('href', 'javascript:window.injected=1');"
              "document.body.append(one); one.click(); one.remove()")
        assert b.run("return window.injected") is None
        b.log("browser")

    # MARK: - Conflicts

    def check_save_conflict(self):
        b, s = self.browser, self.server
        s.send("PUT", "notes/shared", {"a": 1, "b": 1, "c": 1, "text": "one\ntwo"})
        self.go("notes", "shared")
        b.write("textarea", '{"a": 2, "b": 1, "c": 2, "text": "one\\ntwo"}')
        rev = s.json("GET", "notes/shared")["_rev"]
        s.send("PUT", "notes/shared", {"_rev": rev, "a": 1, "b": 3, "c": 3, "text": "one\ntwo"})
        b.click("button", "Save")
        b.wait_for("Somebody else has saved this document", "h2")
        self.look("save-conflict")
        # `a` is mine and `b` is theirs without a question; `c` was changed by both.
        b.wait_for("changed on both sides", "tr.differs")
        b.click("input[aria-label='c: right']")
        b.click("button", "Use the chosen members")
        b.wait_for("Not saved", ".actions")
        b.click("button", "Save")
        b.wait_for("Saved as revision 3-", "#status")
        saved = s.json("GET", "notes/shared")
        assert (saved["a"], saved["b"], saved["c"]) == (2, 3, 3), saved
        # Theirs, and mine.
        for take, expected in (("Take theirs", 5), ("Keep mine", 6)):
            self.go("notes", "shared")
            b.write("textarea", '{"a": 6}')
            rev = s.json("GET", "notes/shared")["_rev"]
            s.send("PUT", "notes/shared", {"_rev": rev, "a": 5})
            b.click("button", "Save")
            b.click("button", take)
            if expected == 6:
                b.click("button", "Save")
                b.wait_for("Saved as revision", "#status")
            assert s.json("GET", "notes/shared")["a"] == expected
            b.wait("the text is not that of the choice",
                   "return document.querySelector('textarea').value.includes(arguments[0])", f": {expected}")
        # Deleted by somebody else.
        self.go("notes", "shared")
        b.write("textarea", '{"a": 7}')
        s.send("DELETE", "notes/shared?rev=" + s.json("GET", "notes/shared")["_rev"])
        b.click("button", "Save")
        b.wait_for("Somebody else has deleted this document", "dialog")
        b.click("dialog button", "Save it again")
        b.wait("the document is not there", "return document.querySelector('textarea')?.value.includes('7') "
               "&& !document.querySelector('dialog')")
        assert s.json("GET", "notes/shared")["a"] == 7

    def add_conflict(self, id):
        """Saves a document with three leaves. `3-cc` wins."""
        base = {"_id": id, "tree": "oak", "rings": 120, "notes": "planted by\nthe river", "tags": ["old", "tall"]}
        edits = [("2-bb", {"rings": 121, "notes": "planted by\nthe road"}),
                 ("3-cc", {"rings": 122, "felled": False, "tags": ["old", "wide"]}), ("2-aa", {"rings": 119})]
        docs = []
        for rev, changes in edits:
            start, digest = rev.split("-")
            ids = [digest] + (["c2"] if start == "3" else []) + ["base"]
            docs.append({**base, **changes, "_rev": rev, "_revisions": {"start": int(start), "ids": ids}})
        docs.append({**base, "_rev": "1-base"})
        self.server.send("POST", "notes/_bulk_docs", {"new_edits": False, "docs": docs})

    def check_conflicts(self):
        b, s = self.browser, self.server
        self.add_conflict("tree")
        self.go("notes")
        b.click("a", "conflict")
        b.wait_for("Conflicts of tree", "h1")
        b.click("nav a", "2-bb")
        b.wait_for("Other, 2-bb", "th")
        marked = b.run("return [...document.querySelectorAll('tr.differs th .name')].map((one) => one.innerText)")
        assert sorted(marked) == ["felled", "notes", "rings", "tags"], marked
        lines = b.run("return [...document.querySelectorAll('tr.differs mark')].length")
        assert lines > 0
        self.look("conflicts")
        b.click("input[aria-label='notes: right']")
        b.click("button", "Save the chosen members")
        b.wait_for("The chosen members were saved", "#status")
        b.wait_for("Other, 2-aa", "th")
        saved = s.json("GET", "notes/tree?conflicts=true")
        assert saved["_rev"].startswith("4-") and saved["_conflicts"] == ["2-aa"], saved
        assert (saved["rings"], saved["notes"]) == (122, "planted by\nthe road"), saved
        b.click("button", "Keep the current one")
        b.click("dialog button.danger")
        b.wait_for("There are no more conflicts.", "#status")
        assert "_conflicts" not in s.json("GET", "notes/tree?conflicts=true")
        # The other one is kept by deleting the current one.
        self.add_conflict("tree2")
        self.go("notes", "tree2", "compare", **{"with": "2-bb"})
        b.click("button", "Keep the other one")
        b.click("dialog button.danger")
        b.wait_for("was kept", "#status")
        assert s.json("GET", "notes/tree2")["_rev"] == "2-bb"

    # MARK: - Lists

    def check_pages(self):
        b, s = self.browser, self.server
        s.send("PUT", "many")
        docs = [{"_id": f"doc{n:03}", "n": n, "even": n % 2 == 0} for n in range(80)]
        s.send("POST", "many/_bulk_docs", {"docs": docs})
        self.go("many")
        b.wait_for("1 to 25 of 80", ".pager")
        b.click("a", "Next page")
        b.wait_for("26 to 50 of 80", ".pager")
        b.click("a", "Next page")
        b.wait_for("51 to 75 of 80", ".pager")
        b.click("a", "Next page")
        b.wait_for("76 to 80 of 80", ".pager")
        b.click("button", "Previous page")
        b.wait_for("51 to 75 of 80", ".pager")
        b.click("button", "Previous page")
        b.wait_for("26 to 50 of 80", ".pager")
        b.click("button", "Previous page")
        b.wait_for("1 to 25 of 80", ".pager")
        b.write("#search", "doc07")
        b.press("Enter")
        b.wait_for("10 documents", ".pager")
        assert b.run("return document.querySelectorAll('tbody tr').length") == 10

    def check_query(self):
        b, s = self.browser, self.server
        self.go("many", "_find")
        b.write("section.side input", "n")
        b.click("button", "Create index")
        b.wait_for("was created", "#status")
        assert [index["name"] for index in s.json("GET", "many/_index")["indexes"]] == ["_all_docs", "n"]
        b.write("textarea", '{"n": {"$gte": 10}, "even": true}')
        b.write(".query .inline input", "_id, n")
        b.write(".query .inline .field + .field input", "n")
        b.click(".check-box input")
        b.press("Tab", "Enter")
        b.wait_for("25 documents so far", ".pager")
        first = b.run("return document.querySelector('main section[aria-label=Results] tbody tr').innerText")
        assert "doc078" in first and "even" not in first, first
        self.look("query")
        b.click("button", "More")
        b.wait_for("35 documents", ".pager")
        assert b.run("return document.querySelectorAll('[aria-label=Results] tbody tr').length") == 35
        b.click("button", "Delete the index n")
        b.click("dialog button.danger")
        b.wait("the index is still there", "return !document.querySelector('.side').innerText.includes('n ascending')"
               " && !document.querySelector('.side button.danger')")
        assert len(s.json("GET", "many/_index")["indexes"]) == 1

    def check_changes(self):
        b, s = self.browser, self.server
        self.go("many", "_changes")
        b.wait_for("doc079", "tbody")
        s.send("PUT", "many/live", {"n": 1})
        b.wait_for("live", "tbody tr:first-child")
        s.send("DELETE", "many/doc000?rev=" + s.json("GET", "many/doc000")["_rev"])
        b.wait_for("doc000", "tbody tr:first-child")
        b.wait_for("deleted", "tbody tr:first-child")
        self.look("changes")
        b.click("button", "Pause")
        b.wait_for("Paused", ".note")

    def check_server_pages(self):
        b = self.browser
        self.go("_active_tasks")
        b.wait_for("Nothing is running.")
        self.go("_file")
        b.wait_for("Transaction", "dt")
        size = self.server.json("GET", "_utils/file")
        assert size["fileSize"] > 0 and b.find(".map")
        self.look("file")

    def check_attachments(self):
        b, s = self.browser, self.server
        s.send("PUT", "notes/album", {"title": "Rings"})
        picture = f"{self.folder}/ring 1.png"
        text = f"{self.folder}/notes.txt"
        pathlib.Path(picture).write_bytes(PIXEL)
        pathlib.Path(text).write_text("Hello\n")
        self.go("notes", "album")
        # An edit that is not saved stays, and still belongs to the newest revision.
        b.write("textarea", '{"title": "Rings of 1900"}')
        b.choose("#file", picture)
        b.wait_for("ring 1.png was added.", "#status")
        b.choose("#file", text)
        b.wait_for("notes.txt was added.", "#status")
        b.wait("the picture is not shown", "return document.querySelector('.items img')?.naturalWidth === 1")
        stored = s.json("GET", "notes/album")["_attachments"]
        assert stored["ring 1.png"]["content_type"] == "image/png" and stored["notes.txt"]["length"] == 6, stored
        b.click("button", "Save")
        b.wait_for("Saved as revision 4-", "#status")
        saved = s.json("GET", "notes/album")
        assert saved["title"] == "Rings of 1900" and len(saved["_attachments"]) == 2, saved
        href = b.run("return [...document.querySelectorAll('.items a[download]')].map((one) => one.href)"
                     ".find((one) => one.includes('notes.txt'))")
        assert s.send("GET", href[len(s.address):], type="*/*") == "Hello\n"
        self.look("document")
        b.click("button", "Delete the attachment notes.txt")
        b.click("dialog button.danger")
        b.wait_for("notes.txt was deleted.", "#status")
        assert list(s.json("GET", "notes/album")["_attachments"]) == ["ring 1.png"]

    # MARK: - The keyboard

    def tab_to(self, text):
        """Presses Tab until the element with a text has the focus, which must be visible."""
        for _ in range(60):
            self.browser.press("Tab")
            name, outline, style = self.browser.run(
                "const one = document.activeElement; const style = getComputedStyle(one);"
                "return [one === document.body ? '' : one.innerText || one.getAttribute('aria-label') || one.labels?.[0]?.innerText || '',"
                " style.outlineStyle, parseFloat(style.outlineWidth)]")
            if text in name:
                assert outline != "none" and style >= 2, f"the focus on {name} is not visible"
                return
        raise AssertionError(f"Tab does not reach {text}")

    def check_keyboard(self):
        b, s = self.browser, self.server
        self.go()
        b.run("document.activeElement.blur()")
        self.tab_to("New database")
        b.type("keys")
        b.press("Enter")
        b.wait_for("keys", "h1")
        b.press("n")
        b.wait_for("New document", "h1")
        self.tab_to("Id")
        b.press("Control+a")
        b.type("one")
        b.press("Tab")
        b.press("Control+a")
        b.type('{"n":1}')
        b.press("Control+s")
        b.wait_for("one", "h1")
        b.press("e", "Control+a")
        b.type('{"n":2}')
        b.press("Tab", "Enter")
        b.wait_for("Saved as revision 2-", "#status")
        assert s.json("GET", "keys/one")["n"] == 2
        # Escape leaves the text; then keys are commands again.
        b.press("e", "Escape", "u")
        b.wait_for("keys", "h1")
        s.send("PUT", "keys/two", {})
        self.go("keys")
        b.press("j", "j")
        assert b.run("return document.activeElement.innerText") == "two"
        b.press("k", "Enter")
        b.wait_for("one", "h1")
        b.press("?")
        b.wait_for("Keyboard", "dialog h2")
        self.look("keys")
        b.press("Escape")
        b.wait("the dialog stays", "return !document.querySelector('dialog')")
        # The keys can be switched off, for those who dictate text.
        b.press("?")
        self.tab_to("Keys without Ctrl")
        b.press("Space", "Escape", "n")
        b.wait("the dialog stays", "return !document.querySelector('dialog')")
        assert b.run("return document.querySelector('h1').innerText") == "one"
        b.run("localStorage.clear()")
        # A conflict, resolved.
        self.add_conflict("tree3")
        self.go("notes", "tree3", "compare")
        self.tab_to("Save the chosen members")
        b.press("Enter")
        b.wait_for("The chosen members were saved", "#status")
        # The skip link is the first stop.
        b.open(self.page)
        b.wait_for("Databases", "h1")
        b.press("Tab")
        assert b.run("return document.activeElement.id") == "skip"

    # MARK: - Texts

    def check_json(self):
        """The page's parser accepts what the browser's does, with the same value."""
        source = (PAGE / "json.js").read_text(encoding="utf-8")
        seed = int(os.environ.get("LATEWOOD_SEED", random.randrange(1 << 32)))
        rng = random.Random(seed)
        parts = ['{', '}', '[', ']', ',', ':', '"a"', '"b"', '"\\u00e9"', '"\\x"', '"', "0", "-1", "01", "1.5e3", "1.",
                 "true", "null", "nul", " ", "\n", "\t", "\u00a0", "{}", "[]", '{"a":1}', "-", "+1", "\\"]
        texts = ["".join(rng.choice(parts) for _ in range(rng.randrange(1, 9))) for _ in range(4000)]

        def value(depth):
            kind = rng.randrange(7 if depth < 4 else 5)
            if kind < 5:
                return rng.choice([None, True, 0, -1.5, 1e300, "", "a\"\\\n\u2028\U0001f333", 12345])
            count = rng.randrange(4)
            return [value(depth + 1) for _ in range(count)] if kind == 5 else \
                {rng.choice(["a", "b", "", "__proto__", "é"]) + str(n): value(depth + 1) for n in range(count)}
        texts += [json.dumps(value(0), ensure_ascii=rng.random() < 0.5) for _ in range(1000)]
        texts += ["[" * 600 + "]" * 600, '{"a":1,"a":2}']
        failures = self.browser.run(source + """
          const failures = [];
          for (const text of arguments[0]) {
            let expected, parsed;
            try { expected = JSON.stringify(JSON.parse(text)); } catch { expected = null; }
            try { parsed = parseJSON(text); } catch (error) {
              if (!(error instanceof JSONError)) failures.push([text, String(error)]);
              const isStricter = /deeper|twice/.test(error.message);
              if (expected !== null && !isStricter) failures.push([text, error.message]);
              continue;
            }
            for (const again of [writeJSON(parsed), flatJSON(parsed)]) {
              if (JSON.stringify(JSON.parse(again)) !== expected) failures.push([text, again]);
              if (!equalJSON(parseJSON(again), parsed)) failures.push([text, "not equal"]);
            }
          }
          return failures.slice(0, 5)""", texts)
        assert not failures, f"seed {seed}: {failures}"

    def check_nothing_else(self):
        """All requests of the run went to the server, and the browser had nothing to complain about."""
        outside = [url for url in self.browser.requests()
                   if not url.startswith((self.server.address, "data:", "chrome:", "about:"))]
        assert not outside, outside
        # The browser reports each answer with an error status; those are expected.
        messages = [entry["message"] for entry in self.browser.log("browser")
                    if "Failed to load resource" not in entry["message"]]
        assert not messages, messages

    def pictures_of_lists(self):
        """Fills a database with documents that look like some, and keeps pictures of the lists."""
        s = self.server
        s.send("PUT", "trees")
        names = ["oak", "elm", "ash", "beech", "larch", "yew", "lime", "rowan", "alder", "birch", "hazel", "spruce"]
        s.send("POST", "trees/_bulk_docs", {"docs": [
            {"_id": f"{name}-{1890 + index * 7}", "species": name.title(), "felled": index % 3 == 0,
             "rings": [3.1, 2.4, 1.9 + index], "site": {"name": "River bank", "lat": 51.2 + index}}
            for index, name in enumerate(names)]})
        self.add_conflict("zelkova")
        self.go()
        self.look("databases")
        self.go("trees")
        self.look("documents")
        self.go("notes")
        self.look("notes")
        self.go("trees", "_new")
        self.look("new")


def installed(allow):
    """Returns the paths of browser and driver; None if they are not to be had."""
    def find():
        found = shutil.which("chromium"), shutil.which("chromedriver")
        return found if all(found) else None
    if not find() and allow and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update", "-q"], **quiet)
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium",
                        "chromium-driver", "fonts-dejavu-core"], **quiet)
    return find()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--pictures", metavar="FOLDER")
    parser.add_argument("--no-install", action="store_true")
    parser.add_argument("--only", metavar="NAME", help="a part of the names of the checks to run")
    arguments = parser.parse_args()
    programs = installed(not arguments.no_install)
    if not programs:
        print("SKIPPED: the page in a browser needs chromium and chromedriver")
        return
    if arguments.pictures:
        os.makedirs(arguments.pictures, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(arguments.tool, folder)
        try:
            browser = Browser(*programs)
            try:
                check = Check(server, browser, folder, arguments.pictures)
                browser.show(*SIZES["wide"], "light")
                names = [name for name in Check.__dict__ if name.startswith("check_")]
                if arguments.only:
                    names = [name for name in names
                             if arguments.only in name or name == "check_databases"]
                for name in names:
                    getattr(check, name)()
                    print(name.removeprefix("check_").replace("_", " "))
                if arguments.pictures:
                    check.pictures_of_lists()
            except BaseException:
                browser.picture(f"{arguments.pictures or tempfile.gettempdir()}/page-failed.png")
                raise
            finally:
                browser.close()
        finally:
            server.close()
    print(f"{len(names)} checks of the page passed")


main()
