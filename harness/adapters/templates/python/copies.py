import shutil


class Store:
    """Keeps a copy of the whole tree for every checkpoint."""

    def __init__(self, store):
        self.store = store
        os.makedirs(store, exist_ok=True)

    def ids(self):
        return sorted(os.listdir(self.store), reverse=True)

    def checkpoint(self, project, reason):
        if not os.path.isdir(project):
            raise Refused("missing_directory", project)
        # Digits alone would be read as a number of the list when typed.
        checkpoint = f"c{len(self.ids()) + 1:07x}"
        folder = os.path.join(self.store, checkpoint)
        shutil.copytree(project, os.path.join(folder, "tree"), symlinks=True)
        with open(os.path.join(folder, "reason"), "w", encoding="utf-8", newline="") as file:
            file.write(reason)
        return checkpoint

    def list(self, _project):
        return [self.describe(checkpoint) for checkpoint in self.ids()]

    def describe(self, checkpoint):
        name = os.path.join(self.store, checkpoint, "reason")
        with open(name, encoding="utf-8", newline="") as file:
            reason = file.read()
        return {"id": checkpoint, "time": int(os.stat(name).st_mtime), "reason": reason}

    def restore(self, project, checkpoint):
        tree = os.path.join(self.store, checkpoint, "tree")
        if not os.path.isdir(tree):
            raise Refused("unknown_checkpoint", checkpoint)
        shutil.copytree(tree, project, symlinks=True, dirs_exist_ok=True)
