"""Access: tokens, their scopes, topics and rates, on every route of the contract."""

import base64
import collections
import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

import contract
from duepost import BINARY, Duepost, Reply, environment, run
from patience import SLOW, until
from pull import await_waiting, lease_one, make_pull
from receiver import HANG, Receiver
import scratch
from timestamp import from_ms
from tokens import SCOPES, TokenFile

MINE, THEIRS = "mine-1", "theirs"
TOKEN_TOPICS = ["job", "topic", "group", "query", "each", "shown", "own", "all"]

# The query strings of the operations that need one.
QUERIES = {"listJobs": "state=dead", "countJobs": "state=dead", "cancelJobs": "state=dead&all=true",
           "redriveJobs": "state=dead&all=true", "runJobs": "state=dead&all=true", "rescheduleJobs": "state=dead&all=true&delay=60",
           "listWorkflows": "state=failed", "readStats": "step=1m", "explainCron": "expression=@daily", "readEvents": "types=dead", "readSentJobs": f"group={MINE}", "deleteHistory": "before=2020-01-01T00:00:00Z"}
SCHEDULE = {"every": 86400, "job": {"url": "http://127.0.0.1:9/"}}
LEASE = {"jobId": "there", "token": "none"}
ENDS = ["completeJobs", "retryJobs", "buryJobs", "extendLeases", "releaseJobs"]
BODIES = {"leaseJobs": {}, **{name: LEASE for name in ENDS},
          "replaceSchedule": SCHEDULE, "previewSchedule": SCHEDULE, "changeSchedule": {"every": 43200}, "changeJob": {"delay": 7200}, "replaceSettings": {"paused": True}, "changeSettings": {"paused": True},
          "replaceGroup": {"endpoints": {"a": {"url": "http://127.0.0.1:9/"}}}, "changeGroup": {"endpoints": {}}, "replaceLimit": {"maxInFlight": 5}, "changeLimit": {"maxInFlight": 6},
          "replaceKey": {"maxInFlight": 7}, "changeKey": {"maxInFlight": 8}}


class Operation:
    """One method of one path, with a request that has an effect if it is permitted."""

    def __init__(self, path, method, description):
        self.path, self.method, self.description = path, method.upper(), description
        self.name = description["operationId"]
        self.is_free = description.get("security") == []
        self.scopes = [] if self.is_free else description["security"][0]["token"]
        self.topics = description.get("x-token-topics")

    def body(self, topic):
        if "requestBody" not in self.description:
            return None
        job = {"topic": topic, "jobId": "made", "url": "http://127.0.0.1:9/", "delay": 3600}
        if self.name == "replaceJob":
            return {"url": job["url"], "delay": 3600}
        return BODIES.get(self.name, job)

    def ask(self, client, topic=MINE, job_id="there", query_topic=True):
        target = self.path.replace("{topic}", topic).replace("{jobId}", job_id).replace("{scheduleId}", job_id).replace("{workflowId}", job_id).replace("{group}", topic).replace("{limit}", topic).replace("{key}", "acme").replace("{receiver}", "127.0.0.1:9").replace("{path}", "a%2Fb//c")
        query = QUERIES.get(self.name)
        if query:
            target += f"?{query}&topic={topic}" if query_topic and self.topics not in ("own", "job") else f"?{query}"
        body = self.body(topic)
        headers = {} if body is None else {"Content-Type": "application/json"}
        return client.request(self.method, target, None if body is None else json.dumps(body), headers)


OPERATIONS = [Operation(path, method, item[method]) for path, item in contract.document["paths"].items()
              for method in ("get", "post", "put", "patch", "delete") if method in item]
BOUND = [operation for operation in OPERATIONS if not operation.is_free]


def ids(operation):
    return operation.name


