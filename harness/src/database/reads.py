"""Says of each SQLite database what is in it, one line of JSON each: reads.py PATH..."""
import hashlib, json, os, sqlite3, sys

for path in sys.argv[1:]:
    if not os.path.lexists(path):
        print(json.dumps("absent"))
        continue
    try:
        database = sqlite3.connect(path)
        integrity = database.execute("pragma integrity_check").fetchone()[0]
        tables = "select name from sqlite_master where type = 'table' order by name"
        rows = 0
        digest = hashlib.sha256()
        for (name,) in database.execute(tables).fetchall():
            for row in database.execute('select * from "%s"' % name.replace('"', '""')):
                rows += 1
                digest.update(repr(row).encode())
        if integrity != "ok":
            raise sqlite3.DatabaseError(integrity)
        print(json.dumps({"read": {"rows": rows, "digest": digest.hexdigest()[:16]}}))
    except sqlite3.Error as error:
        print(json.dumps({"broken": str(error)}))
