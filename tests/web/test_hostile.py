"""Untrusted texts are shown as text, whatever they contain."""

import json
import urllib.parse

import pytest

from patience import until
from pull import end, lease_one, make_pull, name
from qstash import QStash
from receiver import Answer
from world import JSON, group, recurring, settings
import durable
import scratch

# Each text calls executed() if the page treats it as HTML, a script or a link. The content security policy would block most of these
# calls, and that also fails the test.
TEXTS = [
    "<img src=x onerror=executed('img')>",
    "\"'><script>executed('script')</script>",
    "</pre></textarea></title><svg onload=executed('svg')>",
    "javascript:executed('link')",
    "' onmouseover='executed(1)' style='position:fixed;inset:0",
    "{{constructor.constructor('executed(1)')()}}${executed(2)}",
]
EVERYTHING = " ".join(TEXTS)
RUNS = [text for text in TEXTS if "/" not in text]  # used as parts of workflow ids, which cannot have a slash

# Elements that only a planted text can have created.
PLANTED = """
return [...document.querySelectorAll("[onerror], [onload], [onmouseover], [onclick], iframe, object, embed, script:not([src]), img[src=x], " +
    "[href^='javascript:' i], [src^='javascript:' i], [formaction], base, form[action^='javascript:' i]")].map(one => one.outerHTML.slice(0, 200));
"""


@pytest.fixture(scope="module")
def hostile():
    """A server in which each text that a user, receiver or worker can set is hostile."""
    from receiver import Receiver
    answering = Receiver()
    server = QStash("--history", f"sqlite:{scratch.file('history.sqlite')}")
    url = answering.url("/" + urllib.parse.quote(TEXTS[1], safe="'()"))
    answering.script("hostile", Answer(500, body=EVERYTHING.encode(), headers=(("X-Answer", TEXTS[0]),)))
    settings(server, "hostile", pauseReason=TEXTS[0][:100], headers={"X-Set": TEXTS[1]}, url=url, maxInFlight=5)
    for text in TEXTS:
        members = {"url": url, "body": {text: [text, {"deep": text}]}, "labels": [text[:60]], "headers": {"X-Header": text}}
        server.schedule(topic="hostile", jobId=text, delay=3600, **members)
        server.schedule(topic="hostile", jobId="dead" + text, retry=0, **members)
    server.schedule(topic="hostile", jobId="string", delay=3600, url=url, body=EVERYTHING)
    make_pull(server, "of-worker")
    server.schedule(topic="of-worker", jobId=TEXTS[0], body=EVERYTHING)
    end(server, "bury", "of-worker", name(lease_one(server, "of-worker"), error=EVERYTHING[:256])).expect(200)
    recurring(server, "hostile", urllib.parse.quote(TEXTS[0], safe=""), cron="0 4 * * *", job={"url": url, "body": EVERYTHING})
    group(server, "hostile", **{"north": {"url": url, "headers": {"X-Header": TEXTS[1]}}})
    for text in RUNS:
        durable.begin(server, url, text, upstash_label=TEXTS[3], upstash_delay="1h")
    for text in TEXTS:
        server.wait_for_state("hostile", urllib.parse.quote("dead" + text, safe=""), "dead")
    yield server
    server.stop()
    answering.stop()


def path(text):
    return urllib.parse.quote(text, safe="")


ROUTES = {
    "overview": ("#/", ()),
    "topics": ("#/topics", ("hostile",)),
    "topic": ("#/topics/hostile", ()),
    "jobs": ("#/jobs?state=delayed", TEXTS),
    "dead": ("#/dead", ()),
    "dead-jobs": ("#/jobs?state=dead", ("dead" + TEXTS[0],)),
    "worker": (f"#/jobs/of-worker/{path(TEXTS[0])}", (EVERYTHING[:100],)),
    "string": ("#/jobs/hostile/string", TEXTS[:3]),
    "schedules": ("#/schedules", (TEXTS[0],)),
    "schedule": (f"#/schedules/hostile/{path(TEXTS[0])}", (TEXTS[0],)),
    "groups": ("#/groups", ("hostile",)),
    "receivers": ("#/receivers", ()),
    "pull": ("#/pull", ("of-worker",)),
    "search": (f"#/jobs?topic={path(TEXTS[0])}&idPrefix={path(TEXTS[1])}&label={path(TEXTS[2])}", ()),
    "workflows": ("#/workflows", RUNS),
    **{f"workflow-{number}": (f"#/workflows/qstash/{path(text)}", (text, TEXTS[3])) for number, text in enumerate(RUNS)},
    "other-topic": (f"#/topics/{path(TEXTS[0])}", ()),
    "other-page": (f"#/{path(TEXTS[1])}", ()),
    **{f"job-{number}": (f"#/jobs/hostile/{path(text)}", (text,)) for number, text in enumerate(TEXTS)},
    **{f"dead-job-{number}": (f"#/jobs/hostile/{path('dead' + text)}", (text,)) for number, text in enumerate(TEXTS)},
}


@pytest.mark.parametrize("page", ROUTES)
def test_hostile_text_is_text(browser, hostile, page):
    route, texts = ROUTES[page]
    browser.expect("the server responded with a status of (400|404)") if page in ("search", "other-topic", "other-page") else None
    browser.open(hostile, route)
    browser.await_one("h1, h2")
    browser.await_text(*texts)
    browser.script("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert browser.script(PLANTED) == []
    browser.check()


def test_an_answer_of_a_receiver_is_text(browser, hostile):
    browser.open(hostile, f"#/jobs/hostile/{path('dead' + TEXTS[0])}")
    browser.await_one("h1, h2")
    if TEXTS[4] not in browser.text():
        until(lambda: browser.script("document.querySelectorAll('details').forEach(one => { one.open = true }); return true"), 1, "open")
    browser.await_text(TEXTS[4])
    assert browser.script(PLANTED) == []


def test_typed_text_is_shown_as_text(browser, hostile):
    """The page with the form for a job also shows programs that schedule the job. They contain the typed texts."""
    browser.open(hostile, "#/try")
    browser.await_one("h1, h2")
    for field in ("topic", "job ID", "body"):
        if browser.all("field", field):
            browser.fill(field, TEXTS[1])
    assert browser.script(PLANTED) == []


def test_controls_in_a_name_are_shown_and_do_not_turn_the_text_around(browser, world, topic):
    job_id = "a\u202egpj.exe"
    world.server.schedule(topic=topic, jobId=job_id, url=world.receiver.url(), delay=3600)
    browser.open(world.server, f"#/jobs?topic={topic}")
    browser.await_text("a\\u202Egpj.exe")
    browser.click("link", "gpj.exe")
    heading = browser.await_one("heading", "a\\u202Egpj.exe")
    assert browser.script("return arguments[0].querySelector('bdi') !== null && !document.title.includes('\\u202e')", heading)


def test_the_middle_of_a_long_name_is_elided(browser, world):
    name = "shop-" + "x" * 110 + "-orders"
    world.server.schedule(topic=name, jobId="a", url=world.receiver.url(), delay=3600)
    browser.size(1440, 900)
    browser.open(world.server, "#/topics")
    browser.await_one("link", name)
    assert browser.script("const box = document.querySelector('.table-box'); return box.scrollWidth <= box.clientWidth"), "no column is out of sight"
    link = browser.await_one("link", name)
    assert browser.script("return [arguments[0].querySelector('bdi').title, getComputedStyle(arguments[0].querySelector('.elided'), '::before').content]", link) == [name, '"…"']
    world.server.cancel(name, "a").expect(200)
