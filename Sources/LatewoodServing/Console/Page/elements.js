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
