import subprocess


class Store:
    """Keeps a commit for every checkpoint, in a repository of its own."""

    def __init__(self, store):
        os.makedirs(store, exist_ok=True)
        self.repository = os.path.join(store, "checkpoints.git")
        if not os.path.isdir(self.repository):
            self.git("init", "-q", "--bare", self.repository)

    def git(self, *arguments, project=None, text=""):
        # What the user has set for his own repositories is not meant for this one.
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_DIR": self.repository,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "checkpoints" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "checkpoints@localhost" for who in ("AUTHOR", "COMMITTER")},
        }
        if project is not None:
            environment["GIT_WORK_TREE"] = project
        command = ["git", *arguments]
        ended = subprocess.run(
            command, env=environment, cwd=project, input=text.encode(), capture_output=True
        )
        if ended.returncode != 0:
            raise Refused("internal", os.fsdecode(ended.stderr), "unknown")
        return ended.stdout.decode(errors="surrogateescape")

    def commits(self):
        return self.git("rev-list", "--all", "--topo-order").split()

    def checkpoint(self, project, reason):
        if not os.path.isdir(project):
            raise Refused("missing_directory", project)
        self.git("add", "--all", project=project)
        tree = self.git("write-tree").strip()
        parents = [part for newest in self.commits()[:1] for part in ("-p", newest)]
        commit = self.git("commit-tree", tree, *parents, text=reason).strip()
        self.git("update-ref", "refs/checkpoints", commit)
        return commit

    def list(self, _project):
        return [self.describe(commit) for commit in self.commits()]

    def describe(self, commit):
        told = self.git("cat-file", "commit", commit)
        head, reason = told.split("\n\n", 1)
        time = next(line for line in head.splitlines() if line.startswith("committer ")).split()[-2]
        return {"id": commit, "time": int(time), "reason": reason}

    def restore(self, project, checkpoint):
        if checkpoint not in self.commits():
            raise Refused("unknown_checkpoint", checkpoint)
        self.git("read-tree", checkpoint)
        self.git("checkout-index", "--all", "--force", project=project)
