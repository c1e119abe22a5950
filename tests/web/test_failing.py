"""Failing is a state that people see: on the overview, in the list of topics and on the topic's page."""

import re

import pytest

from patience import SLOW, until
from receiver import Receiver
from world import open_breaker


@pytest.fixture
def failing(start):
    """A server on which each attempt of "refunds" fails, and those of "orders" do not."""
    receiver = Receiver()
    server = start("--retry-schedule", "1h", "--breaker", "off")
    receiver.script("refunds", *[500] * 12)
    for number in range(12):
        server.schedule(topic="refunds", jobId=f"refund-{number}", url=receiver.url())
        server.schedule(topic="orders", jobId=f"order-{number}", url=receiver.url())
    server.schedule(topic="orders", jobId="later", url=receiver.url(), delay=3600)
    until(lambda: server.get("/topics/refunds").expect(200)["lastHour"]["retried"] == 12, 10 * SLOW, "each attempt has failed")
    yield server
    receiver.stop()


def status(browser):
    return re.sub(r"\s+", " ", browser.await_one(".status").text)


def test_the_first_sentence_says_that_attempts_fail(browser, failing):
    browser.open(failing)
    browser.await_text("Attempts fail")
    until(lambda: "refunds: 100 % of 12 attempts failed in the last hour, last answer 500." in status(browser), 10, lambda: status(browser))
    assert "On time" not in status(browser) and "refunds" in browser.await_one("[aria-label='Failing topics']").text
    tiles = re.sub(r"\s+", " ", browser.await_one("[aria-label='Jobs by state']").text)
    assert "Delayed 1 Retrying 12" in tiles, tiles


def test_a_receiver_that_is_down_comes_before_topics_that_fail(browser, start, receiver):
    server = start("--retry-schedule", "1h", "--breaker", "on", "--breaker-wait", "10m")
    receiver.script("refunds", *[400] * 3)
    for number in range(3):
        server.schedule(topic="refunds", jobId=str(number), url=receiver.url())
    name = open_breaker(server, "shop")
    browser.open(server)
    browser.await_text("A receiver is down")
    until(lambda: re.search(rf"{name} does not work \(.+\)\. 1 job waits for it\. shop: 100 % of 20 attempts .+ 1 other topic fails, too", status(browser)),
          15, lambda: status(browser))
    assert "is 1" not in status(browser)


def test_the_list_of_topics_shows_those_that_fail(browser, failing):
    browser.open(failing, "#/topics")
    browser.await_text("refunds", "orders", "100 %")
    browser.click("checkbox", "Only failing")
    until(lambda: [row.text.split()[0] for row in browser.all("tbody tr")] == ["refunds"], 5, "only the topic that fails")
    browser.open(failing, "#/topics?failing=true")
    browser.await_text("refunds", "100 %", "500")
    assert "orders" not in browser.await_one("tbody").text


def test_the_page_of_a_topic_says_that_it_fails(browser, failing):
    browser.open(failing, "#/topics/refunds")
    browser.await_text("failing", "100 % of 12 attempts failed in the last hour, last answer 500.")
