"""The pages of topics, schedules, groups, receivers, pull topics and tokens."""

import json
import time

import pytest
from selenium.webdriver.common.keys import Keys

from patience import until
import scratch
from tokens import TokenFile
from world import group, open_breaker, recurring, settings

LATER = 86400  # s


@pytest.fixture
def server(browser, start):
    """A server for one test. The page is closed before the server ends."""
    yield start()
    browser.driver.get("about:blank")


def own_settings(server, topic):
    answer = server.get(f"/topics/{topic}").expect(200)
    return {name: value for name, value in answer["settings"].items() if answer["from"][name] == "topic"}


def await_arrivals(receiver, number):
    until(lambda: len(receiver.arrivals) >= number, 20, f"{number} requests")
    return receiver.arrivals


def scroll_until(browser, text):
    """Scrolls down, again and again, until the page has the text."""
    def shown():
        browser.script("window.scrollTo(0, document.documentElement.scrollHeight)")
        return browser.script("return document.querySelector('main').textContent.includes(arguments[0])", text)
    until(shown, 30, lambda: f"{text} is shown\n{browser.shown()}", 0.05)


# ---- long lists ----

MANY = 1050  # more than the API returns in a page


def test_a_long_list_of_topics_and_schedules_loads_more_while_scrolling(browser, server):
    for number in range(MANY):
        recurring(server, f"topic-{number:04}", "daily", every="1d", job={"url": "http://127.0.0.1:9/"})
        settings(server, f"topic-{number:04}", maxInFlight=3)
    for page in "schedules", "topics":
        browser.open(server, f"#/{page}")
        browser.await_text("topic-0000")
        assert "topic-0999" not in browser.script("return document.querySelector('main').textContent")
        scroll_until(browser, f"topic-{MANY - 1:04}")
        assert len(browser.requested(rf"/{page}\?limit=1000&cursor=")) >= 1
    browser.open(server, "#/topics")
    browser.await_text("topic-0000")
    browser.fill("Filter", str(MANY - 1))  # the list of topics has been loaded up to an earlier page
    browser.await_one("link", f"topic-{MANY - 1:04}")


def test_a_long_list_of_groups_loads_more_while_scrolling(browser, server):
    for number in range(MANY):
        group(server, f"group-{number:04}", only={"url": "http://127.0.0.1:9/"})
    browser.open(server, "#/groups")
    browser.await_text("group-0000")
    scroll_until(browser, f"group-{MANY - 1:04}")
    browser.click("button", f"Change group-{MANY - 1:04}")
    browser.await_one("dialog", f"group-{MANY - 1:04}")


# ---- topics ----

@pytest.mark.parametrize("width", (1440, 1024))
def test_all_columns_of_the_topics_fit(browser, world, width):
    browser.size(width, 800)
    browser.open(world.server, "#/topics")
    browser.await_text("0 of 500 a second")
    browser.await_true("document.querySelector('.table-box td time')")
    browser.await_true("(box => { box.querySelectorAll('td time').forEach(time => time.textContent = '59 min 59 s ago'); "
                       "return box.scrollWidth <= box.clientWidth; })(document.querySelector('.table-box'))")


def test_a_rate_keeps_its_window(browser, server):
    settings(server, "orders", rate={"jobs": 10, "per": 60, "window": True})
    browser.open(server, "#/topics/orders")
    browser.click("button", "Change Rate")
    assert browser.await_one("field", "Rate").get_attribute("value") == "10/60 window"
    browser.fill("Rate", "20/60 window", root=browser.await_one("dialog"))
    browser.click("button", "Save")
    until(lambda: own_settings(server, "orders")["rate"]["jobs"] == 20, 10, "the rate is changed")
    assert own_settings(server, "orders")["rate"]["window"] is True


