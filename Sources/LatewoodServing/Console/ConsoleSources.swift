// Written by Tests/console/generate.py from the files in Console/Page.
// swift-format-ignore-file

/// The texts of ``ConsolePage``, in their order in the page.
enum ConsoleSources {
  /// The markup up to the style.
  static let beforeStyle = #"""
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Latewood</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http%3A%2F%2Fwww.w3.org%2F2000%2Fsvg' viewBox='0 0 32 32' fill='none' stroke='%23b0763a' stroke-width='2.5'%3E%3Ccircle cx='16' cy='16' r='3'/%3E%3Ccircle cx='16' cy='16' r='8.5'/%3E%3Ccircle cx='16' cy='16' r='14'/%3E%3C/svg%3E">
<style>
"""#

  /// The only style.
  static let style = #"""
:root {
  color-scheme: light dark;
  --ground: #faf8f5; --surface: #fff; --text: #221f1b; --muted: #6a6359; --line: #e2dcd2;
  --accent: #87480f; --on-accent: #fff; --soft: #f3ede4; --mark: #fbe7c2; --danger: #a3231b;
  --live: #6f8f4e; --log: #c98a2d; --dead: #b9b1a5; --fresh: #eaf1e0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #171512; --surface: #1f1c18; --text: #ece7de; --muted: #a69d90; --line: #39342d;
    --accent: #e2a566; --on-accent: #221508; --soft: #2a2620; --mark: #4a3a17; --danger: #f29387;
    --live: #8fae6b; --log: #d79a43; --dead: #5f584e; --fresh: #26301c;
  }
}
*, ::before, ::after { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; display: flex; flex-direction: column;
  background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.45rem; line-height: 1.25; margin: 0; font-weight: 620; }
h2 { font-size: .95rem; margin: 0 0 .4rem; font-weight: 620; }
h1:focus, main:focus { outline: none; }
p { margin: .4rem 0; max-width: 42rem; }
code, pre, textarea, kbd {
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
code, pre, textarea { font-size: .86rem; }
small, .note { color: var(--muted); font-size: .86rem; }
a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: .06em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
.name { overflow-wrap: anywhere; unicode-bidi: isolate; }

header {
  display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; align-items: center; justify-content: space-between;
  padding: .6rem max(1rem, calc((100% - 78rem) / 2)); background: var(--surface);
  border-bottom: 1px solid var(--line);
}
header nav { display: flex; gap: .9rem; align-items: center; min-width: 0; }
header a { color: inherit; text-decoration: none; }
header a:hover { text-decoration: underline; }
.brand { display: inline-flex; align-items: center; gap: .5rem; font-weight: 650; }
.rings {
  width: 1.1rem; height: 1.1rem; border-radius: 50%; border: 2px solid var(--accent);
  background: radial-gradient(circle, var(--accent) 15%, transparent 18% 38%, var(--accent) 40% 52%, transparent 55%);
}
#crumbs { display: flex; flex-wrap: wrap; list-style: none; margin: 0; padding: 0; min-width: 0; }
#crumbs li {
  max-width: 18rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  color: var(--muted);
}
#crumbs li::before { content: "/"; margin: 0 .5rem 0 0; color: var(--line); }
#crumbs li + li::before { margin-left: .5rem; }
.places { color: var(--muted); }
.places a[aria-current] { color: var(--text); }
#session { display: contents; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; z-index: 1; }

main { flex: 1; width: 100%; max-width: 80rem; margin: 0 auto; padding: 1.4rem 1rem 3rem; }
main > * + * { margin-top: 1.1rem; }
main[aria-busy] { opacity: .6; transition: opacity .2s .15s; }
#alert { max-width: 80rem; width: 100%; margin: 0 auto; padding: 0 1rem; }
#status {
  position: fixed; bottom: 1rem; inset-inline: 1rem; width: fit-content; max-width: none;
  margin: 0 auto; padding: .45rem .9rem; border-radius: 6px; background: var(--text); color: var(--ground);
}
#status:empty { display: none; }

.bar { display: flex; flex-wrap: wrap; gap: .6rem 1.4rem; align-items: center; }
.bar > :last-child { margin-left: auto; }
.inline { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin-top: .8rem; }
.tabs { display: flex; flex-wrap: wrap; gap: .2rem; }
.tabs a { padding: .25rem .7rem; border-radius: 5px; color: var(--muted); text-decoration: none; }
.tabs a:hover { background: var(--soft); }
.tabs a[aria-current] { background: var(--soft); color: var(--text); font-weight: 560; }
.pager { display: flex; flex-wrap: wrap; gap: .8rem; align-items: center; }
.panel { padding: .9rem 1rem; background: var(--surface); border: 1px solid var(--line); border-radius: 7px; }
.panel > :first-child { margin-top: 0; }
#alert .panel { display: flex; justify-content: space-between; align-items: center; margin-top: 1rem; }
.mark { background: var(--mark); border-color: transparent; }
.problem { color: var(--danger); }
.panel.problem { border-color: currentcolor; }
.empty { padding: 2.2rem 1rem; text-align: center; color: var(--muted); max-width: none; }
.badge {
  display: inline-block; margin-left: .5rem; padding: 0 .45rem; border-radius: 99px;
  background: var(--mark); color: var(--text); font-size: .78rem; text-decoration: none; white-space: nowrap;
}
.badge.plain { background: var(--soft); color: var(--muted); }

button, .button {
  font: inherit; color: inherit; padding: .32rem .8rem; border-radius: 5px; cursor: pointer;
  border: 1px solid var(--line); background: var(--surface); text-decoration: none; display: inline-block;
}
button:hover, .button:hover { border-color: var(--muted); }
.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.primary:hover { filter: brightness(1.1); }
.danger { background: var(--danger); border-color: var(--danger); color: var(--surface); }
.quiet { border-color: transparent; background: none; padding-inline: .45rem; color: var(--accent); }
.quiet.danger { color: var(--danger); }
.quiet:hover { background: var(--soft); }
#help { border-color: var(--line); border-radius: 99px; padding: 0 .55rem; color: inherit; }
input { font: inherit; }
input, textarea {
  color: inherit; background: var(--surface); border: 1px solid var(--line); border-radius: 5px;
  padding: .3rem .5rem; max-width: 100%;
}
input:not([type=checkbox], [type=radio]), textarea {
  border-color: color-mix(in srgb, var(--muted) 55%, var(--line));
}
textarea { width: 100%; resize: vertical; font-size: .86rem; line-height: 1.45; tab-size: 2; padding: .6rem .7rem; }
textarea[aria-invalid=true] { border-color: var(--danger); }
textarea[readonly] { background: var(--soft); }
input[type=checkbox], input[type=radio], progress { accent-color: var(--accent); }
.file:not([type=text]) { border: 0; padding-left: 0; background: none; width: 100%; font-size: .86rem; }
::file-selector-button {
  font: inherit; color: inherit; background: var(--surface); border: 1px solid var(--line);
  border-radius: 5px; padding: .25rem .6rem; margin-right: .6rem; cursor: pointer;
}
.field { display: grid; gap: .15rem; }
.field > span { font-size: .86rem; color: var(--muted); }
.check-box { display: flex; gap: .4rem; align-items: center; min-height: 2.1rem; }
.check { margin: .2rem 0 0; font-size: .86rem; color: var(--muted); min-height: 1.9rem; }
.check.problem { color: var(--danger); }
form > * + * { margin-top: .7rem; }
form.inline > * + * { margin-top: 0; }
kbd {
  font-size: .78rem; padding: .05rem .4rem; border: 1px solid var(--line); border-radius: 4px;
  color: var(--muted);
}

table { border-collapse: collapse; width: 100%; background: var(--surface); }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td {
  text-align: left; vertical-align: baseline; padding: .45rem .8rem;
  border-bottom: 1px solid var(--line);
}
thead th { font-size: .82rem; font-weight: 500; color: var(--muted); white-space: nowrap; }
tbody th { font-weight: inherit; }
.list { border: 1px solid var(--line); border-radius: 7px; border-spacing: 0; border-collapse: separate; }
.list tbody tr:last-child > * { border-bottom: 0; }
.list tbody tr:hover { background: var(--soft); }
.list td:last-child:has(button) { text-align: right; padding-block: .1rem; width: 1%; }
td.number { font-variant-numeric: tabular-nums; }
.documents { table-layout: fixed; }
.documents th:first-child { width: 34%; }
.documents th:nth-child(2) { width: 9.5rem; }
.preview {
  display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--muted);
}
.rev { color: var(--muted); white-space: nowrap; }
.whole { overflow-wrap: anywhere; }
tr.new { animation: fresh 4s; }
@keyframes fresh { from { background: var(--fresh); } }

.split { display: grid; grid-template-columns: minmax(0, 1fr) 19rem; gap: 1.6rem; align-items: start; }
.side { display: grid; gap: 1.4rem; }
.side section { min-width: 0; }
section.side { display: block; }
.query .inline { align-items: start; }
.query .check-box { margin-top: 1.5rem; }
.items { list-style: none; margin: 0 0 .6rem; padding: 0; }
.items li {
  display: flex; gap: .6rem; align-items: center; padding: .3rem 0; border-bottom: 1px solid var(--line);
  min-height: 2.2rem;
}
.items li > span { flex: 1; min-width: 0; }
.items small { display: block; }
.items img { width: 2.4rem; height: 2.4rem; object-fit: cover; border-radius: 4px; background: var(--soft); }

