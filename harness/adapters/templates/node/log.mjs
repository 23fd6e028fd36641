import * as fs from "node:fs";
import { dirname } from "node:path";

/** Every regular file of a project, in base64. A name is kept byte for byte, as latin1. */
function read(project, folder = "", files = {}) {
  const at = Buffer.concat([project, Buffer.from(`/${folder}`, "latin1")]);
  for (const entry of fs.readdirSync(at, { encoding: "latin1", withFileTypes: true })) {
    const name = folder + entry.name;
    if (entry.isDirectory()) read(project, `${name}/`, files);
    if (entry.isFile()) files[name] = fs.readFileSync(place(project, name)).toString("base64");
  }
  return files;
}

function place(project, name) {
  return Buffer.concat([project, Buffer.from(`/${name}`, "latin1")]);
}

/** What the files held after these lines; null stands for one that was removed. */
function filesOf(lines) {
  const files = Object.assign({}, ...lines.map((line) => line.changed));
  return Object.fromEntries(Object.entries(files).filter(([, content]) => content !== null));
}

/** Keeps one log, to which every checkpoint adds a line with the files that changed. */
class Store {
  constructor(store) {
    fs.mkdirSync(store, { recursive: true });
    this.log = `${store}/log.jsonl`;
    fs.appendFileSync(this.log, "");
  }

  /** The checkpoints of a project, oldest first. */
  lines(project) {
    const lines = fs.readFileSync(this.log, "utf8").split("\n").filter(Boolean);
    const all = lines.map((line) => JSON.parse(line));
    return all.filter((line) => line.project === project.toString("latin1"));
  }

  checkpoint(project, reason) {
    if (!fs.existsSync(project)) throw new Refused("missing_directory", project);
    const [before, now] = [filesOf(this.lines(project)), read(project)];
    const changed = {};
    for (const name of Object.keys({ ...before, ...now })) {
      if (now[name] !== before[name]) changed[name] = now[name] ?? null;
    }
    const id = `l${fs.statSync(this.log).size.toString(16).padStart(7, "0")}`;
    const time = Math.floor(Date.now() / 1000);
    const line = { id, time, reason, project: project.toString("latin1"), changed };
    fs.appendFileSync(this.log, `${JSON.stringify(line)}\n`);
    return id;
  }

  list(project) {
    return this.lines(project).reverse().map(({ id, time, reason }) => ({ id, time, reason }));
  }

  restore(project, target) {
    const lines = this.lines(project);
    const last = lines.findIndex((line) => line.id === target.toString());
    if (last < 0) throw new Refused("unknown_checkpoint", target);
    for (const [name, content] of Object.entries(filesOf(lines.slice(0, last + 1)))) {
      const file = place(project, name);
      fs.mkdirSync(Buffer.from(dirname(file.toString("latin1")), "latin1"), { recursive: true });
      fs.writeFileSync(file, Buffer.from(content, "base64"));
    }
  }
}
