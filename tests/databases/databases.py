"""Uses databases for the tests: a line of JSON in, a line of JSON out.

Without arguments it does what it is asked. With arguments it writes rows without end:
KIND PATH MODE, where MODE is a journal mode of SQLite.
"""

import itertools
import json
import os
import random
import sqlite3
import sys
import time

OPEN = {}


def connect(path, mode):
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("CREATE TABLE IF NOT EXISTS t (number INTEGER PRIMARY KEY, text TEXT)")
    return connection


def insert(connection, rows, size):
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO t (text) VALUES (?)", [("x" * size,)] * rows)
    connection.execute("COMMIT")


def rows(path):
    """Opens the database as somebody would after a restore."""
    if not os.path.isfile(path):
        return {"rows": None, "integrity": "absent"}
    connection = sqlite3.connect(path, timeout=10)
    try:
        integrity = connection.execute("PRAGMA integrity_check").fetchone()[0]
        return {"rows": connection.execute("SELECT count(*) FROM t").fetchone()[0], "integrity": integrity}
    except sqlite3.DatabaseError as error:
        return {"rows": None, "integrity": str(error)}
    finally:
        connection.close()


def level(path):
    import plyvel

    return plyvel.DB(path, create_if_missing=True, write_buffer_size=64 * 1024)


def keys(path):
    """The same of a LevelDB."""
    if not os.path.isfile(os.path.join(path, "CURRENT")):
        return {"rows": None, "integrity": "absent"}
    import plyvel

    try:
        database = plyvel.DB(path, create_if_missing=False, paranoid_checks=True)
    except (plyvel.Error, OSError) as error:
        return {"rows": None, "integrity": str(error)}
    try:
        return {"rows": sum(1 for _ in database.iterator(verify_checksums=True)), "integrity": "ok"}
    except plyvel.Error as error:
        return {"rows": None, "integrity": str(error)}
    finally:
        database.close()


def put(database, first, count, size):
    # Out of order and not to be compressed, so that tables are merged into large ones.
    for number in sorted(range(first, first + count), key=lambda number: number % 7):
        database.put(b"%09d" % number, random.Random(number).randbytes(size))


def answer(asked):
    what, path = asked["do"], asked["path"]
    if what == "open":
        OPEN[path] = connect(path, asked["mode"])
    elif what == "insert":
        insert(OPEN[path], asked["rows"], asked["size"])
    elif what == "begin":
        # A small cache, so that changed pages reach the file in the middle of the transaction.
        OPEN[path].execute("PRAGMA cache_size=5")
        OPEN[path].execute("BEGIN IMMEDIATE")
        OPEN[path].execute("UPDATE t SET text = text || 'changed'")
    elif what == "fold":
        OPEN[path].execute("PRAGMA wal_checkpoint(TRUNCATE)")
    elif what == "close":
        OPEN.pop(path).close()
    elif what == "rows":
        return rows(path)
    elif what == "level":
        OPEN[path] = level(path)
    elif what == "put":
        put(OPEN[path], asked["first"], asked["rows"], asked["size"])
        OPEN[path].compact_range()
    elif what == "compact":
        OPEN[path].compact_range()
    elif what == "keys":
        return keys(path)
    return {}


def write_for_ever(kind, path, mode):
    """Rows until somebody ends it; it opens the database anew where that was taken from it."""
    number = int(time.time() * 1e6)
    is_known = False
    pauses = itertools.cycle([0.002, 0.5, 0.1])
    while True:
        try:
            if kind == "level":
                database = level(path)
                for _ in range(25):
                    put(database, number, 1, 20)
                    number += 1
                database.close()
            else:
                connection = connect(path, mode)
                for _ in range(25):
                    insert(connection, 1, 20)
                connection.close()
            if not is_known:
                print("it writes", flush=True)
                is_known = True
        except Exception:
            pass
        # Closed for a while, as most programs are; in a part of the rounds for long enough.
        time.sleep(next(pauses))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_for_ever(*sys.argv[1:])
    for line in sys.stdin:
        try:
            print(json.dumps(answer(json.loads(line))), flush=True)
        except Exception as error:
            print(json.dumps({"error": repr(error)}), flush=True)