def test_topics_and_jobs_of_the_server_itself(browser, server, receiver):
    """The names of such topics have a ~. Only the server writes their settings."""
    receiver.script("orders~callbacks", *[500] * 50)
    server.schedule(topic="orders", jobId="paid", url=receiver.url(), onDelivered=receiver.url("/callback"))
    until(lambda: receiver.count("orders~callbacks") == 1, 20, "the callback was sent")
    browser.open(server, "#/topics")
    assert "Only the server" in browser.await_one("button", "Pause orders~callbacks").get_attribute("title")
    browser.click("link", "orders~callbacks", exact=True)
    browser.await_one("heading", "orders~callbacks", exact=True)
    for name in "Pause", "Change Rate":
        assert "Only the server" in browser.await_one("button", name).get_attribute("title")
    browser.click("link", "1", exact=True)
    browser.await_text("paid~delivered")
    browser.click("link", "paid~delivered")
    browser.await_one("heading", "paid~delivered")
    assert "Only the server" in browser.await_one("button", "Edit").get_attribute("title")
    job = browser.route()
    browser.open(server, job)  # loads the page anew, as from a bookmark
    browser.click("button", "Run now")
    until(lambda: receiver.count("orders~callbacks") == 2, 20, "the callback is sent again")
    browser.open(server, "#/jobs")
    browser.fill("Topic", "orders~callbacks", exact=True)
    browser.press(Keys.ENTER)
    browser.await_one("link", "paid~delivered")


def test_limits_say_how_much_of_them_is_used(browser, world):
    settings(world.server, "slow", maxInFlight=4)
    browser.open(world.server, "#/topics")
    browser.await_text("3 of 4 at once")
    browser.await_text("0 of 500 a second")
    browser.open(world.server, "#/topics/slow")
    browser.await_text("3 of 4 at once")
    world.server.request("DELETE", "/topics/slow")


def test_a_topic_says_how_much_of_its_quota_is_used(browser, server):
    settings(server, "orders", maxPending=5)
    for number in range(2):
        server.schedule(topic="orders", jobId=str(number), url="http://127.0.0.1:9/", delay=LATER)
    browser.open(server, "#/topics/orders")
    browser.await_text("2 of 5 jobs")


def test_topics_are_filtered_while_typing(browser, server):
    for name in "orders", "mail", "mail-eu":
        server.schedule(topic=name, url="http://127.0.0.1:9/", delay=LATER)
    browser.open(server, "#/topics")
    browser.await_text("orders", "mail", "mail-eu")
    browser.fill("Filter", "mail")
    browser.await_none("link", "orders", exact=True)
    browser.await_one("link", "mail-eu")
    assert "filter=mail" in browser.route()
    browser.click("link", "mail-eu")
    browser.await_one("heading", "mail-eu", exact=True)


def test_a_topic_is_paused_and_resumed(browser, server):
    server.schedule(topic="mail", url="http://127.0.0.1:9/", delay=LATER)
    browser.open(server, "#/topics")
    browser.click("button", "Pause mail")
    until(lambda: own_settings(server, "mail") == {"paused": True}, 10, "the topic is paused")
    browser.click("button", "Resume mail")
    until(lambda: own_settings(server, "mail") == {}, 10, "the topic is resumed")


def test_a_setting_is_saved_and_says_where_it_comes_from(browser, server):
    settings(server, "orders-*", timeout=20, maxInFlight=7)
    browser.open(server, "#/topics/orders-eu")
    row = browser.await_one("row", "Timeout")
    assert "20s" in row.text and "orders-*" in row.text
    browser.click("button", "Change Timeout")
    browser.fill("Timeout", "1m")
    browser.click("button", "Save")
    until(lambda: own_settings(server, "orders-eu") == {"timeout": 60}, 10, "the setting is saved")
    until(lambda: "this topic" in browser.await_one("row", "Timeout").text, 10, browser.shown)
    browser.click("button", "Change Timeout")
    browser.click("button", "Remove own value")
    until(lambda: own_settings(server, "orders-eu") == {}, 10, "the pattern's value holds again")
    until(lambda: "orders-*" in browser.await_one("row", "Timeout").text, 10, browser.shown)