class Place:
    """A server with a token for each case, and two topics with jobs."""

    def __init__(self, receiver):
        self.tokens = TokenFile()
        self.root = self.tokens.add("root")
        for scope in SCOPES:
            self.tokens.add(f"without-{scope}", [other for other in SCOPES if other != scope])
        for operation in BOUND:
            self.tokens.add(f"only-{operation.name}", operation.scopes or ["lease"])
            self.tokens.add(f"slow-{operation.name}", rate="1/h")
        self.tokens.add("bound", topics="mine-*,my.mail", groups="mine-*")
        self.server = Duepost("--tokens", str(self.tokens.path), "--history", f"sqlite:{scratch.file('history.sqlite')}", token=self.root)
        for topic in MINE, THEIRS:
            self.make_group(topic)
            self.make_limit(topic)
            self.server.schedule(topic=topic, jobId="there", url="http://127.0.0.1:9/", delay=3600)
            receiver.script(topic, 410)
            self.server.schedule(topic=topic, jobId="dead", url=receiver.url())
            self.server.wait_for_state(topic, "dead", "dead")
            self.define(topic)

    def define(self, topic):
        self.server.request("PUT", f"/schedules/{topic}/there", json.dumps(SCHEDULE), {"Content-Type": "application/json"})

    def client(self, name):
        return self.server.with_token(self.tokens.texts[name])

    def make_group(self, name):
        self.server.request("PUT", f"/groups/{name}", json.dumps(BODIES["replaceGroup"]), {"Content-Type": "application/json"})

    def make_limit(self, name):
        self.server.request("PUT", f"/limits/{name}", json.dumps(BODIES["replaceLimit"]), {"Content-Type": "application/json"})

    def state(self):
        """Returns all data that a request could have changed, read with a token that has all rights."""
        return [self.server.get(f"/jobs?state={state}&topic={topic}").expect(200)
                for topic in (MINE, THEIRS) for state in ("delayed", "dead")] + [self.server.get(path).expect(200) for path in ("/topics", "/limits", "/groups", "/schedules", f"/topics/{MINE}/keys", f"/topics/{THEIRS}/keys")]


@pytest.fixture(scope="module")
def place(receiver):
    made = Place(receiver)
    yield made
    made.server.stop()


# ---- every route ----

def test_every_route_has_its_decision():
    for operation in OPERATIONS:
        assert "security" in operation.description, f"{operation.name}: who may?"
        assert operation.is_free or (operation.scopes or operation.topics == "own") and set(operation.scopes) <= set(SCOPES), operation.name
        assert operation.is_free or operation.topics in TOKEN_TOPICS, f"{operation.name}: what of a token that is bound to topics?"
    assert {operation.path for operation in OPERATIONS if operation.is_free} == {"/healthz", "/readyz", "/path-check/{path}", "/.well-known/jwks.json"}


@pytest.mark.parametrize("operation", BOUND, ids=ids)
def test_without_a_token_it_is_401_and_nothing_happens(place, operation):
    before = place.state()
    for token, error in (None, ""), ("dp_" + "0" * 64, ', error="invalid_token"'):
        reply = operation.ask(place.server.with_token(token))
        reply.expect(401)
        assert reply.headers["WWW-Authenticate"] == 'Bearer realm="duepost"' + error
        assert token is None or token.encode() not in reply.body
    assert place.state() == before


@pytest.mark.parametrize("operation", BOUND, ids=ids)
def test_without_one_of_its_scopes_it_is_403_and_nothing_happens(place, operation):
    before = place.state()
    for scope in operation.scopes:
        reply = operation.ask(place.client(f"without-{scope}"))
        assert reply.expect(403)["detail"] == f"Token without-{scope} lacks the scope {scope}."
        assert "insufficient_scope" in reply.headers["WWW-Authenticate"]
    assert place.state() == before


@pytest.mark.parametrize("operation", BOUND, ids=ids)
def test_over_the_rate_it_is_429_and_nothing_happens(place, operation):
    client = place.client(f"slow-{operation.name}")
    client.get("/jobs/nothing/here").expect(404)
    before = place.state()
    reply = operation.ask(client)
    reply.expect(429)
    assert 3590 <= int(reply.headers["Retry-After"]) <= 3600
    assert place.state() == before


@pytest.mark.parametrize("operation", BOUND, ids=ids)
def test_a_token_cannot_change_topics_outside_its_limits(place, operation):
    client, before = place.client("bound"), place.state()
    reply = operation.ask(client, THEIRS)
    if operation.topics == "job":
        missing = operation.ask(client, MINE, "missing")
        assert reply.status == missing.status == 404
        assert reply.body == missing.body
        assert {**reply.headers, "Date": ""} == {**missing.headers, "Date": ""}
    elif operation.topics == "shown":
        (name, page), = reply.expect(200).items()
        assert {item[name[:-1]] for item in page} == {MINE}
    elif operation.topics == "own":
        reply.expect(200)
        assert THEIRS not in reply.body.decode()
    elif operation.topics == "group":
        assert reply.expect(403)["detail"] == f"Token bound has no access to group {THEIRS}."
    elif operation.topics == "all":
        assert reply.expect(403)["detail"] == "Token bound is limited to some topics. This request needs a token for all topics."
    else:
        assert reply.expect(403)["detail"] == f"Token bound has no access to topic {THEIRS}."
    if operation.topics == "query":
        assert operation.ask(client, query_topic=False).expect(403)["detail"] == (
            "Token bound is limited to some topics. Select one of them with the parameter topic; GET /access lists them.")
    assert place.state() == before


