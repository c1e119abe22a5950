"""duepost listen: jobs of a topic, POSTed by the command line to a url of its own host."""

import base64
import json
import signal
import subprocess

import pytest

import duepost
import processes
import scratch
import timestamp
from patience import SLOW, until as until_within
from receiver import CLOSE, HANG, Answer
from tokens import TokenFile
from worker import pull, pull_post


JSON = {"Content-Type": "application/json"}


def until(condition, seconds=20, what="the condition"):
    return until_within(condition, seconds, what)


def change(server, topic, method="PATCH", **settings):
    return server.request(method, f"/topics/{topic}", json.dumps(settings), JSON).expect(200)


class Listener:
    """A running `duepost listen`. Its lines are in out, its remarks in err."""

    def __init__(self, server, topic, to, *options, extra=None):
        self.paths = scratch.file("out"), scratch.file("err")
        with self.paths[0].open("w") as out, self.paths[1].open("w") as err:
            self.process = subprocess.Popen([duepost.BINARY, "listen", topic, "--to", to, *options], stdout=out, stderr=err,
                                            env=duepost.environment({"DUEPOST_SERVER": server.url, **(extra or {})}))

    def out(self):
        return self.paths[0].read_text()

    def err(self):
        return self.paths[1].read_text()

    def wait(self, code=0, seconds=30):
        found = self.process.wait(seconds * SLOW)
        assert found == code, f"exit status {found}\n{self.err()}"
        return [line.split("  ") for line in self.out().splitlines()]

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.wait()


@pytest.fixture
def listen(server, topic, receiver):
    started = []

    def one(*options, to=None, on=server, **named):
        started.append(Listener(on, topic, to or receiver.url("/local"), *options, **named))
        return started[-1]
    yield one
    for each in started:
        if each.process.poll() is None:
            processes.end(each.process.pid)
            each.process.wait()


def settings(server, topic):
    return server.request("GET", f"/topics/{topic}").expect(200)["settings"]


def sent(arrival):
    """Returns the parts of a request that a receiver sees, apart from the connection."""
    return arrival.method, arrival.body, sorted(line for line in arrival.header_lines if not line.lower().startswith(
        ("host:", "webhook-timestamp", "webhook-signature", "connection:", "duepost-attempt:", "duepost-token:", "duepost-end-url:")))


JOBS = [{"body": {"n": 1.10}}, {"body": "text \u00e9"}, {"body": "[1]"}, {}, {"bodyBase64": base64.b64encode(b"\0\xff\n").decode()},
        {"method": "PUT", "body": [1]}, {"method": "DELETE"}, {"method": "GET", "headers": {"X-Empty": ""}}, {"method": "HEAD"},
        {"headers": {"Content-Type": "application/cloudevents+json", "X-Shop": "a, b", "User-Agent": "shop"}, "body": 0}]


def test_a_request_is_that_of_a_delivery(server, topic, receiver, listen):
    """Each job once from the server and once from listen, under one id: the requests differ in nothing but the time."""
    secret = "whsec_" + base64.b64encode(b"0" * 32).decode()
    secrets = scratch.file("secrets")
    secrets.write_text(secret + "\n")
    change(server, topic, "PUT", **{"secrets": [secret], "headers": {"X-Topic": "t"}})
    receiver.script(topic, 500)
    for index, job in enumerate(JOBS):
        server.schedule(topic=topic, jobId=f"j {index}/\u20ac", url=receiver.url("/local"), retry=5, retrySchedule=[1800], **job)
    until(lambda: len({each.job_id for each in receiver.of(topic)}) == len(JOBS))
    pull(server, topic)
    until(lambda: server.request("GET", f"/topics/{topic}").json["jobs"]["leased"] == 0)
    receiver.script(topic, 200)
    posted = {each.job_id: each for each in receiver.of(topic)}
    count = receiver.count(topic)
    server.request("POST", f"/jobs/run?topic={topic}&state=delayed&all=true").expect(200)
    listener = listen("--signing-secret-file", str(secrets))
    until(lambda: receiver.count(topic) >= count + len(JOBS), 20, lambda: listener.err() + listener.out() + str(server.get(f"/jobs?topic={topic}").json))
    listener.end()
    for arrival in receiver.of(topic)[count:]:
        before = posted[arrival.job_id]
        assert arrival.target == "/local"
        assert arrival.headers.pop("duepost-attempt") == str(before.attempt + 1)
        assert arrival.headers["webhook-signature"].startswith("v1,")
        assert sent(arrival) == sent(before)