def test_settings_without_a_value_show_what_holds(browser, server):
    browser.open(server, "#/topics/orders")
    for setting, text in ("Maximum attempts at once", "--max-in-flight-topic"), ("Order", "due"), ("Retry schedule", "--retry-schedule"):
        row = browser.await_one("row", setting)
        assert text in row.text and "default" in row.text


def test_a_wrong_setting_is_explained_where_it_was_typed(browser, server):
    browser.open(server, "#/topics/orders")
    browser.click("button", "Change Rate")
    browser.fill("Rate", "many")
    browser.click("button", "Save")
    browser.await_text("Expected attempts/seconds")
    browser.fill("Rate", "10/1 burst 5")
    browser.click("button", "Save")
    until(lambda: own_settings(server, "orders") == {"rate": {"jobs": 10, "per": 1, "burst": 5}}, 10, "the setting is saved")
    browser.click("button", "Change Weight")
    browser.fill("Weight", "1000")
    browser.click("button", "Save")
    browser.await_text("1 to 100")
    browser.expect(" 400 ")


@pytest.mark.parametrize("title, name, value, wrong, fault", [
    ("Many jobs in one request", "batch", {"size": 50, "wait": 2}, {"size": 500}, "1 to 100"),
    ("Windows", "windows", [{"days": ["mon"], "from": "09:00", "to": "17:00", "timezone": "Europe/Berlin"}], [{"from": "09:00"}], "needs from and to"),
    ("Alerts", "alerts", [{"on": "died", "url": "http://127.0.0.1:9/"}], [{"on": "dies", "url": "http://127.0.0.1:9/"}], "must be died")])
def test_batches_windows_and_alerts_are_typed_as_json(browser, server, title, name, value, wrong, fault):
    browser.open(server, "#/topics/orders")
    assert "default" in browser.await_one("row", title).text
    browser.click("button", f"Change {title}")
    browser.fill(title, "[{")
    browser.click("button", "Save")
    browser.await_true("document.querySelector('dialog .field-error')")
    browser.fill(title, json.dumps(wrong))
    browser.click("button", "Save")
    browser.await_text(fault)
    assert own_settings(server, "orders") == {}
    browser.fill(title, json.dumps(value))
    browser.click("button", "Save")
    until(lambda: own_settings(server, "orders") == {name: value}, 10, "the setting is saved")
    until(lambda: "this topic" in browser.await_one("row", title).text, 10, browser.shown)
    browser.click("button", f"Change {title}")
    assert json.loads(browser.await_one("field", title).get_attribute("value")) == value
    browser.click("button", "Remove own value")
    until(lambda: own_settings(server, "orders") == {}, 10, "the setting is removed")
    browser.expect(" 400 ")


def test_a_test_of_alerts_is_sent(browser, server):
    settings(server, "orders", alerts=[{"on": "died", "url": "http://127.0.0.1:9/"}, {"on": "overdue", "url": "http://127.0.0.1:9/"}])
    browser.open(server, "#/topics/orders")
    browser.click("button", "Change Alerts")
    browser.click("button", "Send a test of each saved alert")
    browser.await_text("2 tests are sent.")
    until(lambda: server.get("/jobs/count?topic=duepost~alerts").expect(200)["count"] == 2, 10, "two jobs")


def test_a_topic_says_that_its_batch_or_its_windows_hold_it(browser, server):
    settings(server, "orders", batch={"size": 50, "wait": 60})
    server.schedule(topic="orders", jobId="first", url="http://127.0.0.1:9/")
    browser.open(server, "#/topics/orders")
    browser.await_text("The jobs wait for others, which are sent in the same request.", "Until")
    noon = time.gmtime(time.time() + 12 * 3600)  # never open within hours from now
    settings(server, "orders", windows=[{"from": time.strftime("%H:00", noon), "to": time.strftime("%H:59", noon)}])
    browser.open(server, "#/topics/orders")
    browser.await_text("The windows of the topic are closed.", "Until")
    browser.click("link", "1", exact=True)
    browser.click("link", "first")
    browser.await_text("the windows of its topic are closed")


