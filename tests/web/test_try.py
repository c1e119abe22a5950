"""A job is composed in a form, shown as code, sent, and followed to its end."""

import json
import os
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