@pytest.mark.parametrize("operation", [operation for operation in OPERATIONS if operation.is_free], ids=ids)
def test_health_and_readiness_need_no_token(place, operation):
    for token in None, "nonsense", place.tokens.texts["slow-readJob"]:
        operation.ask(place.server.with_token(token)).expect(200)
        operation.ask(place.server.with_token(token)).expect(200)


# This test comes after the others, because it changes data.
@pytest.mark.parametrize("operation", BOUND, ids=ids)
def test_with_just_its_scopes_it_is_done(place, operation):
    names = [f"only-{operation.name}"] + (["bound"] if operation.topics != "all" else [])
    for name in names:
        place.server.request("PUT", f"/jobs/{MINE}/there", '{"url": "http://127.0.0.1:9/", "delay": 3600}', {"Content-Type": "application/json"})
        place.make_group(MINE)
        place.make_limit(MINE)
        place.define(MINE)
        reply = operation.ask(place.client(name))
        # 404 is correct, too: a receiver that is not impaired has no record, the topic has no workflows, no alerts and no jobs of groups, and the
        # server has no manual clock. 409 is correct for leases, because the topic is not a pull topic, and for events, which it does not keep.
        assert reply.status in (200, 201, 202) or operation.name in ("closeReceiver", "readWorkflow", "cancelWorkflow", "readSentJobs", "readClock", "turnClock", "testAlerts") and reply.status == 404 or \
            operation.name in ["leaseJobs", "readEvents", "rekey", *ENDS] and reply.status == 409, reply.body


# ---- the header that has the token ----

def test_how_a_token_is_sent(place):
    token, server = place.root, place.server.with_token(None)
    for value in f"Bearer {token}", f"bearer {token}", f"BEARER   {token}":
        server.request("GET", "/topics", headers={"Authorization": value}).expect(200)
    for value in token, f"Basic {token}", f"Bearer{token}", "Bearer", "Bearer ", f"Bearer {token}x", f"Bearer {token[:-1]}", f"Bearer {token} x":
        server.request("GET", "/topics", headers={"Authorization": value}).expect(401)
    server.get(f"/topics?access_token={token}").expect(401)
    reply = place.server.get(f"/topics?access_token={token}")
    assert reply.fields() == ["access_token"] and token.encode() not in reply.body
    twice = f"GET /topics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n\r\n"
    assert b" 400 " in server.raw(twice.encode(), check=False).split(b"\r\n")[0]


def test_a_body_is_not_waited_for(place):
    """If a client lacks the right, duepost answers before the client has sent the body, and closes the
    connection."""
    head = b"POST /jobs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    assert b" 401 " in place.server.with_token(None).raw(head, "POST", "/jobs")


# ---- topics ----

def test_a_token_for_some_topics_cannot_change_which_limit_they_share(place):
    """A topic that joins a limit takes room from topics that the token does not reach, and one that leaves it is bounded no more."""
    def change(client, method, settings=None):
        return client.request(method, "/topics/mine-limit", None if settings is None else json.dumps(settings), {"Content-Type": "application/json"})

    bound = place.client("bound")
    place.make_limit("shared")
    detail = "Token bound has access to some topics only: only a token for all topics can change the settings limit and egressProxy, which concern others, too."
    assert change(bound, "PATCH", {"limit": "shared"}).expect(403)["detail"] == detail
    change(place.server, "PUT", {"limit": "shared", "weight": 2}).expect(200)
    for method, settings in ("PATCH", {"limit": None}), ("PUT", {"weight": 3}), ("DELETE", None), ("PATCH", {"limit": THEIRS}):
        assert change(bound, method, settings).expect(403)["detail"] == detail
    assert change(bound, "PATCH", {"weight": 4}).expect(200)["settings"] == {"limit": "shared", "weight": 4}
    change(bound, "PUT", {"limit": "shared"}).expect(200)
    change(place.server, "DELETE").expect(200)


def test_each_of_many_jobs_needs_access_to_its_own_topic(place):
    jobs = [{"topic": topic, "jobId": "many", "url": "http://127.0.0.1:9/", "delay": 3600} for topic in (MINE, THEIRS, "mine", "my.mail")]
    results = place.client("bound").post(jobs).expect(207)["results"]
    assert [result["status"] for result in results] == [201, 403, 403, 201]
    assert "has no access to topic theirs" in results[1]["detail"]
    assert place.server.job(THEIRS, "many") is None and place.server.job(MINE, "many")