.comparison { table-layout: fixed; border: 1px solid var(--line); }
.comparison th:first-child { width: 12rem; }
.comparison tbody th small { display: block; }
.comparison pre {
  margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 24rem; overflow: auto;
}
.comparison label { display: flex; gap: .5rem; align-items: baseline; cursor: pointer; border-radius: 4px; }
.comparison label pre { flex: 1; min-width: 0; }
.comparison .same { color: var(--muted); }
.comparison .differs { background: color-mix(in srgb, var(--mark) 30%, var(--surface)); }
.differs td:has(:checked) { box-shadow: inset 3px 0 var(--accent); }
mark { background: var(--mark); color: inherit; display: inline; }

.map {
  display: flex; gap: 2px; height: 2.2rem; border-radius: 6px; overflow: hidden;
  background: var(--soft);
}
.map span { min-width: 3px; }
.live { background: var(--live); }
.log { background: var(--log); }
.dead { background: var(--dead); }
.key { background: none; display: inline-flex; align-items: center; gap: .5rem; }
.key::before { content: ""; width: .8rem; height: .8rem; border-radius: 3px; background: var(--dead); }
.key.live::before { background: var(--live); }
.key.log::before { background: var(--log); }
.facts {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr)); gap: .9rem 1.5rem;
  margin-bottom: 0;
}
.facts dt { font-size: .86rem; color: var(--muted); }
.facts dd { margin: 0; font-variant-numeric: tabular-nums; }

dialog {
  border: 1px solid var(--line); border-radius: 9px; background: var(--surface); color: inherit;
  width: min(28rem, calc(100vw - 2rem)); padding: 1.2rem 1.3rem; box-shadow: 0 12px 40px rgb(0 0 0 / .25);
}
dialog h2 { font-size: 1.1rem; overflow-wrap: anywhere; }
dialog::backdrop { background: rgb(0 0 0 / .35); }
dialog .field input { width: 100%; }
.keys { display: grid; gap: .35rem; margin: .8rem 0; }
.keys div { display: grid; grid-template-columns: 6.5rem 1fr; align-items: baseline; }
.keys dd { margin: 0; }

@media (max-width: 46rem) {
  header nav:first-child { display: contents; }
  #crumbs { order: 1; flex-basis: 100%; }
  #crumbs:empty { display: none; }
  #crumbs li:first-child::before { content: none; }
  .split { grid-template-columns: minmax(0, 1fr); }
  .bar > :last-child { margin-left: 0; }
  .inline > .field { flex: 1 1 9rem; }
  .list thead { display: none; }
  .list tbody tr { display: block; padding: .4rem .8rem; border-bottom: 1px solid var(--line); }
  .list tbody tr:last-child { border-bottom: 0; }
  .list tbody :is(th, td) { display: block; width: auto !important; padding: .05rem 0; border: 0; }
  .list td:empty { display: none; }
  .list tbody td.number { display: inline-block; margin-right: 1.2rem; color: var(--muted); }
  .list td.number::before { content: attr(data-title) ": "; color: var(--muted); }
  .list td:last-child:has(button) { text-align: left; margin-left: -.45rem; }
  .documents .rev { font-size: .78rem; }
  .comparison thead th:first-child { display: none; }
  .comparison thead tr, .comparison tbody tr { display: grid; grid-template-columns: 1fr 1fr; }
  .comparison tbody th { grid-column: 1 / -1; width: auto !important; border-bottom: 0; padding-bottom: 0; }
  .comparison th:first-child { width: auto; }
  .comparison :is(td, th) { padding-inline: .5rem; min-width: 0; }
}
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
"""#

  /// The markup between style and script.
  static let beforeScript = #"""
</style>
</head>
<body>
<button class="skip" id="skip" type="button">Skip to content</button>
<header>
  <nav aria-label="Path">
    <a class="brand" href="#/"><span class="rings" aria-hidden="true"></span>Latewood</a>
    <ol id="crumbs"></ol>
  </nav>
  <nav class="places" aria-label="Server">
    <a href="#/_active_tasks">Tasks</a>
    <a href="#/_file">File</a>
    <span id="session"></span>
    <button type="button" id="help" class="quiet" aria-label="Keyboard shortcuts">?</button>
  </nav>
</header>
<div id="alert" role="alert"></div>
<main id="content" tabindex="-1">
  <noscript><p>This page needs JavaScript. The server's API can be used with <code>curl</code>.</p></noscript>
</main>
<p id="status" role="status"></p>
<script type="module">
"""#

  /// The only script.
  static let script = #"""
// JSON without loss. `JSON.parse` rounds long numbers, so a document that is only opened and saved
// would change. Here, a number stays the text that it was. A value is one of
//
//   { kind: "object", members: Map from name to value }
//   { kind: "array", items: [value] }
//   { kind: "string", value: text }
//   { kind: "plain", text }              a number, true, false or null

const deepestNesting = 512;

class JSONError extends Error {
  constructor(message, text, offset) {
    super(message);
    const before = text.slice(0, offset);
    this.offset = offset;
    this.line = before.split("\n").length;
    this.column = offset - before.lastIndexOf("\n");
  }
}

function parseJSON(text) {
  let at = 0;
  const fail = (message, offset = at) => { throw new JSONError(message, text, offset); };
  const space = /[ \t\r\n]*/y;
  const plain = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

  function skipSpace() {
    space.lastIndex = at;
    space.test(text);
    at = space.lastIndex;
  }

  function string() {
    const start = at;
    for (at += 1; text[at] !== '"'; at += 1) {
      if (at >= text.length) fail("the string has no end", start);
      if (text[at] < " ") fail(text[at] === "\n" ? "the string has no end on this line"
        : "a control character has to be escaped");
      if (text[at] === "\\") {
        const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
        escape.lastIndex = at;
        if (!escape.test(text)) fail("an escape is unknown");
        at = escape.lastIndex - 1;
      }
    }
    at += 1;
    return JSON.parse(text.slice(start, at));
  }

  // Reads the parts of an array or object up to the closing character.
  function list(close, part) {
    at += 1;
    skipSpace();
    if (text[at] === close) { at += 1; return; }
    for (;;) {
      part();
      skipSpace();
      if (text[at] === close) { at += 1; return; }
      if (text[at] !== ",") fail(at < text.length ? `a comma or ${close} is missing` : `${close} is missing`);
      at += 1;
      skipSpace();
      if (text[at] === close) fail("there is a comma after the last part");
    }
  }

  function value(depth) {
    if (depth > deepestNesting) fail(`the nesting is deeper than ${deepestNesting}`);
    skipSpace();
    switch (text[at]) {
      case "{": {
        const members = new Map();
        list("}", () => {
          const start = at;
          if (text[at] !== '"') fail("a name in double quotes is missing");
          const name = string();
          if (members.has(name)) fail("the name occurs twice", start);
          skipSpace();
          if (text[at] !== ":") fail("a colon is missing after the name");
          at += 1;
          members.set(name, value(depth + 1));
        });
        return { kind: "object", members };
      }
      case "[": {
        const items = [];
        list("]", () => items.push(value(depth + 1)));
        return { kind: "array", items };
      }
      case '"': return { kind: "string", value: string() };
      default: {
        plain.lastIndex = at;
        const start = at;
        if (!plain.test(text)) fail(at < text.length ? "this is not a JSON value" : "a value is missing");
        at = plain.lastIndex;
        return { kind: "plain", text: text.slice(start, at) };
      }
    }
  }

  const root = value(0);
  skipSpace();
  if (at < text.length) fail("there is more after the value");
  return root;
}

// Writes a value on one line.
function flatJSON(value) {
  switch (value.kind) {
    case "object": {
      const parts = [...value.members].map(([name, part]) => `${JSON.stringify(name)}: ${flatJSON(part)}`);
      return parts.length ? `{ ${parts.join(", ")} }` : "{}";
    }
    case "array": return `[${value.items.map(flatJSON).join(", ")}]`;
    case "string": return JSON.stringify(value.value);
    default: return value.text;
  }
}

// Writes a value on several lines. Short arrays and objects stay on one.
function writeJSON(value, indent = "") {
  if (value.kind !== "object" && value.kind !== "array") return flatJSON(value);
  const isObject = value.kind === "object";
  const isShort = (isObject ? value.members.size <= 4 && indent !== "" : true)
    && [...(isObject ? value.members.values() : value.items)]
      .every((part) => part.kind === "plain" || part.kind === "string");
  if (isShort) {
    const flat = flatJSON(value);
    if (flat.length + indent.length <= 72) return flat;
  }
  const deeper = `${indent}  `;
  const parts = isObject
    ? [...value.members].map(([name, part]) => `${JSON.stringify(name)}: ${writeJSON(part, deeper)}`)
    : value.items.map((part) => writeJSON(part, deeper));
  const [open, close] = isObject ? "{}" : "[]";
  return parts.length ? `${open}\n${deeper}${parts.join(`,\n${deeper}`)}\n${indent}${close}` : open + close;
}

