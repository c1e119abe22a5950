"""POST /schedules/{topic}/{scheduleId}/preview: the times of a definition, and what moves them or leaves them out."""

import datetime
import json

import pytest

from patience import until
from test_cli import ask
from timestamp import to_ms
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}
JOB = {"url": "http://127.0.0.1:9/"}


def preview(server, topic, count=None, name="a", **members):
    query = f"?count={count}" if count else ""
    return server.request("POST", f"/schedules/{topic}/{name}/preview{query}", json.dumps({"job": JOB, **members}), JSON)


def times(answer):
    return [time["time"].removesuffix(".000Z") for time in answer["times"]]


def test_the_times_are_those_of_the_schedule_and_nothing_is_written(server, topic):
    definition = {"cron": "*/7 * * * *", "timezone": "Asia/Kolkata", "jitter": 60, "startAt": "2030-01-01T00:00:00Z"}
    shown = preview(server, topic, 5, **definition).expect(200)
    assert server.get(f"/schedules/{topic}").expect(200)["schedules"] == []
    put = server.request("PUT", f"/schedules/{topic}/a", json.dumps({"job": JOB, **definition}), JSON).expect(201)
    assert [time["time"] for time in shown["times"]] == put["next"]
    assert all(0 <= to_ms(time["dueAt"]) - to_ms(time["time"]) <= 60000 for time in shown["times"])
    assert len({time["dueAt"][-8:] for time in shown["times"]}) > 1, "the jitter differs"
    assert preview(server, topic, 5, **definition).expect(200)["times"] == shown["times"]
    assert preview(server, topic, 5, name="b", **definition).expect(200)["times"] != shown["times"], "it depends on the id"
    assert len(preview(server, topic, 100, **definition).expect(200)["times"]) == 100
    assert len(preview(server, topic, **definition).expect(200)["times"]) == 20
    assert "endsBy" not in shown and shown["clockChanges"] == [] and shown["text"].startswith("every 7")


def test_jobs_are_due_when_the_preview_says(server, receiver, topic):
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    definition = {"every": 2, "jitter": 1, "startAt": (now + datetime.timedelta(seconds=2)).isoformat().replace("+00:00", "Z"),
                  "endAt": (now + datetime.timedelta(seconds=5)).isoformat().replace("+00:00", "Z"), "job": {"url": "http://127.0.0.1:9/", "retry": 9}}
    shown = preview(server, topic, 10, **definition).expect(200)
    assert shown["endsBy"] == "endAt" and len(shown["times"]) == 2
    server.request("PATCH", f"/topics/{topic}", '{"paused": true}', JSON).expect(200)
    server.request("PUT", f"/schedules/{topic}/a", json.dumps(definition), JSON).expect(201)
    jobs = until(lambda: [found for found in [server.get(f"/jobs?topic={topic}").expect(200)["jobs"]] if len(found) == 2], 30, "two jobs")[0]
    assert sorted(job["dueAt"] for job in jobs) == [time["dueAt"] for time in shown["times"]]


@pytest.mark.parametrize("cron, at, effect, number, found", [
    ("15,45 2 * * *", "2030-03-31T01:00:00.000Z", "moved", 2, ["2030-03-31T01:00:00", "2030-04-01T00:15:00"]),
    ("*/30 2 * * *", "2030-03-31T01:00:00.000Z", "skipped", 2, ["2030-04-01T00:00:00", "2030-04-01T00:30:00"]),
    ("30 2 * * *", "2030-10-27T01:00:00.000Z", "once", 1, ["2030-10-27T00:30:00", "2030-10-28T01:30:00"]),
    ("*/30 2 * * *", "2030-10-27T01:00:00.000Z", "twice", 2, ["2030-10-27T00:00:00", "2030-10-27T00:30:00", "2030-10-27T01:00:00", "2030-10-27T01:30:00"])])
