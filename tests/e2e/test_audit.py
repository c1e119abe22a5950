"""The audit log that can be asked: each change by a client has its line in the history, with the settings before and after
it, and without secrets."""

import contextlib
import http.client
import itertools
import json
import threading
import urllib.parse

import pytest

import scratch
from duepost import Duepost, run
from mongo_server import MongoServer
from patience import SLOW, until
from postgres_server import PostgresServer
from redis_gate import RedisGate
from timestamp import from_ms, to_ms
from tokens import TokenFile

SECRET = "canary-secret-5d1e"
_databases = itertools.count(1)


@pytest.fixture(scope="module")
def postgres():
    started = PostgresServer()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def mongo():
    started = MongoServer()
    yield started
    started.stop()


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mongodb"])
def where(request):
    if request.param == "sqlite":
        return f"sqlite:{scratch.file('audit.sqlite')}"
    if request.param == "mongodb":
        return request.getfixturevalue("mongo").url(f"audit{next(_databases)}")
    return request.getfixturevalue("postgres").create(f"audit{next(_databases)}")


@pytest.fixture(scope="module")
def tokens():
    file = TokenFile()
    file.add("ops")
    file.add("other")
    file.add("reader", ["read", "schedule"])
    file.add("bound", topics="orders-*")
    return file


@pytest.fixture(scope="module")
def keeper(where, tokens):
    started = Duepost("--breaker", "off", "--history", where, "--tokens", str(tokens.path))
    started.token = tokens.texts["ops"]
    yield started
    started.stop()
    assert "ERROR: AddressSanitizer" not in started.log()


def send(server, method, target, body=None):
    return server.request(method, target, body and json.dumps(body), {"Content-Type": "application/json"} if body else None)


def put(server, target, body):
    return send(server, "PUT", target, body)


def patch(server, target, body):
    return send(server, "PATCH", target, body)


def delete(server, target):
    return send(server, "DELETE", target)


def lines(server, **parameters):
    """Returns all lines that match, page by page."""
    found, cursor = [], None
    while True:
        query = urllib.parse.urlencode(parameters | ({"cursor": cursor} if cursor else {}))
        page = server.get(f"/audit?{query}").expect(200)
        found += page["lines"]
        cursor = page.get("cursor")
        if not cursor:
            return found


def line(server, **parameters):
    """Waits for the only line that matches."""
    found, = until(lambda: lines(server, **parameters), 15, f"a line of {parameters}")
    return found


def without(found, *names):
    return {name: value for name, value in found.items() if name not in (*names, "id", "at", "from")}


def test_changes_of_settings_have_both_sides(keeper, topic):
    target = f"/topics/{topic}"
    put(keeper, target, {"maxInFlight": 3}).expect(200)
    patch(keeper, target, {"paused": True}).expect(200)
    delete(keeper, target).expect(200)
    found = until(lambda: (lambda all: len(all) == 3 and all)(lines(keeper, topic=topic)), 15, "three lines")
    common = {"token": "ops", "kind": "topic", "target": topic, "topic": topic, "outcome": "done"}
    assert [without(one) for one in reversed(found)] == [
        common | {"action": "settings_replaced", "before": {}, "after": {"maxInFlight": 3}},
        common | {"action": "settings_changed", "before": {"maxInFlight": 3}, "after": {"paused": True, "maxInFlight": 3}},
        common | {"action": "settings_reset", "before": {"paused": True, "maxInFlight": 3}, "after": {}}]
    assert {one["from"] for one in found} == {"127.0.0.1"}
    assert len({one["id"] for one in found}) == 3