@pytest.mark.parametrize("answer, shown, state, error", [
    (200, "200", "delivered", None),
    (204, "204", "delivered", None),
    (Answer(500, body=b"no stock\nat line 3"), "500", "delayed", "status 500: no stock"),
    (Answer(302, headers=(("Location", "/x"),)), "302", "delayed", "status 302"),
    (410, "410", "dead", "status 410"),
    (Answer(503, headers=(("Retry-After", "7200"),)), "503", "delayed", "status 503"),
    (Answer(200, headers=(("Duepost-Again", "2h"),)), "200", "delayed", "not yet: Duepost-Again: 2h"),
    (Answer(200, headers=(("Duepost-Again", "soon"),)), "200", "delayed", "The answer has Duepost-Again: soon"),
    (Answer(200, headers=(("Duepost-Defer", "1h"),)), "200", "delayed", "The answer has Duepost-Defer, which needs"),
])
def test_an_answer_means_the_same_as_to_the_server(server, topic, receiver, listen, answer, shown, state, error):
    pull(server, topic, retention="1h")
    receiver.script(topic, answer)
    server.schedule(topic=topic, jobId="a", retry=3, retrySchedule=[1800])
    listener = listen("--until-empty")
    (at, name, attempt, status, took, what), = listener.wait()
    assert (name, attempt, status) == (f"{topic}/a", "attempt 1", shown) and took.endswith(" ms")
    job = server.job(topic, "a")
    assert job["state"] == state and what.startswith({"delayed": "again at ", "dead": "dead, rejected"}.get(state, state))
    if error:
        assert server.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"][0]["errorDetail"].startswith(error)
    if state == "delayed":
        wait = timestamp.to_ms(job["dueAt"]) - timestamp.to_ms(at)
        expected = 7200 if shown == "503" or error.startswith("not yet") else 1800
        assert abs(wait / 1000 - expected) < 60 * SLOW


def test_nobody_listens(server, topic, listen):
    pull(server, topic)
    server.schedule(topic=topic, jobId="a", retry=3)
    (_, _, _, status, _, what), = listen("--until-empty", to="http://127.0.0.1:1/x").wait()
    assert "connect" in status and what.startswith("again at ")
    assert server.job(topic, "a")["attempts"] == 1


def test_a_request_is_sent_once_even_if_its_connection_is_closed(server, topic, receiver, listen):
    pull(server, topic)
    receiver.script(topic, 204, CLOSE)
    for job_id in ("a", "b"):
        server.schedule(topic=topic, jobId=job_id, retry=3)
    lines = listen("--until-empty").wait()
    assert [line[-1].split(" ")[0] for line in lines] == ["delivered", "again"] and receiver.count(topic) == 2


def test_a_request_that_takes_too_long_is_a_failed_attempt(server, topic, receiver, listen):
    pull(server, topic)
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a", retry=3)
    (_, _, _, status, _, _), = listen("--until-empty", "--timeout", "1s").wait()
    assert "Timeout" in status


def test_the_lease_lasts_as_long_as_the_request(server, topic, receiver, listen):
    pull(server, topic)
    receiver.script(topic, Answer(200, delay=4 * SLOW))
    server.schedule(topic=topic, jobId="a")
    listen("--until-empty", "--lease", f"{2 * SLOW}s", "--timeout", "5m").wait()
    assert receiver.count(topic) == 1 and server.job(topic, "a") is None


def test_a_deferred_attempt_is_ended_with_its_token(server, topic, receiver, listen):
    pull(server, topic, retention="1h")
    receiver.script(topic, Answer(202, headers=(("Duepost-Defer", "1h"),)))
    server.schedule(topic=topic, jobId="a")
    listener = listen("--until-empty")
    (*_, what), = listener.wait()
    assert what.startswith("deferred until ") and server.job(topic, "a")["state"] == "leased"
    headers = receiver.of(topic)[0].headers
    assert headers["duepost-end-url"] == f"{server.url}/topics/{topic}/"
    pull_post(server, topic, "complete", {"jobId": "a", "token": headers["duepost-token"], "result": 7}).expect(200)
    assert server.job(topic, "a")["result"] == 7


@pytest.mark.parametrize("body, result", [(b'{"n": 1.10}', {"n": 1.10}), (b"two words", "two words"), (b"", None), (b"\xff", None), (b'"' + b"x" * 70000 + b'"', None)])
def test_the_answer_is_the_result_where_the_topic_keeps_results(server, topic, receiver, listen, body, result):
    pull(server, topic, results=True, retention="1h")
    receiver.script(topic, Answer(200, body=body))
    server.schedule(topic=topic, jobId="a")
    listen("--until-empty").wait()
    assert server.job(topic, "a").get("result") == result


def test_without_the_setting_there_is_no_result(server, topic, receiver, listen):
    pull(server, topic, retention="1h")
    receiver.script(topic, Answer(200, body=b"1"))
    server.schedule(topic=topic, jobId="a")
    listen("--until-empty").wait()
    assert "result" not in server.job(topic, "a")


def test_a_topic_of_receivers_is_taken_only_with_the_option(server, topic, receiver, listen):
    change(server, topic, "PUT", **{"url": receiver.url("/far"), "paused": True})
    server.schedule(topic=topic, jobId="a")
    listener = listen()
    listener.wait(1)
    assert "With --take, the jobs come here" in listener.err() and settings(server, topic) == {"paused": True, "url": receiver.url("/far")}
    listener = listen("--take")
    until(lambda: settings(server, topic).get("delivery") == "pull")
    change(server, topic, "PATCH", **{"paused": None})
    until(lambda: receiver.count(topic) == 1, 20, listener.err)
    listener.end()
    assert receiver.of(topic)[0].target == "/local"
    assert settings(server, topic) == {"url": receiver.url("/far")}, listener.err()
    server.schedule(topic=topic, jobId="b")
    until(lambda: receiver.count(topic) == 2)
    assert receiver.of(topic)[1].target == "/far"


