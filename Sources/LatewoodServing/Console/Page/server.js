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