def test_limits_groups_keys_and_patterns_have_both_sides(keeper, topic):
    put(keeper, f"/limits/{topic}", {"maxInFlight": 2}).expect(201)
    patch(keeper, f"/limits/{topic}", {"maxInFlight": 3}).expect(200)
    delete(keeper, f"/limits/{topic}").expect(200)
    removed = line(keeper, action="limit_removed")
    assert without(removed) == {"action": "limit_removed", "token": "ops", "kind": "limit", "target": topic, "outcome": "done",
                                "before": {"maxInFlight": 3}}
    changed = line(keeper, action="limit_changed")
    assert (changed["before"], changed["after"]) == ({"maxInFlight": 2}, {"maxInFlight": 3})
    assert "before" not in line(keeper, action="limit_replaced")
    put(keeper, f"/topics/{topic}-*", {"weight": 2}).expect(200)
    pattern = line(keeper, topic=f"{topic}-*")
    assert without(pattern) == {"action": "settings_replaced", "token": "ops", "kind": "pattern", "target": f"{topic}-*", "topic": f"{topic}-*",
                                "outcome": "done", "before": {}, "after": {"weight": 2}}
    put(keeper, f"/topics/{topic}/keys/k", {"paused": True}).expect(200)
    key = line(keeper, action="key_replaced")
    assert without(key) == {"action": "key_replaced", "token": "ops", "kind": "key", "target": f"{topic}/k", "topic": topic, "outcome": "done",
                            "after": {"paused": True}}
    put(keeper, f"/groups/{topic}", {"endpoints": {"a": {"url": "http://127.0.0.1:9/a"}}}).expect(201)
    group = line(keeper, action="group_replaced")
    assert group["after"]["endpoints"]["a"]["url"] == "http://127.0.0.1:9/a" and "before" not in group


def test_schedules_have_both_sides_without_bodies(keeper, topic):
    target, job = f"/schedules/{topic}/daily", {"url": "http://127.0.0.1:9/", "body": {"text": SECRET}}
    put(keeper, target, {"cron": "@daily", "job": job}).expect(201)
    patch(keeper, target, {"paused": True}).expect(200)
    delete(keeper, target).expect(200)
    found = until(lambda: (lambda all: len(all) == 3 and all)(lines(keeper, topic=topic)), 15, "three lines")
    deleted, changed, defined = found
    assert [one["action"] for one in found] == ["schedule_deleted", "schedule_changed", "schedule_defined"]
    assert "before" not in defined and "after" not in deleted
    assert defined["after"] == changed["before"] and changed["after"] == deleted["before"]
    assert not changed["before"].get("paused") and changed["after"]["paused"] is True
    assert changed["after"]["job"]["url"] == "http://127.0.0.1:9/"
    assert SECRET not in json.dumps(found)
    delete(keeper, target).expect(404)


def test_no_line_has_a_secret(keeper, topic):
    target = f"/topics/{topic}"
    secret = "whsec_" + "QUJD" * 10
    put(keeper, target, {"url": f"http://127.0.0.1:9/?key={SECRET}", "headers": {"Authorization": f"Bearer {SECRET}"}, "secrets": [secret],
                        "auth": {"type": "oauth2", "tokenUrl": f"http://127.0.0.1:9/t?{SECRET}", "clientId": "me", "clientSecret": SECRET}}).expect(200)
    patch(keeper, target, {"paused": True}).expect(200)
    put(keeper, f"/groups/{topic}", {"endpoints": {"a": {"url": f"http://127.0.0.1:9/?{SECRET}", "headers": {"X-Key": SECRET}}}}).expect(201)
    put(keeper, f"/schedules/{topic}/s", {"every": "1h", "job": {"url": f"http://127.0.0.1:9/?{SECRET}", "headers": {"X-Key": SECRET},
                                                              "onDead": f"http://127.0.0.1:9/?{SECRET}"}}).expect(201)
    found = until(lambda: (lambda all: len(all) >= 3 and all)(lines(keeper, topic=topic)), 15, "the lines of the topic")
    group = [one for one in until(lambda: lines(keeper, action="group_replaced"), 15, "the line of the group") if one["target"] == topic]
    text = json.dumps(found + group)
    assert SECRET not in text and secret not in text and "***" in text


