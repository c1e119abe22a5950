"""The pages of workflows: the list, a workflow with its steps on a timeline, cancel."""

import time

import pytest
from selenium.webdriver.common.keys import Keys

from patience import until
from qstash import QStash, QStashWithBreakers
from receiver import Receiver
from runs import TAKEN, Run, step
from test_modules import value
from tokens import TokenFile
import durable
import scratch

STEPS, WAITING, AT_ONCE = 10_000, 100, 900
MOST_ELEMENTS = 3000  # maximum number of elements in the page


@pytest.fixture(scope="module")
def shop():
    """A server with workflows, and their application. Tests add workflows."""
    application = Receiver()
    server = QStash("--history", f"sqlite:{scratch.file('history.sqlite')}")
    application.script("/shop", TAKEN)
    server.application = application.url("/shop")
    yield server
    server.stop()
    application.stop()


def read(server, run_id):
    return server.get(f"/workflows/qstash/{run_id}").expect(200)


def begin(server, run_id, **headers):
    durable.begin(server, server.application, run_id, **headers)
    return run_id


def rows(browser):
    return browser.script("return [...document.querySelectorAll('.vrow')].map(row => [...row.children].map(cell => cell.innerText))")


def await_rows(browser, number):
    until(lambda: len(rows(browser)) == number, 10, lambda: f"{number} steps\n{browser.shown()}", 0.05)
    return rows(browser)


# ---- the list ----

def test_the_list_shows_workflows_by_state_and_by_the_beginning_of_their_ids(browser, world):
    browser.open(world.server, "#/workflows")
    browser.await_text("order-1041", "signup-7", "import-3", "report-9", "mail-5")
    for tab, state, run_id, other in (("Failed", "failed", "import-3", "order-1041"), ("Succeeded", "succeeded", "report-9", "import-3")):
        browser.click("link", tab, exact=True)
        browser.await_no_text(other)
        browser.await_text(run_id, state, "qstash")
        assert browser.route() == f"#/workflows?state={state}"
    browser.click("link", "All", exact=True)
    browser.fill("Filter", "sign")
    browser.await_no_text("order-1041")
    browser.await_text("signup-7")
    assert browser.route() == "#/workflows?idPrefix=sign"
    browser.fill("Filter", "no such")
    browser.await_text("No workflow matches")


def test_a_row_of_the_list_is_opened_with_the_keyboard(browser, world):
    browser.open(world.server, "#/workflows?state=failed")
    browser.await_one("link", "import-3")
    browser.script("document.querySelector('tbody tr').focus()")
    browser.press(Keys.ENTER)
    browser.await_true("location.hash.startsWith('#/workflows/qstash/import-3?created=')")
    browser.await_text("It failed")


def test_a_server_without_workflows_says_how_they_come(browser, start):
    server = start()
    browser.open(server, "#/workflows")
    browser.await_text("No workflows yet", "duepost --qstash on")
    browser.driver.get("about:blank")


# ---- a workflow ----

def test_steps_and_jobs_lead_to_each_other(browser, world):
    browser.open(world.server, "#/workflows/qstash/order-1041")
    found = await_rows(browser, 3)
    assert [(row[0], row[1]) for row in found] == [("trigger", "done"), ("step 1", "done"), ("step 2", "waiting")]
    assert found[2][3].startswith("in ")
    browser.click("link", "step 2")
    browser.await_true("location.hash.startsWith('#/jobs/qstash~messages/msg_')")
    browser.click("link", "order-1041")
    browser.await_true("location.hash === '#/workflows/qstash/order-1041'")
    browser.await_text("Step 2 continues in")


def test_a_wait_says_what_it_waits_for_and_how_long(browser, world):
    browser.open(world.server, "#/workflows/qstash/signup-7")
    found = await_rows(browser, 3)
    assert found[2][:2] == ["for it wait for an event", "waiting"]
    browser.await_text("It waits for event confirmed, and continues without it in ")


def test_a_failure_leads_to_the_dead_job(browser, world):
    browser.open(world.server, "#/workflows/qstash/import-3")
    found = await_rows(browser, 2)
    assert [row[1] for row in found] == ["done", "failed"]
    browser.click("link", "the job of step 1")
    browser.await_true("location.hash.startsWith('#/jobs/qstash~messages/msg_')")
    browser.await_text("489")


