"""The pages of jobs: the list with its search, filters and actions for many; a job's page; dead letters."""

import json
import time

import pytest
from selenium.webdriver.common.keys import Keys

from duepost import Duepost
from patience import until
from receiver import Answer, Receiver
from tokens import TokenFile
from world import JSON, count

LATER = 86400  # s


@pytest.fixture
def server(browser, start):
    """A server for one test, with few jobs, so that a list shows all of them. The page is closed before the server
    ends."""
    yield start("--breaker", "off")
    browser.driver.get("about:blank")


@pytest.fixture(scope="module")
def dead_1000():
    """A server with 1,000 dead jobs, for a receiver that has recovered."""
    receiver = Receiver()
    server = Duepost("--breaker", "off")
    receiver.script("bulk", Answer(500, body=b"out of paper"))
    bury(server, receiver, "bulk", 1000)
    receiver.script("bulk", 200)
    yield server, receiver
    server.stop()
    receiver.stop()


def schedule_lines(server, jobs):
    text = "\n".join(json.dumps(job) for job in jobs)
    server.request("POST", "/jobs", text, {"Content-Type": "application/x-ndjson"}, check=False).expect(207)


def bury(server, receiver, topic, number, **members):
    schedule_lines(server, [{"topic": topic, "jobId": f"{topic}-{i:04}", "url": receiver.url(), "retry": 0, **members} for i in range(number)])
    until(lambda: count(server, state="dead", topic=topic) == number, 60, "dead jobs")


def rows(browser):
    """Returns the ids in the list, from the top."""
    return browser.script("return [...document.querySelectorAll('.vrow .row-link')].map(link => link.textContent)")


# ---- the list ----

def test_the_first_job_is_shown_as_it_arrives(browser, server):
    browser.open(server, "#/jobs")
    browser.await_text("This command schedules one", "curl ")
    server.schedule(topic="orders", jobId="first", url="http://127.0.0.1:9/hook", delay=LATER)
    browser.await_one("row", "first")


def test_a_list_that_grows_says_so_and_does_not_jump(browser, server, topic):
    for number in range(3):
        server.schedule(topic=topic, jobId=f"old-{number}", url="http://127.0.0.1:9/hook", delay=LATER)
    browser.open(server, f"#/jobs?topic={topic}")
    browser.await_one("row", "old-2")
    assert rows(browser) == ["old-0", "old-1", "old-2"]
    for number in range(2):
        server.schedule(topic=topic, jobId=f"new-{number}", url="http://127.0.0.1:9/hook", delay=60)
    button = browser.await_one("button", "2 new")
    assert rows(browser) == ["old-0", "old-1", "old-2"]
    button.click()
    browser.await_one("row", "new-1")
    assert rows(browser) == ["new-0", "new-1", "old-0", "old-1", "old-2"]
    browser.await_none("button", "new", root=browser.all(".list-box")[0])


def test_a_filter_keeps_what_is_typed_while_the_page_is_drawn_anew(browser, server, topic):
    server.schedule(topic=topic, jobId="mine", url="http://127.0.0.1:9/hook", delay=LATER)
    browser.open(server, "#/jobs")
    browser.await_one("row", "mine")
    browser.fill("Topic", topic[:20], exact=True)
    server.schedule(topic="other", jobId=topic, url="http://127.0.0.1:9/hook", delay=60)
    browser.await_one("button", "1 new")
    browser.press(topic[20:], Keys.ENTER)
    browser.await_true("location.hash.includes(arguments[0])", f"topic={topic}")
    assert browser.await_one("field", "Topic", exact=True).get_attribute("value") == topic


def test_a_job_that_leaves_the_list_is_marked(browser, server, topic):
    for number in range(2):
        server.schedule(topic=topic, jobId=f"job-{number}", url="http://127.0.0.1:9/hook", delay=LATER)
    browser.open(server, f"#/jobs?topic={topic}&state=delayed")
    browser.await_one("row", "job-1")
    server.cancel(topic, "job-0").expect(200)
    browser.await_one("row", "has left the list")
    assert rows(browser) == ["job-0", "job-1"]