def test_jobs_and_bulk_actions_have_lines(keeper, topic):
    for job_id in "abcd":
        keeper.schedule(topic=topic, jobId=job_id, url="http://127.0.0.1:9/", delay=3600)
    patch(keeper, f"/jobs/{topic}/a", {"delay": 7200}).expect(200)
    delete(keeper, f"/jobs/{topic}/a").expect(200)
    delete(keeper, f"/jobs?topic={topic}&state=delayed&all=true").expect(200)
    found = until(lambda: (lambda all: len(all) == 3 and all)(lines(keeper, topic=topic)), 15, "three lines")
    assert [one["action"] for one in found] == ["jobs_cancelled", "job_cancelled", "job_changed"]
    assert without(found[0]) == {"action": "jobs_cancelled", "token": "ops", "kind": "jobs", "topic": topic, "filter": f"topic={topic}&state=delayed&all=true",
                                 "outcome": "done", "matched": 3, "done": 3, "skipped": 0, "unknown": 0}
    assert found[1]["target"] == f"{topic}/a"


def test_filters_and_pages(keeper, tokens, topic):
    other = keeper.with_token(tokens.texts["other"])
    for number in range(7):
        patch(other if number % 2 else keeper, f"/topics/{topic}", {"maxInFlight": number + 1}).expect(200)
    found = until(lambda: (lambda all: len(all) == 7 and all)(lines(keeper, topic=topic)), 15, "seven lines")
    assert [one["after"]["maxInFlight"] for one in found] == [7, 6, 5, 4, 3, 2, 1]
    assert lines(keeper, topic=topic, limit=2) == found
    assert lines(keeper, topic=topic, limit=3, token="other") == found[1::2]
    assert lines(keeper, topic=topic, action="settings_changed") == found and lines(keeper, topic=topic, action="job_run") == []
    middle = found[3]["at"]
    before, after = lines(keeper, topic=topic, to=middle), lines(keeper, topic=topic, **{"from": middle})
    assert after + before == found and found[3] in after
    later = from_ms(to_ms(middle) + 1)
    assert found[3] in lines(keeper, topic=topic, to=later, limit=1)
    assert lines(keeper, topic=f"{topic}x") == []


@pytest.mark.parametrize("query, field", [
    ("from=yesterday", "from"), ("from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z", "from"), ("action=Drop%20table", "action"),
    ("topic=", "topic"), ("token=a%20b", "token"), ("limit=0", "limit"), ("cursor=1.zz", "cursor"), ("cursor=12.0123456789abcdef0123456F", "cursor"),
    ("who=me", "who")])
def test_errors_name_the_parameter(keeper, query, field):
    assert keeper.get(f"/audit?{query}").fields() == [field]


def test_only_admins_for_all_topics_read_it(keeper, tokens):
    keeper.with_token(tokens.texts["reader"]).get("/audit").expect(403)
    keeper.with_token(tokens.texts["bound"]).get("/audit").expect(403)
    keeper.with_token(None).get("/audit").expect(401)
    assert keeper.request("POST", "/audit").status == 405


def test_refused_changes_have_no_line(keeper, topic):
    put(keeper, f"/topics/{topic}", {"maxInFlight": "many"}).expect(400)
    delete(keeper, f"/jobs/{topic}/none").expect(404)
    patch(keeper, f"/limits/{topic}", {"maxInFlight": 1}).expect(404)
    put(keeper, f"/topics/{topic}", {"weight": 3}).expect(200)
    assert line(keeper, topic=topic)["action"] == "settings_replaced"


def test_a_changed_file_of_tokens_has_a_line(start):
    tokens = TokenFile()
    ops = tokens.add("ops")
    tokens.add("shop", ["read"])
    tokens.add("gone", ["read"])
    server = start("--tokens", str(tokens.path), "--history", f"sqlite:{scratch.file('tokens.sqlite')}", "--reactors", "2", token=ops)
    for name in "shop", "gone":
        tokens.remove(name)
    tokens.add("shop", ["read", "cancel"], rate="10/s")
    tokens.add("mail", ["schedule"], topics="mail-*")
    server.reload("tokens_read")
    assert without(line(server, action="tokens_changed")) == {
        "action": "tokens_changed", "kind": "tokens", "outcome": "done",
        "before": {"shop": {"scopes": "read", "hasSameText": False}, "gone": {"scopes": "read"}},
        "after": {"shop": {"scopes": "read,cancel", "jobsPerHour": 36000, "hasSameText": False}, "mail": {"scopes": "schedule", "topics": "mail-*"}}}
    assert line(server, token="-")["from"] == "this host"
    server.reload("tokens_read")
    put(server, "/topics/last", {"weight": 2}).expect(200)
    line(server, topic="last")
    assert len(lines(server, action="tokens_changed")) == 1
    assert "dp_canary" not in json.dumps(lines(server)) and "sha256" not in json.dumps(lines(server))


