"""Ended jobs reach the history exactly once, whatever fails on the way."""

import pathlib
import sqlite3

from duepost import Duepost
from patience import until
import scratch


def rows(path):
    """(topic, jobId, outcome, status of the last attempt, createdAt) of all rows; nothing while there is no table."""
    if not pathlib.Path(path).exists():
        return []
    link = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        return link.execute("SELECT topic, job_id, outcome, status, created_at FROM duepost_jobs").fetchall()
    except sqlite3.OperationalError as error:
        assert "no such table" in str(error), error
        return []
    finally:
        link.close()


def outcomes(path):
    return sorted((topic, job_id, outcome) for topic, job_id, outcome, *_ in rows(path))


def die(server, receiver, topic, job_id):
    receiver.script(topic, 410, job_id=job_id)
    server.schedule(topic=topic, jobId=job_id, url=receiver.url(), retry=0)
    server.wait_for_state(topic, job_id, "dead")


def test_each_way_to_end_brings_a_row(receiver, topic):
    path = scratch.file("history.sqlite")
    server = Duepost("--history", f"sqlite:{path}")
    try:
        server.schedule(topic=topic, jobId="delivered", url=receiver.url(), body={"n": 1})
        die(server, receiver, topic, "dead")
        server.schedule(topic=topic, jobId="cancelled", url=receiver.url(), delay=3600)
        server.cancel(topic, "cancelled").expect(200)
        expected = sorted((topic, name, name) for name in ("delivered", "dead", "cancelled"))
        until(lambda: outcomes(path) == expected, 3, lambda: f"{outcomes(path)}\n{server.log()}")
        assert {status for _, name, _, status, _ in rows(path) if name == "delivered"} == {200}
    finally:
        server.stop()
