"""Adds rows to a SQLite database: writes.py PATH JOURNAL_MODE ROWS closed|open|killed"""
import os, signal, sqlite3, sys

path, mode, rows, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
os.umask(0o022)


def opened():
    database = sqlite3.connect(path, timeout=0, isolation_level=None)
    database.execute("pragma journal_mode=" + mode).fetchone()
    # What is committed stays in the -wal, and a large transaction writes into the database.
    database.execute("pragma wal_autocheckpoint=0")
    database.execute("pragma cache_size=5")
    database.execute("create table if not exists rows_added (id integer primary key, text text)")
    return database


def add(count):
    database.execute("begin")
    database.executemany("insert into rows_added (text) values (?)", [("row" * 40,)] * count)


try:
    database = opened()
except sqlite3.DatabaseError:
    # What is there is no database.
    for suffix in ("", "-wal", "-journal", "-shm"):
        if os.path.lexists(path + suffix):
            os.remove(path + suffix)
    database = opened()
add(rows)
database.execute("commit")
if end == "closed":
    database.close()
elif end == "killed":
    if mode != "wal":
        add(200)
    os.kill(os.getpid(), signal.SIGKILL)
else:
    print("open", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
