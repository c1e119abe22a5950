"""The setting alerts: each alert is reported once when it begins and once when it ends, over deaths of the process that decides."""

import json
import secrets
import shutil
import signal
import sqlite3
import ssl

import pytest

import contract
from duepost import run
from patience import until, watch
from receiver import Receiver
from redis_server import free_port, release_port
from test_encryption_settings import key_file
from tls import Authority, Nginx
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}
MINUTE = 60


def put(server, topic, *alerts, **settings):
    return server.request("PUT", f"/topics/{topic}", json.dumps({"alerts": list(alerts), **settings}), JSON)


REPORT = contract.validator(contract.document["webhooks"]["alert"]["post"]["requestBody"]["content"]["application/json"]["schema"])


def reports(receiver, alert=None, state=None):
    """Returns the bodies of the reports that a receiver has got."""
    found = [json.loads(one.body) for one in receiver.of("duepost~alerts")]
    for one in found:
        REPORT.validate(one)
    return [one for one in found if alert in (None, one["alert"]) and state in (None, one["state"])]


def await_reports(receiver, alert, state, count=1, seconds=30):
    until(lambda: len(reports(receiver, alert, state)) >= count, seconds, lambda: f"{alert} is {state}: {reports(receiver)}")
    found = reports(receiver, alert, state)
    assert len(found) == count, found
    return found[-1]


def begun(server):
    return server.get("/alerts").expect(200)["alerts"]


def kill_jobs(server, receiver, topic, count, first=0):
    receiver.script(topic, 410)
    for i in range(first, first + count):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url())
    for i in range(first, first + count):
        server.wait_for_state(topic, str(i), "dead", 30)


def test_deaths_are_one_alert_with_their_number_and_its_end(manual, own):
    server, clock = manual("--breaker", "off")
    put(server, "orders", {"on": "died", "url": own.url()}).expect(200)
    kill_jobs(server, own, "orders", 3)
    fired = await_reports(own, "died", "fired")
    assert fired["topic"] == "orders" and fired["at"] == fired["since"] and 1 <= fired["count"] <= 3 and 1 <= len(fired["jobs"]) <= 3
    kill_jobs(server, own, "orders", 40, first=3)
    until(lambda: begun(server)[0].get("count") == 43, 30, lambda: begun(server))
    assert [one["topic"] for one in begun(server)] == ["orders"]
    clock.advance("4m")
    watch(2, lambda: len(reports(own)) == 1, "the alert has not ended")
    clock.advance("7m")
    ended = await_reports(own, "died", "resolved")
    assert (ended["since"], ended["count"]) == (fired["since"], 43) and begun(server) == []
    kill_jobs(server, own, "orders", 1, first=100)
    assert await_reports(own, "died", "fired", 2)["count"] == 1


def test_many_deaths_are_one_alert(manual, own):
    server, clock = manual("--breaker", "off")
    put(server, "*", {"on": "died", "url": own.url()}).expect(200)
    own.script("orders", 410)
    jobs = [{"topic": "orders", "jobId": str(i), "url": own.url()} for i in range(10000)]
    for i in range(0, len(jobs), 1000):
        server.request("POST", "/jobs", json.dumps(jobs[i:i + 1000]), JSON).expect(207)
    clock.advance("1s")
    until(lambda: begun(server) and begun(server)[0]["count"] == 10000, 120, lambda: begun(server))
    clock.advance("11m")
    assert await_reports(own, "died", "resolved")["count"] == 10000
    assert len(reports(own)) == 2, "one alert for all"


