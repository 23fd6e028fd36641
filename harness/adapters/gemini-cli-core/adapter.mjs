#!/usr/bin/env node
// Drives the GitService of @google/gemini-cli-core in-process. Translates, and repairs nothing.
//
// Started as: node adapter.mjs VERSION PACKAGES, the folder that npm installed into. Checkpoints are
// taken as before each call of a tool, and kept as the command line keeps them: a file for each, which
// `/restore` lists and reads. The prompt that the call belongs to is the reason. Where nothing changed
// the service answers the commit that there was, and no file is written then, though the command
// line would write another one for it.
//
// Not claimed: leaving files created since (they are always removed); a single file, a comparison, a
// bound or a pre-rollback checkpoint (there are none); numbers (`/restore` takes names).

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
const checkpoints = await load("utils/checkpointUtils.js");
const { performRestore } = await load("commands/restore.js");

const CAPABILITIES = [
  "capture.gitignore",
  "capture.no_repositories",
  "checkpoint",
  "files.special",
  "list.reason",
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
  ["could not be found in your Git repository", "unknown_checkpoint"],
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
  services = new Map();
  process.env.HOME = text(request.home);
  process.env.GEMINI_CLI_HOME = text(request.store);
  process.chdir(text(request.current_directory));
}

function clock(request) {
  // Git takes the commit's time from the environment; the author's the service keeps from it.
  process.env.GIT_COMMITTER_DATE = `@${request.seconds} +0000`;
}

/** Where the command line keeps a file for each checkpoint. */
const folderOf = (storage) => storage.getProjectTempCheckpointsDir();

async function checkpoint(request) {
  const dir = text(request.dir);
  const service = await serviceOf(dir);
  // It throws where there is none yet; the package itself does not ask.
  const before = await service.getCurrentCommitHash().catch(() => null);
  const call = { callId: "1", name: "replace", args: { file_path: dir }, prompt_id: request.reason };
  const client = { getHistory: () => [] };
  const taken = await checkpoints.processRestorableToolCalls([call], service, client, []);
  // Where no snapshot could be made, it makes the checkpoint of the one before, and tells of it.
  if (taken.errors.length > 0) throw new Error(taken.errors.join("\n"));
  const [[name, content]] = taken.checkpointsToWrite;
  const id = JSON.parse(content).commitHash;
  if (id === before) return { outcome: "unchanged" };
  fs.mkdirSync(folderOf(service.storage), { recursive: true });
  fs.writeFileSync(path.join(folderOf(service.storage), name), content);
  return { outcome: "created", id };
}

/** What the files of checkpoints hold, by name, the oldest first, since a name is a time. */
function kept(storage) {
  const folder = folderOf(storage);
  const names = fs.existsSync(folder) ? fs.readdirSync(folder).sort() : [];
  return new Map(names.map((name) => [name, fs.readFileSync(path.join(folder, name), "utf8")]));
}

/** When commits were made, in seconds since the epoch. */
function times(storage, ids) {
  if (ids.length === 0) return [];
  const repository = path.join(storage.getHistoryDir(), ".git");
  const show = ["--git-dir", repository, "show", "--no-patch", "--format=%ct", ...ids];
  const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
  return execFileSync("git", show, { env }).toString().split("\n").map(Number);
}

/** Whether anything was kept of a project; it would begin to, if it were asked. */
function isKnown(dir) {
  const registry = path.join(Storage.getGlobalGeminiDir(), "projects.json");
  if (!fs.existsSync(registry)) return false;
  return path.resolve(dir) in JSON.parse(fs.readFileSync(registry, "utf8")).projects;
}

async function list(request) {
  const dir = text(request.dir);
  if (!isKnown(dir)) return { checkpoints: [] };
  const storage = new Storage(dir);
  await storage.initialize();
  const files = kept(storage);
  const listed = checkpoints.getCheckpointInfoList(files).reverse();
  const ids = listed.map((one) => read(files.get(`${one.checkpoint}.json`)).commitHash);
  const seconds = times(storage, ids);
  return {
    checkpoints: listed.map((one, index) => ({
      number: index + 1,
      id: ids[index],
      time: seconds[index],
      reason: one.messageId,
      stats: null,
    })),
  };
}

/** What `/restore` reads of a file. */
function read(content) {
  return checkpoints.getToolCallDataSchema().parse(JSON.parse(content));
}

async function restore(request) {
  const service = await serviceOf(text(request.dir));
  const commitHash = text(request.target);
  const known = [...kept(service.storage).values()].map(read);
  // What is no commit of a file is handed on as it was typed.
  const data = known.find((one) => one.commitHash === commitHash) ?? { commitHash };
  for await (const said of performRestore(data, service)) {
    if (said.messageType === "error") throw new Error(said.content);
    if (said.messageType === "info") return;
  }
  throw new Refused("bad_target", "nothing was restored");
}

const OPERATIONS = {
  __proto__: null,
  hello: () => ({
    protocol: 1,
    impl: { name: "gemini-cli-core", version: VERSION },
    reusable: true,
    git: true,
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
