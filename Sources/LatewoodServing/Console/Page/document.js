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
