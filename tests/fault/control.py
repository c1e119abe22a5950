"""Builds of duepost without one of their safeguards. A test must find the fault in each of them.

The binary contains the library of the scripts as text; a copy gets another text of the same length, and another checksum in the
names of the library and its functions."""

import functools
import hashlib
import pathlib
import re

import place
from redis_link import library
import scratch

# Name of the safeguard: (script's file, old text, new text).
CONTROLS = {
    # Fault: claimed jobs exist in the claiming process only.
    "destructive pop": [("claim", "  if (turn.has_rate or turn.lanes) and not", "  call('HDEL', JOBS, id)\n  if (turn.has_rate or turn.lanes) and not")],
    # Fault: any process may end a lease.
    "no nonce check": [("lib/fence", "if string.sub(claim, 1, #begin) == begin or claim == nonce then\n", "if true then\n")],
    # Fault: a failed attempt is the job's last one.
    "no retry": [("retry", "      if wait < 0 and due then Places.put_back(id, due) else Places.put_new(id, at) end",
                  "call('HDEL', JOBS, id)")],
    # Fault: each waiting job is due.
    "no due time": [("claim", "number == most or time >= due_before then", "number == most then"),
                    ("lib/turns", "is_ready, first_due = is_due(first), ", "is_ready, first_due = true, ")],
    # Fault: a cancelled job keeps its lease.
    "no cancel": [("lib/cancels", "call('HDEL', JOBS, id) == 0", "call('HEXISTS', JOBS, id) == 0"),
                  ("lib/cancels", "local was, others = Lingering.take_cancelled(id), nil", "local was, others")],
    # Fault: each lease counts as lost at once.
    "no leases": [("lib/leases", "call('ZRANGEBYSCORE', key, '-inf', time, 'LIMIT'", "call('ZRANGEBYSCORE', key, 0, 1e15, 'LIMIT'")],
    # Fault: each worker's lease counts as expired at once.
    "leases of workers": [("recover", "local ids = Leases.lost(holder, holder.leases, lease_ms, ARGV[5])",
                           "local ids = holder == WORKERS and call('ZRANGE', holder.leases, 0, 99) or {}")],
    # Fault: a lease lasts as long as an attempt may take.
    "short leases": [("lib/leases", "if #lost > 0 then return lost end", "if true then return lost end"),
                     ("claim", "integer(clock.lease_now + lease_ms)", "integer(now + 3600000)"),
                     ("renew", "Leases.now_of(holder) + tonumber(ARGV[i + 2])", "now + 3600000")],
    # Fault: no callback reports the end of a job.
    "follow-ups": [("complete", "  if FollowUps.by_item[item] and verdicts[item] and replies[item + 1] > 0 then FollowUps.schedule(FollowUps.by_item[item], ARGV[3 * item - 1]) end\n", "")],
    # Fault: a second callback reports an end that another process has recorded.
    "fence of follow-ups": [("complete", "if FollowUps.by_item[item] and verdicts[item] and replies[item + 1] > 0 then", "if FollowUps.by_item[item] then")],
    # Fault: new jobs above the quota of their topic are accepted.
    "quota": [("lib/quotas", "if rooms[topic] and rooms[topic] < number then", "if false then")],
    # Fault: a job that kills its consumers is never buried.
    "no end of losses": [("recover", "local LOSSES_MAX = 5", "local LOSSES_MAX = 99")],
}


@functools.lru_cache(None)
def without(name):
    """Returns the path of a duepost without this safeguard."""
    return patched(name.replace(" ", "-"), CONTROLS[name])


def patched(name, changes):
    old = library(place.SCRIPTS)
    new = fit(library(place.SCRIPTS, changes), len(old))
    digests = [hashlib.sha1(text.encode()).hexdigest()[:16] for text in (old, new)]
    image = replace(pathlib.Path(place.BINARY).read_bytes(), *(text.replace("@DIGEST@", digest).encode() for text, digest in zip((old, new), digests)))
    return written(name, image.replace(*(digest.encode() for digest in digests)))


def written(name, image):
    path = scratch.directory("control") / ("duepost-" + name)
    path.write_bytes(image)
    path.chmod(0o700)
    return path


@functools.lru_cache(None)
def without_fsync():
    """Returns the path of a duepost whose private Redis never calls fsync."""
    return written("unsynced", replace(pathlib.Path(place.BINARY).read_bytes(), b"\0always\0", b"\0no\0\0\0\0\0"))


def fit(text, size):
    """Returns the text of a library with exactly size bytes: without comments, and padded with spaces."""
    text = re.sub(r" -- .*$", "", text, flags=re.M)
    assert len(text) <= size, "the changed library has become too long"
    return text + " " * (size - len(text))


def replace(image, old, new):
    assert image.count(old) == 1, f"the binary holds {image.count(old)} times what is to be changed"
    return image.replace(old, new)