def test_a_topics_own_delivery_comes_back(server, topic, listen):
    change(server, topic, "PUT", **{"delivery": "push"})
    listener = listen("--take")
    until(lambda: settings(server, topic).get("delivery") == "pull")
    listener.end()
    assert settings(server, topic) == {"delivery": "push"}


def test_a_topic_that_defers_or_has_batches(server, topic, receiver, listen):
    change(server, topic, "PUT", defer=True)
    listener = listen("--take")
    until(lambda: settings(server, topic).get("delivery") == "pull")
    listener.end()
    assert settings(server, topic) == {"defer": True}
    change(server, topic, "PUT", batch={"size": 2, "wait": 1})
    listener = listen("--take")
    until(lambda: settings(server, topic).get("delivery") == "pull", 20, listener.err)
    listener.end()
    assert settings(server, topic) == {"batch": {"size": 2, "wait": 1}}


def test_a_change_of_someone_else_stays(server, topic, listen):
    listener = listen("--take")
    until(lambda: settings(server, topic).get("delivery") == "pull")
    change(server, topic, "PATCH", **{"delivery": "push"})
    listener.wait(1)
    assert "was changed meanwhile" in listener.err() and settings(server, topic) == {"delivery": "push"}


def test_a_topic_that_cannot_be_given_back_is_named_with_the_request_for_it(start, topic, listen):
    server = start()
    change(server, topic, "PUT", delivery="push")
    listener = listen("--take", on=server)
    until(lambda: settings(server, topic).get("delivery") == "pull")
    server.terminate()
    listener.end()
    assert f'topic {topic} still has delivery=pull: ' in listener.err()
    assert f'PATCH /topics/{topic} with {{"delivery":"push"}}' in listener.err()


def test_a_signal_lets_the_request_end(server, topic, receiver, listen):
    pull(server, topic)
    receiver.script(topic, Answer(200, delay=1.5))
    server.schedule(topic=topic, jobId="a")
    listener = listen("--grace", "2m", "--timeout", "5m")
    until(lambda: receiver.count(topic) == 1)
    assert [line[-1] for line in listener.end()] == ["delivered"]


@pytest.mark.parametrize("options, signals", [(("--grace", "0s"), 1), (("--grace", "5m"), 2)])
def test_a_request_that_does_not_end_is_released(server, topic, receiver, listen, options, signals):
    pull(server, topic)
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a")
    listener = listen(*options, "--timeout", "5m")
    until(lambda: receiver.count(topic) == 1)
    for number in (signal.SIGINT, signal.SIGTERM)[:signals]:  # two of one kind might be merged
        listener.process.send_signal(number)
    assert listener.wait() == []
    job = server.job(topic, "a")
    assert (job["state"], job["attempts"]) == ("ready", 0)


def test_only_the_jobs_of_a_key(server, topic, receiver, listen):
    pull(server, topic)
    for job_id, key in (("a", "ann"), ("b", "bob"), ("c", None)):
        server.schedule(topic=topic, jobId=job_id, **({"key": key} if key else {}))
    assert [line[1] for line in listen("--until-empty", "--key", "bob").wait()] == [f"{topic}/b"]


def test_lines_of_json(server, topic, receiver, listen):
    pull(server, topic)
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", retry=0)
    listener = listen("--until-empty", "--json")
    listener.wait()
    line = json.loads(listener.out())
    assert line == {"at": line["at"], "topic": topic, "jobId": "a", "attempt": 1, "status": 500, "error": "status 500",
                    "durationMs": line["durationMs"], "state": "dead"}


def test_a_token_with_the_scope_lease_alone(start, topic, receiver, listen):
    tokens = TokenFile()
    admin, worker = tokens.add("admin", ["schedule", "read", "admin"]), tokens.add("worker", ["lease"])
    server = start("--tokens", str(tokens.path), token=admin)
    pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    listener = listen("--until-empty", on=server, extra={"DUEPOST_TOKEN": worker})
    listener.wait()
    assert "scope read" in listener.err() and receiver.count(topic) == 1
    assert "authorization" not in receiver.of(topic)[0].headers


@pytest.mark.parametrize("words, error", [
    (["--to", "ftp://x/"], "--to ftp://x/: "), ([], "--to : is missing"), (["--to", "http://x/", "--timeout", "2h"], "at most 1h"),
    (["--to", "http://x/", "--signing-secret-file", "/nowhere"], "cannot read /nowhere"),
])
def test_wrong_usage(server, topic, words, error):
    done = subprocess.run([duepost.BINARY, "listen", topic, *words], env=duepost.environment({"DUEPOST_SERVER": server.url}), capture_output=True, text=True)
    assert done.returncode == 2 and error in done.stderr, done.stderr
