import { spawnSync } from "node:child_process";
import * as fs from "node:fs";

/** Runs tar; without a library of your own, that is the nearest. */
function tar(args) {
  const ended = spawnSync("tar", args);
  if (ended.status !== 0) throw new Error(String(ended.stderr ?? ended.error));
}

/** Keeps an archive for every checkpoint, with the reason beside it. */
class Store {
  constructor(store) {
    this.store = store.toString();
    fs.mkdirSync(store, { recursive: true });
  }

  ids() {
    const archives = fs.readdirSync(this.store).filter((name) => name.endsWith(".tar"));
    return archives.map((name) => name.slice(0, -4)).sort().reverse();
  }

  checkpoint(project, reason) {
    if (!fs.existsSync(project)) throw new Refused("missing_directory", project);
    // Digits alone would be read as a number of the list when typed.
    const id = `t${String(this.ids().length + 1).padStart(6, "0")}`;
    fs.writeFileSync(`${this.store}/${id}.reason`, reason);
    tar(["-cf", `${this.store}/${id}.tar`, "-C", project.toString(), "."]);
    return id;
  }

  list() {
    return this.ids().map((id) => {
      const name = `${this.store}/${id}.reason`;
      const time = Math.floor(fs.statSync(name).mtimeMs / 1000);
      return { id, time, reason: fs.readFileSync(name, "utf8") };
    });
  }

  restore(project, target) {
    const id = target.toString();
    if (!this.ids().includes(id)) throw new Refused("unknown_checkpoint", id);
    tar(["-xpf", `${this.store}/${id}.tar`, "-C", project.toString()]);
  }
}