def test_topics_are_listed_without_a_trace_of_others(start, topic):
    tokens = TokenFile()
    root, bound = tokens.add("root"), tokens.add("bound", topics="b-*,d,x")
    server = start("--tokens", str(tokens.path), token=root)
    names = ["a", "b", "b-", "b-1", "b-2", "b.", "c-1", "c-2", "d", "d-1", "e", "z"]
    for name in names:
        server.schedule(topic=name, url="http://127.0.0.1:9/", delay=3600)
    client = server.with_token(bound)
    for limit in 1, 2, 3, 100:
        found, cursor = [], ""
        while True:
            page = client.get(f"/topics?limit={limit}{cursor}").expect(200)
            found += [each["topic"] for each in page["topics"]]
            assert len(page["topics"]) <= limit and page.get("cursor", "~0000d")[5:] in ("b-", "b-1", "b-2", "d")
            if "cursor" not in page:
                break
            cursor = f"&cursor={page['cursor']}"
        assert found == ["b-", "b-1", "b-2", "d"], limit
    assert [each["topic"] for each in server.get("/topics").expect(200)["topics"]] == names


@pytest.mark.parametrize("state", ["dead", "leased", "delayed"])
def test_a_cursor_names_no_job_of_others(start, state):
    """In lists of all topics, the jobs of mine-1 are between jobs of other topics. The cursor must not name these."""
    tokens, receiver = TokenFile(), Receiver()
    root, bound = tokens.add("root"), tokens.add("bound", topics="mine-*")
    server = start("--tokens", str(tokens.path), token=root)
    answers = {"dead": 410, "leased": HANG, "delayed": 200}
    for i in range(3):
        for topic in ("theirs", "mine-1", "mine-2"):
            receiver.script(topic, answers[state])
            server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), delay=60 if state == "delayed" else 0)
    if state != "delayed":
        until(lambda: server.get(f"/jobs/count?state={state}").expect(200)["count"] == 9, 10, state)
    found, cursor = [], ""
    while cursor is not None:
        page = server.with_token(bound).get(f"/jobs?state={state}&topic=mine-1&limit=1{cursor}").expect(200)
        found += [job["jobId"] for job in page["jobs"]]
        text = base64.urlsafe_b64decode(page.get("cursor", "")[5:] + "==").decode()  # "~" and a checksum come first
        assert not text or text.split("/")[0].endswith(":mine-1")
        cursor = f"&cursor={page['cursor']}" if text else None
    assert sorted(found) == ["j0", "j1", "j2"]
    receiver.stop()


# ---- last use ----

def last_uses(server):
    return {token["name"]: token.get("lastUsedAt") for token in server.get("/tokens").expect(200)["tokens"]}


def test_the_last_use_of_a_token_is_shown_over_restarts(start, redis):
    tokens, shared = TokenFile(), redis()
    ops, shop = tokens.add("ops"), tokens.add("shop", ["read"])
    tokens.add("unused", ["read"])
    options = "--tokens", str(tokens.path), "--reactors", "2"
    server = start(*options, redis=shared, token=ops)
    began = from_ms(int(time.time() * 1000) - 2000)
    assert last_uses(server)["shop"] is None
    server.with_token(shop).get("/topics").expect(200)
    used = last_uses(server)
    assert used["unused"] is None and began < used["shop"] < from_ms(int(time.time() * 1000) + 2000)
    server.with_token(f"{shop}x").get("/topics").expect(401)
    server.with_token(shop).request("POST", "/jobs", "{}", {"Content-Type": "application/json"}).expect(403)  # it is a use, too
    until(lambda: shared.command("HLEN", "duepost:{0}:tokens_used") == b":2\r\n", 30, "the uses are written")
    server.reload("tokens_read")
    assert last_uses(server)["shop"] >= used["shop"]
    server.kill()
    server = start(*options, redis=shared, token=ops)
    again = last_uses(server)
    assert again["unused"] is None and began < again["shop"] < from_ms(int(time.time() * 1000) + 2000)
    other = start(*options, redis=shared, token=ops)
    assert last_uses(other)["shop"] == again["shop"]
    tokens.remove("shop")
    tokens.add("shop", ["read"])
    other.reload("tokens_read")
    assert last_uses(other)["shop"] is None  # another token


def test_a_use_sends_no_command_to_redis(start, redis):
    tokens, shared = TokenFile(), redis()
    ops = tokens.add("ops")
    server = start("--tokens", str(tokens.path), "--reactors", "1", redis=shared, token=ops)
    server.get("/access").expect(200)
    until(lambda: shared.command("HLEN", "duepost:{0}:tokens_used") == b":1\r\n", 30, "the first use is written")
    before = shared.command("HGETALL", "duepost:{0}:tokens_used")
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.settimeout(10 * SLOW)
        monitor.connect(str(shared.socket))
        monitor.sendall(b"MONITOR\r\n")
        received = monitor.recv(65536)
        for _ in range(200):
            server.get("/access").expect(200)
        shared.command("ECHO", "the-end-of-it")
        while b"the-end-of-it" not in received:
            received += monitor.recv(65536)
    assert b"tokens_used" not in received and b"duepost_used" not in received
    assert shared.command("HGETALL", "duepost:{0}:tokens_used") == before


