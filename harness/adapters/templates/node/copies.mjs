import * as fs from "node:fs";

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
class Store {
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
    return this.ids().map((id) => {
      const name = join(join(this.store, id), "reason");
      const time = Math.floor(fs.statSync(name).mtimeMs / 1000);
      return { id, time, reason: fs.readFileSync(name, "utf8") };
    });
  }

  restore(project, target) {
    const tree = join(join(this.store, target), "tree");
    if (!look(tree)?.isDirectory()) throw new Refused("unknown_checkpoint", target);
    copyTree(tree, project);
  }
}
