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