def test_the_command_lists_changes(keeper, tokens, topic):
    def ask(*words):
        return run("audit", "--server", keeper.url, *words, extra={"DUEPOST_TOKEN": tokens.texts["ops"]})
    put(keeper, f"/topics/{topic}", {"maxInFlight": 3, "weight": 2}).expect(200)
    patch(keeper, f"/topics/{topic}", {"maxInFlight": 5, "weight": None, "pauseReason": None, "paused": True}).expect(200)
    until(lambda: len(lines(keeper, topic=topic)) == 2, 15, "two lines")
    title, changed, replaced = [line.split() for line in ask("--topic", topic).stdout.splitlines()]
    assert title == ["AT", "TOKEN", "FROM", "ACTION", "TARGET", "OUTCOME", "CHANGE"]
    assert changed[1:6] == ["ops", "127.0.0.1", "settings_changed", topic, "done"]
    assert sorted(" ".join(changed[6:]).split(", ")) == ["maxInFlight 3 -> 5", "paused - -> true", "weight 2 -> -"]
    assert sorted(" ".join(replaced[6:]).split(", ")) == ["maxInFlight - -> 3", "weight - -> 2"]
    assert json.loads(ask("--topic", topic, "--json").stdout) == lines(keeper, topic=topic)
    assert json.loads(ask("--topic", topic, "--action", "settings_replaced", "--by", "ops", "--since", "1h", "--json").stdout) == lines(keeper, topic=topic)[1:]
    assert json.loads(ask("--topic", topic, "--by", "other", "--json").stdout) == []
    assert json.loads(ask("--topic", topic, "--limit", "1", "--json").stdout) == lines(keeper, topic=topic)[:1]
    refused = run("audit", "--server", keeper.url, extra={"DUEPOST_TOKEN": tokens.texts["bound"]})
    assert refused.returncode == 1 and "403" in refused.stderr


def test_without_a_history_it_says_what_to_do(start, redis):
    shared = redis()
    server = start(redis=shared)
    assert server.get("/audit").expect(404)["detail"] == "This server keeps no history. The option --history switches it on."
    put(server, "/topics/t", {"weight": 2}).expect(200)
    assert shared.command("KEYS", "*trail*") == b"*0\r\n"


def test_lines_wait_for_the_database_over_kills(start, redis, postgres, topic):
    """Each change that was answered has its line: also if the process was killed at once, and while the database is away."""
    where, shared = postgres.create(f"audit{next(_databases)}"), redis()
    server = start("--history", where, redis=shared)
    put(server, f"/topics/{topic}", {"weight": 1}).expect(200)
    line(server, topic=topic)
    postgres.freeze()
    try:
        for weight in range(2, 8):
            put(server, f"/topics/{topic}", {"weight": weight}).expect(200)
        server.kill()
    finally:
        postgres.thaw()
    server = start("--history", where, redis=shared)
    found = until(lambda: (lambda all: len(all) == 7 and all)(lines(server, topic=topic)), 30, "all lines")
    assert [one["after"]["weight"] for one in found] == [7, 6, 5, 4, 3, 2, 1]
    assert shared.command("KEYS", "*trail*") == b"*0\r\n"


def held_change(start, redis, topic):
    """Returns a server whose change of a topic is made, but whose line of the audit log a gate holds back; the gate; the thread
    of the client; the list that gets the client's answer; and another server on the same Redis."""
    shared, where = redis(), f"sqlite:{scratch.file('gap.sqlite')}"
    gate, answers = RedisGate(shared), []
    server, near = start("--history", where, redis=gate.address), start("--history", where, redis=shared)

    def change():
        with contextlib.suppress(OSError, http.client.HTTPException):
            answers.append(put(server, f"/topics/{topic}", {"weight": 2}))
    gate.hold("duepost_note_")
    client = threading.Thread(target=change)
    client.start()
    gate.wait()
    assert near.get(f"/topics/{topic}").expect(200)["settings"] == {"weight": 2}
    return server, gate, client, answers, near


