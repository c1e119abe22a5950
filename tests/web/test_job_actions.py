"""Actions for one job on the job's page, and for a thousand jobs in the list."""

import json

from patience import until
from receiver import Answer
from selenium.webdriver.common.keys import Keys
from world import count

MANY = 1000


def add(world, topic, job_id="one", **members):
    members = {"url": world.receiver.url(), "delay": 3600, **members}
    return world.server.schedule(topic=topic, jobId=job_id, **members)


def show(browser, world, topic, job_id="one"):
    browser.open(world.server, f"#/jobs/{topic}/{job_id}")
    browser.await_one("h1", job_id)


def test_run_now(browser, world, topic):
    add(world, topic)
    show(browser, world, topic)
    browser.click("button", "Run now", exact=True)
    until(lambda: world.receiver.count(topic) == 1, 3, "the job is delivered at once, without five seconds for Undo")
    browser.await_text("delivered", seconds=15)


def test_a_delivered_job_is_sent_again(browser, world, topic):
    add(world, topic, delay=0)
    until(lambda: count(world.server, state="delivered", topic=topic) == 1, 20, "the job is in the history")
    show(browser, world, topic)
    browser.click("button", "Send again", exact=True)
    until(lambda: world.receiver.count(topic) == 2, 15, "the job is delivered again")


def test_the_page_of_a_job_follows_its_life(browser, world, topic):
    world.receiver.script(topic, Answer(503, body=b"database is locked"), 200)
    add(world, topic, retrySchedule=[3600])
    show(browser, world, topic)
    browser.await_text("delayed")
    world.server.run(topic, "one").expect(202)
    browser.await_text("503", "database is locked", seconds=15)
    world.server.run(topic, "one").expect(202)
    browser.await_text("delivered", seconds=20)


def test_the_page_shows_progress_and_result(browser, world, topic):
    server, json_type = world.server, {"Content-Type": "application/json"}
    server.request("PUT", f"/topics/{topic}", json.dumps({"defer": True}), json_type).expect(200)
    world.receiver.script(topic, Answer(202, headers=(("Duepost-Defer", "1h"),)))
    add(world, topic, delay=0)
    until(lambda: world.receiver.count(topic) == 1, 15, "the request")
    end = {"jobId": "one", "token": world.receiver.of(topic)[0].headers["duepost-token"]}
    show(browser, world, topic)
    server.request("POST", f"/topics/{topic}/extend", json.dumps({**end, "lease": 3600, "progress": 0.4}), json_type).expect(200)
    browser.await_text("Progress", "40 %", "Leased until", "has deferred the end", seconds=15)
    server.request("POST", f"/topics/{topic}/complete", json.dumps({**end, "result": {"pages": 3}}), json_type).expect(200)
    browser.await_text("delivered", "Result", '"pages": 3', seconds=20)


def test_the_search_of_the_head_finds_a_job(browser, world, topic):
    add(world, topic, "wanted")
    browser.open(world.server, "#/topics")
    browser.await_one("h1")
    browser.press("/")
    browser.press(f"{topic}/wanted", Keys.ENTER)
    browser.await_one("h1", "wanted")
    assert browser.route() == f"#/jobs/{topic}/wanted"


def fill_with(world, topic, **members):
    text = "\n".join(json.dumps({"topic": topic, "jobId": f"job-{number:04}", "url": world.receiver.url(), **members}) for number in range(MANY))
    world.server.request("POST", "/jobs", text, {"Content-Type": "application/x-ndjson"}, check=False).expect(207)


def test_a_thousand_jobs_are_cancelled(browser, world, topic):
    fill_with(world, topic, delay=3600)
    browser.open(world.server, f"#/jobs?topic={topic}&state=delayed")
    browser.click("button", "Cancel all")
    dialog = browser.await_one("dialog")
    browser.await_text("1,000 jobs match")
    browser.click("button", "1,000 jobs", root=dialog)
    browser.await_text("Done: 1,000 jobs", seconds=40)
    assert count(world.server, topic=topic) == 0
