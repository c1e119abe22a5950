"""The banner of a server with --clock manual: the time at which the clock stands, and buttons that turn it."""

import pytest

import axe
from patience import until
from receiver import Answer
from timestamp import from_ms, to_ms

MINUTE, DAY = 60_000, 86_400_000


def now(server):
    return server.get("/overview").expect(200)["now"]


def utc(text):
    return text.replace("T", " ").replace("Z", " UTC")


def test_each_page_has_the_banner_and_its_buttons_turn_the_clock(browser, start, receiver, topic):
    server = start("--clock", "manual", "--retry-schedule", "1h 1d")
    receiver.script(topic, 503, 503, 200)
    begin = now(server)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="30s")
    browser.expect(r"/jobs/.* status of 404")  # the page of the job may ask for it when it is delivered
    for route in "#/", "#/topics", f"#/jobs/{topic}/a", "#/no/such/page":
        browser.open(server, route)
        browser.await_one("section.clock")
        browser.await_text("Manual clock", f"stands at {utc(begin)}")
    browser.go(f"#/jobs/{topic}/a")
    browser.await_text("in 30 s")
    browser.click("button", "+1 min")
    browser.await_text(utc(from_ms(to_ms(begin) + MINUTE)), "1 event fired", "in 59 min")
    browser.click("button", "+1 d")
    browser.await_text(utc(from_ms(to_ms(begin) + MINUTE + DAY)), "1 event fired")
    browser.click("button", "until idle")
    browser.await_text("1 event fired", utc(from_ms(to_ms(begin) + 30_000 + 25 * 60 * MINUTE)))
    browser.click("button", "+1 h")
    browser.await_text("0 events fired", utc(from_ms(to_ms(begin) + 30_000 + 26 * 60 * MINUTE)))
    assert receiver.count(topic) == 3


def test_a_turn_can_be_stopped(browser, start, receiver, topic):
    server = start("--clock", "manual")
    receiver.script(topic, Answer(delay=60))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay="30s", timeout=60)
    browser.open(server)
    browser.click("button", "+1 h")
    until(lambda: receiver.count(topic) == 1, 10, "the attempt is in flight")
    browser.click("button", "Stop")
    browser.await_none("button", "Stop")
    assert server.get("/clock").expect(200)["inFlight"] == 1


def test_a_server_with_the_clock_of_redis_has_no_banner(browser, start):
    server = start()
    browser.open(server)
    browser.await_text("Overview")
    browser.await_none("section.clock")
    assert not browser.requested("/clock")


@pytest.mark.parametrize("width", [1400, 900, 360])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_banner_can_be_read_on_each_screen(browser, start, width, theme):
    server = start("--clock", "manual")
    browser.size(width, 800)
    browser.theme(theme)
    browser.open(server, "#/topics")
    banner = browser.await_one("section.clock")
    browser.await_text("until idle")
    assert axe.faults(browser, axe.source()) == []
    assert browser.script("const box = arguments[0].getBoundingClientRect(); return [Math.round(box.left), Math.round(box.width)]", banner) == [0, width]
    assert browser.script("return document.documentElement.scrollWidth") <= width