def test_hidden_headers_stay_when_another_is_added(browser, server, receiver):
    settings(server, "orders", headers={"Authorization": "Bearer s3cret", "X-Old": "old"})
    browser.open(server, "#/topics/orders")
    browser.click("button", "Change Headers")
    browser.fill("Headers", '{"Authorization": "***", "X-New": "new"}')
    browser.click("button", "Save")
    until(lambda: set(own_settings(server, "orders")["headers"]) == {"Authorization", "X-New"}, 10, "the headers are changed")
    server.schedule(topic="orders", jobId="sent", url=receiver.url())
    [arrival] = await_arrivals(receiver, 1)
    assert arrival.headers["authorization"] == "Bearer s3cret" and arrival.headers["x-new"] == "new" and "x-old" not in arrival.headers


def test_the_burst_of_a_rate_is_removed(browser, server):
    settings(server, "orders", rate={"jobs": 10, "per": 1, "burst": 5})
    browser.open(server, "#/topics/orders")
    browser.click("button", "Change Rate")
    browser.fill("Rate", "10/1")
    browser.click("button", "Save")
    until(lambda: own_settings(server, "orders") == {"rate": {"jobs": 10, "per": 1, "burst": 1}}, 10, "the burst is that without one")


def test_a_change_of_others_is_not_overwritten_unseen(browser, server):
    settings(server, "orders", timeout=20)
    browser.open(server, "#/topics/orders")
    browser.click("button", "Change Timeout")
    settings(server, "orders", timeout=30)
    browser.fill("Timeout", "1m")
    browser.click("button", "Save")
    browser.await_text("This setting has changed since you opened it")
    assert own_settings(server, "orders") == {"timeout": 30}


# ---- schedules ----

def test_a_cron_expression_is_explained_while_typing(browser, server):
    browser.open(server, "#/schedules")
    browser.click("button", "New schedule")
    browser.fill("Topic (required)", "reports", exact=True)
    browser.fill("Name", "nightly")
    browser.fill("Cron expression", "30 4 * * mon-fri")
    browser.await_text("at 04:30, on Monday to Friday")
    until(lambda: len(browser.all(".next-times li")) == 5, 10, browser.shown)
    browser.fill("Cron expression", "30 25 * * *")
    browser.await_true("document.querySelector('.next-times .field-error')")
    browser.fill("Cron expression", "0 5 * * *")
    browser.await_text("at 05:00, every day")
    browser.click("button", "Save")
    browser.await_one("heading", "nightly", exact=True)
    browser.await_text("at 05:00, every day")
    schedule = server.get("/schedules/reports/nightly").expect(200)
    assert schedule["cron"] == "0 5 * * *" and schedule["timezone"] == "Europe/Berlin"
    browser.expect(" 400 ")


def test_windows_of_a_schedule_are_explained_while_typing(browser, server):
    browser.open(server, "#/schedules")
    browser.click("button", "New schedule")
    browser.fill("Cron expression", "*/30 * * * *")
    until(lambda: len(browser.all(".next-times li")) == 5, 10, browser.shown)
    browser.script("document.querySelector('dialog details').open = true")
    browser.fill("Windows", '[{"from": "09:00", "to": "10:00"}]')
    browser.await_true("[...document.querySelectorAll('.next-times li')].every(item => /09:(00|30)/.test(item.textContent))")
    assert len(browser.all(".next-times li")) == 5
    browser.fill("Windows", '[{"from": "09:00"}]')
    browser.await_text("needs from and to")
    browser.expect(" 400 ")


