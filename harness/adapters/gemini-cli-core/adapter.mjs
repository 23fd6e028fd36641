#!/usr/bin/env node
// Drives the GitService of @google/gemini-cli-core in-process. Translates, and repairs nothing.
//
// Started as: node adapter.mjs VERSION PACKAGES, the folder that npm installed into. The service
// has no list: that is read from the commits in its store. What it cannot do is not claimed.

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { pathToFileURL } from "node:url";

const [VERSION, PACKAGES] = process.argv.slice(2);

// Whatever the package prints goes where it disturbs nobody.
const say = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

const SOURCE = path.resolve(PACKAGES, "node_modules/@google/gemini-cli-core/dist/src");
const load = (file) => import(pathToFileURL(path.join(SOURCE, file)));
const { GitService } = await load("services/gitService.js");
const { Storage } = await load("config/storage.js");

const CAPABILITIES = [
  "capture.gitignore",
  "capture.no_repositories",
  "checkpoint",
  "project.any_directory",
  "restore.exact",
  "take.declines_empty",
  "take.unchanged",
  "target.short",
  "test.clock",
];

// What its errors say, and what that means.
const ERRORS = [
  ["on a directory that does not exist", "missing_directory"],
  ["ENOTDIR: not a directory", "not_a_directory"],
  ["EISDIR: ", "io"],
  ["ELOOP: ", "io"],
  ["is ambiguous", "ambiguous_checkpoint"],
  ["could not resolve", "unknown_checkpoint"],
  ["unable to read tree", "unknown_checkpoint"],
  ["fatal: log for ", "unknown_checkpoint"],
  ["did not match any file(s) known to git", "not_in_checkpoint"],
  ["must be a string without null bytes", "bad_target"],
  [".lock': File exists", "busy"],
  ["No space left on device", "no_space"],
  ["Permission denied", "permission"],
];

class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** A path or target as JavaScript has it: bytes that are no UTF-8 become U+FFFD. */
function text(value) {
  return typeof value === "string" ? value : Buffer.from(value.b64, "base64").toString();
}

let store;
let services = new Map();

/** The service of a project, one for the whole session as in the command line. */
async function serviceOf(dir) {
  let service = services.get(dir);
  if (!service) {
    service = new GitService(dir, new Storage(dir));
    await service.initialize();
    services.set(dir, service);
  }
  return service;
}

function open(request) {
  store = text(request.store);
  services = new Map();
  process.env.HOME = text(request.home);
  process.env.GEMINI_CLI_HOME = store;
  process.chdir(text(request.current_directory));
}

function clock(request) {
  // Git takes the commit's time from the environment; the author's the service keeps from it.
  process.env.GIT_COMMITTER_DATE = `@${request.seconds} +0000`;
}

async function checkpoint(request) {
  const service = await serviceOf(text(request.dir));
  const before = await service.getCurrentCommitHash();
  const id = await service.createFileSnapshot(request.reason);
  // Its caller takes an empty hash for a failure.
  if (!id) throw new Refused("internal", "the hash of the snapshot is empty");
  // Where nothing changed it answers the commit that there was.
  return id === before ? { outcome: "unchanged" } : { outcome: "created", id };
}

/** The folder of a project's commits; none where it never had any. */
function repository(dir) {
  const home = path.join(store, ".gemini");
  const registry = path.join(home, "projects.json");
  if (!fs.existsSync(registry)) return undefined;
  const slug = JSON.parse(fs.readFileSync(registry, "utf8")).projects[path.resolve(dir)];
  const folder = slug && path.join(home, "history", slug, ".git");
  return folder && fs.existsSync(folder) ? folder : undefined;
}

function list(request) {
  const folder = repository(text(request.dir));
  if (!folder) return { checkpoints: [] };
  const format = "--format=%H%x00%P%x00%ct%x00%B%x00";
  const log = execFileSync("git", ["--git-dir", folder, "log", "-z", format, "HEAD"], {
    env: { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" },
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const fields = log.toString().split("\0");
  const checkpoints = [];
  for (let index = 0; index + 4 < fields.length; index += 5) {
    const [id, parents, time, message] = fields.slice(index, index + 4);
    // The first commit is the service's own and was made before anything was asked of it.
    if (!parents) continue;
    // Git ends the message in a newline.
    const reason = message.replace(/\n$/, "");
    const number = checkpoints.length + 1;
    checkpoints.push({ number, id, time: Number(time), reason, stats: null });
  }
  return { checkpoints };
}

async function restore(request) {
  const service = await serviceOf(text(request.dir));
  await service.restoreProjectFromSnapshot(text(request.target));
}

const OPERATIONS = {
  __proto__: null,
  hello: () => ({
    protocol: 1,
    impl: { name: "gemini-cli-core", version: VERSION },
    reusable: true,
    capabilities: Object.fromEntries(CAPABILITIES.map((name) => [name, true])),
  }),
  open,
  close() {},
  new_turn() {},
  checkpoint,
  list,
  restore,
  "test.clock": clock,
};

async function reply(line) {
  const asked = JSON.parse(line);
  let answer;
  try {
    const operation = OPERATIONS[asked.op];
    if (!operation) throw new Refused("unsupported", asked.op);
    answer = { ok: (await operation(asked)) ?? {} };
  } catch (error) {
    const message = String(error.message);
    const known = ERRORS.find(([part]) => message.includes(part));
    const code = error instanceof Refused ? error.code : (known?.[1] ?? "internal");
    answer = { err: { code, message } };
  }
  say(`${JSON.stringify({ id: asked.id, ...answer })}\n`);
}

// Not node:readline, which also ends lines at U+2028 and U+2029, and JSON may hold these.
let rest = "";
for await (const chunk of process.stdin.setEncoding("utf8")) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) await reply(line);
}
if (rest) await reply(rest);
// The package may hold on to timers.
process.exit();