def test_failing_attempts(manual, own):
    server, clock = manual("--breaker", "off", "--retry-schedule", "1h")
    put(server, "orders", {"on": "failing", "url": own.url(), "share": 0.4, "attempts": 10}).expect(200)
    own.script("orders", 500)
    for i in range(9):
        server.schedule(topic="orders", jobId=f"f{i}", url=own.url())
    until(lambda: own.count("orders") == 9, 10, "attempts")
    clock.settle()
    assert reports(own) == [], "there are too few attempts"
    server.schedule(topic="orders", jobId="f9", url=own.url())
    fired = await_reports(own, "failing", "fired")
    assert (fired["attempts"], fired["failed"]) == (10, 10)
    own.script("orders", 200)
    for i in range(20):
        server.schedule(topic="orders", jobId=f"d{i}", url=own.url())
    assert await_reports(own, "failing", "resolved")["attempts"] == 30


def test_overdue_jobs(manual, own):
    server, clock = manual()
    put(server, "orders", {"on": "overdue", "after": "10m", "url": own.url()}, paused=True).expect(200)
    server.schedule(topic="orders", jobId="a", url=own.url())
    clock.advance("9m")
    watch(1.5, lambda: reports(own) == [], "it is not overdue for long enough")
    clock.advance("2m")
    assert await_reports(own, "overdue", "fired")["overdueMs"] >= 11 * MINUTE * 1000
    put(server, "orders", {"on": "overdue", "after": "10m", "url": own.url()}).expect(200)
    assert await_reports(own, "overdue", "resolved")["overdueMs"] == 0


def test_quota(start, own):
    server = start()
    put(server, "orders", {"on": "quotaReached", "url": own.url()}, maxPending=3).expect(200)
    for i in range(2):
        server.schedule(topic="orders", jobId=str(i), url=own.url(), delay=3600)
    server.schedule(topic="orders", jobId="2", url=own.url(), delay=3600)
    fired = await_reports(own, "quotaReached", "fired")
    assert (fired["pending"], fired["maxPending"]) == (3, 3)
    server.cancel("orders", "0")
    assert await_reports(own, "quotaReached", "resolved")["pending"] == 2


def test_breaker(start, own):
    server = start("--breaker-wait", "1s")
    put(server, "*", {"on": "breakerOpened", "url": own.url()}).expect(200)
    port = free_port()
    for i in range(20):
        server.schedule(topic="orders", jobId=str(i), url=f"http://127.0.0.1:{port}/", retry=0)
    fired = await_reports(own, "breakerOpened", "fired")
    assert (fired["receiver"], fired["cause"]) == (f"127.0.0.1:{port}", "connect")
    assert begun(server) == [{"alert": "breakerOpened", "receiver": f"127.0.0.1:{port}", "since": fired["since"]}]
    server.request("POST", f"/receivers/127.0.0.1:{port}/close").expect(200)
    await_reports(own, "breakerOpened", "resolved")
    release_port(port)


def test_an_alert_of_an_unreachable_url_raises_none_and_is_tried_again(start, own):
    server = start("--retry-schedule", "1s,1s,1s,1s,1s,1s,1s,1s,1s,1s", "--breaker-wait", "1s")
    port = free_port()
    down = f"http://127.0.0.1:{port}/hook"
    put(server, "*", {"on": "died", "url": down}, {"on": "breakerOpened", "url": down}, {"on": "failing", "url": down, "attempts": 1}).expect(200)
    kill_jobs(server, own, "orders", 1)
    until(lambda: len(begun(server)) == 2, 30, lambda: begun(server))
    until(lambda: any(job.get("attempts", 0) > 1 for job in server.get("/jobs?topic=duepost~alerts").expect(200)["jobs"]), 30, "a second attempt")
    release_port(port)
    late = Receiver(port=port)
    try:
        until(lambda: {one["alert"] for one in reports(late)} == {"died", "failing"}, 30, lambda: reports(late))
    finally:
        late.stop()
    assert {one["alert"] for one in begun(server)} == {"died", "failing"}