// Whether two values are equal. The order of members does not matter. Numbers are equal if their
// texts are.
function equalJSON(one, other) {
  if (!one || !other) return one === other;
  if (one.kind !== other.kind) return false;
  switch (one.kind) {
    case "object": return one.members.size === other.members.size
      && [...one.members].every(([name, part]) => equalJSON(part, other.members.get(name)));
    case "array": return one.items.length === other.items.length
      && one.items.every((part, index) => equalJSON(part, other.items[index]));
    case "string": return one.value === other.value;
    default: return one.text === other.text;
  }
}

const member = (value, name) => value?.kind === "object" ? value.members.get(name) : undefined;
const textOf = (value) => value?.kind === "string" ? value.value : undefined;
const itemsOf = (value) => value?.kind === "array" ? value.items : [];
const stringValue = (text) => ({ kind: "string", value: text });

// Elements and dialogs. Texts become text nodes: nothing here, or in the rest of the page, parses
// markup, and the content security policy forbids it to the browser.

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child || child === 0));
  return element;
}

// Shows characters that are invisible, or that change the order of others, by their numbers.
function shown(text) {
  if (text === "") return "(empty)";
  const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
  return text.replace(hidden, (one) =>
    `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

const number = (value) => Number(value).toLocaleString("en");

function bytes(count) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = Number(count);
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? number(value) : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[unit]}`;
}

const shortRevision = (rev) => rev.length > 14 ? `${rev.slice(0, rev.indexOf("-") + 9)}…` : rev;

// The address of a place on this page.
function place(segments, query = {}) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  const text = `#/${segments.map((one) => encodeURIComponent(one.toWellFormed())).join("/")}`;
  return search.size ? `${text}?${search}` : text;
}

const link = (segments, text, properties = {}) =>
  make("a", { href: place(segments, properties.query), class: properties.class }, text);
const button = (label, action, properties = {}) =>
  make("button", { type: "button", onclick: guarded(action), ...properties }, label);

function labelled(label, field, note) {
  return make("label", { class: "field" }, make("span", {}, label), field, note && make("small", {}, note));
}

// Runs an action, and shows the error that ends it.
function guarded(action) {
  return async (event) => {
    try { await action(event); } catch (error) { complain(error); }
  };
}

function form(action, properties, ...children) {
  return make("form", {
    ...properties, novalidate: true, onsubmit: guarded((event) => {
      event.preventDefault();
      return action(event);
    }),
  }, ...children);
}

// A table with a caption for screen readers. The first cell of a row is its header.
function table(caption, titles, rows, properties = {}) {
  const cells = (row) => row.map((cell, index) => index === 0
    ? make("th", { scope: "row" }, cell)
    : make("td", { "data-title": titles[index], class: typeof cell === "number" ? "number" : null },
      typeof cell === "number" ? number(cell) : cell));
  return make("table", properties,
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, titles.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, cells(row)))));
}

