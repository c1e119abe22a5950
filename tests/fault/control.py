"""Builds of duepost without one of their safeguards. A test must find the fault in each of them.

The binary contains the libraries of the scripts as text; a copy gets other texts of the same length, and other names, which have
a checksum of the text."""

import functools
import hashlib
import pathlib
import re

import place
from redis_link import libraries
import scratch

# Name of the safeguard: (script's file, old text, new text).
CONTROLS = {
    # Fault: claimed jobs exist in the claiming process only.
    "destructive pop": [("claim", "  if turn.has_rate and not", "  call('HDEL', JOBS, id)\n  if turn.has_rate and not")],
    # Fault: any process may end a lease.
    "no nonce check": [("lib/fence", "if string.sub(claim, 1, #begin) == begin or claim == nonce then\n", "if true then\n")],
    # Fault: a failed attempt is the job's last one.
    "no retry": [("retry", "      if wait < 0 and due then put_back(id, due) else put_new(id, at) end",
                  "call('HDEL', JOBS, id)")],
    # Fault: each waiting job is due.
    "no due time": [("claim", "number == most or time >= DUE_BEFORE then", "number == most then"),
                    ("lib/offer", "is_ready, first_due = is_due(first), ", "is_ready, first_due = true, ")],
    # Fault: a cancelled job keeps its lease.
    "no cancel": [("lib/cancel", "call('HDEL', JOBS, id) == 0", "call('HEXISTS', JOBS, id) == 0"),
                  ("lib/cancel", "local was, others = take_cancelled(id), nil", "local was, others")],
    # Fault: each lease counts as lost at once.
    "no leases": [("lib/lost", "call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT'", "call('ZRANGEBYSCORE', key, 0, 1e15, 'LIMIT'")],
    # Fault: each worker's lease counts as expired at once.
    "leases of workers": [("lapsed", "local ids = lost_of(PULLED, PULL_LEASE_MAX_MS, ARGV[2])", "local ids = call('ZRANGE', PULLED, 0, 99)")],
    # Fault: a lease lasts as long as an attempt may take.
    "short leases": [("lib/lost", "if #lost > 0 then return lost end", "if true then return lost end"),
                     ("claim", "integer(now + lease_ms)", "integer(now + 3600000)"),
                     ("renew", "integer(now + tonumber(ARGV[2]))", "integer(now + 3600000)")],
    # Fault: no callback reports the end of a job.
    "follow-ups": [("complete", "  if follow_ups[item] and verdicts[item] and replies[item + 1] > 0 then follow(follow_ups[item], ARGV[3 * item - 1]) end\n", "")],
    # Fault: a second callback reports an end that another process has recorded.
    "fence of follow-ups": [("complete", "if follow_ups[item] and verdicts[item] and replies[item + 1] > 0 then", "if follow_ups[item] then")],
    # Fault: a job that kills its consumers is never buried.
    "no end of losses": [("recover", "local LOSSES_MAX = 5", "local LOSSES_MAX = 99")],
}


@functools.lru_cache(None)
def without(name):
    """Returns the path of a duepost without this safeguard."""
    return patched(name.replace(" ", "-"), CONTROLS[name])


def patched(name, changes):
    image = pathlib.Path(place.BINARY).read_bytes()
    originals, others = libraries(place.SCRIPTS), libraries(place.SCRIPTS, changes)
    for script, old in originals.items():
        if others[script] != old:
            image = replace_library(image, script, old, fit(others[script], len(old)))
    return written(name, image)


def written(name, image):
    path = scratch.directory("control") / ("duepost-" + name)
    path.write_bytes(image)
    path.chmod(0o700)
    return path


@functools.lru_cache(None)
def without_fsync():
    """Returns the path of a duepost whose private Redis never calls fsync."""
    return written("unsynced", replace(pathlib.Path(place.BINARY).read_bytes(), b"\0always\0", b"\0no\0\0\0\0\0"))


def fit(library, size):
    """Returns the library with exactly size bytes: without indentation and comments, and padded with spaces."""
    library = re.sub(r"^ +| -- .*$", "", library, flags=re.M)
    assert len(library) <= size, "the changed script has become too long"
    return library + " " * (size - len(library))


def replace_library(image, script, old, new):
    """Replaces the text of a library, and its name wherever it is."""
    names = [f"duepost_{script}_{hashlib.sha1(text.encode()).hexdigest()[:16]}" for text in (old, new)]
    image = replace(image, old.replace("@NAME@", names[0]).encode(), new.replace("@NAME@", names[1]).encode())
    return image.replace(names[0].encode(), names[1].encode())


def replace(image, old, new):
    assert image.count(old) == 1, f"the binary holds {image.count(old)} times what is to be changed"
    return image.replace(old, new)