def test_changes_of_the_clocks(server, topic, cron, at, effect, number, found):
    start = at[:11] + "00:00:00Z"
    shown = preview(server, topic, 6, cron=cron, timezone="Europe/Berlin", startAt=start).expect(200)
    seconds = 3600 if "03-31" in at else -3600
    assert shown["clockChanges"] == [{"at": at, "seconds": seconds, "times": number, "effect": effect}]
    assert times(shown)[:len(found)] == found
    assert [time["time"] for time in shown["times"] if time.get("moved")] == ([at] if effect == "moved" else [])


def test_times_outside_of_windows_are_counted(server, topic):
    windows = [{"days": ["mon", "tue"], "from": "09:00", "to": "09:30"}]
    shown = preview(server, topic, 4, cron="*/10 * * * *", startAt="2030-01-07T08:30:00Z", windows=windows, endAt="2030-01-08T12:00:00Z").expect(200)
    assert [(time["time"][5:16], time.get("outsideWindows")) for time in shown["times"]] == [
        ("01-07T09:00", 3), ("01-07T09:10", None), ("01-07T09:20", None), ("01-08T09:00", 141)]
    shown = preview(server, topic, 20, every=600, startAt="2030-01-07T08:30:00Z", windows=windows, endAt="2030-01-08T09:05:00Z").expect(200)
    assert len(shown["times"]) == 4 and shown["endsBy"] == "endAt" and shown["times"][0]["outsideWindows"] == 3


def test_what_cannot_be_known_is_shown(server, topic):
    shown = preview(server, topic, 1, every=60, overlap="skip", paused=True).expect(200)
    assert (shown["paused"], shown["overlap"]) == (True, "skip")


def test_what_put_refuses_is_refused(server, topic):
    for definition in ({}, {"every": 1, "cron": "* * * * *"}, {"cron": "61 * * * *"}, {"every": 60, "job": {"url": "http://10.1.1.1/"}}, {"every": 60, "colour": "red"},
                       {"cron": "@daily", "timezone": "Europe/Nowhere"}, {"cron": "@daily", "endAt": "2020-01-01T00:00:00Z"}, {"cron": "0 12 * * *", "windows": [{"from": "09:00", "to": "10:00"}]}):
        refused = preview(server, topic, **definition)
        put = server.request("PUT", f"/schedules/{topic}/a", json.dumps({"job": JOB, **definition}), JSON)
        assert refused.status == put.status == 400 and refused.fields() == put.fields(), definition
        for mine, other in zip(refused.json["errors"], put.json["errors"]):
            assert mine["detail"].split(" which is ")[0] == other["detail"].split(" which is ")[0]
    for count in "0", "101", "x", "-1":
        assert preview(server, topic, count, every=60).fields() == ["count"]
    assert server.request("POST", f"/schedules/{topic}/a/preview", "{}", {"Content-Type": "text/plain"}).status == 415
    assert server.request("POST", f"/schedules/{topic}/a/preview", "x" * 2000000, JSON).status == 413
    assert server.get(f"/schedules/{topic}/a/preview").status == 405
    assert server.get(f"/schedules/{topic}").expect(200)["schedules"] == []


def test_a_token_needs_the_scope_and_the_topic(start, topic):
    tokens = TokenFile()
    writer, reader = tokens.add("writer", ["schedule"], topics=topic), tokens.add("reader", ["read"])
    server = start("--tokens", tokens.path, token=writer)
    preview(server.with_token(writer), topic, every=60).expect(200)
    assert preview(server.with_token(writer), topic + "x", every=60).status == 403
    assert preview(server.with_token(reader), topic, every=60).status == 403
    assert preview(server.with_token(None), topic, every=60).status == 401


def test_the_command(server, topic):
    text = ask(server, "schedules", "preview", f"{topic}/a", "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--start-at", "2030-03-30T00:00:00Z", "--end-at", "2030-04-01T00:00:00Z",
               "--url", "http://127.0.0.1:9/", "--count", "9")
    lines = text.splitlines()
    assert lines[0] == "at 02:30, every day" and lines[1].startswith("2030-03-30T01:30:00.000Z") and lines[2].endswith("moved: clocks skip this time")
    assert lines[3:] == ["no later time: endAt", "clocks change by +3600 s at 2030-03-31T01:00:00.000Z: 1 local times, moved"]