def test_a_schedule_is_run_paused_changed_and_deleted(browser, server):
    recurring(server, "reports", "daily", cron="0 4 * * *", job={"url": "http://127.0.0.1:9/", "retry": 0})
    browser.open(server, "#/schedules/reports/daily")
    browser.click("button", "Run now")
    browser.await_text("daily~run-")
    browser.click("button", "Pause")
    until(lambda: server.get("/schedules/reports/daily").expect(200)["paused"], 10, "the schedule is paused")
    browser.click("button", "Change")
    browser.fill("Cron expression", "15 4 * * *")
    browser.click("button", "Save")
    until(lambda: server.get("/schedules/reports/daily").expect(200)["cron"] == "15 4 * * *", 10, "the schedule is changed")
    assert server.get("/schedules/reports/daily").expect(200)["paused"]
    browser.await_none("dialog")
    browser.click("button", "Delete")
    browser.click("button", "Undo")
    assert server.get("/schedules/reports/daily").expect(200)
    browser.open(server, "#/schedules/reports/daily")
    browser.click("button", "Delete")
    until(lambda: server.request("GET", "/schedules/reports/daily").status == 404, 15, "the schedule is deleted")
    browser.expect(" 404 ")


def test_a_schedule_that_was_not_delivered_in_time_says_so(browser, server, receiver):
    """The form sets expectBy; the page and the list show that nothing was delivered, and the page when something was."""
    recurring(server, "reports", "often", every="1s", job={"url": "http://127.0.0.1:9/", "retry": 0})
    browser.open(server, "#/schedules/reports/often")
    browser.click("button", "Change")
    browser.script("document.querySelector('dialog details').open = true")
    browser.fill("Expect by", "1s")
    browser.click("button", "Save")
    until(lambda: server.get("/schedules/reports/often").expect(200).get("expectBy") == 1, 10, "the schedule is changed")
    until(lambda: server.get("/schedules/reports/often").expect(200)["missed"], 20, "it is missed")
    browser.open(server, "#/schedules")
    browser.await_text("not delivered in time")
    browser.open(server, "#/schedules/reports/often")
    browser.await_text("1 s after it is due", "missed")
    server.request("PATCH", "/schedules/reports/often", json.dumps({"job": {"url": receiver.url()}}), {"Content-Type": "application/merge-patch+json"}).expect(200)
    until(lambda: "deliveredAt" in server.get("/schedules/reports/often").expect(200), 20, "it is delivered")
    browser.open(server, "#/schedules/reports/often")
    browser.await_text("Last delivery")


def test_an_edit_of_a_schedule_keeps_hidden_values(browser, server, receiver):
    recurring(server, "reports", "daily", cron="0 4 * * *",
              job={"url": receiver.url("/hook?key=s3cret"), "headers": {"Authorization": "Bearer s3cret"}, "body": {"kind": "daily"}})
    browser.open(server, "#/schedules/reports/daily")
    browser.click("button", "Change")
    browser.fill("Times", "fixed interval")
    browser.fill("Every", "2h")
    browser.click("button", "Save")
    until(lambda: server.get("/schedules/reports/daily").expect(200).get("every") == 7200, 10, "the schedule is changed")
    browser.await_none("dialog")
    browser.click("button", "Run now")
    [arrival] = await_arrivals(receiver, 1)
    assert arrival.headers["authorization"] == "Bearer s3cret" and arrival.target == "/hook?key=s3cret"


def test_the_jobs_of_a_schedule_are_linked(browser, server):
    recurring(server, "reports", "daily", cron="0 4 * * *", job={"url": "http://127.0.0.1:9/", "retrySchedule": [3600]})
    browser.open(server, "#/schedules/reports/daily")
    browser.await_text("No job of this schedule is waiting")
    browser.click("button", "Run now")
    browser.click("link", "daily~run-")
    browser.await_one("heading", "daily~run-")


def test_the_latest_jobs_of_a_schedule_are_the_newest_first_with_their_times(browser, server):
    recurring(server, "reports", "daily", cron="0 4 * * *", job={"url": "http://127.0.0.1:9/", "retrySchedule": [3600]})
    ids = [server.request("POST", "/schedules/reports/daily/run").expect(202)["jobId"] for _ in range(3)]
    browser.open(server, "#/schedules/reports/daily")
    browser.await_text(*ids)
    assert browser.script("return [...document.querySelectorAll('ul.plain li a')].map(one => one.innerText)") == ids[::-1]
    assert len(browser.all("ul.plain li time")) == 3


