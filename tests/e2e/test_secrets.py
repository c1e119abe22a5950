"""Secrets do not leak. The tests put canaries wherever a secret may be, and then search all output of duepost for
them: logs, answers, metrics, output of commands, command lines."""

import base64
import json
import pathlib
import signal
import subprocess

import duepost
from patience import SLOW, until
from receiver import Answer, CLOSE, HANG
from redis_server import free_port
import scratch
from tokens import TokenFile

DAY = 86400


def canary(name):
    return f"canary-{name}-5f1d3c"


def signing_key(name):
    """Returns a signing key from a canary. In the output, the tests search for the part after whsec_."""
    return "whsec_" + base64.b64encode(canary(name).encode().ljust(32, b"-")).decode()


SIGNING = {name: signing_key(name) for name in ("topic-key", "other-key", "file-key", "new-file-key")}
SECRETS = [canary(name) for name in (
    "authorization", "job-header", "job-query", "changed-header", "changed-query", "topic-header", "topic-query", "dead-query", "dead-header", "done-query", "done-header",
    "userinfo", "request-authorization", "proxy-password", "password", "wrong-password", "faulty")]
SECRETS += [key.removeprefix("whsec_") for key in SIGNING.values()]
TOKENS = "dp_canary"  # the tokens of TokenFile begin like this
SECRETS.append(TOKENS)

# These values may be in an answer, but not in logs and metrics.
PRIVATE = [canary(name) for name in ("body", "idempotency-key", "answer")]


class Said:
    """All output that was collected, with its source."""

    def __init__(self):
        self.texts = []

    def add(self, where, text, is_public=True):
        self.texts.append((where, text if isinstance(text, bytes) else text.encode(), is_public))

    def check(self):
        found = [f"{secret} in {where}: ...{text[max(0, text.find(secret.encode()) - 200):][:400]!r}"
                 for where, text, is_public in self.texts
                 for secret in SECRETS + PRIVATE * is_public if secret.encode() in text]
        assert not found, "\n".join(found)


class Talker:
    """Sends requests, and keeps the answers."""

    def __init__(self, server, said):
        self.server, self.said = server, said

    def __call__(self, method, target, body=None, headers=None, media="application/json"):
        headers = headers or {}
        if body is not None:
            headers["Content-Type"] = media
            body = body if isinstance(body, (str, bytes)) else json.dumps(body)
        reply = self.server.request(method, target, body, headers)
        self.said.add(f"{method} {target}", str(reply.headers).encode() + reply.body, is_public=False)
        return reply

    def command(self, *words):
        done = subprocess.run([duepost.BINARY, *words], capture_output=True, timeout=30 * SLOW, check=False,
                              env=duepost.environment({"DUEPOST_SERVER": self.server.url, "DUEPOST_TOKEN": self.server.token}))
        assert done.returncode == 0, done
        self.said.add(f"duepost {' '.join(words)}", done.stdout + done.stderr, is_public=False)

    def metrics(self):
        self.said.add("metrics", self.server.get("/metrics").body)

    def command_lines(self):
        for pid in (self.server.pid, *self.server.redis_pids()):
            self.said.add(f"the command line of {pid}", pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())


def be_unknown(ask):
    """Sends requests without a valid token."""
    for value in (f"Bearer {canary('request-authorization')}", f"Bearer {TOKENS}{1:055x}x", f"Basic {canary('request-authorization')}",
                  canary("request-authorization")):
        ask("GET", "/jobs?topic=secrets", headers={"Authorization": value}).expect(401)
        ask("GET", "/healthz", headers={"Authorization": value}).expect(200)


def callback(url, name):
    return {"url": f"{url}?key={canary(name + '-query')}", "headers": {"X-Key": canary(name + "-header")}, "includeBody": True}


def job(job_id, url, **members):
    return {"topic": "secrets", "jobId": job_id, "url": f"{url}?key={canary('job-query')}",
            "headers": {"Authorization": f"Bearer {canary('authorization')}", "X-Api-Key": canary("job-header")},
            "body": {"text": canary("body")}, "onDelivered": callback("http://127.0.0.1:9/", "done"), "retrySchedule": [0.05], "retry": 1, "timeout": 0.5, **members}


def settings(receiver):
    return {"headers": {"X-Topic-Key": canary("topic-header")}, "url": receiver.url(f"/topic?key={canary('topic-query')}"),
            "onDead": callback(receiver.url("/dead"), "dead"),
            "secrets": [SIGNING["topic-key"], SIGNING["other-key"]]}


