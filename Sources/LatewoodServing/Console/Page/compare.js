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
