"""Data of earlier versions: this version shows them as before, and delivers each job that is due.

The data of each released version are in data; data/README.md says how the next version gets its own."""

import pytest

from upgrade_dump import Dump, Upgrade, versions, write
from upgrade_parts import PARTS
import scratch

# Log events that report faulty data. No upgrade may log one of them, nor any line with the level error.
UNEXPECTED = {"settings_unreadable", "mending_done", "topic_needs_later_version", "job_needs_later_version"}


def events(log, *levels):
    return {line.split("event=")[1].split()[0] for line in log.splitlines() if any(f"level={level} " in line for level in levels)}


def check(dump):
    upgrade = Upgrade(dump)
    try:
        upgrade.check()
        log = upgrade.world.server.log()
        assert not events(log, "error") and not events(log, "warning", "info") & UNEXPECTED
    finally:
        upgrade.world.stop()


@pytest.mark.parametrize("version", versions())
def test_the_data_of_a_version_are_taken_over(version):
    check(Dump(version))


def test_this_version_takes_over_its_own_data():
    """The dump of this version also has the parts that no released version writes."""
    check(write(folder=scratch.directory("dump"), parts=PARTS))


def test_this_version_takes_over_its_own_traces():
    check(write(folder=scratch.directory("dump"), kind="traced"))
