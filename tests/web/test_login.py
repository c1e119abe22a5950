"""If the server requires tokens, the page asks for a token, keeps the token in memory only, and enables the actions that the
token allows."""

import json

import pytest

from duepost import Duepost
from patience import until
from receiver import Receiver
from tokens import TokenFile
from world import settings, recurring
import scratch


class Guarded:
    def __init__(self):
        self.receiver, file = Receiver(), TokenFile()
        self.all = file.add("all")
        self.reader = file.add("reader", ["read"])
        self.tenant = file.add("tenant", ["read", "schedule", "cancel"], topics="acme*")
        self.server = Duepost("--tokens", str(file.path), "--history", f"sqlite:{scratch.file('history.sqlite')}", ready=False)
        until(lambda: self.server.get("/readyz").status == 200, 10, "ready")
        self.client = self.server.with_token(self.all)
        for topic in ("acme", "acme.mail", "other"):
            self.client.schedule(topic=topic, jobId=f"job-of-{topic}", url=self.receiver.url(), delay=3600)
            self.client.schedule(topic=topic, jobId=f"dead-of-{topic}", url="http://127.0.0.1:9/", retry=0)
        settings(self.client, "acme", maxInFlight=3)
        recurring(self.client, "other", "nightly", cron="0 4 * * *", job={"url": self.receiver.url()})

    def stop(self):
        self.server.stop()
        self.receiver.stop()


@pytest.fixture(scope="module")
def guarded():
    made = Guarded()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def refusals(browser):
    """The browser logs each answer that is an error."""
    browser.expect(r"the server responded with a status of 40[134]")


def log_in(browser, token):
    browser.fill("token", token)
    browser.press("\ue007")


def enter(browser, guarded, token, route="#/"):
    browser.open(guarded.server, route)
    log_in(browser, token)
    browser.await_none("field", "token")


def test_a_wrong_token_is_refused_in_words(browser, guarded):
    browser.open(guarded.server)
    browser.await_one("field", "token")
    assert "job-of-acme" not in browser.text()
    log_in(browser, "dp_" + "0" * 60)
    until(lambda: any(word in browser.text().lower() for word in ("not accept", "unknown", "wrong", "refuse", "invalid", "does not know")), 10,
          lambda: f"an error\n{browser.shown()}", 0.05)
    log_in(browser, guarded.all)
    browser.await_text("Delayed")


def test_the_token_is_kept_in_memory_only(browser, guarded):
    enter(browser, guarded, guarded.all, "#/jobs")
    browser.await_text("job-of-acme")
    kept = browser.script("return JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie, location.href, history.state])")
    assert guarded.all not in kept, kept
    assert guarded.all not in browser.script("return document.documentElement.outerHTML")
    browser.driver.refresh()
    browser.await_one("field", "token")


def test_a_deep_link_opens_after_the_login(browser, guarded):
    enter(browser, guarded, guarded.all, "#/jobs/acme/job-of-acme")
    browser.await_text("job-of-acme")
    assert browser.route() == "#/jobs/acme/job-of-acme"


def test_a_reader_may_change_nothing(browser, guarded):
    """The buttons are disabled, so the page sends no request that changes anything."""
    enter(browser, guarded, guarded.reader, "#/jobs/acme/job-of-acme")
    browser.await_text("job-of-acme")
    for name in ("run now", "cancel"):
        button = browser.await_one("button", name)
        assert not button.is_enabled() or button.get_attribute("aria-disabled") == "true", name
    for route in ("#/topics/acme", "#/schedules/other/nightly", "#/dead", "#/groups", "#/receivers", "#/try"):
        browser.go(route)
        browser.await_one("h1, h2")
    assert [verb for _, verb, _ in browser.requests if verb not in ("GET", "HEAD")] == []


def test_a_tenant_sees_its_topics_only(browser, guarded):
    enter(browser, guarded, guarded.tenant)
    for route, texts in ("#/topics", ("acme", "acme.mail")), ("#/jobs?topic=acme", ("job-of-acme",)), ("#/", ("Overview",)):
        browser.go(route)
        browser.await_text(*texts)
        assert "job-of-other" not in browser.text() and "nightly" not in browser.text()
    for route in ("#/jobs/other/job-of-other", "#/topics/other"):
        browser.go(route)
        until(lambda: any(word in browser.text() for word in ("403", "has no access to", "no such")), 10,
              lambda: f"refused\n{browser.shown()}", 0.05)


def test_a_token_that_is_revoked_asks_for_another(browser, start):
    file = TokenFile()
    short, kept = file.add("short"), file.add("kept")
    server = start("--tokens", str(file.path), ready=False)
    until(lambda: server.get("/readyz").status == 200, 10, "ready")
    server.with_token(kept).schedule(topic="acme", jobId="one", url="http://127.0.0.1:9/", delay=3600)
    browser.open(server)
    log_in(browser, short)
    browser.await_text("Delayed")
    file.remove("short")
    server.reload("tokens_read")
    browser.await_one("field", "token", seconds=20)
    log_in(browser, kept)
    browser.await_text("Delayed")
    assert json.dumps(kept) not in browser.script("return document.documentElement.outerHTML")