def test_filters_are_in_the_address(browser, world):
    browser.open(world.server, "#/jobs?state=dead&reason=gone")
    browser.await_one("row", "gone")
    assert rows(browser) == ["gone"]
    assert browser.all("field", "Reason")[0].get_attribute("value") == "gone"
    assert "state:dead reason:gone" in browser.all("field", "Search jobs by id")[0].get_attribute("value")
    browser.fill("Reason", "")
    browser.press(Keys.ENTER)
    browser.fill("Last status", "5xx")
    browser.press(Keys.ENTER)
    browser.await_true("location.hash.includes('lastStatus=5xx') && !location.hash.includes('reason')")
    browser.await_one("row", "invoice-7")
    browser.await_none("row", "gone")
    browser.click("link", "Delivered")
    browser.await_text("No job matches")
    assert "state=delivered" in browser.route()
    browser.driver.back()
    browser.await_one("row", "invoice-7")


@pytest.mark.parametrize("typed, ids", [
    ("topic:orders label:us order-00", ["order-000", "order-002", "order-004", "order-006", "order-008"]),
    ("state:dead topic:invoices status:410", ["gone"]),
    ("state:cancelled topic:orders", ["cancelled"]),
    ("frame-", ["frame-0", "frame-1", "frame-2"]),
])
def test_one_field_searches_everything(browser, world, typed, ids):
    browser.open(world.server, "#/jobs")
    browser.await_one("row", "leased")
    browser.fill("Search jobs by id", typed)
    browser.press(Keys.ENTER)
    browser.await_true("JSON.stringify([...document.querySelectorAll('.vrow .row-link')].map(one => one.textContent)) === arguments[0]",
                       json.dumps(ids, separators=(",", ":")))


def test_the_search_knows_hosts_outcomes_and_times(browser, world):
    sixth = world.server.get("/jobs/orders/order-005").expect(200)["dueAt"]
    host = world.receiver.url().split("/")[2]
    for typed, ids in (
        (f"topic:orders before:{sixth}", [f"order-00{number}" for number in range(5)]),
        (f"topic:orders after:{sixth} order-00", [f"order-00{number}" for number in range(5, 10)]),
        (f"state:delayed host:{host} topic:orders-eu", ["far"]),
        ("state:delayed host:elsewhere.example topic:orders", []),
    ):
        browser.open(world.server, "#/jobs")
        browser.await_one("row", "leased")
        browser.fill("Search jobs by id", typed)
        browser.press(Keys.ENTER)
        browser.await_true("JSON.stringify([...document.querySelectorAll('.vrow .row-link')].map(one => one.textContent)) === arguments[0]",
                           json.dumps(ids, separators=(",", ":")))
    browser.open(world.server, "#/jobs?state=delivered&topic=orders&idPrefix=done-1")
    browser.await_true("JSON.stringify([...document.querySelectorAll('.vrow .row-link')].map(one => one.textContent).sort()) === arguments[0]",
                       json.dumps(["done-1", "done-10", "done-11"], separators=(",", ":")))


def test_an_id_with_its_topic_opens_the_job(browser, world):
    browser.open(world.server, "#/jobs")
    for typed in ("orders/order-007", "topic:orders order-007", "order-007"):
        browser.go("#/jobs")
        browser.await_one("field", "Search jobs by id")
        browser.fill("Search jobs by id", typed)
        browser.press(Keys.ENTER)
        browser.await_one("heading", "order-007")
        assert browser.route() == "#/jobs/orders/order-007"


def test_the_search_completes_words_and_values(browser, world):
    browser.open(world.server, "#/jobs")
    browser.fill("Search jobs by id", "st")
    browser.await_one("[role=option]", "state:")
    browser.press(Keys.TAB)
    browser.await_one("[role=option]", "state:dead")
    browser.press("de", "a", Keys.ARROW_DOWN, Keys.ENTER)
    browser.press("topic:inv")
    browser.await_one("[role=option]", "topic:invoices")
    browser.press(Keys.TAB, Keys.ENTER)
    browser.await_one("row", "invoice-0")
    assert browser.script("return Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))") == {"state": "dead", "topic": "invoices"}


def test_arrows_move_and_enter_opens(browser, world):
    browser.open(world.server, "#/jobs?topic=orders&state=delayed")
    browser.await_one("row", "order-000")
    browser.script("document.querySelector('.vrow').focus()")
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
    browser.await_one("heading", "order-001")