def test_the_page_follows_the_workflow(browser, shop):
    run_id = begin(shop, "followed")
    browser.open(shop, f"#/workflows/qstash/{run_id}")
    await_rows(browser, 1)
    durable.append(shop, shop.application, run_id, "one")
    assert [row[0] for row in await_rows(browser, 2)] == ["trigger", "step 1"]
    durable.append(shop, shop.application, run_id, "two", "three", upstash_delay="1h")
    await_rows(browser, 4)
    browser.await_text("2 of its jobs have not ended.")
    durable.end(shop, run_id)
    browser.await_text("It succeeded after")
    browser.await_none("button", "Cancel workflow")


def test_an_id_that_is_used_again_shows_the_workflow_that_the_address_names(browser, shop):
    run_id = begin(shop, "again")
    created = read(shop, run_id)["createdAt"]
    durable.end(shop, run_id)
    begin(shop, run_id, upstash_delay="1h")
    browser.open(shop, f"#/workflows/qstash/{run_id}")
    browser.await_text("active")
    browser.go(f"#/workflows/qstash/{run_id}?created={created}")
    browser.await_text("It succeeded after")


def test_a_workflow_that_is_not_there_says_so(browser, shop):
    browser.expect(" 404 ")
    browser.open(shop, "#/workflows/qstash/never-was")
    browser.await_text("There is no such workflow")


# ---- cancel ----

def test_a_cancel_is_confirmed(browser, shop):
    run_id = begin(shop, "to-cancel")
    durable.append(shop, shop.application, run_id, "later", upstash_delay="1h")
    until(lambda: read(shop, run_id)["openCount"] == 1, 10, "the trigger is delivered")
    browser.open(shop, f"#/workflows/qstash/{run_id}")
    browser.click("button", "Cancel workflow")
    dialog = browser.await_one("dialog")
    assert run_id in dialog.text
    browser.press(Keys.ESCAPE)
    browser.await_none("dialog")
    assert read(shop, run_id)["state"] == "active" and browser.requested("/workflows/", "DELETE") == []
    browser.click("button", "Cancel workflow")
    browser.click("button", "Keep it")
    browser.await_none("dialog")
    assert browser.requested("/workflows/", "DELETE") == []
    browser.click("button", "Cancel workflow")
    browser.click("button", "Cancel the workflow")
    browser.await_text("It was cancelled.")
    assert read(shop, run_id)["state"] == "cancelled"
    assert [row[:2] for row in await_rows(browser, 2)] == [["trigger", "done"], ["step 1", "cancelled"]]


def test_a_workflow_that_ended_meanwhile_is_not_cancelled(browser, shop):
    browser.expect(" 404 ")
    run_id = begin(shop, "ends-first", upstash_delay="1h")
    browser.open(shop, f"#/workflows/qstash/{run_id}")
    browser.click("button", "Cancel workflow")
    browser.await_one("dialog")
    durable.end(shop, run_id)
    browser.click("button", "Cancel the workflow")
    browser.await_text("No workflow with this id is active.", "It succeeded after")


def test_tokens(browser, start):
    browser.expect(" 401 ")
    tokens = TokenFile()
    reader = tokens.add("reader", scopes=["read"], topics="qstash")
    server = start("--qstash", "on", "--tokens", str(tokens.path), token=tokens.add("ops"))
    server.call = lambda method, where, body: QStashWithBreakers.call(server, method, where, body)
    durable.begin(server, "http://127.0.0.1:9/", "guarded", upstash_delay="1h")
    browser.open(server, "#/workflows")
    browser.fill("Token", reader)
    browser.click("button", "Log in")
    browser.click("link", "qstash", exact=True)
    browser.click("link", "guarded")
    until(lambda: browser.await_one("button", "Cancel workflow").get_attribute("aria-disabled") == "true", 10, browser.shown)
    browser.click("button", "Cancel workflow")
    browser.await_none("dialog")
    browser.driver.get("about:blank")


# ---- rows ----