// Shows a dialog. Returns whether it ended with its action, for which `check` may refuse to end it.
function ask({ title, content = [], action, isDangerous = false, check = () => true }) {
  return new Promise((resolve) => {
    let isDone = false;
    const heading = make("h2", { id: "dialog-title" }, title);
    const dialog = make("dialog", { "aria-labelledby": "dialog-title", onclose: () => {
      dialog.remove();
      resolve(isDone);
    } }, form(async () => {
      isDone = await check();
      if (isDone) dialog.close();
    }, {}, heading, ...content, make("div", { class: "actions" },
      action && make("button", { class: isDangerous ? "danger" : "primary" }, action),
      button(action ? "Cancel" : "Close", () => dialog.close()))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

let statusTimer;

// Tells what happened, also to a screen reader.
function say(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(statusTimer);
  statusTimer = setTimeout(() => { status.textContent = ""; }, 6000);
}

function complain(error) {
  if (error?.name === "AbortError") return;
  const name = error?.status ? `${error.status} ${error.error ?? ""}: ` : "";
  const panel = make("div", { class: "panel problem" },
    make("p", {}, `${name}${error?.message ?? error}`),
    button("Dismiss", () => panel.remove(), { class: "quiet" }));
  document.getElementById("alert").replaceChildren(panel);
}

// A text area for JSON that is checked while it is typed in. `objection` returns an error about a
// value that is JSON, but not allowed here.
function jsonEditor({ label, text, rows = 20, readonly = false, objection = () => null,
  onchange = () => {} }) {
  const note = make("p", { class: "check", id: `check-${crypto.randomUUID()}`, role: "status" });
  const area = make("textarea", {
    "aria-label": label, "aria-describedby": note.id, rows, readonly, spellcheck: "false",
    autocapitalize: "off", autocomplete: "off", wrap: "off",
  });
  area.value = text;
  let timer;

  function check() {
    clearTimeout(timer);
    let value = null;
    let problem;
    try {
      value = parseJSON(area.value);
      const reason = objection(value);
      if (reason) problem = { message: reason };
    } catch (error) { problem = error; }
    area.setAttribute("aria-invalid", problem ? "true" : "false");
    if (!problem) {
      note.className = "check";
      const lines = area.value.split("\n").length;
      note.replaceChildren(`Valid JSON, ${number(lines)} ${lines === 1 ? "line" : "lines"}`);
      return value;
    }
    note.className = "check problem";
    if (problem.line === undefined) note.replaceChildren(problem.message);
    else {
      note.replaceChildren(`Line ${problem.line}, column ${problem.column}: ${problem.message}. `,
        button("Go there", () => {
          area.focus();
          area.setSelectionRange(problem.offset, problem.offset + 1);
        }, { class: "quiet" }));
    }
    return null;
  }

  area.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, 200);
    onchange();
  });
  check();
  return {
    element: make("div", { class: "editor" }, area, note), area, check,
    get text() { return area.value; },
    set text(value) {
      area.value = value;
      check();
      onchange();
    },
  };
}

// The server's API: requests relative to the parent of this page, so that a proxy may serve it
// under any path.

const root = new URL("..", location.href);

class ServerError extends Error {
  constructor(status, error, reason) {
    super(reason || error || `Status ${status}`);
    this.status = status;
    this.error = error;
  }
}

// Percent-encodes the segments of a path. Browsers remove the segments `.` and `..`, so a request
// for a document with such an id would reach another resource.
function path(...segments) {
  return segments.map((segment) => {
    if (segment === "." || segment === "..") {
      throw new ServerError(0, "not_addressable", `A browser cannot request the name “${segment}”. `
        + "Use curl with --path-as-is.");
    }
    return encodeURIComponent(segment.toWellFormed());
  }).join("/");
}

function documentPath(db, id, ...rest) {
  const special = /^(_design|_local)\/(.*)$/s.exec(id);
  return path(db, ...(special ? special.slice(1) : [id]), ...rest);
}

async function request(method, target, { query = {}, json, body, type, signal } = {}) {
  const url = new URL(target, root);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  // Asks for a 401 without a field that makes the browser open a dialog of its own.
  const headers = { Accept: "application/json", "X-CouchDB-WWW-Authenticate": "Cookie" };
  if (json !== undefined) {
    body = json;
    type = "application/json";
  }
  if (type) headers["Content-Type"] = type;
  for (;;) {
    let response, text;
    try {
      response = await fetch(url, { method, headers, body, signal, cache: "no-store", redirect: "error" });
      text = await response.text();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ServerError(0, "unreachable", "The server does not answer.");
    }
    if (response.ok) return text;
    let problem = {};
    try { problem = JSON.parse(text) ?? {}; } catch { /* Not an answer of this server. */ }
    if (response.status === 401 && target !== "_session" && await session.signIn(problem.reason)) continue;
    throw new ServerError(response.status, problem.error, problem.reason);
  }
}

const get = async (target, options) => JSON.parse(await request("GET", target, options));
const getTree = async (target, options) => parseJSON(await request("GET", target, options));
const send = async (method, target, value, options) =>
  JSON.parse(await request(method, target, { json: JSON.stringify(value), ...options }));

// A revision of a document. `body` has the members without an underscore at the beginning.
class Revision {
  constructor(tree) {
    this.id = textOf(member(tree, "_id"));
    this.rev = textOf(member(tree, "_rev"));
    this.isDeleted = member(tree, "_deleted")?.text === "true";
    this.attachments = member(tree, "_attachments");
    this.conflicts = itemsOf(member(tree, "_conflicts")).map(textOf);
    this.history = itemsOf(member(tree, "_revs_info")).map((one) => ({
      rev: textOf(member(one, "rev")), status: textOf(member(one, "status")),
    }));
    this.body = {
      kind: "object", members: new Map([...tree.members].filter(([name]) => !name.startsWith("_"))),
    };
  }

  get text() {
    this.written ??= writeJSON(this.body);
    return this.written;
  }

  static async read(db, id, { rev, signal } = {}) {
    return new Revision(await getTree(documentPath(db, id), {
      query: { rev, conflicts: true, revs_info: true }, signal,
    }));
  }

  // Saves a body as the successor of a revision, with its attachments. Returns the new revision.
  static async save(db, id, body, parent) {
    const members = new Map([["_id", stringValue(id)]]);
    if (parent?.rev) members.set("_rev", stringValue(parent.rev));
    if (parent?.attachments) members.set("_attachments", parent.attachments);
    for (const [name, value] of body.members) members.set(name, value);
    const text = flatJSON({ kind: "object", members });
    return JSON.parse(await request("PUT", documentPath(db, id), { json: text })).rev;
  }

  static async remove(db, id, rev) {
    return JSON.parse(await request("DELETE", documentPath(db, id), { query: { rev } })).rev;
  }
}

const session = {
  user: null,
  waiting: null,

  async load() {
    const { userCtx = {}, info = {} } = await get("_session");
    this.user = userCtx.name ?? null;
    const knowsUsers = (info.authentication_handlers ?? []).length > 0;
    const button = (label, action) =>
      make("button", { type: "button", class: "quiet", onclick: action }, label);
    document.getElementById("session").replaceChildren(...this.user !== null
      ? [make("span", { class: "user name" }, shown(this.user)), button("Sign out", () => this.signOut())]
      : knowsUsers ? [button("Sign in", async () => { if (await this.signIn()) show(); })] : []);
  },

  // Asks for name and password until the server accepts them. Returns whether it did. Requests that
  // fail at the same time share one dialog.
  signIn(reason) {
    this.waiting ??= this.askForPassword(reason).finally(() => { this.waiting = null; });
    return this.waiting;
  },

  async askForPassword(reason) {
    const name = make("input", { name: "name", autocomplete: "username", required: true, autofocus: true });
    const password = make("input", {
      name: "password", type: "password", autocomplete: "current-password", required: true,
    });
    const problem = make("p", { class: "problem", role: "alert" }, reason ?? "");
    const isDone = await ask({
      title: "Sign in", action: "Sign in",
      content: [problem, labelled("Name", name), labelled("Password", password)],
      check: async () => {
        try {
          await send("POST", "_session", { name: name.value, password: password.value });
          return true;
        } catch (error) {
          problem.textContent = error.message;
          password.select();
          return false;
        }
      },
    });
    if (isDone) await this.load();
    return isDone;
  },

  async signOut() {
    try { await request("DELETE", "_session"); } catch (error) { return complain(error); }
    drafts.clear();
    await this.load();
    location.hash = "#/";
    show();
  },
};

// The pages about the whole server: databases, running tasks, the file.

const databasesPerPage = 100;

async function databasesPage({ query }, signal) {
  const start = query.get("start");
  let names;
  try {
    names = await get("_all_dbs", {
      query: { limit: databasesPerPage + 1, startkey: start ? JSON.stringify(start) : undefined }, signal,
    });
  } catch (error) {
    if (error.status !== 403) throw error;
    return unlistedDatabasesPage();
  }
  const next = names[databasesPerPage];
  const listed = names.slice(0, databasesPerPage);
  const facts = listed.length ? await send("POST", "_dbs_info", { keys: listed }, { signal }) : [];
  // A server of another kind may know the size of each database; here, all are in one file.
  const hasSizes = facts.some(({ info }) => info?.sizes?.file !== undefined);
  const rows = facts.map(({ key, info }) => [
    link([key], shown(key), { class: "name" }), info?.doc_count ?? 0, info?.doc_del_count ?? 0,
    ...hasSizes ? [bytes(info?.sizes?.file ?? 0)] : [],
    key === "_default" ? "" : button("Delete…", () => deleteDatabase(key, info?.doc_count ?? 0), {
      class: "quiet danger", "aria-label": `Delete the database ${key}`,
    }),
  ]);
  const name = make("input", { name: "name", autocomplete: "off", spellcheck: "false", required: true });
  return {
    title: "Databases", crumbs: [],
    content: [
      make("div", { class: "bar" },
        make("h1", { tabindex: "-1" }, "Databases"),
        form(() => createDatabase(name.value.trim()), { class: "inline" },
          labelled("New database", name), make("button", { class: "primary" }, "Create"))),
      rows.length
        ? table("Databases", ["Name", "Documents", "Deleted", ...hasSizes ? ["Size"] : [], ""], rows,
          { class: "list databases" })
        : make("p", { class: "empty" }, "There are no databases yet."),
      (next || start) && make("nav", { class: "pager", "aria-label": "Pages" },
        start && link([], "First page"), next && link([], "Next page", { query: { start: next } })),
    ],
  };
}

// For a user who may use databases, but not list them.
function unlistedDatabasesPage() {
  const name = make("input", { name: "name", autocomplete: "off", spellcheck: "false", required: true });
  return {
    title: "Databases", crumbs: [],
    content: [
      make("h1", { tabindex: "-1" }, "Databases"),
      make("p", {}, "Only administrators may list the databases. You can open one whose name you know."),
      form(() => { if (name.value) location.hash = place([name.value.trim()]); }, { class: "inline" },
        labelled("Database", name), make("button", { class: "primary" }, "Open")),
    ],
  };
}

async function createDatabase(name) {
  if (!name) return;
  await request("PUT", path(name));
  location.hash = place([name]);
  say(`The database ${name} was created.`);
}

async function deleteDatabase(name, count) {
  const typed = make("input", { autocomplete: "off", spellcheck: "false", autofocus: true });
  const isDone = await ask({
    title: `Delete ${name}?`, action: "Delete", isDangerous: true,
    content: [
      make("p", {}, `${number(count)} ${count === 1 ? "document" : "documents"}, with all revisions, `
        + "attachments and indexes, are gone after that."),
      labelled(`Type ${name} to confirm`, typed),
    ],
    check: () => typed.value === name,
  });
  if (!isDone) return;
  await request("DELETE", path(name));
  for (const key of drafts.keys()) if (key.startsWith(`${name}/`)) drafts.delete(key);
  location.hash = "#/";
  show();
  say(`The database ${name} was deleted.`);
}

// MARK: Tasks

async function tasksPage(_, signal) {
  const list = make("div", { "aria-live": "polite" });
  let last;
  async function refresh() {
    const text = await request("GET", "_active_tasks", { signal });
    if (text === last) return;
    last = text;
    const tasks = JSON.parse(text);
    const hidden = new Set(["type", "source", "target", "progress"]);
    list.replaceChildren(tasks.length
      ? table("Tasks", ["Task", "From", "To", "Progress", "Details"], tasks.map((task) => [
        shown(task.type ?? ""), shown(task.source ?? task.database ?? ""), shown(task.target ?? ""),
        typeof task.progress === "number"
          ? make("progress", { max: 100, value: task.progress }, `${task.progress} %`) : "",
        Object.entries(task).filter(([name]) => !hidden.has(name)).map(([name, value]) =>
          shown(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)).join(", "),
      ]), { class: "list" })
      : make("p", { class: "empty" }, "Nothing is running. Replications that other programs run with this "
        + "server, such as latewood replicate, are known only to them."));
  }
  await refresh();
  repeat(refresh, 2000, signal);
  return {
    title: "Tasks", crumbs: [["Tasks"]],
    content: [make("h1", { tabindex: "-1" }, "Running tasks"), list],
  };
}

// Calls an action again and again until the page is left, and more slowly after an error.
async function repeat(action, pause, signal) {
  let next = pause;
  while (!signal.aborted) {
    await new Promise((resolve) => { setTimeout(resolve, next); });
    if (signal.aborted) return;
    next = pause;
    try { await action(); } catch (error) {
      if (signal.aborted) return;
      complain(error);
      next = 5000;
    }
  }
}

// MARK: The file

async function filePage(_, signal) {
  const [file, server] = await Promise.all([get("_utils/file", { signal }), get("", { signal })]);
  const holes = Math.max(file.fileSize - file.allocatedSize, 0);
  const parts = [
    ["live", "Live", file.liveBytes, "Nodes and large values of the newest checkpoint"],
    ["log", "Log", file.logBytes, "Commits since that checkpoint, and nodes written after it began"],
    ["dead", "Dead", file.deadBytes, "No longer needed; reused as holes, or removed by a compaction"],
  ].filter(([, , length]) => length > 0);
  const description = parts.map(([, name, length]) => `${name}: ${bytes(length)}`).join(", ");
  const bar = make("div", { class: "map", role: "img", "aria-label": description },
    parts.map(([kind, , length]) => {
      const part = make("span", { class: kind });
      part.style.flexGrow = length;
      return part;
    }));
  const facts = (rows) => make("dl", { class: "facts" }, rows.map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  return {
    title: "File", crumbs: [["File"]],
    content: [
      make("h1", { tabindex: "-1" }, "File"),
      bar,
      table("Parts of the file", ["Part", "Size", "What it is"], parts.map(([kind, name, length, note]) => [
        make("span", { class: `key ${kind}` }, name), bytes(length), note,
      ]), { class: "list" }),
      facts([
        ["Size", bytes(file.fileSize)], ["On the disk", bytes(file.allocatedSize)],
        ["Holes", bytes(holes)], ["Reserved", bytes(file.reservedBytes)],
        ["Entries", number(file.entries)], ["Levels of the tree", number(file.treeHeight)],
        ["Transaction", number(file.transaction)],
        ["In the newest checkpoint", number(file.checkpointTransaction)],
        ["Open snapshots", number(file.openSnapshots)], ["Memory for writes", bytes(file.memoryBytes)],
        ["Encrypted", file.isEncrypted ? "yes" : "no"], ["Format", number(file.formatVersion)],
        ["Server", `Latewood ${server.version}`],
      ]),
      make("p", { class: "note" }, "The server knows these totals. Which block of the file belongs to which "
        + "database is shown by ", make("code", {}, "latewood inspect map"), ", the largest documents by ",
      make("code", {}, "latewood size"), "."),
    ],
  };
}

// The pages about one database: its documents by id, queries, changes.

const documentsPerPage = 25;
const afterAll = "\u{10FFFF}";

// The heading and the tabs of the pages of a database.
function databaseHeader(db, current, info) {
  const tabs = [["Documents", [db]], ["Query", [db, "_find"]], ["Changes", [db, "_changes"]]];
  return make("div", { class: "bar" },
    make("h1", { tabindex: "-1", class: "name" }, shown(db)),
    make("nav", { class: "tabs", "aria-label": "Database" }, tabs.map(([name, segments]) => {
      const tab = link(segments, name);
      if (name === current) tab.setAttribute("aria-current", "page");
      return tab;
    })),
    info && make("p", { class: "note" }, `${number(info.doc_count)} documents, `
      + `${number(info.doc_del_count)} deleted`),
    link([db, "_new"], "New document", { class: "button primary" }));
}

// A row about a document, whose value may lack members that a query left out.
function documentRow(db, id, tree) {
  const rev = textOf(member(tree, "_rev"));
  const conflicts = itemsOf(member(tree, "_conflicts")).length;
  const own = tree?.kind === "object" ? {
    kind: "object", members: new Map([...tree.members].filter(([name]) => !name.startsWith("_"))),
  } : tree;
  const attachments = member(tree, "_attachments")?.members.size ?? 0;
  return [
    make("span", {}, id === undefined ? "" : link([db, id], shown(id), { class: "name" }),
      conflicts > 0 && link([db, id, "compare"], "conflict", { class: "badge" }),
      attachments > 0 && make("span", { class: "badge plain" },
        `${attachments} ${attachments === 1 ? "attachment" : "attachments"}`)),
    rev ? make("code", { class: "rev" }, shortRevision(rev)) : "",
    make("code", { class: "preview" }, own ? shown(flatJSON(own).slice(0, 400)) : ""),
  ];
}

const documentTable = (caption, rows) =>
  table(caption, ["Id", "Revision", "Content"], rows, { class: "list documents" });

async function documentsPage({ segments: [db], query }, signal) {
  const prefix = query.get("prefix") ?? "";
  const start = query.get("start") ?? "";
  const key = (text) => text ? JSON.stringify(text) : undefined;
  const target = path(db, "_all_docs");
  const [info, page] = await Promise.all([get(path(db), { signal }), getTree(target, {
    query: {
      include_docs: true, conflicts: true, limit: documentsPerPage + 1,
      startkey: key(start || prefix), endkey: key(prefix && prefix + afterAll),
    }, signal,
  })]);
  const rows = itemsOf(member(page, "rows"));
  const first = textOf(member(rows[0], "id"));
  const next = textOf(member(rows[documentsPerPage], "id"));
  const listed = rows.slice(0, documentsPerPage);
  const offset = Number(member(page, "offset")?.text ?? 0);

  // The page before is read backwards from the first row of this one.
  async function previous() {
    const before = await get(target, {
      query: {
        descending: true, limit: documentsPerPage + 1, startkey: key(first ?? start), endkey: key(prefix),
      },
    });
    const ids = before.rows.map((row) => row.id).filter((id) => id !== first).slice(0, documentsPerPage);
    const isFirst = ids.length < documentsPerPage;
    location.hash = place([db], { prefix, start: isFirst ? "" : ids[ids.length - 1] });
  }

  const search = make("input", {
    type: "search", name: "prefix", value: prefix, id: "search", autocomplete: "off", spellcheck: "false",
  });
  return {
    title: db, crumbs: [[db, [db]]],
    content: [
      databaseHeader(db, "Documents", info),
      form(() => { location.hash = place([db], { prefix: search.value }); },
        { class: "inline", role: "search" },
        labelled("Id begins with", search), make("button", {}, "Find")),
      listed.length
        ? documentTable(`Documents of ${db}`, listed.map((row) =>
          documentRow(db, textOf(member(row, "id")), member(row, "doc"))))
        : make("p", { class: "empty" }, prefix ? "No id begins so." : "There are no documents here yet."),
      make("nav", { class: "pager", "aria-label": "Pages" },
        start && button("Previous page", previous, { id: "previous" }),
        listed.length > 0 && make("span", { class: "note" }, prefix ? `${listed.length} documents`
          : `${number(offset + 1)} to ${number(offset + listed.length)} of `
            + number(member(page, "total_rows")?.text ?? 0)),
        next !== undefined
          && link([db], "Next page", { query: { prefix, start: next }, class: "button next" })),
    ],
  };
}

// MARK: Queries

const listOfNames = (text) => text.split(",").map((one) => one.trim()).filter((one) => one);

async function queryPage({ segments: [db], query }, signal) {
  const indexes = await get(path(db, "_index"), { signal });
  const selector = jsonEditor({
    label: "Selector", text: query.get("selector") ?? "{\n  \n}", rows: 6,
    objection: (value) => value.kind === "object" ? null : "A selector is an object.",
  });
  const input = (value) => make("input", { value, autocomplete: "off", spellcheck: "false" });
  const fields = input(query.get("fields") ?? "");
  const sort = input(query.get("sort") ?? "");
  const isDescending = make("input", { type: "checkbox", checked: query.get("descending") !== null });
  const run = () => {
    if (!selector.check()) return selector.area.focus();
    const target = place([db, "_find"], {
      selector: selector.text, fields: fields.value, sort: sort.value,
      descending: isDescending.checked ? "1" : "",
    });
    if (location.hash === target) show(); else location.hash = target;
  };
  selector.area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  const results = query.get("selector") === null ? null : await found(db, query, signal);
  return {
    title: `Query, ${db}`, crumbs: [[db, [db]], ["Query"]],
    content: [
      databaseHeader(db, "Query"),
      make("div", { class: "split" },
        form(run, { class: "query" },
          make("div", { class: "field" }, make("span", {}, "Selector"), selector.element,
            make("small", {}, "Mango, such as { \"age\": { \"$gt\": 30 } }")),
          make("div", { class: "inline" },
            labelled("Fields", fields, "separated by commas; empty for all"),
            labelled("Sort by", sort, "separated by commas"),
            make("label", { class: "check-box" }, isDescending, "Descending")),
          make("button", { class: "primary" }, "Run"), " ", make("kbd", {}, "Ctrl Enter")),
        indexSection(db, indexes.indexes)),
      results,
    ],
  };
}

async function found(db, query, signal) {
  const names = listOfNames(query.get("fields") ?? "");
  const sort = listOfNames(query.get("sort") ?? "");
  const direction = query.get("descending") === null ? "asc" : "desc";
  const members = new Map([["limit", { kind: "plain", text: String(documentsPerPage) }]]);
  if (names.length) members.set("fields", { kind: "array", items: names.map(stringValue) });
  if (sort.length) {
    members.set("sort", { kind: "array", items: sort.map((name) =>
      ({ kind: "object", members: new Map([[name, stringValue(direction)]]) })) });
  }
  const list = make("tbody");
  const more = make("nav", { class: "pager", "aria-label": "More" });
  let count = 0;

  async function next(bookmark) {
    members.set("selector", parseJSON(query.get("selector")));
    if (bookmark) members.set("bookmark", stringValue(bookmark));
    const answer = parseJSON(await request("POST", path(db, "_find"), {
      json: flatJSON({ kind: "object", members }), signal,
    }));
    const docs = itemsOf(member(answer, "docs"));
    count += docs.length;
    const page = documentTable("", docs.map((doc) => documentRow(db, textOf(member(doc, "_id")), doc)));
    list.append(...page.querySelectorAll("tbody > tr"));
    const isLast = docs.length < documentsPerPage;
    more.replaceChildren(make("span", { class: "note", role: "status" },
      `${number(count)} ${count === 1 ? "document" : "documents"}${isLast ? "" : " so far"}`),
    ...isLast ? [] : [button("More", () => next(textOf(member(answer, "bookmark"))))]);
  }
  try { await next(); } catch (error) {
    if (!(error instanceof ServerError) && !(error instanceof JSONError)) throw error;
    return make("div", { class: "panel problem" }, make("p", {}, error.message));
  }
  const whole = documentTable("Documents found", []);
  whole.querySelector("tbody").replaceWith(list);
  return make("section", { "aria-label": "Results" }, count ? whole : null, more);
}

function indexSection(db, indexes) {
  const fields = make("input", { required: true, autocomplete: "off", spellcheck: "false" });
  const name = make("input", { autocomplete: "off", spellcheck: "false" });
  const create = async () => {
    const index = { fields: listOfNames(fields.value) };
    if (!index.fields.length) return fields.focus();
    const answer = await send("POST", path(db, "_index"), { index, ...name.value && { name: name.value } });
    show();
    say(`The index ${answer.name} ${answer.result === "exists" ? "was there already" : "was created"}.`);
  };
  const remove = async (index) => {
    if (!await ask({ title: `Delete the index ${index.name}?`, action: "Delete", isDangerous: true })) return;
    await request("DELETE", path(db, "_index", index.ddoc, "json", index.name));
    show();
  };
  return make("section", { class: "side", "aria-labelledby": "indexes" },
    make("h2", { id: "indexes" }, "Indexes"),
    make("ul", { class: "items" }, indexes.map((index) => make("li", {},
      make("span", {}, make("span", { class: "name" }, shown(index.name)), make("small", {},
        index.def.fields.flatMap((field) => Object.entries(field))
          .map(([field, order]) => shown(field) + (order === "desc" ? " descending" : "")).join(", "))),
      index.ddoc && button("Delete…", () => remove(index), {
        class: "quiet danger", "aria-label": `Delete the index ${index.name}`,
      })))),
    form(create, {},
      labelled("Fields of a new index", fields, "separated by commas"), labelled("Name", name, "optional"),
      make("button", {}, "Create index")));
}

// MARK: Changes

const changesShown = 200;

async function changesPage({ segments: [db] }, signal) {
  const info = await get(path(db), { signal });
  const page = await get(path(db, "_changes"), {
    query: { descending: true, limit: 50, style: "all_docs" }, signal,
  });
  const body = make("tbody");
  const rowOf = new Map();
  const state = make("p", { class: "note", role: "status" });
  let isPaused = false;
  let since = info.update_seq;

  // A document is listed once, at its latest change.
  function add(change, isNew) {
    rowOf.get(change.id)?.remove();
    const row = make("tr", { class: isNew ? "new" : null },
      make("th", { scope: "row" }, link([db, change.id], shown(change.id), { class: "name" }),
        change.deleted && make("span", { class: "badge plain" }, "deleted"),
        change.changes.length > 1
          && make("span", { class: "badge plain" }, `${change.changes.length} leaves`)),
      make("td", {}, make("code", { class: "rev" }, shortRevision(change.changes[0].rev))),
      make("td", { class: "number", "data-title": "Sequence" }, String(change.seq).split("-")[0]));
    rowOf.set(change.id, row);
    if (isNew) body.prepend(row); else body.append(row);
    while (rowOf.size > changesShown) {
      const oldest = rowOf.keys().next().value;
      rowOf.get(oldest).remove();
      rowOf.delete(oldest);
    }
  }

  for (const change of page.results) add(change, false);
  // The map is in the order of changes, oldest first, so that the oldest row can be found.
  const listed = [...rowOf].reverse();
  rowOf.clear();
  for (const [id, row] of listed) rowOf.set(id, row);

  async function follow() {
    if (isPaused) return;
    const answer = await get(path(db, "_changes"), {
      query: { feed: "longpoll", since, style: "all_docs", timeout: 30000 }, signal,
    });
    since = answer.last_seq;
    for (const change of answer.results) {
      const known = rowOf.get(change.id);
      rowOf.delete(change.id);
      known?.remove();
      add(change, true);
    }
    const count = answer.results.length;
    if (count) state.textContent = `${number(count)} new ${count === 1 ? "change" : "changes"}`;
  }
  const pause = button("Pause", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Continue" : "Pause";
    state.textContent = isPaused ? "Paused" : "Waiting for changes";
  });
  state.textContent = "Waiting for changes";
  repeat(follow, 250, signal);
  return {
    title: `Changes, ${db}`, crumbs: [[db, [db]], ["Changes"]],
    content: [
      databaseHeader(db, "Changes", info),
      make("div", { class: "inline" }, pause, state),
      make("table", { class: "list changes" }, make("caption", {}, `Changes of ${db}, newest first`),
        make("thead", {}, make("tr", {}, ["Id", "Revision", "Sequence"].map((title) =>
          make("th", { scope: "col" }, title)))), body),
    ],
  };
}

// The page of one document: its JSON, revisions, conflicts and attachments.

// Texts that were changed and not saved, by database and id, so that a look at another page loses
// nothing: { text, parent }, where the parent is the revision that was edited.
const drafts = new Map();

const bodyObjection = (value) => {
  if (value.kind !== "object") return "A document is an object.";
  const reserved = [...value.members.keys()].find((name) => name.startsWith("_"));
  if (reserved === undefined) return null;
  return `Names that begin with an underscore are reserved: ${shown(reserved)}`;
};

async function newDocumentPage({ segments: [db], query }, signal) {
  const { uuids } = await get("_uuids", { signal });
  const id = make("input", { value: query.get("id") ?? uuids[0], autocomplete: "off", spellcheck: "false" });
  const editor = jsonEditor({ label: "Content", text: "{\n  \n}", objection: bodyObjection, rows: 16 });
  const save = async () => {
    const body = editor.check();
    if (!body) return editor.area.focus();
    await Revision.save(db, id.value, body);
    say("Saved.");
    location.hash = place([db, id.value]);
  };
  saveAction = save;
  return {
    title: `New document, ${db}`, crumbs: [[db, [db]], ["New document"]],
    content: [
      make("h1", { tabindex: "-1" }, "New document"),
      form(save, { class: "document" }, labelled("Id", id), editor.element,
        make("div", { class: "actions" }, make("button", { class: "primary" }, "Save"),
          link([db], "Cancel", { class: "button" }))),
    ],
  };
}

async function documentPage({ segments: [db, id], query }, signal) {
  const rev = query.get("rev") ?? undefined;
  let revision;
  try { revision = await Revision.read(db, id, { rev, signal }); } catch (error) {
    if (error.status !== 404) throw error;
    return missingDocumentPage(db, id, rev, error);
  }
  if (rev) return oldRevisionPage(db, revision);
  return new DocumentEditing(db, revision).page();
}

function missingDocumentPage(db, id, rev, error) {
  let message = error.message === "deleted" ? "This document was deleted." : "There is no such document.";
  if (rev) message = `Revision ${rev} is not stored, or not any more.`;
  return {
    title: id, crumbs: [[db, [db]], [id]],
    content: [
      make("h1", { tabindex: "-1", class: "name" }, shown(id)),
      make("p", {}, message),
      rev ? link([db, id], "Current revision", { class: "button" })
        : link([db, "_new"], "Create it", { query: { id }, class: "button primary" }),
    ],
  };
}

function oldRevisionPage(db, revision) {
  const editor = jsonEditor({ label: "Content of the revision", text: revision.text, readonly: true });
  const restore = async () => {
    const current = await Revision.read(db, revision.id);
    drafts.set(`${db}/${revision.id}`, { text: revision.text, parent: current });
    location.hash = place([db, revision.id]);
  };
  return {
    title: `${revision.id}, ${revision.rev}`,
    crumbs: [[db, [db]], [revision.id, [db, revision.id]], [shortRevision(revision.rev)]],
    content: [
      make("h1", { tabindex: "-1", class: "name" }, shown(revision.id)),
      make("p", { class: "note" }, "Revision ", make("code", {}, revision.rev),
        revision.isDeleted && ", a deletion"),
      editor.element,
      make("div", { class: "actions" }, button("Edit as the next revision", restore),
        link([db, revision.id], "Current revision", { class: "button" })),
      attachmentSection(db, revision, null),
    ],
  };
}

// An open document. `parent` is the revision that the text in the editor was made from.
class DocumentEditing {
  constructor(db, revision) {
    this.db = db;
    this.id = revision.id;
    this.key = `${db}/${revision.id}`;
    const draft = drafts.get(this.key);
    this.parent = draft?.parent ?? revision;
    this.newest = revision;
    this.editor = jsonEditor({
      label: "Content", text: draft?.text ?? revision.text, objection: bodyObjection,
      onchange: () => this.changed(),
    });
    this.state = make("span", { class: "note" });
    this.side = make("div", { class: "side" });
    this.work = make("div");
    this.showState();
    this.showSide();
  }

  get isChanged() { return this.editor.text !== this.parent.text; }

  page() {
    saveAction = () => this.save();
    const save = make("button", { class: "primary" }, "Save");
    this.edit = form(() => this.save(), { class: "document" }, this.editor.element,
      make("div", { class: "actions" }, save,
        button("Format", () => this.format()), button("Revert", () => this.revert()),
        button("Delete…", () => this.remove(), { class: "quiet danger" }), this.state));
    this.work.append(this.edit);
    return {
      title: this.id, crumbs: [[this.db, [this.db]], [this.id]],
      content: [
        make("h1", { tabindex: "-1", class: "name" }, shown(this.id)),
        make("div", { class: "split" }, this.work, this.side),
      ],
    };
  }

  changed() {
    if (this.isChanged) drafts.set(this.key, { text: this.editor.text, parent: this.parent });
    else drafts.delete(this.key);
    this.showState();
  }

  showState() {
    const isOld = this.parent.rev !== this.newest.rev;
    this.state.textContent = !this.isChanged ? ""
      : isOld ? "Not saved, and the document has changed since" : "Not saved";
  }

  format() {
    const value = this.editor.check();
    if (value) this.editor.text = writeJSON(value);
  }

  revert() {
    this.parent = this.newest;
    this.editor.text = this.newest.text;
  }

  async save() {
    const body = this.editor.check();
    if (!body) return this.editor.area.focus();
    try { await Revision.save(this.db, this.id, body, this.parent); } catch (error) {
      if (error.status !== 409) throw error;
      return this.resolve(body);
    }
    // What was typed during the request stays a draft.
    const saved = await Revision.read(this.db, this.id);
    const wasFormatted = equalJSON(this.editor.check() ?? undefined, saved.body);
    this.parent = saved;
    this.newest = saved;
    if (wasFormatted) this.editor.text = saved.text; else this.changed();
    this.showState();
    this.showSide();
    say(`Saved as revision ${shortRevision(saved.rev)}`);
  }

  // Shows the revision that somebody else has saved beside the text in the editor.
  async resolve(mine) {
    let theirs;
    try { theirs = await Revision.read(this.db, this.id); } catch (error) {
      if (error.status !== 404) throw error;
      return this.recreate(mine);
    }
    this.newest = theirs;
    const comparison = new Comparison({
      left: mine, right: theirs.body, base: this.parent.body,
      leftTitle: "Mine, not saved", rightTitle: `Theirs, ${shortRevision(theirs.rev)}`,
    });
    const heading = make("h2", { tabindex: "-1", id: "conflict" }, "Somebody else has saved this document");
    const end = (text) => {
      panel.replaceWith(this.edit);
      this.parent = theirs;
      if (text !== undefined) this.editor.text = text;
      this.changed();
      this.showSide();
      this.editor.area.focus();
    };
    const panel = make("section", { class: "panel", "aria-labelledby": "conflict" }, heading,
      make("p", {}, "What only one side has changed is already chosen. Choose the rest."),
      comparison.element,
      make("div", { class: "actions" },
        button("Use the chosen members", () => {
          end(writeJSON(comparison.chosen));
          say("Merged. Look at it, then save.");
        }, { class: "primary" }),
        button("Take theirs", () => end(theirs.text)),
        button("Keep mine", () => end(this.editor.text)),
        button("Back", () => {
          panel.replaceWith(this.edit);
          this.showState();
          this.editor.area.focus();
        }, { class: "quiet" })));
    this.edit.replaceWith(panel);
    heading.focus();
  }

  async recreate(mine) {
    const isDone = await ask({
      title: "Somebody else has deleted this document", action: "Save it again",
      content: [make("p", {}, "Your text can be saved as a new document with the same id. Its attachments "
        + "are gone.")],
    });
    if (!isDone) return;
    await Revision.save(this.db, this.id, mine);
    drafts.delete(this.key);
    show();
  }

  async remove() {
    const isDone = await ask({
      title: "Delete this document?", action: "Delete", isDangerous: true,
      content: [make("p", { class: "name" }, shown(this.id)), this.newest.conflicts.length > 0
        && make("p", {}, "It has conflicts: another revision takes the place of this one.")],
    });
    if (!isDone) return;
    await Revision.remove(this.db, this.id, this.newest.rev);
    drafts.delete(this.key);
    if (this.newest.conflicts.length) return show();
    location.hash = place([this.db]);
    say("Deleted.");
  }

  // MARK: Beside the editor

  showSide() {
    const { db, id, newest } = this;
    const available = newest.history.slice(0, 20);
    this.side.replaceChildren(
      make("section", { "aria-labelledby": "revision" }, make("h2", { id: "revision" }, "Revision"),
        make("code", { class: "whole" }, newest.rev)),
      newest.conflicts.length ? make("section", { class: "panel mark" },
        make("p", {}, `${newest.conflicts.length === 1 ? "One other revision is"
          : `${newest.conflicts.length} other revisions are`} in conflict with this one.`),
        link([db, id, "compare"], "Compare and resolve", { class: "button primary" })) : "",
      attachmentSection(db, newest, this),
      make("section", { "aria-labelledby": "history" }, make("h2", { id: "history" }, "History"),
        make("ol", { class: "items" }, available.map(({ rev, status }) => make("li", {},
          status === "available" && rev !== newest.rev
            ? link([db, id], make("code", {}, shortRevision(rev)), { query: { rev } })
            : make("code", {}, shortRevision(rev)),
          make("small", {}, rev === newest.rev ? "current" : status === "available" ? "" : status)))),
        newest.history.length > available.length
          && make("p", { class: "note" }, `and ${newest.history.length - available.length} older ones`)));
  }

  // Called when attachments have changed: the text in the editor stays, and belongs to the new
  // revision if it belonged to the one before.
  async attachmentsChanged(message) {
    const before = this.newest.rev;
    this.newest = await Revision.read(this.db, this.id);
    const text = this.editor.text;
    const wasChanged = this.isChanged;
    if (this.parent.rev === before) this.parent = this.newest;
    this.editor.text = wasChanged ? text : this.newest.text;
    this.showSide();
    say(message);
  }
}

// MARK: Attachments

const largestThumbnail = 1 << 20;

// The attachments of a revision; `editing` is the open document if they may be changed.
function attachmentSection(db, revision, editing) {
  const entries = [...revision.attachments?.members ?? []];
  const address = (name) =>
    `../${documentPath(db, revision.id, name)}?rev=${encodeURIComponent(revision.rev)}`;
  const item = ([name, facts]) => {
    const type = textOf(member(facts, "content_type")) ?? "";
    const length = Number(member(facts, "length")?.text ?? 0);
    let target;
    try { target = address(name); } catch (error) {
      return make("li", {}, make("span", {}, shown(name), make("small", {}, error.message)));
    }
    const isImage = /^image\/(png|jpeg|gif|webp|avif)$/.test(type) && length <= largestThumbnail;
    return make("li", {},
      isImage && make("img", { src: target, alt: "", loading: "lazy" }),
      make("span", {}, make("a", { href: target, download: name, class: "name" }, shown(name)),
        make("small", {}, `${shown(type)}, ${bytes(length)}`)),
      editing && button("Delete…", () => removeAttachment(editing, name), {
        class: "quiet danger", "aria-label": `Delete the attachment ${name}`,
      }));
  };
  const add = async () => {
    for (const one of file.files) await addAttachment(editing, one);
    file.value = "";
  };
  const file = make("input", {
    type: "file", multiple: true, class: "file", id: "file", onchange: guarded(add),
  });
  return make("section", { "aria-labelledby": "attachments" },
    make("h2", { id: "attachments" }, "Attachments"),
    entries.length ? make("ul", { class: "items" }, entries.map(item)) : make("p", { class: "note" }, "None"),
    editing && labelled("Add a file", file));
}

async function addAttachment(editing, file) {
  const { db, id, newest } = editing;
  await request("PUT", documentPath(db, id, file.name), {
    query: { rev: newest.rev }, body: file, type: file.type || "application/octet-stream",
  });
  await editing.attachmentsChanged(`${file.name} was added.`);
}

async function removeAttachment(editing, name) {
  const isDone = await ask({
    title: "Delete this attachment?", action: "Delete", isDangerous: true,
    content: [make("p", { class: "name" }, shown(name))],
  });
  if (!isDone) return;
  await request("DELETE", documentPath(editing.db, editing.id, name), { query: { rev: editing.newest.rev } });
  await editing.attachmentsChanged(`${name} was deleted.`);
}

// Two revisions side by side, member by member, with a choice for each member that differs.

class Comparison {
  // `base` is the revision that both sides were made from, if it is known. What only one side has
  // changed since is chosen at first.
  constructor({ left, right, base, leftTitle, rightTitle }) {
    this.names = [...new Set([...left.members.keys(), ...right.members.keys()])];
    this.sides = { left: left.members, right: right.members };
    this.choices = new Map();
    const rows = this.names.map((name, index) => this.row(name, index, base));
    const isEmpty = rows.every((row) => !row.classList.contains("differs"));
    this.element = make("div", {},
      isEmpty && make("p", {}, "The members of both are equal."),
      make("table", { class: "comparison" },
        make("caption", {}, `${leftTitle}, beside ${rightTitle}`),
        make("thead", {}, make("tr", {}, ["Member", leftTitle, rightTitle].map((title) =>
          make("th", { scope: "col" }, title)))),
        make("tbody", {}, rows)));
  }

  row(name, index, base) {
    const [left, right] = [this.sides.left.get(name), this.sides.right.get(name)];
    const differs = !equalJSON(left, right);
    const isBefore = (value) => base && equalJSON(value, base.members.get(name));
    const chosen = isBefore(left) ? "right" : "left";
    this.choices.set(name, chosen);
    let note = "";
    if (differs && !base) note = left && right ? "differs" : "only on one side";
    else if (differs) note = `changed on ${isBefore(left) || isBefore(right) ? "one side" : "both sides"}`;
    const cell = (side, value, other) => {
      const content = value ? markedLines(writeJSON(value), other && writeJSON(other))
        : make("em", {}, "not there");
      if (!differs) return make("td", {}, content);
      const radio = make("input", {
        type: "radio", name: `choice-${index}`, checked: side === chosen,
        "aria-label": `${name}: ${side}`, onchange: () => this.choices.set(name, side),
      });
      return make("td", {}, make("label", {}, radio, content));
    };
    return make("tr", { class: differs ? "differs" : "same" },
      make("th", { scope: "row" },
        make("span", { class: "name" }, shown(name)), note && make("small", {}, note)),
      cell("left", left, right), cell("right", right, left));
  }

  get chosen() {
    const members = new Map();
    for (const name of this.names) {
      const value = this.sides[this.choices.get(name)].get(name);
      if (value) members.set(name, value);
    }
    return { kind: "object", members };
  }
}

const longestMarked = 300;

// Shows a text, with the lines marked that another text does not have in this order.
function markedLines(text, other) {
  const lines = text.split("\n");
  const others = other === undefined ? [] : other.split("\n");
  const pre = make("pre");
  if (text === other || Math.max(lines.length, others.length) > longestMarked) {
    pre.append(text);
    return pre;
  }
  // Lengths of the longest common parts of what follows in both.
  const width = others.length + 1;
  const common = new Uint16Array((lines.length + 1) * width);
  for (let i = lines.length - 1; i >= 0; i -= 1) {
    for (let j = others.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = lines[i] === others[j] ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  let j = 0;
  lines.forEach((line, i) => {
    while (j < others.length && line !== others[j]
      && common[i * width + j + 1] >= common[(i + 1) * width + j]) j += 1;
    const isCommon = j < others.length && line === others[j];
    if (isCommon) j += 1;
    const end = i + 1 < lines.length ? "\n" : "";
    pre.append(isCommon ? line + end : make("mark", {}, line + end));
  });
  return pre;
}

// MARK: Conflicts of a document

async function comparePage({ segments: [db, id], query }, signal) {
  const winner = await Revision.read(db, id, { signal });
  const crumbs = [[db, [db]], [id, [db, id]], ["Conflicts"]];
  const title = `Conflicts of ${id}`;
  const heading = make("h1", { tabindex: "-1" }, "Conflicts of ", make("span", { class: "name" }, shown(id)));
  if (!winner.conflicts.length) {
    return { title, crumbs, content: [heading, make("p", {}, "This document has no conflicts."),
      link([db, id], "Open it", { class: "button primary" })] };
  }
  const rev = winner.conflicts.includes(query.get("with")) ? query.get("with") : winner.conflicts[0];
  const other = await Revision.read(db, id, { rev, signal });
  const comparison = new Comparison({
    left: winner.body, right: other.body,
    leftTitle: `Current, ${shortRevision(winner.rev)}`, rightTitle: `Other, ${shortRevision(other.rev)}`,
  });
  const end = (message) => {
    const isLast = winner.conflicts.length === 1;
    say(isLast ? `${message}. There are no more conflicts.` : message);
    if (isLast) location.hash = place([db, id]); else show();
  };
  // The merged revision is saved first. If that fails, both sides are still there.
  const merge = async () => {
    await Revision.save(db, id, comparison.chosen, winner);
    await Revision.remove(db, id, other.rev);
    end("The chosen members were saved");
  };
  const keep = async (kept, removed, name) => {
    const isDone = await ask({
      title: `Keep the ${name} revision?`, action: `Delete ${shortRevision(removed.rev)}`, isDangerous: true,
      content: [make("p", {}, "The other revision is deleted on this server, and on all that replicate "
        + "with it.")],
    });
    if (!isDone) return;
    await Revision.remove(db, id, removed.rev);
    end(`Revision ${shortRevision(kept.rev)} was kept`);
  };
  const names = (revision) => [...revision.attachments?.members ?? []]
    .map(([name, facts]) => `${name} ${textOf(member(facts, "digest"))}`).sort().join("\n");
  return {
    title, crumbs,
    content: [
      heading,
      winner.conflicts.length > 1 && make("nav", { class: "tabs", "aria-label": "Other revisions" },
        winner.conflicts.map((one) => {
          const text = make("code", {}, shortRevision(one));
          const tab = link([db, id, "compare"], text, { query: { with: one } });
          if (one === rev) tab.setAttribute("aria-current", "page");
          return tab;
        })),
      comparison.element,
      names(winner) !== names(other) && make("p", { class: "panel mark" },
        "The attachments differ, too. A merged revision has those of the current one: ",
        link([db, id], "download the others", { query: { rev: other.rev } }), " first to keep them."),
      make("div", { class: "actions" },
        button("Save the chosen members", merge, { class: "primary" }),
        button("Keep the current one…", () => keep(winner, other, "current")),
        button("Keep the other one…", () => keep(other, winner, "other"))),
    ],
  };
}

// Finds the page of an address, and the keys of the keyboard.

let visit = new AbortController();
// Saves what is open; null if nothing is.
let saveAction = null;
let hasShown = false;

// Names that neither a database nor a document can have.
const serverPages = new Map([["_active_tasks", tasksPage], ["_file", filePage]]);
const databasePages = new Map([["_find", queryPage], ["_changes", changesPage], ["_new", newDocumentPage]]);

function pageOf([first, second, third]) {
  if (first === undefined) return databasesPage;
  if (second === undefined) return serverPages.get(first) ?? documentsPage;
  if (third === undefined) return databasePages.get(second) ?? documentPage;
  return third === "compare" ? comparePage : documentPage;
}

function address() {
  const [text, search] = location.hash.replace(/^#\/?/, "").split("?");
  const segments = text.split("/").filter((one) => one).map((one) => {
    try { return decodeURIComponent(one); } catch { return one; }
  });
  return { segments, query: new URLSearchParams(search ?? "") };
}

// Shows the page of the address. The page before is left: its requests end.
async function show() {
  visit.abort();
  visit = new AbortController();
  const { signal } = visit;
  const here = address();
  const main = document.getElementById("content");
  main.setAttribute("aria-busy", "true");
  saveAction = null;
  let page;
  try { page = await pageOf(here.segments)(here, signal); } catch (error) {
    if (signal.aborted) return;
    page = {
      title: "Error", crumbs: here.segments.slice(0, 1).map((one) => [one, [one]]),
      content: [make("h1", { tabindex: "-1" }, error.status === 404 ? "Not found" : "That did not work"),
        make("p", {}, error.message), button("Try again", show, { class: "primary" })],
    };
  }
  if (signal.aborted) return;
  document.getElementById("alert").replaceChildren();
  main.removeAttribute("aria-busy");
  main.replaceChildren(...page.content.filter((one) => one));
  document.title = `${shown(page.title)} – Latewood`;
  document.getElementById("crumbs").replaceChildren(...page.crumbs.map(([text, segments], index) => {
    const isLast = index === page.crumbs.length - 1;
    return make("li", { "aria-current": isLast ? "page" : null },
      segments && !isLast ? link(segments, shown(text)) : shown(text));
  }));
  for (const one of document.querySelectorAll(".places a")) {
    if (one.hash === location.hash) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  // A screen reader begins to read at the heading of the new page.
  if (hasShown && !main.contains(document.activeElement)) {
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
  hasShown = true;
  scrollTo(0, 0);
}

// MARK: Keys

const keysName = "latewood.single-keys";
// A browser may not let a page store anything.
const singleKeys = {
  get areOn() { try { return localStorage.getItem(keysName) !== "off"; } catch { return true; } },
  set areOn(isOn) { try { localStorage.setItem(keysName, isOn ? "on" : "off"); } catch { return; } },
};

const content = () => document.getElementById("content");
const focusOn = (selector) => content().querySelector(selector)?.focus();

// Moves to the row after or before the one with the focus.
function moveRow(step) {
  const links = [...content().querySelectorAll("tbody th a")];
  const at = links.findIndex((one) => one.closest("tr").contains(document.activeElement));
  links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus();
}

const shortcuts = [
  ["/", "Search by id, or write a selector", () => focusOn("input[type=search], textarea, input")],
  ["n", "New document", () => {
    const [db] = address().segments;
    if (db && !serverPages.has(db)) location.hash = place([db, "_new"]);
  }],
  ["e", "Edit: move to the text", () => focusOn("textarea")],
  ["j", "Next row", () => moveRow(1)],
  ["k", "Previous row", () => moveRow(-1)],
  ["]", "Next page", () => content().querySelector(".pager .next")?.click()],
  ["[", "Previous page", () => content().querySelector("#previous")?.click()],
  ["u", "Up: to the documents, or to the databases", () => {
    location.hash = place(address().segments.slice(0, -1).slice(0, 1));
  }],
  ["?", "This list", () => showHelp()],
];

async function showHelp() {
  const isOn = make("input", { type: "checkbox", checked: singleKeys.areOn, onchange: () => {
    singleKeys.areOn = isOn.checked;
  } });
  const rows = [["Ctrl S", "Save, also as ⌘ S"], ["Ctrl Enter", "Run the query, also as ⌘ Enter"],
    ["Esc", "Leave a text field or a dialog"], ...shortcuts];
  await ask({
    title: "Keyboard", content: [
      make("dl", { class: "keys" }, rows.map(([key, does]) =>
        make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, does)))),
      make("label", { class: "check-box" }, isOn, "Keys without Ctrl"),
    ],
  });
}

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  const isTyping = event.target.matches?.("textarea, input:not([type=checkbox], [type=radio], [type=file])");
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key === "s") {
    event.preventDefault();
    if (saveAction) guarded(saveAction)();
  } else if (event.key === "Escape" && isTyping) {
    content().querySelector("h1")?.focus();
  } else if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && singleKeys.areOn) {
    const shortcut = shortcuts.find(([key]) => key === event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut[2]();
  }
});

document.getElementById("help").addEventListener("click", showHelp);
document.getElementById("skip").addEventListener("click", () => content().focus());
addEventListener("hashchange", show);
addEventListener("beforeunload", (event) => { if (drafts.size) event.preventDefault(); });

try { await session.load(); } catch (error) { complain(error); }
await show();
"""#

  /// The rest of the markup.
  static let afterScript = #"""
</script>
</body>
</html>
"""#
}
