"""Waits for requests to a receiver."""

from patience import until


def arrivals(receiver, target, count, seconds=15):
    """Waits for this many requests to a target, and returns them."""
    until(lambda: receiver.count(target) >= count, seconds, lambda: f"{count} requests to {target}; there are {receiver.count(target)}")
    found = receiver.of(target)
    assert len(found) == count
    return found
