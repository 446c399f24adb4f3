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