def test_a_change_is_answered_after_its_line(start, redis, topic):
    _, gate, client, answers, near = held_change(start, redis, topic)
    assert not answers and lines(near, topic=topic) == []
    gate.release()
    client.join(20 * SLOW)
    assert answers[0].expect(200) == {"topic": topic, "settings": {"weight": 2}}
    assert line(near, topic=topic)["after"] == {"weight": 2}
    gate.stop()


def test_a_kill_between_change_and_line_leaves_no_answer(start, redis, topic):
    server, gate, client, answers, near = held_change(start, redis, topic)
    server.kill()
    gate.cut()
    client.join(20 * SLOW)
    assert not answers
    put(near, f"/topics/{topic}", {"weight": 2}).expect(200)  # the client repeats its request
    assert line(near, topic=topic)["before"] == {"weight": 2}
    gate.stop()


def test_a_lost_line_is_no_success(start, redis, topic):
    """Redis's connection ends between the change and its line."""
    server, gate, client, answers, near = held_change(start, redis, topic)
    gate.cut()
    client.join(20 * SLOW)
    assert "has not confirmed its line of the audit log" in answers[0].expect(503)["detail"]
    assert "event=audit_line_lost" in server.log()
    gate.stop()


def test_a_client_that_leaves_loses_no_line(start, redis, topic):
    shared, where = redis(), f"sqlite:{scratch.file('gone.sqlite')}"
    gate = RedisGate(shared)
    server = start("--history", where, redis=gate.address)
    gate.hold("duepost_note_")
    text = b'{"weight":2}'
    with server.connect() as link:
        link.sendall(b"PUT /topics/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                     % (topic.encode(), len(text), text))
        gate.wait()
    gate.release()
    assert line(server, topic=topic)["after"] == {"weight": 2}
    gate.stop()


def test_with_encryption_both_sides_are_as_get_shows_them(start, redis, topic):
    keys, shared, where = scratch.file("keys"), redis(), scratch.file("sealed.sqlite")
    keys.write_text("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n")
    keys.chmod(0o600)
    server = start("--history", f"sqlite:{where}", "--encryption-keys", str(keys), redis=shared)
    for target, first, second in (
            (f"/topics/{topic}", {"url": f"http://127.0.0.1:9/?{SECRET}", "headers": {"X-Key": SECRET}}, {"weight": 2}),
            (f"/topics/{topic}-*", {"headers": {"X-Key": SECRET}}, {"weight": 2}),
            (f"/groups/{topic}-g", {"endpoints": {"a": {"url": f"http://127.0.0.1:9/?{SECRET}", "headers": {"X-Key": SECRET}}}},
             {"endpoints": {"b": {"url": "http://127.0.0.1:9/b"}}}),
            (f"/schedules/{topic}/s", {"every": "1h", "job": {"url": f"http://127.0.0.1:9/?{SECRET}", "headers": {"X-Key": SECRET}, "body": SECRET}}, {"paused": True})):
        put(server, target, first)
        shown = server.get(target).expect(200)
        patch(server, target, second).expect(200)
        name = target.split("/", 2)[2]
        changed = [one for one in until(lambda: (lambda all: len(all) == 2 and all)([one for one in lines(server) if one.get("target") == name]), 15, name)][0]
        before = changed["before"]
        if target.startswith("/schedules"):
            assert before["job"] == {member: value for member, value in shown["job"].items() if member != "body"} and before["every"] == shown["every"]
        else:
            assert before == (shown["settings"] if "settings" in shown else {"endpoints": shown["endpoints"]})
        assert "***" in json.dumps(before) and not changed.get("afterLeftOut")
    assert SECRET not in json.dumps(lines(server)) and SECRET.encode() not in where.read_bytes()