def test_a_long_list_loads_more_while_scrolling(browser, server, topic):
    number = 3000
    schedule_lines(server, [{"topic": topic, "jobId": f"job-{i:05}", "url": "http://127.0.0.1:9/hook", "delay": LATER + i} for i in range(number)])
    browser.open(server, f"#/jobs?topic={topic}")
    browser.await_one("row", "job-00000")
    browser.await_text("3,000 jobs")
    assert len(browser.requested(r"/jobs\?.*cursor=")) <= 2
    until(lambda: browser.script("const body = document.querySelector('.vbody'); body.scrollTop = body.scrollHeight;"
                                 "return document.querySelector('[aria-rowcount]').getAttribute('aria-rowcount')") == str(number + 1), 30, "all jobs are loaded")
    browser.await_one("row", f"job-{number - 1:05}")
    assert len(rows(browser)) < 100


# ---- actions for many ----

def test_cancelling_many_can_be_undone_for_five_seconds(browser, server, topic):
    for number in range(5):
        server.schedule(topic=topic, jobId=f"job-{number}", url="http://127.0.0.1:9/hook", delay=LATER)
    browser.open(server, f"#/jobs?topic={topic}&state=delayed")
    browser.click("button", "Cancel all")
    browser.await_text("5 jobs match")
    browser.click("button", "Cancel 5 jobs")
    browser.click("button", "Undo")
    browser.await_none("toast", "Cancelling")
    assert [url for url in browser.requested(r"/jobs\?", "DELETE") if "dryRun" not in url] == []
    browser.click("button", "Cancel all")
    browser.click("button", "Cancel 5 jobs")
    browser.await_text("Done: 5 jobs cancelled", seconds=30)
    assert count(server, topic=topic) == 0


def test_rescheduling_many(browser, server, topic):
    for number in range(3):
        server.schedule(topic=topic, jobId=f"job-{number}", url="http://127.0.0.1:9/hook", delay=60)
    browser.open(server, f"#/jobs?topic={topic}&state=delayed")
    browser.click("button", "Reschedule all")
    browser.await_text("3 jobs match")
    browser.fill("Due in", "2h", exact=True)
    browser.click("button", "Reschedule 3 jobs")
    browser.await_text("Done: 3 jobs rescheduled", seconds=30)
    assert count(server, topic=topic, dueBefore=later(3600)) == 0


