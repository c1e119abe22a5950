"""Dead letters: grouped, selected, run again, deleted."""

import pytest
from selenium.webdriver.common.keys import Keys

from duepost import Duepost
from patience import until
from receiver import Answer, Receiver
from world import count, settings
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
    def found():
        return browser.script("""const [texts] = arguments;
            return [...document.querySelectorAll("tbody tr")].filter(row => texts.every(text => row.innerText.includes(text))).slice(0, 1)""", texts)
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
    browser.await_true("![...document.querySelectorAll('tbody tr')].some(row => row.innerText.includes('500'))", seconds=15)


def test_one_job_of_a_group_is_selected(browser, graveyard):
    graveyard.receiver.script("left", 200)
    browser.open(graveyard, "#/dead")
    group(browser, "410")
    browser.click("button", "Jobs: gone")
    browser.click("checkbox", "left/left-3")
    browser.click("button", "Redrive 1 job")
    browser.click("button", "1 job", root=browser.await_one("dialog"))
    until(lambda: graveyard.receiver.count("left") == GONE + 1, 30, "the job is sent again")
    assert len(graveyard.receiver.of("left", "left-3")) == 2


ASKS_BEFORE_LEAVING = "window.dispatchEvent(new Event('beforeunload', {cancelable: true})) === false"


def test_the_browser_asks_before_an_action_is_cut_off(browser, graveyard):
    browser.open(graveyard, "#/dead")
    group(browser, "500")
    browser.await_true(f"!({ASKS_BEFORE_LEAVING})")
    browser.click("button", "Redrive all")
    browser.await_text(f"{GONE + FAILED} jobs match")
    browser.fill("Jobs a second", "0.5")
    browser.click("button", f"{GONE + FAILED} jobs", root=browser.await_one("dialog"))
    browser.await_one("button", "Undo")
    browser.await_true(ASKS_BEFORE_LEAVING)  # the browser asks, even before the first request is sent
    browser.await_text("Keep this tab open", seconds=30)
    browser.await_true(ASKS_BEFORE_LEAVING)
    browser.click("button", "Stop")
    browser.await_text("Stopped after", seconds=30)
    browser.await_true(f"!({ASKS_BEFORE_LEAVING})")


def test_an_undone_action_lets_the_tab_close(browser, graveyard):
    browser.open(graveyard, "#/dead")
    group(browser, "500")
    browser.click("button", "Delete all")
    browser.await_text(f"{GONE + FAILED} jobs match")
    browser.click("button", f"{GONE + FAILED} jobs", root=browser.await_one("dialog"))
    browser.click("button", "Undo")
    browser.await_none("button", "Undo")
    browser.await_true(f"!({ASKS_BEFORE_LEAVING})")
    assert count(graveyard, state="dead") == GONE + FAILED


def test_dead_jobs_that_redis_has_forgotten_are_run_again(browser, graveyard):
    settings(graveyard, "failed", retention=1)
    until(lambda: count(graveyard, state="dead") == GONE, 30, "Redis has forgotten them")
    until(lambda: count(graveyard, state="dead", source="history") == GONE + FAILED, 20, "the history has them")
    graveyard.receiver.script("failed", 200)
    browser.open(graveyard, "#/dead")
    browser.click("link", "dead jobs of the history")
    browser.await_text("failed-0", "left-0")
    assert browser.await_one("field", "Kept in").get_attribute("value") == "history"
    browser.fill("Topic", "failed", exact=True)
    browser.press(Keys.ENTER)
    browser.await_no_text("left-0")
    browser.click("button", "Redrive all")
    browser.await_text(f"{FAILED} jobs match", "Each becomes a new job")
    browser.click("button", f"{FAILED} jobs", root=browser.await_one("dialog"))
    browser.await_text(f"Done: {FAILED} jobs", seconds=30)
    until(lambda: graveyard.receiver.count("failed") == 2 * FAILED, 20, "all are sent again")