def test_a_schedule_whose_deletion_is_undone_stays_on_the_page(browser, server):
    recurring(server, "reports", "daily", cron="0 4 * * *", job={"url": "http://127.0.0.1:9/"})
    browser.open(server, "#/schedules/reports/daily")
    browser.click("button", "Delete")
    browser.click("button", "Undo")
    browser.await_none("button", "Undo")
    assert browser.route() == "#/schedules/reports/daily"
    browser.await_one("heading", "daily", exact=True)
    assert server.get("/schedules/reports/daily").expect(200)


def test_a_limited_token_sees_the_schedules_of_its_topics(browser, start):
    tokens = TokenFile()
    shop = tokens.add("shop", scopes=["schedule", "read"], topics="orders-*")
    server = start("--tokens", str(tokens.path), token=tokens.add("ops"))
    for topic in "orders-eu", "mail":
        recurring(server, topic, f"of-{topic}", cron="0 4 * * *", job={"url": "http://127.0.0.1:9/"})
    server.schedule(topic="orders-eu", url="http://127.0.0.1:9/", delay=LATER)
    browser.open(server, "#/schedules")
    browser.fill("Token", shop)
    browser.click("button", "Log in")
    browser.await_one("link", "of-orders-eu")
    browser.await_no_text("of-mail")
    browser.driver.get("about:blank")
    browser.expect(" 401 ")


# ---- groups, receivers, pull topics, tokens ----

def test_a_limit_is_made_changed_paused_and_deleted(browser, server):
    browser.open(server, "#/limits")
    browser.await_text("No limits yet")
    browser.click("button", "New limit")
    browser.fill("Limit", "stripe")
    browser.fill("Maximum attempts at once", "20")
    browser.fill("Rate", "ten")
    browser.click("button", "Save")
    browser.await_text("Expected attempts/seconds")
    browser.fill("Rate", "100/1")
    browser.click("button", "Save")
    browser.await_text("stripe", "0 of 20", "100/1")
    assert server.get("/limits/stripe").expect(200)["settings"] == {"maxInFlight": 20, "rate": {"jobs": 100, "per": 1, "burst": 1}}
    browser.click("button", "Change stripe")
    browser.fill("Rate", "")
    browser.click("button", "Save")
    until(lambda: server.get("/limits/stripe").expect(200)["settings"] == {"maxInFlight": 20}, 10, "the limit is changed")
    browser.await_none("dialog")
    browser.click("button", "Pause stripe")
    browser.await_one("button", "Resume stripe")
    assert server.get("/limits/stripe").expect(200)["heldBy"] == "paused"
    settings(server, "charges", limit="stripe")
    browser.open(server, "#/topics/charges")
    browser.await_text("Shared limit", "stripe")
    server.request("DELETE", "/topics/charges").expect(200)
    browser.open(server, "#/limits")
    browser.click("button", "Delete stripe")
    until(lambda: server.get("/limits/stripe").status == 404, 15, "the limit is deleted")


def test_keys_of_a_topic_are_shown_changed_and_paused(browser, server):
    settings(server, "tenants", perKey={"maxInFlight": 2})
    server.schedule(topic="tenants", jobId="none", url="http://127.0.0.1:9/", delay=LATER)
    for number in range(3):
        server.schedule(topic="tenants", jobId=str(number), key="acme/1", url="http://127.0.0.1:9/", delay=LATER)
    browser.open(server, "#/topics/tenants")
    browser.await_text("Keys", "acme/1", "0 of 2", "without a key")
    browser.click("button", "Change acme/1")
    browser.fill("Maximum attempts at once", "5")
    browser.fill("Rate", "10/60")
    browser.click("button", "Save")
    browser.await_text("0 of 5", "rate 10/60")
    address = "/topics/tenants/keys/acme%2F1"
    assert server.get(address).expect(200)["settings"] == {"maxInFlight": 5, "rate": {"jobs": 10, "per": 60, "burst": 1}}
    browser.click("button", "Pause acme/1")
    browser.await_one("button", "Resume acme/1")
    assert server.get(address).expect(200)["settings"]["paused"] is True
    browser.click("button", "Remove settings of acme/1")
    until(lambda: server.get(address).expect(200)["settings"] == {}, 10, "the settings are removed")
    browser.click("button", "Set a key")
    browser.fill("Key", "new")
    browser.fill("Weight", "3")
    browser.click("button", "Save")
    until(lambda: server.get("/topics/tenants/keys/new").expect(200)["settings"] == {"weight": 3}, 10, "the key has settings")
    server.request("DELETE", "/topics/tenants/keys/new").expect(200)
    browser.open(server, "#/topics/orders")
    browser.await_text("What waits")
    browser.await_no_text("Set a key")


