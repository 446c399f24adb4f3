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
