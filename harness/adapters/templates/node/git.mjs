import { spawnSync } from "node:child_process";
import * as fs from "node:fs";

/** Keeps a commit for every checkpoint, in a repository of its own. */
class Store {
  constructor(store) {
    fs.mkdirSync(store, { recursive: true });
    this.repository = `${store}/checkpoints.git`;
    if (!fs.existsSync(this.repository)) this.git(["init", "-q", "--bare", this.repository]);
  }

  git(args, { project, input = "" } = {}) {
    const env = {
      PATH: process.env.PATH,
      GIT_DIR: this.repository,
      // What the user has set for his own repositories is not meant for this one.
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
    };
    for (const who of ["AUTHOR", "COMMITTER"]) {
      env[`GIT_${who}_NAME`] = "checkpoints";
      env[`GIT_${who}_EMAIL`] = "checkpoints@localhost";
    }
    if (project) env.GIT_WORK_TREE = project;
    const ended = spawnSync("git", args, { cwd: project, env, input });
    if (ended.status !== 0) throw new Refused("internal", ended.stderr ?? ended.error, "unknown");
    return ended.stdout.toString();
  }

  commits() {
    return this.git(["rev-list", "--all", "--topo-order"]).split("\n").filter(Boolean);
  }

  checkpoint(project, reason) {
    if (!fs.existsSync(project)) throw new Refused("missing_directory", project);
    this.git(["add", "--all"], { project: project.toString() });
    const tree = this.git(["write-tree"]).trim();
    const parents = this.commits().slice(0, 1).flatMap((newest) => ["-p", newest]);
    const commit = this.git(["commit-tree", tree, ...parents], { input: reason }).trim();
    this.git(["update-ref", "refs/checkpoints", commit]);
    return commit;
  }

  list() {
    return this.commits().map((id) => {
      const [, head, reason] = this.git(["cat-file", "commit", id]).match(/^(.*?)\n\n(.*)$/s);
      return { id, time: Number(head.match(/^committer .* (\d+) /m)[1]), reason };
    });
  }

  restore(project, target) {
    const id = target.toString();
    if (!this.commits().includes(id)) throw new Refused("unknown_checkpoint", id);
    this.git(["read-tree", id]);
    this.git(["checkout-index", "--all", "--force"], { project: project.toString() });
  }
}
