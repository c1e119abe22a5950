"""Dead letters: grouped, selected, run again, deleted."""

import pytest

from duepost import Duepost
from patience import until
from receiver import Answer, Receiver
from world import count
import scratch

GONE, FAILED = 5, 7


@pytest.fixture
def graveyard():
    """A server with two groups of dead jobs, of two topics."""
    receiver = Receiver()
    server = Duepost("--breaker", "off", "--history", f"sqlite:{scratch.file('history.sqlite')}")
    receiver.script("left", Answer(410))
    receiver.script("failed", Answer(500, body=b"out of paper"))
    for number in range(GONE):
        server.schedule(topic="left", jobId=f"left-{number}", url=receiver.url())
    for number in range(FAILED):
        server.schedule(topic="failed", jobId=f"failed-{number}", url=receiver.url(), retry=0)
    until(lambda: count(server, state="dead") == GONE + FAILED, 20, "all are dead")
    server.receiver = receiver
    yield server
    server.stop()
    receiver.stop()


def group(browser, *texts):
    """The row of a group."""
    def found():
        rows = [row for row in browser.all("tbody tr") if all(text in row.text for text in texts)]
        return rows[:1]
    return until(found, 10, lambda: f"a group with {texts}\n{browser.shown()}", 0.05)[0]


def test_a_group_is_redriven(browser, graveyard):
    graveyard.receiver.script("failed", 200)
    browser.open(graveyard, "#/dead")
    group(browser, "500")
    browser.click("checkbox", "500")
    browser.click("button", "Redrive 1 group")
    browser.await_text(f"{FAILED} jobs match")
    browser.click("button", f"{FAILED} jobs", root=browser.await_one("dialog"))
    browser.await_text(f"Done: {FAILED} jobs", seconds=30)
    until(lambda: graveyard.receiver.count("failed") == 2 * FAILED, 20, "all are sent again")
    assert graveyard.receiver.count("left") == GONE
    browser.await_no_text("out of paper")
    until(lambda: not any("500" in row.text for row in browser.all("tbody tr")), 15, "the group is gone", 0.05)


def test_one_job_of_a_group_is_selected(browser, graveyard):
    graveyard.receiver.script("left", 200)
    browser.open(graveyard, "#/dead")
    group(browser, "410")
    browser.click("button", "Jobs: gone")
    browser.click("checkbox", "left/left-3")
    browser.click("button", "Redrive 1 job")
    browser.click("button", "1 job", root=browser.await_one("dialog"))
    until(lambda: graveyard.receiver.count("left") == GONE + 1, 30, "it is sent again")
    assert len(graveyard.receiver.of("left", "left-3")) == 2
