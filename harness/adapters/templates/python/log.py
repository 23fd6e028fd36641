import time


class Store:
    """Keeps one log, to which every checkpoint adds a line with the files that changed."""

    def __init__(self, store):
        os.makedirs(store, exist_ok=True)
        self.log = os.path.join(store, "log.jsonl")
        open(self.log, "a").close()

    def lines(self, project):
        """The checkpoints of a project, oldest first."""
        with open(self.log, encoding="utf-8") as log:
            lines = [json.loads(line) for line in log]
        return [line for line in lines if line["project"] == os.path.realpath(project)]

    def checkpoint(self, project, reason):
        if not os.path.isdir(project):
            raise Refused("missing_directory", project)
        before, now = files_of(self.lines(project)), read(project)
        differing = [name for name in {**before, **now} if now.get(name) != before.get(name)]
        changed = {name: now.get(name) for name in differing}
        checkpoint = f"l{os.path.getsize(self.log):07x}"
        line = {"id": checkpoint, "time": int(time.time()), "reason": reason}
        line |= {"project": os.path.realpath(project), "changed": changed}
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        return checkpoint

    def list(self, project):
        told = ("id", "time", "reason")
        return [{key: line[key] for key in told} for line in reversed(self.lines(project))]

    def restore(self, project, checkpoint):
        lines = self.lines(project)
        ids = [line["id"] for line in lines]
        if checkpoint not in ids:
            raise Refused("unknown_checkpoint", checkpoint)
        for name, content in files_of(lines[: ids.index(checkpoint) + 1]).items():
            target = os.path.join(project, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(base64.b64decode(content))


def files_of(lines):
    """What the files held after these lines, in base64; None would be one that was removed."""
    files = {}
    for line in lines:
        files.update(line["changed"])
    return {name: content for name, content in files.items() if content is not None}


def read(project):
    """Every regular file of a project, in base64."""
    files = {}
    for folder, _, names in os.walk(project):
        for name in (os.path.join(folder, name) for name in names):
            if os.path.isfile(name) and not os.path.islink(name):
                with open(name, "rb") as file:
                    files[os.path.relpath(name, project)] = base64.b64encode(file.read()).decode()
    return files