# ---- wrong tokens ----

AT_ONCE = 100


class From:
    """Sends requests from this address of the loopback network, each over a connection of its own."""

    def __init__(self, server, address):
        self.server, self.address = server, address

    def ask(self, token, target="/topics"):
        link = http.client.HTTPConnection(self.server.host, self.server.port, timeout=10 * SLOW, source_address=(self.address, 0))
        try:
            link.request("GET", target, headers={"Authorization": f"Bearer {token}"})
            answer = link.getresponse()
            reply = Reply(answer.status, answer.headers, answer.read())
        finally:
            link.close()
        contract.check("GET", target, reply.status, reply.headers, reply.body)
        return reply


def wrong_tokens(server):
    return int(re.search(r"^duepost_wrong_tokens_total (\d+)$", server.get("/metrics").body.decode(), re.M)[1])


def test_an_address_with_many_wrong_tokens_is_told_to_wait(start):
    tokens = TokenFile()
    ops = tokens.add("ops")
    server = start("--tokens", str(tokens.path), "--reactors", "2", token=ops)
    attacker, other = From(server, "127.0.0.7"), From(server, "127.0.0.8")
    before = wrong_tokens(server)
    began = time.monotonic()
    replies = [attacker.ask(f"dp_{number:064x}") for number in range(AT_ONCE + 60)]
    took = time.monotonic() - began
    statuses = [reply.status for reply in replies]
    assert set(statuses) == {401, 429} and AT_ONCE <= statuses.count(401) <= AT_ONCE + took + 1
    assert statuses[:AT_ONCE] == [401] * AT_ONCE
    refused = next(reply for reply in replies if reply.status == 429)
    assert refused.headers["Retry-After"] == "1"
    assert refused.json["detail"] == "The token is unknown, as are many others that this address has sent."
    assert wrong_tokens(server) - before == len(replies)
    assert [attacker.ask(ops).status for _ in range(20)] == [200] * 20  # the clients behind the same proxy
    assert other.ask("dp_wrong").status == 401
    lines = [line for line in server.log().splitlines() if "event=wrong_tokens " in line]
    assert len(lines) == 1 and "from=127.0.0.7" in lines[0]
    assert "dp_0000" not in server.log()


def test_a_valid_token_does_not_wait_in_the_middle_of_an_attack(start):
    """Several clients send wrong tokens as fast as they can; the latencies of a valid token from the same address stay those of
    a server under this load, and each is answered 200."""
    tokens = TokenFile()
    ops = tokens.add("ops")
    server = start("--tokens", str(tokens.path), "--reactors", "1", token=ops)
    is_over = threading.Event()
    seen = collections.Counter()

    def attack():
        client = server.with_token("dp_wrong")
        while not is_over.is_set():
            seen[client.request("GET", "/topics", check=False).status] += 1
        client.close()
    attackers = [threading.Thread(target=attack) for _ in range(4)]
    for each in attackers:
        each.start()
    try:
        until(lambda: seen[429] > 200, 20, "the attack is refused")
        assert {server.get("/topics").status for _ in range(100)} == {200}
    finally:
        is_over.set()
        for each in attackers:
            each.join()
    assert set(seen) == {401, 429}


# ---- rates ----

def test_a_rate_allows_its_number_at_once_and_then_its_share_a_second(start):
    tokens = TokenFile()
    slow = tokens.add("slow", rate="20/m")
    server = start("--tokens", str(tokens.path), "--reactors", "2", token=slow)
    statuses = [server.get("/topics").status for _ in range(25)]
    assert statuses == [200] * 20 + [429] * 5
    reply = server.get("/topics")
    wait = int(reply.headers["Retry-After"])
    assert 1 <= wait <= 3
    time.sleep(wait)
    server.get("/topics").expect(200)


def test_many_jobs_count_as_many(start):
    tokens = TokenFile()
    slow = tokens.add("slow", rate="10/s")
    server = start("--tokens", str(tokens.path), token=slow)
    jobs = [{"topic": "t", "jobId": str(i), "url": "http://127.0.0.1:9/", "delay": 3600} for i in range(200)]
    assert {result["status"] for result in server.post(jobs).expect(207)["results"]} == {201}
    reply = server.post(jobs)
    reply.expect(429)
    assert 15 <= int(reply.headers["Retry-After"]) <= 19 + SLOW


# ---- the file ----

