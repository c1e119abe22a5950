"""Counts the callbacks of a lane's jobs: each end and each attempt that Redis recorded has exactly one, whichever
process died."""

import collections


def members(judge):
    """Returns the members of a job that has callbacks."""
    return {name: judge.url + "/200" for name in ("onDelivered", "onDead", "onAttempt")}


def ids_of(lane):
    """Returns the ids of the callbacks that arrived, by job and outcome. A callback may arrive twice, like any job."""
    prefix = f"{lane.name}~callbacks/"
    found = collections.defaultdict(set)
    for key in lane.judge.arrivals():
        if key.startswith(prefix):
            job_id, outcome, _ = key[len(prefix):].rsplit("~", 2)
            found[job_id, outcome].add(key)
    return found


def faults(lane, skipped=(), expiring=()):
    """Returns the broken promises as sentences. The caller has waited until no job is left.
    skipped: jobs without callbacks because they were replaced. Jobs of a group have no callbacks.
    expiring: jobs whose last attempt may have no callback. If its outcome is lost, the job expires before it is attempted again."""
    found, books = ids_of(lane), lane.books()
    for (job_id, outcome), ids in found.items():
        if outcome != "attempt" and len(ids) > 1:
            yield f"{lane.name}/{job_id}: {len(ids)} callbacks tell that it is {outcome}"
    for key, told in lane.told.items():
        job_id = key.split("/", 1)[1]
        if job_id in skipped or "~" in job_id or told.scheduled not in (200, 201) or told.may_be_cancelled:
            continue
        ends = {outcome for (name, outcome) in found if name == job_id and outcome != "attempt"}
        expected = set() if told.cancel == 200 else {"dead"} if key in books.dead else {"delivered"}
        if ends != expected:
            yield f"{key}: callbacks tell that it is {sorted(ends)}, not {sorted(expected)}"
        attempts = max((arrival.attempt for arrival in lane.arrivals(job_id)), default=0)
        unrecorded = int(job_id in expiring and bool(lane.faults))
        if told.cancel != 200 and not attempts - unrecorded <= len(found[job_id, "attempt"]) <= attempts:
            yield f"{key}: {len(found[job_id, 'attempt'])} callbacks of {attempts} attempts"
