#!/usr/bin/env node
// A complete adapter, for a small store. Put your own calls in the place of what `Store` does.
//
// The runner writes one JSON object on a line to standard input and reads one reply on a line from
// standard output. Print nothing else there (no console.log); diagnostics go to standard error.

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

// STORE

let store;
const OPERATIONS = {
  __proto__: null,
  hello: () => ({
    protocol: 1,
    impl: { name: "my-store", version: "0.1.0" },
    // One process may serve one history after another: `open` begins with a new store.
    reusable: true,
    // Everyone is asked to list and restore; anything else needs a capability.
    capabilities: { checkpoint: true },
  }),
  open(asked) {
    store = new Store(path(asked.store));
  },
  checkpoint: ({ dir, reason }) => ({ outcome: "created", id: store.checkpoint(path(dir), reason) }),
  list: ({ dir }) => ({
    checkpoints: store.list(path(dir)).map((one, index) => ({ number: index + 1, ...one })),
  }),
  restore: ({ dir, target }) => store.restore(path(dir), path(target)),
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