def test_it_is_read_again_on_sighup(start):
    tokens = TokenFile()
    root, old = tokens.add("root"), tokens.add("old")
    server = start("--tokens", str(tokens.path), token=root)
    server.with_token(old).get("/topics").expect(200)
    new = tokens.add("new", ["read"], topics="mail")
    tokens.remove("old")
    server.with_token(new).get("/topics").expect(401)
    server.reload()
    server.with_token(new).get("/topics/mail").expect(200)
    server.with_token(new).get("/topics/other").expect(403)
    server.with_token(old).get("/topics").expect(401)
    server.get("/topics").expect(200)
    assert "event=tokens_read" in server.log() and "count=2" in server.log()


@pytest.mark.parametrize("text", ["", "# nothing left\n"])
def test_an_empty_token_file_refuses_every_request(start, text):
    tokens = TokenFile()
    root = tokens.add("root")
    server = start("--tokens", str(tokens.path), token=root)
    server.get("/topics").expect(200)
    tokens.path.write_text(text)
    server.reload()
    assert "level=warning event=no_tokens" in server.log()
    server.get("/topics").expect(401)
    server.with_token(None).get("/topics").expect(401)
    server.with_token("").get("/topics").expect(401)
    server.get("/healthz").expect(200)
    new = tokens.add("new")
    server.reload()
    server.with_token(new).get("/topics").expect(200)


def test_without_a_token_in_it_nothing_starts():
    tokens = TokenFile()
    result = run("--listen", "127.0.0.1:0", "--data", str(scratch.directory("data")), "--tokens", str(tokens.path))
    assert result.returncode == 2 and "listening" not in result.stdout
    assert "holds no token" in result.stderr and "duepost token new" in result.stderr


@pytest.mark.parametrize("fault", ["listen on everything\n", "tls-cert = /nowhere\ntls-key = /nowhere\n"])
def test_a_token_is_revoked_despite_errors_in_other_options(start, tmp_path, fault):
    tokens, file = TokenFile(), tmp_path / "duepost.conf"
    root, leaked = tokens.add("root"), tokens.add("leaked")
    file.write_text(f"tokens = {tokens.path}\n")
    server = start("--config", str(file), "--reactors", "2", token=root)
    server.with_token(leaked).get("/topics").expect(200)
    file.write_text(f"tokens = {tokens.path}\n{fault}")
    tokens.remove("leaked")
    server.reload("tokens_read")
    assert "event=options_not_reloaded" in server.log()
    until(lambda: server.with_token(leaked).get("/topics").status == 401, 5, "revoked")
    server.get("/topics").expect(200)


def test_sighup_before_anything_is_served_is_not_forgotten(redis):
    tokens, log, behind = TokenFile(), scratch.file("log"), redis(tcp=True)
    tokens.add("root"), tokens.add("leaked")
    behind.freeze()
    with log.open("w") as file:
        process = subprocess.Popen([BINARY, "--listen", "127.0.0.1:0", "--redis", behind.address, "--tokens", str(tokens.path)],
                                   env=environment(), stdout=subprocess.DEVNULL, stderr=file)
    try:
        until(lambda: "event=tokens_read" in log.read_text(), 10, "the first options")
        tokens.remove("leaked")
        process.send_signal(signal.SIGHUP)
        until(lambda: "event=options_reloaded_later " in log.read_text(), 10, "heard")
        behind.thaw()
        until(lambda: "event=options_reloaded " in log.read_text(), 10, "done")
        assert log.read_text().count("event=tokens_read") == 2 and "count=1" in log.read_text()
        process.terminate()
        assert process.wait(10 * SLOW) == 0
    finally:
        process.kill()
        process.wait()


def test_while_it_is_wrong_the_old_one_stays(start):
    tokens = TokenFile()
    root = tokens.add("root")
    server = start("--tokens", str(tokens.path), token=root)
    tokens.path.write_text("root nonsense")
    server.reload("tokens_not_read")
    assert str(tokens.path) in server.log()
    server.get("/topics").expect(200)
    server.with_token(None).get("/topics").expect(401)
    tokens.path.unlink()
    server.reload("tokens_not_read")
    server.get("/topics").expect(200)


def test_a_request_keeps_the_tokens_that_it_began_with(start, topic):
    tokens = TokenFile()
    root = tokens.add("root", topics=topic)
    server = start("--tokens", str(tokens.path), token=root)
    body = json.dumps({"topic": topic, "jobId": "a", "url": "http://127.0.0.1:9/", "delay": 3600})
    head = (f"POST /jobs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: Bearer {root}\r\nExpect: 100-continue\r\n\r\n")
    with server.connect() as link:
        link.sendall(head.encode())
        assert b" 100 " in link.recv(1000)
        tokens.remove("root")
        other = tokens.add("other")
        server.reload()
        server.get("/topics").expect(401)
        link.sendall(body.encode())
        assert b" 201 " in link.recv(1000)
    server.with_token(other).cancel(topic, "a").expect(200)
    assert "who=other" in server.log()


