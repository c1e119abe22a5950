"""Tokens in the API of QStash: each path needs its scope, and a right to the topic qstash."""

import pytest

from patience import until
from qstash import QStash
from tokens import SCOPES, TokenFile

PATHS = [  # method, path, scope
    ("POST", "publish/http://127.0.0.1:9/", "schedule"), ("POST", "batch", "schedule"), ("POST", "trigger/http://127.0.0.1:9/", "schedule"), ("POST", "enqueue/q/http://127.0.0.1:9/", "schedule"),
    ("GET", "keys", "admin"), ("POST", "keys/rotate", "admin"), ("POST", "rotate", "admin"),
    ("GET", "queues", "read"), ("POST", "queues", "admin"), ("GET", "queues/q", "read"), ("DELETE", "queues/q", "admin"),
    ("POST", "queues/q/pause", "admin"), ("POST", "queues/q/resume", "admin"),
    ("GET", "flowControl", "read"), ("GET", "flowControl/k", "read"), ("GET", "globalParallelism", "read"),
    *((("POST"), f"flowControl/k/{action}", "admin") for action in ("pause", "resume", "pin", "unpin", "resetRate")),
    ("GET", "topics", "read"), ("GET", "topics/g", "read"), ("PATCH", "topics/g", "admin"), ("DELETE", "topics/g", "admin"),
    ("POST", "topics/g/endpoints", "admin"), ("DELETE", "topics/g/endpoints", "admin"),
    ("GET", "messages/msg_1", "read"), ("DELETE", "messages/msg_1", "cancel"), ("DELETE", "messages?label=none", "cancel"),
    ("GET", "events", "read"), ("GET", "logs", "read"),
    ("GET", "schedules", "read"), ("GET", "schedules/s", "read"), ("POST", "schedules/http://127.0.0.1:9/", "schedule"),
    ("DELETE", "schedules/s", "schedule"), ("POST", "schedules/s/pause", "schedule"), ("PATCH", "schedules/s/resume", "schedule"),
    ("GET", "dlq", "read"), ("GET", "dlq/dlq_1", "read"), ("DELETE", "dlq/dlq_1", "cancel"), ("DELETE", "dlq?label=none", "cancel"),
    ("POST", "dlq/retry?label=none", "schedule"), ("POST", "dlq/retry/dlq_1", "schedule"),
    ("POST", "wait/e", "schedule"), ("POST", "notify/e", "schedule"), ("POST", "notify/wfr_1/e", "schedule"), ("GET", "waiters/e", "read"),
    ("GET", "workflows/logs", "read"), ("GET", "workflows/events?groupBy=workflowRunId", "read"),
    ("GET", "workflows/runs/wfr_1", "read"), ("DELETE", "workflows/runs/wfr_1", "schedule"),
    ("DELETE", "workflows/runs?workflowRunIds=wfr_1", "cancel"),
    ("GET", "workflows/dlq", "read"), ("GET", "workflows/dlq/dlq_1", "read"), ("DELETE", "workflows/dlq/dlq_1", "cancel"),
    ("DELETE", "workflows/dlq?label=none", "cancel"),
    *(("POST", f"workflows/dlq/{action}", "schedule") for action in ("resume?label=none", "restart?label=none", "resume/dlq_1", "restart/dlq_1", "callback/dlq_1")),
]
NAMES = [f"{method} {path.partition('?')[0]}" for method, path, _ in PATHS]


@pytest.fixture(scope="module")
def place():
    tokens = TokenFile()
    root = tokens.add("root")
    for scope in SCOPES:
        tokens.add(f"only-{scope}", [scope])
        tokens.add(f"without-{scope}", [other for other in SCOPES if other != scope])
    tokens.add("of-qstash", topics="qstash")
    tokens.add("of-others", topics="mine-*")
    server = QStash("--tokens", str(tokens.path), token=root)
    server.texts = tokens.texts
    yield server
    server.stop()


def ask(place, name, method, path):
    headers = {"Authorization": f"Bearer {place.texts[name]}"} if name else {}
    return place.with_token(None).request(method, f"/v2/{path}", b"" if method != "GET" else None, headers, check=False)


@pytest.mark.parametrize("method, path, scope", PATHS, ids=NAMES)
def test_each_path_needs_its_scope(place, method, path, scope):
    for name in f"without-{scope}", "of-others":
        refused = ask(place, name, method, path)
        assert refused.status == 403 and list(refused.json) == ["error"], (name, refused.body)
    for name in f"only-{scope}", "of-qstash":
        assert ask(place, name, method, path).status not in (401, 403), name


@pytest.mark.parametrize("method, path, scope", PATHS, ids=NAMES)
def test_without_a_token_it_is_401(place, method, path, scope):
    refused = ask(place, None, method, path)
    assert refused.status == 401 and list(refused.json) == ["error"]


def test_the_token_may_be_a_parameter(place):
    token, foreign = place.texts["only-schedule"], place.texts["of-others"]
    assert ask(place, None, "POST", f"publish/http://127.0.0.1:9/?qstash_token={token}").status == 200
    assert ask(place, None, "POST", f"publish/http://127.0.0.1:9/?qstash_token={foreign}").status == 403
    assert ask(place, None, "POST", "publish/http://127.0.0.1:9/?qstash_token=dp_wrong").status == 401


def test_a_token_without_groups_schedules_to_a_url_group(place):
    """URL groups belong to the topic qstash, so a right to this topic is enough. A token's groups= is only about groups
    in duepost's own API."""
    client = place.with_token(place.texts["of-qstash"])
    sent = {"Content-Type": "application/json"}
    client.request("POST", "/v2/topics/of-token/endpoints", '{"endpoints":[{"name":"a","url":"http://127.0.0.1:9/"}]}', sent, check=False).expect(200)
    client.request("POST", "/v2/schedules/of-token", b"", {"Upstash-Cron": "* * * * * *", "Upstash-Schedule-Id": "of-token"}, check=False).expect(200)
    shown = until(lambda: (shown := client.request("GET", "/v2/schedules/of-token", check=False).expect(200)).get("lastScheduleStates") and shown, 20, "a message")
    assert all(message_id.endswith("Z~1") for message_id in shown["lastScheduleStates"])
    client.request("POST", "/schedules/qstash~schedules/of-token/run").expect(202)
    client.request("DELETE", "/v2/schedules/of-token", b"", check=False).expect(200)