def later(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def test_without_a_state_nothing_is_changed(browser, world):
    browser.open(world.server, "#/jobs")
    button = browser.await_one("button", "Cancel all")
    assert button.get_attribute("aria-disabled") == "true" and "Choose a state" in button.get_attribute("title")


# ---- dead letters ----

def test_redrive_can_be_stopped_and_shows_its_progress(browser, dead_1000):
    server, receiver = dead_1000
    browser.open(server, "#/dead")
    browser.await_one("row", "1,000")
    browser.await_text("1,000 dead jobs")
    browser.click("button", "Redrive all")
    browser.await_text("1,000 jobs match")
    browser.fill("Jobs a second", "20")
    browser.click("button", "Redrive 1,000 jobs")
    browser.await_text("of 1,000", seconds=30)
    browser.click("button", "Stop")
    browser.await_text("Stopped after", seconds=30)
    left = count(server, state="dead")
    assert 0 < left < 1000
    browser.click("button", "Dismiss")
    browser.await_text(f"{left} dead jobs")

    browser.click("button", "Redrive all")
    browser.await_text(f"{left} jobs match")
    browser.click("button", f"Redrive {left} jobs")
    browser.await_text(f"Done: {left} jobs run again", "No dead letters", seconds=60)
    until(lambda: receiver.count("bulk") == 2000, 60, "each job is POSTed again")
    assert count(server, state="dead") == 0
    browser.driver.get("about:blank")  # leaves the page before the server ends


def test_dead_jobs_are_grouped_by_their_cause(browser, server, receiver):
    receiver.script("mail", Answer(503))
    receiver.script("pdf", Answer(410))
    bury(server, receiver, "mail", 3)
    bury(server, receiver, "pdf", 2)
    browser.open(server, "#/dead")
    browser.await_one("row", "503")
    browser.await_one("row", "410")
    browser.click("button", "By topic")
    browser.await_true("location.hash.includes('by=topic')")
    row = browser.await_one("row", "pdf")
    browser.click("button", "Jobs:", root=row)
    browser.await_one("link", "pdf/pdf-0001")
    browser.click("link", "In the list of jobs")
    browser.await_true("location.hash.includes('topic=pdf') && location.hash.includes('lastStatus=410')")
    browser.await_one("row", "pdf-0000")
    assert sorted(rows(browser)) == ["pdf-0000", "pdf-0001"]


def test_selected_groups_and_jobs_are_deleted(browser, server, receiver):
    """No filter of the API finds dead jobs that got no status. So the jobs of such a group are deleted one by one."""
    receiver.script("mail", Answer(503))
    bury(server, receiver, "mail", 3)
    schedule_lines(server, [{"topic": "refused", "jobId": f"r-{i}", "url": "http://127.0.0.1:9/hook", "retry": 0} for i in range(4)])
    until(lambda: count(server, state="dead") == 7, 20, "dead jobs")
    browser.open(server, "#/dead?by=topic")
    browser.click("checkbox", "connect, refused")
    browser.click("button", "Jobs: retries exhausted, 503, mail")
    browser.click("checkbox", "Select mail/mail-0001")
    browser.click("button", "Delete 1 group and 1 job")
    browser.await_text("5 jobs match")
    browser.click("button", "Delete 5 jobs")
    browser.await_text("Done: 5 jobs deleted", seconds=30)
    assert sorted(job["jobId"] for job in server.get("/jobs?state=dead").expect(200)["jobs"]) == ["mail-0000", "mail-0002"]


# ---- a job's page ----

def test_a_job_is_seen_to_be_delivered(browser, world, topic):
    server, receiver = world.server, world.receiver
    receiver.script(topic, Answer(500, body=b"<b>not yet</b>"), Answer(500), 200)
    server.schedule(topic=topic, jobId="job", url=receiver.url(), retrySchedule=[1, 3600], body={"n": 1})
    browser.open(server, f"#/jobs/{topic}/job")
    browser.await_text("Attempt 2 was answered 500", "delayed", "2 attempts of at most 3")
    browser.click("button", "Answer", exact=True)
    browser.await_text("<b>not yet</b>")
    browser.click("button", "Run now")
    browser.await_text("It was delivered", "✓ 200", seconds=30)
    assert "delivered" in browser.all(".timeline svg")[0].get_attribute("aria-label")


def test_the_last_answer_is_open_although_the_attempts_come_late(browser, world):
    browser.answer_late("/attempts$", 2.5)  # meanwhile, the page is drawn again each second
    browser.open(world.server, "#/jobs/invoices/gone")
    browser.await_text("1 attempt of at most", "410")
    browser.await_text("no longer here")


def test_a_body_is_shown_as_it_was_sent(browser, server, topic):
    body = '{"total": 1.10, "big": 12345678901234567890, "list": [1, {"a": "x"}]}'
    server.post(f'{{"topic": "{topic}", "jobId": "job", "url": "http://127.0.0.1:9/x", "delay": 3600, "body": {body}}}').expect(201)
    browser.open(server, f"#/jobs/{topic}/job")
    browser.await_text('"total": 1.10', "12345678901234567890", '"a": "x"')
    browser.click("button", "As sent")
    browser.await_text(body)


def test_an_edit_keeps_what_it_does_not_show(browser, server, receiver, topic):
    server.schedule(topic=topic, jobId="job", url=receiver.url("/hook?key=s3cret"), delay=LATER, headers={"X-Key": "s3cret", "X-Other": "1"},
                    body={"a": 1})
    browser.open(server, f"#/jobs/{topic}/job")
    browser.click("button", "Edit")
    browser.fill("Body", '{"a": 2.50}', exact=True)
    browser.fill("Labels, separated by commas", "eu, vip")
    browser.click("button", "Remove X-Other")
    browser.click("button", "Save")
    browser.await_one("link", "vip")
    browser.await_none("dialog")
    server.run(topic, "job").expect(202)
    arrival = until(lambda: receiver.of(topic, "job"), 20, "POSTed")[0]
    assert (arrival.target, arrival.body, arrival.headers["x-key"]) == ("/hook?key=s3cret", b'{"a": 2.50}', "s3cret")
    assert "x-other" not in arrival.headers


def test_key_and_priority_are_shown_changed_and_searched_for(browser, server, topic):
    for job_id, key in ("job", "ada"), ("other", "bob"):
        server.schedule(topic=topic, jobId=job_id, url="http://127.0.0.1:9/hook", delay=LATER, key=key, priority=7)
    browser.open(server, f"#/jobs/{topic}/job")
    browser.click("button", "Edit")
    browser.fill("Priority", "2")
    browser.click("button", "Save")
    browser.await_none("dialog")
    job = server.job(topic, "job")
    assert (job["key"], job["priority"]) == ("ada", 2)
    browser.click("button", "Send as new")
    browser.fill("Key", "eve")
    browser.click("button", "Schedule", exact=True)
    until(lambda: sorted((one["key"], one["priority"]) for one in server.get(f"/jobs?topic={topic}").json["jobs"]) ==
          [("ada", 2), ("bob", 7), ("eve", 2)], 20, "a job with another key")
    browser.open(server, f"#/jobs/{topic}/job")
    browser.click("link", "ada")
    browser.await_one("link", "job")
    browser.await_none("link", "other")


def test_an_edit_of_a_job_that_has_changed_is_explained(browser, server, topic):
    server.schedule(topic=topic, jobId="job", url="http://127.0.0.1:9/hook", delay=LATER, body="mine")
    browser.open(server, f"#/jobs/{topic}/job")
    browser.click("button", "Edit")
    browser.fill("Labels, separated by commas", "mine")
    server.request("PATCH", f"/jobs/{topic}/job", json.dumps({"retry": 3, "timeout": 7}), JSON).expect(200)
    browser.expect("412")
    browser.click("button", "Save")
    browser.await_text("The job has changed since you opened it", "timeout")
    assert "labels" not in server.job(topic, "job")
    browser.click("button", "Overwrite with my changes")
    browser.await_one("link", "mine")
    job = server.job(topic, "job")
    assert (job["labels"], job["retry"], job["timeout"]) == (["mine"], 3, 7)


def test_a_cancel_can_be_undone(browser, server, topic):
    server.schedule(topic=topic, jobId="job", url="http://127.0.0.1:9/hook", delay=LATER)
    browser.open(server, f"#/jobs/{topic}/job")
    browser.click("button", "Cancel")
    browser.click("button", "Undo")
    browser.await_none("toast", "Cancelling")
    assert browser.requested(f"/jobs/{topic}/job", "DELETE") == []
    browser.click("button", "Cancel")
    browser.expect("404")
    browser.await_text("The job is no longer in the pool", seconds=30)
    assert server.job(topic, "job") is None


def test_a_job_is_rescheduled(browser, server, topic):
    server.schedule(topic=topic, jobId="job", url="http://127.0.0.1:9/hook", delay=60)
    browser.open(server, f"#/jobs/{topic}/job")
    browser.click("button", "Reschedule")
    browser.click("button", "6h", exact=True)
    browser.click("button", "Reschedule", root=browser.await_one("dialog"))
    browser.await_none("dialog")
    browser.await_text("in 5 h")
    assert server.job(topic, "job")["dueAt"] > later(5 * 3600)


def test_the_next_attempts_of_a_wait_by_expression(browser, server, topic):
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/hook", delay=LATER, retry=3, retryWait="pow(10, retried) * 1000")
    browser.open(server, f"#/jobs/{topic}/a")
    browser.await_text("pow(10, retried) * 1000", "1 s after attempt 1", "10 s after attempt 2", "1 min 40 s after attempt 3")
    browser.click("button", "Edit")
    browser.fill("Wait as an expression", "retried * 500")
    browser.click("button", "Save")
    until(lambda: server.get(f"/jobs/{topic}/a").expect(200)["retryWait"] == "retried * 500", 10, "the job is changed")


def test_a_job_is_sent_as_a_new_one(browser, server, receiver, topic):
    """The page does not have the hidden values, so the user types them again."""
    server.schedule(topic=topic, jobId="job", url=receiver.url("/hook?key=s3cret"), delay=LATER, headers={"X-Key": "s3cret"}, body="text\nof two lines")
    browser.open(server, f"#/jobs/{topic}/job")
    browser.click("button", "Send as new")
    browser.await_text("Only the server has the hidden values")
    browser.click("button", "Schedule", exact=True)
    browser.await_text("the query is hidden")
    browser.fill("URL", receiver.url("/again"))
    browser.fill("New id", "copy")
    browser.fill("Value of X-Key", "typed")
    browser.click("button", "Schedule", exact=True)
    arrival = until(lambda: receiver.of(topic, "copy"), 20, "POSTed")[0]
    assert (arrival.target, arrival.body, arrival.headers["x-key"]) == ("/again", b"text\nof two lines", "typed")


def test_a_new_job_has_the_callbacks_of_the_old_one(browser, server, receiver, topic):
    server.schedule(topic=topic, jobId="job", url=receiver.url("/hook"), delay=LATER, onDelivered=receiver.url("/done"), onDead=receiver.url("/dead?key=s3cret"))
    browser.open(server, f"#/jobs/{topic}/job")
    browser.click("button", "Send as new")
    browser.await_text("The new job has no onDead: parts are hidden.")
    browser.fill("New id", "copy")
    browser.click("button", "Schedule", exact=True)
    until(lambda: receiver.of(topic, "copy"), 20, "POSTed")
    assert until(lambda: receiver.of(f"{topic}~callbacks"), 20, "the callback is sent")[0].target == "/done"


def test_a_message_of_qstash(browser, start):
    server = start("--qstash", "on")
    headers = {"Content-Type": "application/json", "Upstash-Delay": "1h", "Upstash-Retry-Delay": "pow(2, retried) * 1000"}
    message = server.request("POST", "/v2/publish/http://127.0.0.1:9/hook", "{}", headers, check=False).expect(200)["messageId"]
    browser.open(server, "#/jobs")
    browser.click("link", message)
    browser.await_text("a message of QStash", "4 s after attempt 3")
    browser.click("link", "qstash~messages")
    browser.await_one("heading", "qstash~messages", exact=True)
    browser.driver.get("about:blank")


def test_a_leased_job_cannot_be_edited(browser, world):
    browser.open(world.server, "#/jobs/slow/slow-0")
    button = browser.await_one("button", "Edit")
    assert button.get_attribute("aria-disabled") == "true" and "under way" in button.get_attribute("title")


def test_a_missing_job_is_shown_as_missing(browser, world):
    browser.expect("404")
    browser.open(world.server, "#/jobs/orders/nothing")
    browser.await_text("There is no such job", "Ended jobs of orders")


def test_a_dead_job_of_hostile_text_is_only_text(browser, server, receiver, topic):
    hostile = "<img src=x onerror=executed(1)>"
    receiver.script(topic, Answer(500, body=f"<script>executed('answer')</script>{hostile}".encode()))
    server.schedule(topic=topic, jobId=hostile, url=receiver.url(), retry=0, body={hostile: hostile}, labels=[hostile], headers={"X-A": hostile})
    until(lambda: count(server, state="dead") == 1, 20, "dead")
    browser.open(server, "#/dead")
    browser.click("button", "Jobs:")
    browser.click("link", hostile)
    browser.await_text("<script>executed('answer')</script>", f'"{hostile}": "{hostile}"')
    browser.go("#/jobs?state=dead")
    browser.await_one(".vrow", hostile)


# ---- tokens ----

def test_a_token_that_is_limited_to_topics_chooses_one(browser, start, receiver):
    tokens = TokenFile()
    admin = tokens.add("admin")
    shop = tokens.add("shop", scopes=["read"], topics="orders-*")
    server = start("--breaker", "off", "--tokens", str(tokens.path), token=admin)
    receiver.script("orders-eu", Answer(500))
    bury(server, receiver, "orders-eu", 2)
    server.schedule(topic="mail", jobId="secret", url=receiver.url(), delay=LATER)
    browser.expect("401")
    browser.open(server, "#/jobs")
    browser.fill("Token", shop)
    browser.press(Keys.ENTER)
    browser.await_text("Choose a topic")
    browser.click("link", "orders-eu")
    browser.await_one("row", "orders-eu-0001")
    browser.go("#/dead")
    browser.click("link", "orders-eu")
    browser.await_text("2 dead jobs")
    button = browser.await_one("button", "Redrive all")
    assert button.get_attribute("aria-disabled") == "true" and "admin" in button.get_attribute("title")
    assert "secret" not in browser.text()
    browser.driver.get("about:blank")
