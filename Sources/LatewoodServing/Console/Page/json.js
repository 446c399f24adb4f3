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
