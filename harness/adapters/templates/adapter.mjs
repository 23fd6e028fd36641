#!/usr/bin/env node
// A complete adapter, for a toy that copies whole trees. Replace the Toy by your implementation.
//
// The runner writes one JSON object on a line to standard input and reads one reply on a line from
// standard output. Print nothing else there (no console.log); diagnostics go to standard error.

import * as fs from "node:fs";

/** A refusal: its code is from the protocol's list, and it says what became of the disk. */
class Refused extends Error {
  constructor(code, message, changed = "none") {
    super(String(message));
    Object.assign(this, { code, changed });
  }
}

/** A path is a string, or {"b64": ...} where it is not UTF-8; a Buffer holds either. */
function path(value) {
  return typeof value === "string" ? Buffer.from(value) : Buffer.from(value.b64, "base64");
}

function join(folder, name) {
  return Buffer.concat([folder, Buffer.from("/"), Buffer.from(name)]);
}

/** What is there, behind any symlink. */
function look(path) {
  try {
    return fs.statSync(path);
  } catch {
    return undefined;
  }
}

/** The names in a folder as the system has them. readdirSync sorts, and who is copied last shows. */
function namesIn(folder) {
  const entries = fs.opendirSync(folder, { encoding: "buffer" });
  const names = [];
  for (let entry; (entry = entries.readSync()); ) names.push(entry.name);
  entries.closeSync();
  return names;
}

/** Copies a tree over what is there. What cannot be copied does not keep the rest from it. */
function copyTree(from, to) {
  const names = namesIn(from);
  fs.mkdirSync(to, { recursive: true });
  let failure;
  for (const name of names) {
    try {
      copy(name, join(from, name), join(to, name));
    } catch (error) {
      failure ??= error;
    }
  }
  fs.chmodSync(to, fs.statSync(from).mode);
  if (failure) throw failure;
}

function copy(name, from, to) {
  const kind = fs.lstatSync(from);
  if (kind.isSymbolicLink()) return fs.symlinkSync(fs.readlinkSync(from, "buffer"), to);
  if (kind.isDirectory()) return copyTree(from, to);
  // Like cp, copies a file into a directory that is in its place.
  const place = look(to)?.isDirectory() ? join(to, name) : to;
  // Opening a pipe would wait for its other end.
  if (!kind.isFile() || look(place)?.isFile() === false) {
    throw new Error(`${from} or ${place} is no file`);
  }
  fs.copyFileSync(from, place);
}

/** Keeps a copy of the whole tree for every checkpoint. */
class Toy {
  constructor(store) {
    this.store = store;
    fs.mkdirSync(store, { recursive: true });
  }

  ids() {
    return fs.readdirSync(this.store).sort().reverse();
  }

  checkpoint(project, reason) {
    if (!look(project)?.isDirectory()) throw new Refused("missing_directory", project);
    // Digits alone would be read as a number of the list when typed.
    const id = "c" + (this.ids().length + 1).toString(16).padStart(7, "0");
    const folder = join(this.store, id);
    copyTree(project, join(folder, "tree"));
    fs.writeFileSync(join(folder, "reason"), reason);
    return id;
  }

  list() {
    return this.ids().map((id, index) => {
      const name = join(join(this.store, id), "reason");
      const time = Math.floor(fs.statSync(name).mtimeMs / 1000);
      return { number: index + 1, id, time, reason: fs.readFileSync(name, "utf8") };
    });
  }

  restore(project, target) {
    const tree = join(join(this.store, target), "tree");
    if (!look(tree)?.isDirectory()) throw new Refused("unknown_checkpoint", target);
    copyTree(tree, project);
  }
}

let toy;
const OPERATIONS = {
  __proto__: null,
  hello: () => ({
    protocol: 1,
    impl: { name: "copy-tree", version: "0.1.0" },
    // Everyone is asked to list and restore; anything else needs a capability.
    capabilities: { checkpoint: true },
  }),
  open({ store }) {
    toy = new Toy(path(store));
  },
  checkpoint: ({ dir, reason }) => ({ outcome: "created", id: toy.checkpoint(path(dir), reason) }),
  list: () => ({ checkpoints: toy.list() }),
  restore: ({ dir, target }) => toy.restore(path(dir), path(target)),
  close() {},
};

function reply(line) {
  const asked = JSON.parse(line);
  let answer;
  try {
    const operation = OPERATIONS[asked.op];
    if (!operation) throw new Refused("unsupported", asked.op);
    answer = { ok: operation(asked) ?? {} };
  } catch (error) {
    // Any other error is an answer, too.
    const refused = error instanceof Refused ? error : new Refused("internal", error, "unknown");
    answer = { err: { code: refused.code, message: refused.message, changed: refused.changed } };
  }
  process.stdout.write(`${JSON.stringify({ id: asked.id, ...answer })}\n`);
}

// Not node:readline, which also ends lines at U+2028 and U+2029, and JSON may hold these.
let rest = "";
for await (const chunk of process.stdin.setEncoding("utf8")) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  lines.forEach(reply);
}
if (rest) reply(rest);