@pytest.mark.parametrize("rights", [None, {"scopes": ["read"]}, {"topics": "other"}], ids=["removed", "scope", "topic"])
def test_a_worker_that_waits_gets_no_job_after_its_token_is_revoked(start, topic, rights):
    """The worker's token loses its rights while the worker waits for a job."""
    tokens = TokenFile()
    root, worker = tokens.add("root"), tokens.add("worker", ["lease"], topics=topic)
    server = start("--tokens", str(tokens.path), token=root)
    make_pull(server, topic)
    body = b'{"wait":60}'
    with server.connect() as link:
        link.sendall(b"POST /topics/%s/lease HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                     b"Authorization: Bearer %s\r\n\r\n%s" % (topic.encode(), len(body), worker.encode(), body))
        await_waiting(server, 1)
        tokens.remove("worker")
        if rights:
            tokens.add_text("worker", worker, **{"scopes": ["lease"], **rights})
        server.reload()
        server.schedule(topic=topic, jobId="a")
        assert link.recv(1000).endswith(b'{"jobs":[]}')
    job = lease_one(server, topic)
    assert (job["jobId"], job["attempt"]) == ("a", 1)


def test_a_worker_that_waits_keeps_its_place_while_other_tokens_change(start, topic):
    tokens = TokenFile()
    root = tokens.add("root")
    server = start("--tokens", str(tokens.path), "--reactors", "1", token=root)
    make_pull(server, topic)
    body = b'{"wait":60}'
    with server.connect() as link:
        link.sendall(b"POST /topics/%s/lease HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                     b"Authorization: Bearer %s\r\n\r\n%s" % (topic.encode(), len(body), root.encode(), body))
        await_waiting(server, 1)
        tokens.add("other")
        server.reload()
        server.schedule(topic=topic, jobId="a")
        assert b'"jobId":"a"' in link.recv(1000)


def test_a_token_file_that_others_may_write_is_a_warning(start):
    tokens = TokenFile()
    root = tokens.add("root")
    tokens.path.chmod(0o666)
    server = start("--tokens", str(tokens.path), token=root)
    assert "chmod go-w" in server.log()


# ---- beyond loopback ----

@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
def test_beyond_loopback_it_needs_tokens(tmp_path, listen):
    result = run("--listen", listen, "--data", str(tmp_path / "d"))
    assert result.returncode == 1 and "listening" not in result.stdout
    assert "--tokens" in result.stderr and "duepost token new" in result.stderr


def test_on_loopback_no_token_is_needed(start, topic):
    for listen in "127.0.0.1:0", "127.0.0.9:0", "localhost:0":
        result = run("--listen", listen, "--print-config")
        assert result.returncode == 0
    start().with_token("anything").get("/topics").expect(200)


def test_tokens_cannot_be_taken_away_beyond_loopback(start, tmp_path):
    tokens, file = TokenFile(), tmp_path / "duepost.conf"
    root = tokens.add("root")
    file.write_text(f"tokens = {tokens.path}\n")
    server = start("--config", str(file), listen="0.0.0.0:0", token=root)
    file.write_text("")
    server.reload("options_not_reloaded")
    assert "can be reached from other hosts" in server.log()
    server.with_token(None).get("/topics").expect(401)
    server.get("/topics").expect(200)


# ---- audit ----

def audit_of(server):
    return [re.sub(r"^time=\S+ level=audit ", "", line) for line in server.log().splitlines() if " level=audit " in line]


def test_changes_are_logged_with_their_client_at_every_level(start, receiver, topic):
    tokens = TokenFile()
    shop = tokens.add("shop")
    server = start("--tokens", str(tokens.path), "--log-level", "error", token=shop)
    for job_id in "abcd":
        server.schedule(topic=topic, jobId=job_id, url="http://127.0.0.1:9/", delay=3600)
    assert audit_of(server) == []
    server.cancel(topic, "a").expect(200)
    server.cancel(topic, "a").expect(404)
    body = json.dumps({"delay": 7200})
    kind = {"Content-Type": "application/json"}
    server.request("PATCH", f"/jobs/{topic}/b", body, kind).expect(200)
    server.request("PUT", f"/jobs/{topic}/new", json.dumps({"url": "http://127.0.0.1:9/?secret", "delay": 3600}), kind).expect(201)
    server.request("PUT", f"/jobs/{topic}/b", json.dumps({"url": "http://127.0.0.1:9/?secret", "delay": 3600}), kind).expect(200)
    server.request("DELETE", f"/jobs?state=delayed&topic={topic}&limit=2").expect(200)
    server.request("PATCH", f"/topics/{topic}", json.dumps({"paused": True}), kind).expect(200)
    server.request("DELETE", f"/topics/{topic}").expect(200)
    receiver.script(topic, 410, 410, 200)
    server.schedule(topic=topic, jobId="dead", url=receiver.url())
    server.wait_for_state(topic, "dead", "dead")
    server.request("POST", f"/jobs/redrive?topic={topic}&all=true").expect(200)
    server.wait_for_state(topic, "dead", "dead")
    server.run(topic, "dead").expect(202)
    who = "who=shop from=127.0.0.1"
    assert audit_of(server) == [
        f"event=job_cancelled {who} job={topic}/a outcome=done",
        f"event=job_changed {who} job={topic}/b outcome=done",
        f"event=job_replaced {who} job={topic}/b outcome=done",
        f'event=jobs_cancelled {who} filter="state=delayed&topic={topic}&limit=2" matched=2 done=2 skipped=0 unknown=0',
        f"event=settings_changed {who} topic={topic} outcome=done",
        f"event=settings_reset {who} topic={topic} outcome=done",
        f'event=jobs_redriven {who} filter="topic={topic}&all=true" matched=1 done=1 skipped=0 unknown=0',
        f"event=job_run {who} job={topic}/dead outcome=done",
    ]
    assert "secret" not in server.log()


def test_the_jobs_of_a_bulk_action_are_logged_at_level_debug(start, receiver, topic):
    server = start("--log-level", "debug")
    for job_id in "ab":
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=3600)
    server.request("DELETE", f"/jobs?state=delayed&topic={topic}&all=true").expect(200)
    lines = [line for line in server.log().splitlines() if "event=job_cancelled" in line]
    assert [re.sub(r"^time=\S+ ", "", line) for line in sorted(lines, key=lambda line: line[line.index(" job="):])] == [
        f"level=debug event=job_cancelled who=- job={topic}/{job_id} outcome=done" for job_id in "ab"]


def test_without_tokens_who_is_a_dash(start, topic):
    server = start()
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600)
    server.cancel(topic, "a").expect(200)
    assert audit_of(server) == [f"event=job_cancelled who=- from=127.0.0.1 job={topic}/a outcome=done"]


