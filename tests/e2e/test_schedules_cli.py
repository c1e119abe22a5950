"""The command duepost schedules."""

import json

from patience import until
from test_cli import ask, rows

# Fires on 29 February only, so no job is created while the test runs.
RARELY = "30 4 29 feb *"


def definition(server, topic, name):
    return server.get(f"/schedules/{topic}/{name}").expect(200)


def test_a_schedule_is_set_and_shown(server, receiver, topic):
    url = receiver.url()
    set_it = ["schedules", "set", f"{topic}/a:1", "--cron", RARELY, "--timezone", "Europe/Berlin", "--start-at", "2080-01-01T00:00:00Z",
              "--end-at", "2090-01-01T00:00:00Z", "--jitter", "1m30s", "--misfire", "all", "--grace", "5m", "--overlap", "skip", "--expect-by", "10m",
              "--url", url, "--method", "PUT", "--header", "Content-Type: text/plain", "--label", "x", "--label", "y", "--retry", "2",
              "--ttl", "1h", "--timeout", "10s", "--body", '{"a" : 1}']
    line = ask(server, *set_it)
    assert line.startswith(f"{topic}/a:1 is next due in ") and line.endswith(", at 2080-02-29T03:30:00.000Z\n")
    shown = json.loads(ask(server, "schedules", "show", f"{topic}/a:1"))
    assert shown == definition(server, topic, "a%3A1")
    assert {name: shown[name] for name in ("cron", "timezone", "startAt", "endAt", "jitter", "misfire", "grace", "overlap", "expectBy", "paused")} == {
        "cron": RARELY, "timezone": "Europe/Berlin", "startAt": "2080-01-01T00:00:00.000Z", "endAt": "2090-01-01T00:00:00.000Z",
        "jitter": 90, "misfire": "all", "grace": 300, "overlap": "skip", "expectBy": 600, "paused": False}
    assert shown["job"] == {"url": url, "method": "PUT", "headers": {"Content-Type": "text/plain"}, "labels": ["x", "y"], "retry": 2,
                            "ttl": 3600, "timeout": 10, "body": {"a": 1}}
    assert json.loads(ask(server, *set_it, "--json"))["next"][0] == "2080-02-29T03:30:00.000Z"
    ask(server, "schedules", "delete", f"{topic}/a:1")


def test_schedules_are_listed(server, receiver, topic):
    ask(server, "schedules", "set", f"{topic}/b", "--every", "100d", "--url", receiver.url(), "--paused")
    ask(server, "schedules", "set", f"{topic}/c", "--cron", RARELY, "--url", receiver.url())
    table = ask(server, "schedules", "--topic", topic).splitlines()
    assert table[0].split() == ["TOPIC", "SCHEDULE", "TIMES", "NEXT", "LAST", "OUTCOME"]
    by_name = {line.split()[1]: line for line in table[1:]}
    assert set(by_name) == {"b", "c"}
    assert "every 100d" in by_name["b"] and "paused" in by_name["b"]
    assert f"{RARELY} UTC" in by_name["c"] and "-02-29T04:30:00.000Z" in by_name["c"]
    assert {entry["scheduleId"] for entry in json.loads(ask(server, "schedules", "--topic", topic, "--json"))} == {"b", "c"}
    assert len(rows(ask(server, "schedules", "--topic", topic, "--limit", "1"))) == 2
    listed = [entry["scheduleId"] for entry in json.loads(ask(server, "schedules", "--json")) if entry["topic"] == topic]
    assert sorted(listed) == ["b", "c"]
    for options, names in ((("--paused",), ["b"]), (("--next-after", "+1h"), ["c"]), (("--next-before", "+1h"), []), (("--label", "none"), [])):
        assert [entry["scheduleId"] for entry in json.loads(ask(server, "schedules", "--topic", topic, "--json", *options))] == names, options
    for name in ("b", "c"):
        ask(server, "schedules", "delete", f"{topic}/{name}")


def test_a_schedule_is_paused_resumed_run_and_deleted(server, receiver, topic):
    ask(server, "schedules", "set", f"{topic}/d", "--cron", RARELY, "--url", receiver.url(), "--body", "[1]")
    assert ask(server, "schedules", "pause", f"{topic}/d") == f"{topic}/d is paused\n"
    assert definition(server, topic, "d")["paused"] is True
    name = ask(server, "schedules", "run", f"{topic}/d").strip()
    until(lambda: receiver.count(topic) == 1, 10, "the delivery")
    assert f"{topic}/{receiver.of(topic)[0].job_id}" == name and name.startswith(f"{topic}/d~run-")
    assert ask(server, "schedules", "resume", f"{topic}/d").startswith(f"{topic}/d is next due in ")
    assert ask(server, "schedules", "delete", f"{topic}/d") == f"{topic}/d is deleted\n"
    assert "404" in ask(server, "schedules", "show", f"{topic}/d", code=1)


def test_a_run_under_a_key_is_made_once(server, receiver, topic):
    ask(server, "schedules", "set", f"{topic}/k", "--cron", RARELY, "--url", receiver.url())
    keys = ["a key, with spaces", "another"]
    made = [[ask(server, "schedules", "run", f"{topic}/k", "--idempotency-key", key) for _ in range(2)] for key in keys]
    assert made[0][0] == made[0][1] != made[1][0] == made[1][1]
    again = server.request("POST", f"/schedules/{topic}/k/run", headers={"Idempotency-Key": keys[0]}).expect(202)
    assert f"{topic}/{again['jobId']}\n" == made[0][0]
    until(lambda: receiver.count(topic) == 2, 10, "two deliveries")
    for key in ("", "a\nb", "ä", "a" * 256):
        assert "--idempotency-key: expected 1 to 255 visible ASCII characters" in ask(server, "schedules", "run", f"{topic}/k", "--idempotency-key", key, code=2)
    assert "422" in ask(server, "schedule", topic, "--url", receiver.url(), "--idempotency-key", keys[0], code=1)
    ask(server, "schedules", "delete", f"{topic}/k")


def test_wrong_usage_is_named(server, topic):
    name = f"{topic}/e"
    for words, fault, code in [
        (["set", name, "--cron", "61 * * * *"], "cron: minute: found '61'; allowed are 0 to 59", 1),
        (["set", name, "--cron", RARELY, "--timezone", "Europe/Berln"], "timezone: found 'Europe/Berln'; allowed are names of the IANA", 1),
        (["set", name], "cron: is required if every is absent", 1),
        (["set", name, "--every", "often"], "--every is often: expected a duration", 2),
        (["set", name, "--every", "1h", "--header", "x"], "--header x: expected Name: value", 2),
        (["set", topic], "expected a schedule as TOPIC/ID", 2),
        (["show"], "expected a schedule as TOPIC/ID", 2),
        (["list"], "list: expected set, preview, show, pause, resume, run or delete, then TOPIC/ID", 2),
    ]:
        assert fault in ask(server, "schedules", *words, code=code)
    assert "expected RFC 3339" in ask(server, "schedules", "set", name, "--every", "1h", "--start-at", "soon", code=2)