def test_a_group_is_made_changed_and_deleted(browser, server):
    browser.open(server, "#/groups")
    browser.click("button", "New group")
    browser.fill("Group", "shops")
    browser.click("button", "Add an endpoint")
    for number, name in enumerate(("north", "south"), 1):
        part = browser.await_one("[role=group]", f"endpoint {number}")
        browser.fill("URL", f"https://{name}.example/hook", root=part)
        browser.fill("Headers", "X-From: duepost\nX-Place: here", root=part)
        browser.fill("Name", name, root=part)
    browser.click("button", "Save")
    browser.await_one("row", "shops")
    saved = server.get("/groups/shops").expect(200)["endpoints"]
    assert set(saved) == {"north", "south"} and set(saved["south"]["headers"]) == {"X-From", "X-Place"}
    browser.click("button", "Change shops")
    browser.click("button", "Remove north")
    browser.fill("Name", "west", root=browser.await_one("[role=group]", "south"))
    browser.click("button", "Save")
    browser.await_text("type its hidden headers again")
    browser.fill("Headers", "X-From: duepost", root=browser.await_one("[role=group]", "west"))
    browser.click("button", "Save")
    until(lambda: set(server.get("/groups/shops").expect(200)["endpoints"]) == {"west"}, 10, "the group is changed")
    browser.await_none("dialog")
    browser.click("button", "Delete shops")
    until(lambda: server.request("GET", "/groups/shops").status == 404, 15, "the group is deleted")
    browser.await_text("No groups yet")


def test_an_edit_of_a_group_keeps_hidden_values(browser, server, receiver):
    group(server, "shops", north={"url": receiver.url("/north?key=s3cret"), "headers": {"Authorization": "Bearer s3cret"}}, south={"url": receiver.url("/south")})
    browser.open(server, "#/groups")
    browser.click("button", "Change shops")
    north = browser.await_one("[role=group]", "north")
    assert "***" in browser.await_one("field", "URL", root=north).get_attribute("value")
    assert "s3cret" not in browser.script("return [...document.querySelectorAll('input, textarea')].map(one => one.value).join()")
    browser.fill("Headers", "Authorization: ***\nX-More: 1", root=north)
    browser.fill("Method", "PUT", root=browser.await_one("[role=group]", "south"))
    browser.click("button", "Save")
    until(lambda: server.get("/groups/shops").expect(200)["endpoints"]["south"].get("method") == "PUT", 10, "the group is changed")
    server.schedule(topic="orders", group="shops", body={})
    south, north = sorted(await_arrivals(receiver, 2), key=lambda arrival: arrival.target, reverse=True)
    assert north.target == "/north?key=s3cret" and north.headers["authorization"] == "Bearer s3cret" and north.headers["x-more"] == "1"
    assert south.target == "/south" and south.method == "PUT"


def test_jobs_are_let_through_to_a_receiver(browser, start):
    server = start("--breaker-wait", "10m")
    name = open_breaker(server, "shop")
    browser.open(server, "#/receivers")
    row = browser.await_one("row", name)
    assert "held" in row.text and "connect" in row.text
    browser.click("button", f"Let through jobs to {name}")
    browser.await_text(f"Jobs go to {name} again.")
    browser.driver.get("about:blank")