def test_rows_of_a_workflow(browser, world):
    browser.open(world.server)
    browser.await_one("h1")

    def at(second):
        return f"2030-01-01T00:00:{second:02}.000Z"

    def job(name):
        return {"topic": "t", "jobId": name}

    def element(name, second):
        return {**job(name), "kind": "step", "at": at(second), "bytes": 5}

    workflow = {"state": "active", "createdAt": at(0), "elements": [element("a", 0), element("b", 2), element("c", 2), element("d", 6)],
                "jobs": [{**job("b"), "role": "step", "element": 2}, {**job("w"), "role": "wait"}, {**job("d"), "role": "step", "element": 4}]}
    jobs = [["t/w", {**job("w"), "state": "delayed", "attempts": 0, "createdAt": at(8), "dueAt": at(50)}], ["t/d", {**job("d"), "state": "leased", "attempts": 1}]]

    def shown(workflow, jobs=()):
        return value(browser, "workflows/steps.js", "of.rowsOf(values[0], new Map(values[1])).map(row => [row.name, row.state, row.until === null ? null : (row.until - "
                     "Date.parse(values[0].createdAt)) / 1000])", workflow, list(jobs))

    assert shown(workflow, jobs) == [["trigger", "done", 2], ["step 1", "open", None], ["step 2", "done", 6], ["step 3", "running", None],
                                     ["wait for an event", "waiting", None]]
    over = {**workflow, "state": "failed", "endedAt": at(9), "jobs": [], "failedBy": job("d")}
    ends = [["t/b", {**job("b"), "state": "cancelled"}], ["t/c", {**job("c"), "state": "delivered"}]]
    assert shown(over, ends) == [["trigger", "over", 2], ["step 1", "cancelled", 6], ["step 2", "done", 6], ["step 3", "failed", 9]]
    bars = value(browser, "workflows/steps.js", "of.rowsOf(values[0], new Map()).map(row => of.barOf(row, values[0], Date.parse(values[1])))", workflow, at(10))
    assert [[bar["left"], bar["width"]] if bar else None for bar in bars] == [[0, 20], [20, 80], [20, 40], [60, 40], None]


# ---- a long workflow ----

@pytest.fixture(scope="module")
def long_run(shop):
    """A run of 10,000 steps. Its list of steps is too long for a delivery, so deliveries are short and the client would fetch
    the list."""
    run_id = begin(shop, "long")
    durable.append(shop, shop.application, run_id, "x" * 900_000)
    while (left := STEPS - WAITING - read(shop, run_id)["elementCount"]) > 0:
        durable.append(shop, shop.application, run_id, *["step"] * min(left, AT_ONCE))
        until(lambda: read(shop, run_id)["openCount"] == 0, 60, "the steps are delivered", 0.2)
    durable.append(shop, shop.application, run_id, *["step"] * WAITING, upstash_delay="1h")
    return run_id


def test_ten_thousand_steps_show_quickly(browser, shop, long_run):
    assert read(shop, long_run)["elementCount"] == STEPS
    browser.open(shop, "#/")
    browser.await_one("h1")
    began = time.monotonic()
    browser.go(f"#/workflows/qstash/{long_run}")
    browser.await_text("step 1")
    print(f"shown after {time.monotonic() - began:.2f} s")
    assert browser.script("return document.querySelectorAll('*').length") <= MOST_ELEMENTS
    browser.script("document.querySelector('.vrow').focus()")
    browser.press(Keys.END)
    browser.await_text(f"step {STEPS - 1}")
    assert browser.script("return document.querySelectorAll('*').length") <= MOST_ELEMENTS
    before = len(browser.requested(f"/workflows/qstash/{long_run}"))
    time.sleep(3)  # the page requests a long workflow rarely
    assert len(browser.requested(f"/workflows/qstash/{long_run}")) == before


def test_steps_have_the_names_and_outputs_that_the_application_gave_them(browser, shop, topic):
    shop_application = Receiver()
    shop_application.script(f"/{topic}", *[TAKEN] * 20)
    run = Run(shop, shop_application, f"/{topic}")
    try:
        run.step(step(1, {"id": 42}, stepName="charge"))
        run.step(step(2, None, stepType="SleepFor", sleepFor=3600, stepName="wait-a-bit"), upstash_delay="1h")
        until(lambda: read(shop, run.id)["openCount"] == 1, 10, "it sleeps")
        browser.size(1440, 900)
        browser.open(shop, f"#/workflows/qstash/{run.id}")
        browser.await_text("charge", '{"id": 42}', "wait-a-bit", "sleeps 1 h", "payload", "none yet", "“wait-a-bit” (step 2) continues")
        browser.click("link", "charge")
        browser.await_true("location.hash.startsWith('#/jobs/qstash')")
    finally:
        shop_application.stop()