def test_dead_alerts_raise_none(start, own):
    server = start("--breaker", "off")
    refusing = Receiver()
    refusing.script("duepost~alerts", 410)
    try:
        put(server, "*", {"on": "died", "url": refusing.url()}, {"on": "failing", "url": own.url(), "attempts": 1}).expect(200)
        kill_jobs(server, own, "orders", 2)
        until(lambda: server.get("/jobs/count?state=dead&topic=duepost~alerts").expect(200)["count"] == 1, 30, "the alert is dead")
        until(lambda: reports(own), 30, "the other alert")
        watch(11, lambda: {one["topic"] for one in begun(server)} == {"orders"} and len(refusing.of("duepost~alerts")) == 1, lambda: begun(server))
    finally:
        refusing.stop()


def test_alerts_survive_the_death_of_the_owner_of_the_lock(redis, start, own):
    behind = redis()
    first = start("--breaker", "off", redis=behind)
    put(first, "*", {"on": "died", "url": own.url()}, {"on": "quotaReached", "url": own.url()}, maxPending=2).expect(200)
    second = start("--breaker", "off", redis=behind)
    for i in range(2):
        first.schedule(topic="full", jobId=str(i), url=own.url(), delay=3600)
    await_reports(own, "quotaReached", "fired")
    first.kill()
    kill_jobs(second, own, "orders", 1)
    await_reports(own, "died", "fired")
    third = start("--breaker", "off", redis=behind)
    second.cancel("full", "0")
    await_reports(own, "quotaReached", "resolved")
    second.kill()
    until(lambda: "carry_lock_taken" in third.log(), 30, "the third process has the lock")
    third.schedule(topic="full", jobId="9", url=own.url(), delay=3600)
    await_reports(own, "quotaReached", "fired", 2)
    assert len(reports(own, "died")) == 1, "no alert is reported again by another process"


def test_a_frozen_process_does_not_report_old_facts(redis, start, own):
    behind = redis()
    first = start(redis=behind)
    put(first, "*", {"on": "quotaReached", "url": own.url()}, maxPending=1).expect(200)
    second = start(redis=behind)
    first.schedule(topic="full", jobId="a", url=own.url(), delay=3600)
    await_reports(own, "quotaReached", "fired")
    first.process.send_signal(signal.SIGSTOP)
    second.cancel("full", "a")
    await_reports(own, "quotaReached", "resolved")
    first.process.send_signal(signal.SIGCONT)
    watch(7, lambda: len(reports(own)) == 2 and begun(second) == [], lambda: reports(own))


def test_a_rule_that_is_removed_ends_without_a_report(start, own):
    server = start()
    put(server, "orders", {"on": "quotaReached", "url": own.url()}, maxPending=1).expect(200)
    server.schedule(topic="orders", jobId="a", url=own.url(), delay=3600)
    await_reports(own, "quotaReached", "fired")
    assert server.request("DELETE", "/topics/orders").status in (200, 204)
    until(lambda: begun(server) == [], 30, lambda: begun(server))
    assert len(reports(own)) == 1


def test_slack(manual, own):
    server, _ = manual("--breaker", "off")
    put(server, "orders", {"on": "died", "url": own.url() + "?secret=1", "form": "slack"}).expect(200)
    own.script("orders", 410)
    server.schedule(topic="orders", jobId='<b>&"é"', url=own.url())
    until(lambda: own.count("duepost~alerts") == 1, 30, "the alert")
    assert json.loads(own.of("duepost~alerts")[0].body) == {"text": 'duepost, fired: orders: 1 job died: &lt;b&gt;&amp;"é"'}
    shown = server.get("/topics/orders").expect(200)["settings"]["alerts"]
    assert shown == [{"on": "died", "url": own.url() + "?***", "form": "slack"}]


def test_alerts_are_signed(start, own):
    server = start()
    put(server, "duepost", secrets=["whsec_" + "A" * 32]).expect(200)
    put(server, "orders", {"on": "died", "url": own.url()}).expect(200)
    server.request("POST", "/topics/orders/alerts/test").expect(200)
    until(lambda: own.count("duepost~alerts") == 1, 10, "the test")
    assert own.of("duepost~alerts")[0].headers["webhook-signature"].startswith("v1,")