def test_pull_topics_show_their_workers(browser, world):
    browser.open(world.server, "#/pull")
    browser.await_text("thumbs", "render", "duepost work", "jobs leased: 2")
    names = [cell.text for cell in browser.driver.find_elements("css selector", "thead th")]
    cells = browser.driver.find_elements("xpath", "//tr[.//*[text()='render']]/td | //tr[.//*[text()='render']]/th")
    row = dict(zip(names, (cell.text for cell in cells)))
    assert row["Leases"] == "2" and row["Workers waiting"].isdigit()


def test_tokens_are_listed_without_secrets(browser, start):
    tokens = TokenFile()
    admin = tokens.add("ops")
    tokens.add("shop", scopes=["schedule", "read"], topics="orders-*")
    server = start("--tokens", str(tokens.path), token=admin)
    browser.open(server, "#/tokens")
    browser.fill("Token", admin)
    browser.click("button", "Log in")
    browser.await_text("orders-*", "schedule, read")
    assert "sha256" not in browser.text()
    browser.driver.get("about:blank")
    browser.expect(" 401 ")


def test_the_audit_log_shows_changes_and_filters_them(browser, start):
    tokens = TokenFile()
    ops = tokens.add("ops")
    server = start("--tokens", str(tokens.path), "--history", f"sqlite:{scratch.file('history.sqlite')}", token=ops)
    settings(server, "orders", maxInFlight=3, headers={"X-Key": "canary"})
    settings(server, "orders", maxInFlight=5, headers={"X-Key": "canary"})
    settings(server, "mail", weight=2)
    until(lambda: len(server.get("/audit").expect(200)["lines"]) == 3, 20, "the lines are in the history")
    browser.open(server, "#/audit")
    browser.fill("Token", ops)
    browser.click("button", "Log in")
    browser.await_text("settings replaced", "orders", "mail", "ops", "maxInFlight", "3", "→", "5")
    assert "canary" not in browser.script("return document.querySelector('main').textContent")
    browser.fill("Topic", "mail")
    browser.await_true("document.querySelectorAll('[aria-label=\"Audit log\"] tbody tr').length === 1")
    browser.await_text("weight")
    browser.fill("Action", "job_run")
    browser.await_text("No line matches")
    browser.driver.get("about:blank")
    browser.expect(" 401 ")


def test_without_a_history_the_audit_log_says_so(browser, server):
    browser.open(server, "#/audit")
    browser.await_text("This server keeps no history")
    browser.driver.get("about:blank")
    browser.expect(" 404 ")


def test_a_token_that_may_only_read_changes_nothing(browser, start):
    tokens = TokenFile()
    reader = tokens.add("reader", scopes=["read"])
    server = start("--tokens", str(tokens.path), token=tokens.add("ops"))
    server.schedule(topic="mail", url="http://127.0.0.1:9/", delay=LATER)
    browser.open(server, "#/topics/mail")
    browser.fill("Token", reader)
    browser.click("button", "Log in")
    browser.await_one("button", "Pause")
    until(lambda: browser.await_one("button", "Pause").get_attribute("aria-disabled") == "true", 10, browser.shown)
    assert "admin" in browser.await_one("button", "Pause").get_attribute("title")
    browser.driver.get("about:blank")
    browser.expect(" 401 ")


def test_the_overview_shows_alerts_that_have_begun(browser, server):
    settings(server, "orders", maxPending=1, alerts=[{"on": "quotaReached", "url": f"http://127.0.0.1:9/{i}"} for i in range(2)])
    server.schedule(topic="orders", jobId="a", url="http://127.0.0.1:9/", delay=3600)
    until(lambda: server.get("/alerts").expect(200)["alerts"], 30, "the alert")
    browser.open(server, "#/")
    browser.await_true("document.querySelectorAll('[aria-label=\"Alerts\"] tbody tr').length === 2", seconds=15)
    server.cancel("orders", "a")
    browser.await_true("!document.querySelector('[aria-label=\"Alerts\"]')", seconds=30)