def test_a_change_of_unknown_outcome_is_logged_as_that(start, redis, topic):
    its = redis()
    server = start(redis=its)
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600)
    its.freeze()
    try:
        server.cancel(topic, "a").expect(503)
    finally:
        its.thaw()
    assert audit_of(server) == [f"event=job_cancelled who=- from=127.0.0.1 job={topic}/a outcome=unknown"]


# ---- secrets ----

def test_a_token_shows_up_nowhere(start, receiver, topic):
    tokens = TokenFile()
    text = tokens.add("shop", rate="1000/s")
    server = start("--tokens", str(tokens.path), "--log-level", "debug", token=text)
    receiver.script(topic, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic), 5, "the delivery")
    stranger = "dp_canary-stranger"
    said = [server.with_token(stranger).get("/topics"), server.get("/metrics"), server.get("/topics"), server.cancel(topic, "a"),
            server.request("POST", "/jobs", "nonsense", {"Content-Type": "application/json"})]
    tokens.path.write_text(tokens.path.read_text() + f"other {text} scopes=read\n")
    server.reload("options_not_reloaded")
    command = open(f"/proc/{server.pid}/cmdline").read() + open(f"/proc/{server.pid}/environ").read()
    for place in [server.log(), command, *(str(reply.headers) + reply.body.decode() for reply in said),
                  *(str(arrival.headers) for arrival in receiver.of(topic))]:
        assert "canary" not in place
    assert server.terminate() == 0


# ---- scopes ----

def test_a_token_can_ask_for_its_own_rights(place):
    assert place.client("bound").get("/access").expect(200) == {
        "tokens": True, "name": "bound", "scopes": SCOPES, "topics": ["mine-*", "my.mail"], "groups": ["mine-*"]}
    assert place.client("without-read").get("/access").expect(200) == {
        "tokens": True, "name": "without-read", "scopes": [scope for scope in SCOPES if scope != "read"]}


def test_without_tokens_everything_is_allowed(server):
    assert server.get("/access").expect(200) == {"tokens": False, "scopes": SCOPES}
    assert server.get("/tokens").expect(200) == {"tokens": []}


def test_the_list_of_tokens_has_no_secrets(place):
    reply = place.client("root").get("/tokens")
    listed = reply.expect(200)["tokens"]
    assert [each["name"] for each in listed] == list(place.tokens.texts)
    assert {each["name"]: each.get("jobsPerHour") for each in listed}["slow-readJob"] == 1
    text = reply.body.decode()
    assert "sha256" not in text and not any(secret in text for secret in place.tokens.texts.values())