def test_the_history_is_behind(start, own, tmp_path):
    history = tmp_path / "history.db"
    server = start("--history", f"sqlite:{history}")
    put(server, "*", {"on": "historyBehind", "after": "2s", "url": own.url()}).expect(200)
    blocker = sqlite3.connect(history, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    server.schedule(topic="orders", jobId="a", url=own.url())
    fired = await_reports(own, "historyBehind", "fired", seconds=60)
    assert fired["shard"] == "0" and fired["behindMs"] >= 2000
    blocker.execute("ROLLBACK")
    await_reports(own, "historyBehind", "resolved", seconds=90)


def test_durability_is_lost(redis, start, own):
    behind = redis(options=("--appendonly", "yes", "--appendfsync", "always"))
    server = start("--durability", "fsync", redis=behind)
    put(server, "*", {"on": "durabilityLost", "url": own.url()}).expect(200)
    behind.command("CONFIG", "SET", "appendfsync", "everysec")
    assert await_reports(own, "durabilityLost", "fired", seconds=60)["shard"] == "0"
    behind.command("CONFIG", "SET", "appendfsync", "always")
    await_reports(own, "durabilityLost", "resolved", seconds=60)


def test_the_certificate_ends(start, own, tmp_path):
    authority = Authority()
    files = {name: tmp_path / name for name in ("cert.pem", "key.pem")}

    def put_certificate(name):
        for file, end in ("cert.pem", "pem"), ("key.pem", "key"):
            shutil.copy(authority.directory / f"{name}.{end}", files[file])
            files[file].chmod(0o600)
    authority.issue("soon", "IP:127.0.0.1", days=2)
    authority.issue("later", "IP:127.0.0.1", days=40)
    put_certificate("soon")
    server = start("--tls-cert", str(files["cert.pem"]), "--tls-key", str(files["key.pem"]), tls=ssl.create_default_context(cafile=authority.certificate))
    put(server, "*", {"on": "certificateEnds", "before": "30d", "url": own.url()}).expect(200)
    fired = await_reports(own, "certificateEnds", "fired")
    assert fired["text"] in ("the TLS certificate of duepost ends in 47 hours", "the TLS certificate of duepost ends in 48 hours")
    put_certificate("later")
    server.reload()
    await_reports(own, "certificateEnds", "resolved")


@pytest.mark.parametrize("way", [(), ("--plain-http", "libcurl"), ("--encryption-keys", "")])
def test_the_certificate_of_a_receiver_ends(redis, start, own, way):
    authority = Authority()
    if "--encryption-keys" in way:
        way = (way[0], key_file(secrets.token_hex(32)))
    for name, days in ("soon", 2), ("later", 40):
        authority.issue(name, "IP:127.0.0.1", days=days)
    behind, options = redis(), ("--receiver-ca", str(authority.certificate), "--retry-schedule", "1h", "--breaker-wait", "1s", *way)
    server = start(*options, redis=behind)
    put(server, "*", {"on": "certificateEnds", "before": "30d", "url": own.url()}).expect(200)
    front = Nginx(authority, "soon", own)
    try:
        name = f"127.0.0.1:{front.port}"
        for number in range(3):
            server.schedule(topic="orders", jobId=str(number), url=front.url())
        fired = await_reports(own, "certificateEnds", "fired")
        assert fired["receiver"] == name and "shard" not in fired
        assert fired["text"] in [f"{name}: its TLS certificate ends in {hours} hours" for hours in (47, 48)]
        assert begun(server) == [{"alert": "certificateEnds", "receiver": name, "since": fired["since"]}]
        # another process takes over; nothing is reported again
        server.kill()
        server = start(*options, redis=behind)
        until(lambda: "carry_lock_taken" in server.log(), 30, "the second process has the lock")
        server.schedule(topic="orders", jobId="again", url=front.url())
        until(lambda: own.count("orders") == 4, 20, "the job")
        watch(7, lambda: len(reports(own)) == 1, "it is the same alert")
        # the receiver fails, so the list of impaired receivers has it
        own.script("orders", 503)
        server.schedule(topic="orders", jobId="failing", url=front.url(), retry=0)
        until(lambda: server.get("/receivers").expect(200)["receivers"], 20, "it is impaired")
        shown, = [one for one in server.get("/receivers").expect(200)["receivers"] if "certificateEndsAt" in one]
        assert shown["certificateEndsAt"] > fired["at"] and shown["receiver"] == name
        own.script("orders", 200)
        # renewed
        for end in "pem", "key":
            shutil.copy(authority.directory / f"later.{end}", authority.directory / f"soon.{end}")
        port = front.port
        front.reload()
        until(lambda: server.schedule(topic="orders", url=f"https://127.0.0.1:{port}/hook") and reports(own, "certificateEnds", "resolved"), 60,
              lambda: reports(own))
        assert "another TLS certificate" in await_reports(own, "certificateEnds", "resolved")["text"] and begun(server) == []
    finally:
        front.stop()


@pytest.mark.parametrize("alerts, field", [
    ("died", "alerts"), ([1], "alerts"), ([{}], "alerts.on"), ([{"on": "died"}], "alerts.url"), ([{"on": "dies", "url": "http://127.0.0.1/"}], "alerts.on"),
    ([{"on": "died", "url": "ftp://x/"}], "alerts.url"), ([{"on": "died", "url": "http://10.0.0.1/"}], "alerts.url"),
    ([{"on": "died", "url": "http://127.0.0.1/", "form": "xml"}], "alerts.form"), ([{"on": "died", "url": "http://127.0.0.1/", "after": 5}], "alerts.after"),
    ([{"on": "overdue", "url": "http://127.0.0.1/", "after": "0s"}], "alerts.after"), ([{"on": "failing", "url": "http://127.0.0.1/", "share": 2}], "alerts.share"),
    ([{"on": "died", "url": "http://127.0.0.1/", "attempt": 5}], "alerts.attempt"), ([{"on": "breakerOpened", "url": "http://127.0.0.1/"}], "alerts.on"),
    ([{"on": "died", "url": "http://127.0.0.1/"}] * 17, "alerts"),
])
def test_wrong_alerts_are_refused(server, topic, alerts, field):
    reply = server.request("PUT", f"/topics/{topic}", json.dumps({"alerts": alerts}), JSON, check=False)
    assert field in {error["field"] for error in reply.expect(400)["errors"]}
    assert server.get(f"/topics/{topic}").expect(200)["settings"] == {}


def test_trying_alerts_out(start, own):
    server = start()
    server.request("POST", "/topics/orders/alerts/test").expect(404)
    put(server, "*", {"on": "died", "url": own.url()}, {"on": "breakerOpened", "url": own.url() + "?x=1"}).expect(200)
    for name in "orders", "*":
        jobs = server.request("POST", f"/topics/{name}/alerts/test").expect(200)["jobs"]
        assert [(job["on"], job["url"]) for job in jobs] == [("died", own.url()), ("breakerOpened", own.url() + "?***")]
    until(lambda: len(reports(own, state="test")) == 4, 10, lambda: reports(own))
    assert {one["topic"] for one in reports(own)} == {"orders", "*"}
    server.request("GET", "/topics/orders/alerts/test").expect(405)
    server.request("POST", "/alerts").expect(405)
    server.get("/alerts?x=1", ).expect(400)
    server.request("POST", "/topics/orders/alerts/test?x=1").expect(400)


def test_the_jobs_of_alerts_are_bounded(start, own):
    server = start("--breaker", "off")
    port = free_port()
    put(server, "orders", *[{"on": "overdue", "after": 60 + i, "url": f"http://127.0.0.1:{port}/"} for i in range(16)]).expect(200)
    for _ in range(62):
        server.request("POST", "/topics/orders/alerts/test").expect(200)
    server.request("POST", "/topics/orders/alerts/test").expect(409)
    assert sum(server.get("/topics/duepost~alerts").expect(200)["jobs"].values()) == 1000
    release_port(port)


# ---- the dead man's switch ----

def beats(receiver):
    return [one for one in receiver.of("") if one.target == "/beat"]


def test_the_heartbeat_goes_on_with_another_process(redis, start, own):
    behind = redis()
    options = ("--heartbeat-url", own.url("/beat"), "--heartbeat-every", "1s")
    first = start(*options, redis=behind)
    until(lambda: len(beats(own)) >= 3, 20, "heartbeats")
    one = beats(own)[0]
    assert (one.method, one.body) == ("GET", b"") and one.headers["user-agent"].startswith("duepost/")
    assert first.get("/jobs/count").expect(200)["count"] == 0, "a heartbeat is no job"
    second = start(*options, redis=behind)
    first.kill()
    at_death = len(beats(own))
    until(lambda: len(beats(own)) >= at_death + 3, 30, "heartbeats of the other process")
    assert "carry_lock_taken" in second.log()
    second.kill()
    at_death = len(beats(own))
    watch(3, lambda: len(beats(own)) == at_death, "no process is left")


def test_no_heartbeat_without_redis(redis, start, own):
    behind = redis()
    server = start("--heartbeat-url", own.url("/beat"), "--heartbeat-every", "1s", redis=behind)
    until(lambda: len(beats(own)) >= 2, 20, "heartbeats")
    behind.freeze()
    until(lambda: server.get("/readyz").status == 503, 20, "Redis is away")
    server.get("/alerts").expect(503)
    server.request("POST", "/topics/orders/alerts/test").expect(503)
    stopped = len(beats(own))
    watch(4, lambda: len(beats(own)) == stopped, "no heartbeat while Redis is away")
    behind.thaw()
    until(lambda: len(beats(own)) > stopped, 30, "heartbeats again")


def test_a_heartbeat_that_is_refused_is_logged_once(start, own):
    own.script("", 500)
    server = start("--heartbeat-url", own.url("/beat"), "--heartbeat-every", "1s")
    until(lambda: len(beats(own)) >= 3, 20, "heartbeats")
    assert server.log().count("event=heartbeat_failed") == 1 and own.url("/beat") not in server.log().split("heartbeat_failed")[1].splitlines()[0]
    own.script("", 200)
    until(lambda: "event=heartbeat_restored" in server.log(), 20, "it is logged")


def test_wrong_heartbeat_urls_are_refused():
    done = run("--heartbeat-url", "hc-ping.com/1", "--data", "unused")
    assert done.returncode == 2 and "--heartbeat-url: the url" in done.stderr, done.stderr


def test_alerts_are_set_at_the_command_line(start, own):
    server = start()
    alerts = [{"on": "died", "url": own.url()}, {"on": "overdue", "after": "10m", "url": own.url(), "form": "slack"}]
    done = run("set", "*", f"alerts={json.dumps(alerts)}", "--server", server.url)
    assert done.returncode == 0, done.stderr
    assert server.get("/topics/*").expect(200)["settings"]["alerts"] == [alerts[0], {**alerts[1], "after": 600}]


def test_a_token_of_some_topics_sees_their_alerts_only(start, own):
    tokens = TokenFile()
    shop, all_topics = tokens.add("shop", ["read", "admin"], topics="orders"), tokens.add("all")
    server = start("--tokens", tokens.path, token=all_topics)
    put(server, "*", {"on": "quotaReached", "url": own.url()}, maxPending=1).expect(200)
    for name in "orders", "mail":
        server.schedule(topic=name, jobId="a", url=own.url(), delay=3600)
    until(lambda: len(begun(server)) == 2, 30, lambda: begun(server))
    limited = server.with_token(shop)
    assert [one["topic"] for one in begun(limited)] == ["orders"]
    limited.request("POST", "/topics/mail/alerts/test").expect(403)
    limited.request("POST", "/topics/orders/alerts/test").expect(200)