def set_topic(ask, receiver):
    ask("PUT", "/topics/secrets", settings(receiver)).expect(200)
    ask("PATCH", "/topics/secrets", {"jitter": 0.1}).expect(200)
    ask("PATCH", "/topics/secrets", {"secrets": [SIGNING["topic-key"] + "!"]}).expect(400)
    ask("PATCH", "/topics/secrets", {"secrets": SIGNING["topic-key"], "headers": {"X Bad": canary("topic-header")}}).expect(400)
    ask("PUT", "/topics/secrets", {"url": f"ftp://x/?{canary('topic-query')}",
                                   "onDead": f"http://{canary('userinfo')}@x/?{canary('dead-query')}"}).expect(400)
    ask("GET", "/topics/secrets").expect(200)
    ask("GET", "/topics").expect(200)


def be_refused(ask, url):
    """Sends invalid requests that have a secret near the fault."""
    wrong = [
        {"url": f"http://user:{canary('userinfo')}@127.0.0.1/"},
        {"url": f"http://127.0.0.1/?{canary('job-query')}#x"},
        {"url": f"http://10.0.0.1/?{canary('job-query')}"},
        {"headers": {"Authorization": f"{canary('authorization')}\r\nX: y"}},
        {"headers": {"Host": canary("authorization")}},
        {"headers": {"Authorization": [canary("authorization")]}},
        {"headers": canary("authorization")},
        {"delay": canary("faulty")},
        {"retrySchedule": [canary("faulty")]},
        {"topic": canary("faulty") + "/"},
        {"jobId": canary("faulty") + "\n"},
    ]
    for members in wrong:
        ask("POST", "/jobs", {**job("wrong", url), **members}).expect(400)
    text = json.dumps(job("wrong", url))
    for cut in (text[:-1], text[:len(text) // 2], text.replace('"body"', '"topic": "x", "body"'), "[" + text):
        ask("POST", "/jobs", cut).expect(400)
    ask("POST", "/jobs", text, media="text/plain").expect(415)
    ask("POST", "/jobs", text + " " * (2 << 20)).expect(413)
    ask("POST", "/jobs", [job("many", url, delay=DAY), {**job("x", url), "url": f"http://{canary('userinfo')}@x/"}]).expect(207)


def change(ask, url):
    """A client with all rights schedules, changes, reads and cancels jobs."""
    key = {"Idempotency-Key": canary("idempotency-key")}
    ask("POST", "/jobs", job("owned", url, delay=DAY), key).expect(201)
    ask("POST", "/jobs", job("owned", url, delay=DAY), key).expect(201)
    ask("POST", "/jobs", job("owned", url), key).expect(422)
    ask("POST", "/jobs", job("owned", url, delay=2 * DAY)).expect(409)
    tag = ask("GET", "/jobs/secrets/owned").headers["ETag"]
    ask("PATCH", "/jobs/secrets/owned", {"headers": {"X-Api-Key": canary("changed-header")},
                                         "url": f"{url}?{canary('changed-query')}"}, {"If-Match": tag}).expect(200)
    ask("PATCH", "/jobs/secrets/owned", {"url": f"http://{canary('userinfo')}@x/"}).expect(400)
    ask("PATCH", "/jobs/secrets/owned", {"headers": {"Host": canary("changed-header")}}).expect(400)
    ask("PATCH", "/jobs/secrets/owned", {"timeout": 1}, {"If-Match": tag}).expect(412)
    ask("GET", "/jobs/secrets/owned").expect(200)
    ask("PUT", "/jobs/secrets/owned", job("owned", url, delay=DAY)).expect(200)


def be_delivered(ask, receiver, port_of_nobody):
    """Makes attempts that end in all possible ways. Jobs that fail die soon, and a callback reports it to the url of
    onDead."""
    receiver.script("secrets", 200, job_id="fine")
    receiver.script("secrets", Answer(500, body=canary("answer").encode()), job_id="failed")
    receiver.script("secrets", 410, job_id="gone")
    receiver.script("secrets", CLOSE, job_id="closed")
    receiver.script("secrets", HANG, job_id="hung")
    receiver.script("secrets", Answer(302, headers=(("Location", "http://127.0.0.1/"),)), job_id="moved")
    places = {job_id: receiver.url("/hook") for job_id in ("fine", "failed", "gone", "closed", "hung", "moved")}
    places["nobody"] = f"http://127.0.0.1:{port_of_nobody}/hook"
    places["refused"] = "http://refused.localhost.invalid/hook"
    places["tls"] = receiver.url("/hook").replace("http:", "https:")
    for job_id, url in places.items():
        ask("POST", "/jobs", job(job_id, url)).expect(201)
    without_url = job("of-topic", "x")
    del without_url["url"]
    ask("POST", "/jobs", without_url).expect(201)
    dead = set(places) - {"fine"}
    for job_id in dead:
        ask.server.wait_for_state("secrets", job_id, "dead", 20)
    for job_id in dead:
        for target in ("", "/why"):
            ask("GET", f"/jobs/secrets/{job_id}{target}").expect(200)
    assert canary("answer") in ask.server.get("/jobs/secrets/failed/attempts").body.decode()  # this answer has a secret of the receiver
    until(lambda: receiver.of("secrets", "of-topic"), 10, "the delivery to the topic's url")


def read_notice(ask, state, job_id=None):
    """Reads a callback job by each route that shows this job, and returns the job's id."""
    if job_id is None:
        job_id, = [job["jobId"] for job in ask("GET", f"/jobs?state={state}&topic=told~callbacks").expect(200)["jobs"]]
    found = ask("GET", f"/jobs/told~callbacks/{job_id}").expect(200)
    assert found["state"] == state and "body" not in found
    ask("GET", f"/jobs/told~callbacks/{job_id}/attempts").expect(200)
    ask.command("show", f"told~callbacks/{job_id}")
    return job_id


def read_notices(ask, receiver):
    """Reads a callback job in each state and after its end. Its body has the body of the dead job, and it has secret
    headers."""
    ask("PUT", "/topics/told", {**settings(receiver), "retention": DAY}).expect(200)
    receiver.script("told", 410, job_id="a")
    receiver.script("told", 410, job_id="b")
    receiver.script("told~callbacks", 500, Answer(410, delay=2 * SLOW), 200, 500)
    ask("POST", "/jobs", {**job("a", receiver.url()), "topic": "told"}).expect(201)
    arrival, = until(lambda: receiver.of("told~callbacks"), 10, "the notice")
    assert canary("body").encode() in arrival.body and arrival.headers["x-key"] == canary("dead-header")
    ask.server.wait_for_state("told~callbacks", arrival.job_id, "delayed")
    notice = read_notice(ask, "delayed")
    ask("PATCH", f"/jobs/told~callbacks/{notice}", {"url": receiver.url()}).expect(403)
    ask("POST", f"/jobs/told~callbacks/{notice}/run").expect(202)
    ask.server.wait_for_state("told~callbacks", notice, "leased")
    read_notice(ask, "leased")
    ask.server.wait_for_state("told~callbacks", notice, "dead")
    read_notice(ask, "dead")
    ask("POST", f"/jobs/told~callbacks/{notice}/run").expect(202)
    ask.server.wait_for_state("told~callbacks", notice, "delivered")
    read_notice(ask, "delivered", notice)
    ask("POST", "/jobs", {**job("b", receiver.url()), "topic": "told"}).expect(201)
    notice = until(lambda: [each["jobId"] for each in ask.server.get("/jobs?state=delayed&topic=told~callbacks").expect(200)["jobs"]], 10,
                   "another notice")[0]
    ask("DELETE", f"/jobs/told~callbacks/{notice}").expect(200)
    read_notice(ask, "cancelled", notice)


def ask_for_all(ask, places):
    for target in ("/jobs?state=delayed&topic=secrets", "/jobs?state=dead&topic=secrets", f"/jobs?state=dead&topic=secrets&urlHost={places}",
                   "/jobs/count?state=dead&topic=secrets", "/topics", "/topics/secrets", "/receivers", "/healthz", "/readyz",
                   "/jobs/secrets/owned", "/jobs/secrets/owned/why", "/jobs/secrets/owned/attempts"):
        ask("GET", target).expect(200)
    ask("GET", "/nothing").expect(404)
    ask("POST", "/jobs/redrive?topic=secrets&state=dead&limit=2").expect(200)
    ask.command("jobs", "--state", "delayed", "--topic", "secrets")
    ask.command("jobs", "--state", "delayed", "--topic", "secrets", "--json")
    ask.command("dead", "--topic", "secrets")
    ask.command("topics")
    ask.command("show", "secrets/owned")
    ask.command("why", "secrets/failed")
    ask.command("cancel", "secrets/owned")


def reload(server, file):
    """Reloads a valid file, and then an invalid one."""
    for text in (SIGNING["new-file-key"], SIGNING["new-file-key"] + "!"):
        file.write_text(text + "\n")
        before = server.log().count("reload")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.log().count("reload") > before, 10, "a line about the reload")


def test_no_output_contains_secrets(start, redis, receiver):
    said = Said()
    behind = redis(password=canary("password"))
    password, keys = scratch.file("password"), scratch.file("keys")
    password.write_text(canary("password") + "\n")
    keys.write_text(SIGNING["file-key"] + "\n")
    tokens = TokenFile()
    token = tokens.add("owner")
    server = start("--log-level", "debug", "--redis-password-file", str(password), "--signing-secret-file", str(keys),
                   "--tokens", str(tokens.path), redis=behind, token=token)
    ask = Talker(server, said)
    be_unknown(ask)
    set_topic(ask, receiver)
    be_refused(ask, receiver.url())
    change(ask, receiver.url())
    be_delivered(ask, receiver, free_port())
    read_notices(ask, receiver)
    ask_for_all(ask, receiver.url().split("/")[2])
    reload(server, keys)
    behind.command("CONFIG", "SET", "requirepass", canary("wrong-password"))
    behind.password = canary("wrong-password")
    behind.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    until(lambda: server.get("/readyz").status == 503, 10, "a Redis that refuses our password")
    ask("GET", "/readyz")
    ask("POST", "/jobs", job("late", receiver.url())).expect(503)
    ask.metrics()
    ask.command_lines()
    assert server.terminate(20) == 0
    said.add("the log", server.log())
    said.check()


def test_the_command_line_of_the_private_redis_has_no_secrets(start, receiver):
    said = Said()
    keys = scratch.file("keys")
    keys.write_text(SIGNING["file-key"] + "\n")
    server = start("--log-level", "debug", "--log-format", "json", "--signing-secret-file", str(keys))
    ask = Talker(server, said)
    ask("PUT", "/topics/secrets", settings(receiver)).expect(200)
    ask("POST", "/jobs", job("fine", receiver.url())).expect(201)
    until(lambda: receiver.of("secrets", "fine"), 10, "the delivery")
    assert server.redis_pids()
    ask.command_lines()
    ask.metrics()
    said.add("the log", server.log())
    said.check()


def test_a_proxy_that_is_not_there_is_named_without_its_password(start):
    said = Said()
    proxy = f"http://me:{canary('proxy-password')}@127.0.0.1:{free_port()}"
    server = start("--log-level", "debug", extra={"DUEPOST_EGRESS_PROXY": proxy})
    ask = Talker(server, said)
    for job_id, url in (("plain", "http://receiver.example/"), ("tunnel", "https://receiver.example/")):
        ask("POST", "/jobs", job(job_id, url)).expect(201)
        server.wait_for_state("secrets", job_id, "dead", 20)
        for target in ("", "/why", "/attempts"):
            ask("GET", f"/jobs/secrets/{job_id}{target}").expect(200)
    ask.command_lines()
    ask.metrics()
    said.add("the log", server.log())
    said.check()


def test_wrong_configuration_is_refused_without_its_secrets():
    said = Said()
    keys = scratch.file("keys")
    wrong = [
        ([], {"DUEPOST_REDIS": f"redis://:{canary('password')}@host:port"}),
        ([], {"DUEPOST_REDIS": f"redis://{canary('userinfo')}:{canary('password')}@"}),
        ([], {"DUEPOST_REDIS": f"http://:{canary('password')}@host"}),
        ([], {"DUEPOST_REDIS": f"sentinel://:{canary('password')}@host"}),
        ([], {"DUEPOST_REDIS": f"cluster://:{canary('password')}@host/1"}),
        (["--redis", f"redis://:{canary('password')}@host"], {}),
        (["--signing-secret-file", str(keys)], {}),
        ([], {"DUEPOST_EGRESS_PROXY": f"http://me:{canary('proxy-password')}@host:port"}),
        ([], {"DUEPOST_EGRESS_PROXY": f"http://me:{canary('proxy-password')}@host/path"}),
        (["--egress-proxy", f"http://me:{canary('proxy-password')}@host:1"], {}),
    ]
    for text in (SIGNING["file-key"] + "!", canary("file-key"), f"whsec_{canary('faulty')}"):
        keys.write_text(text + "\n")
        for options, extra in wrong:
            done = duepost.run("--data", str(scratch.directory("data")), *options, extra=extra)
            assert done.returncode == 2, done
            said.add(f"{options} {extra}", done.stdout + done.stderr)
    shown = duepost.run("--print-config", extra={"DUEPOST_REDIS": f"redis://me:{canary('password')}@host:1",
                                                 "DUEPOST_EGRESS_PROXY": f"http://me:{canary('proxy-password')}@proxy:2"})
    assert shown.returncode == 0 and "host:1" in shown.stdout and "proxy:2" in shown.stdout, shown
    said.add("--print-config", shown.stdout + shown.stderr)
    said.check()


def test_the_canaries_would_be_found():
    said = Said()
    said.add("a log", f"x {canary('authorization')} y")
    try:
        said.check()
    except AssertionError:
        return
    raise AssertionError("a canary in a log was not found")
