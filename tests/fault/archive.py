"""Checks the rows of a lane in the history: each job that has ended has one row."""

import collections
import contextlib
import sqlite3

from patience import until
import scratch


class Archive:
    def __init__(self):
        self.path = scratch.file("history.sqlite")
        self.options = ("--history", f"sqlite:{self.path}")

    def rows(self):
        """Returns topic/jobId -> the creation times of the jobs with this id. Empty until duepost has created the table."""
        found = collections.defaultdict(list)
        if not self.path.exists():
            return found
        with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=10)) as link:
            if not link.execute("SELECT 1 FROM sqlite_master WHERE name = 'duepost_jobs'").fetchall():
                return found
            for topic, job_id, created_at in link.execute("SELECT topic, job_id, created_at FROM duepost_jobs"):
                found[f"{topic}/{job_id}"].append(created_at)
        return found

    def faults(self, lane):
        """Returns the jobs without a row and those with two rows. All jobs of the lane must have ended."""
        size = lambda: lane.ask("HLEN", lane.keys + "ended")  # noqa: E731
        try:
            until(lambda: size() == 0, 60, "an empty outbox")
        except AssertionError:
            return [f"{lane.name}: {size()} jobs stay in the outbox"]
        rows = self.rows()
        missing = [job for job, told in lane.told.items() if told.scheduled in (200, 201) and job not in rows]
        missing += [job for job in lane.judge.arrivals() if job.startswith(lane.name + "/") and job not in rows]
        doubled = [job for job, times in rows.items() if len(times) > len(set(times))]
        dropped = int(lane.ask("HGET", lane.keys + "numbers", "outbox_dropped") or 0)
        return ([f"{lane.name}: {job} is not in the history" for job in sorted(set(missing))] +
                [f"{lane.name}: {job} is in the history twice" for job in doubled] +
                ([f"{lane.name}: {dropped} were dropped"] if dropped else []))
