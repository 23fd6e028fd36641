import tarfile


class Store:
    """Keeps an archive for every checkpoint, with the reason beside it."""

    def __init__(self, store):
        self.store = store
        os.makedirs(store, exist_ok=True)

    def ids(self):
        archives = [name for name in os.listdir(self.store) if name.endswith(".tar")]
        return sorted((name[:-4] for name in archives), reverse=True)

    def checkpoint(self, project, reason):
        if not os.path.isdir(project):
            raise Refused("missing_directory", project)
        # Digits alone would be read as a number of the list when typed.
        checkpoint = f"t{len(self.ids()) + 1:06}"
        name = os.path.join(self.store, checkpoint)
        with open(name + ".reason", "w", encoding="utf-8", newline="") as file:
            file.write(reason)
        with tarfile.open(name + ".tar", "w") as archive:
            archive.add(project, arcname=".")
        return checkpoint

    def list(self, _project):
        return [self.describe(checkpoint) for checkpoint in self.ids()]

    def describe(self, checkpoint):
        name = os.path.join(self.store, checkpoint + ".reason")
        with open(name, encoding="utf-8", newline="") as file:
            reason = file.read()
        return {"id": checkpoint, "time": int(os.stat(name).st_mtime), "reason": reason}

    def restore(self, project, checkpoint):
        if checkpoint not in self.ids():
            raise Refused("unknown_checkpoint", checkpoint)
        with tarfile.open(os.path.join(self.store, checkpoint + ".tar")) as archive:
            archive.extractall(project, filter="fully_trusted")
