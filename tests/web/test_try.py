"""A job is composed in a form, shown as code, sent, and followed to its end."""

import json
import os
import re
import shutil
import subprocess

import pytest

from patience import SLOW, until
from receiver import Answer


def compose(browser, world, topic, **fields):
    browser.open(world.server, "#/try")
    browser.await_one("h1")
    for name, text in {"Topic": topic, "URL": world.receiver.url(), "Delay": "0s", **fields}.items():
        browser.fill(name, text)


def test_a_job_is_sent_and_followed_to_its_end(browser, world, topic):
    compose(browser, world, topic, **{"Job id": "one", "Body": '{"order": 1.10}'})
    browser.click("button", "send the job")
    arrival, = until(lambda: world.receiver.of(topic, "one"), 10, "the job arrives")
    assert arrival.body == b'{"order": 1.10}'
    browser.await_text(f"{topic}/one", "delivered", seconds=15)


def test_a_job_that_fails_shows_its_attempts(browser, world, topic):
    world.receiver.script(topic, Answer(422, body=b"no such order"))
    compose(browser, world, topic, **{"Job id": "fails"})
    browser.click("summary")
    browser.fill("Retries", "0")
    browser.click("button", "send the job")
    browser.await_text("dead", "422", "no such order", seconds=15)


def test_the_last_attempt_is_shown_although_the_job_is_read_late(browser, world, topic):
    browser.answer_late(f"/jobs/{topic}/fails$", 2)
    world.receiver.script(topic, Answer(422, body=b"no such order", delay=0.5))
    compose(browser, world, topic, **{"Job id": "fails"})
    browser.click("summary")
    browser.fill("Retries", "0")
    browser.click("button", "send the job")
    browser.await_text("dead", "422", "no such order", seconds=15)


def test_faults_stand_where_they_are(browser, world, topic):
    browser.expect("400")
    compose(browser, world, topic, URL="ftp://example", Delay="soon")
    browser.click("button", "send the job")
    browser.await_true("document.querySelectorAll('[aria-invalid=true]').length === 2")
    assert world.server.get(f"/jobs?topic={topic}").expect(200)["jobs"] == []


def test_the_form_is_filled_in_from_the_query(browser, world):
    browser.open(world.server, "#/try?topic=from-a-link")
    browser.await_true("document.querySelector('main input[name=topic]')?.value === 'from-a-link'")


@pytest.mark.parametrize("language", ["curl", "Python", "Node"])
def test_the_code_does_what_the_form_says(browser, world, topic, language, tmp_path):
    """Runs the code that the page shows, and checks the job that it schedules."""
    body = """{"text": "it's \\"quoted\\" $HOME `id` \\\\ ü", "number": 12345678901234567890}"""
    compose(browser, world, topic, **{"Job id": "of-code", "Body": body})
    browser.click("button", language, exact=True)
    commands = {"curl": ["sh", "-e"], "Python": ["/usr/bin/python3"], "Node": ["node", "--input-type=module"]}
    beginning = {"curl": "curl", "Python": "import", "Node": "const"}[language]
    text = until(lambda: browser.script("return [...document.querySelectorAll('main pre')].map(one => one.innerText).find(text => text.startsWith(arguments[0]))",
                                        beginning), 10, f"code in {language}", 0.05)
    program = commands[language][0]
    assert shutil.which(program), f"there is no {program}: run script/bootstrap"
    done = subprocess.run(commands[language], input=text, text=True, capture_output=True, timeout=30 * SLOW, check=False, cwd=tmp_path,
                          env={**os.environ, "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr + text
    arrival, = until(lambda: world.receiver.of(topic, "of-code"), 10, lambda: f"the job arrives\n{done.stdout}{text}")
    assert json.loads(arrival.body) == json.loads(body), text


# Returns whether the line of a followed job is below the page's bar at the top, and inside its card.
IS_IN_ITS_CARD = """
arguments[0].scrollIntoView({block: "center", behavior: "instant"});
const line = arguments[0].closest("p"), card = line.closest("section"), bar = document.querySelector("header.top");
const [a, b, c] = [line, card, bar].map(one => one.getBoundingClientRect());
return c.height > 0 && a.height > 0 && a.top >= c.bottom && a.top >= b.top && a.bottom <= b.bottom && a.left >= b.left && a.right <= b.right + 1;
"""


def heads_of(browser, receiver, topic, job_id, act):
    """Lets a job wait, fail once and arrive, and returns each head of its card."""
    receiver.script(topic, Answer(500), Answer(204, delay=2))
    act()
    line = browser.await_one("link", f"{topic}/{job_id}", root=browser.await_one("main"))
    assert browser.script(IS_IN_ITS_CARD, line), browser.script("return arguments[0].closest('section').outerHTML", line)
    heads = []

    def has_arrived():
        shown = browser.script("return [...document.querySelectorAll('main .follow')].map(one => one.closest('section').querySelector('h2').innerText)")
        assert not (found := re.search(r"\b(POST|PATCH|PUT) [./]", browser.text())), browser.text()[found.start():][:100]
        if shown and shown[0] not in heads:
            heads.append(shown[0])
        return "It arrived" in heads
    until(has_arrived, 20, lambda: f"the job arrives, after {heads}\n{browser.shown()}", 0.1)
    return heads


@pytest.mark.parametrize("width", [390, 1440])
def test_the_first_job_stands_in_its_card_under_a_head_that_is_true(browser, start, receiver, width):
    server = start("--history", "sqlite")
    browser.size(width, 900)
    browser.open(server)
    browser.await_text("Schedule the first job")
    heads = heads_of(browser, receiver, "hello", "one", lambda: server.schedule(
        topic="hello", jobId="one", delay=3, url=receiver.url(), retrySchedule=["3s"]))
    assert heads[0] == "It waits for its time" and "It failed and is tried again" in heads and heads[-1] == "It arrived", heads


def test_the_first_job_is_dead(browser, start, receiver):
    server = start("--history", "sqlite")
    browser.open(server)
    browser.await_text("Schedule the first job")
    receiver.script("hello", Answer(422, body=b"no such order"))
    server.schedule(topic="hello", jobId="one", url=receiver.url(), retry=0)
    browser.await_text("It is dead", "no such order", seconds=15)
    assert "It arrived" not in browser.text()


def test_a_tried_job_stands_in_its_card_under_a_head_that_is_true(browser, world, topic):
    compose(browser, world, topic, **{"Job id": "one", "Delay": "3s"})
    browser.click("summary")
    browser.fill("Retry schedule", "3s")
    heads = heads_of(browser, world.receiver, topic, "one", lambda: browser.click("button", "send the job"))
    assert "It waits for its time" in heads and "It failed and is tried again" in heads and heads[-1] == "It arrived", heads


def test_what_is_suggested_to_a_newcomer_can_succeed(browser, start):
    """example.com answers no POST with 2xx. A receiver on this host does, and one command starts it."""
    browser.open(start())
    browser.await_text("http://127.0.0.1:9000/", "duepost receive")
    browser.click("link", "Compose one here")
    browser.await_true("document.querySelector('main input[name=url]')?.value === 'http://127.0.0.1:9000/'")
    browser.await_text("duepost receive")
