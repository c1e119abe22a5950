"""The requests that a receiver gets, and the answers that count as delivered."""

import collections
import json
import shlex

import pytest

from patience import SLOW, until
from receiver import CLOSE, GARBAGE, Answer, Raw
import contract


def deliver(server, receiver, topic, **members):
    head = f'{{"topic":"{topic}","jobId":"a","url":"{receiver.url()}"'
    server.post(head + "".join(f',"{name}":{text}' for name, text in members.items()) + "}").expect(201)
    until(lambda: receiver.count(topic), 5, "delivery")
    server.wait_for_state(topic, "a", None)
    return receiver.of(topic)[0]


BODIES = [
    "1.10", "1E2", "-0", "-0.0", "123456789012345678901234567890", "1e400", "0.1000000000000000055511151231257827", "true", "null",
    "[]", "{}", "[ 1 ,\t2,\r\n 3 ]", '{ "b" : 1.10 , "a":1E2,\n"c" : [ ] }', '{"key":"\\u00e9\\/\\n\\ud83d\\ude00"}',
    '{"é":"ü 😀 \u2028"}', '["\\u0000"]', '{"a":{"body":1,"topic":"x"}}', '"\\"quoted\\""',
]


@pytest.mark.parametrize("text", BODIES)
def test_the_body_arrives_byte_for_byte(server, receiver, topic, text):
    arrival = deliver(server, receiver, topic, body=text)
    assert arrival.body.decode() == (json.loads(text) if text.startswith('"') else text)
    assert arrival.headers["content-type"] == "application/json"


@pytest.mark.parametrize("text, content_type", [
    ('"plain text"', "text/plain; charset=utf-8"), ('"a\\nb\\u00e9 \\ud83d\\ude00 ü\\\\"', "text/plain; charset=utf-8"),
    ('""', "text/plain; charset=utf-8"), ('"{\\"n\\":1}"', "application/json"), ('"12"', "application/json"),
    ('"{\\"n\\":1"', "text/plain; charset=utf-8"), ('"\\u0000\\u0001"', "text/plain; charset=utf-8")])
def test_a_string_is_sent_as_its_text(server, receiver, topic, text, content_type):
    arrival = deliver(server, receiver, topic, body=text)
    assert arrival.body.decode() == json.loads(text)
    assert arrival.headers["content-type"] == content_type


def test_no_body_is_an_empty_body(server, receiver, topic):
    arrival = deliver(server, receiver, topic)
    assert arrival.body == b"" and arrival.headers["content-length"] == "0"
    assert arrival.headers["content-type"] == "application/json"


def test_a_large_body_arrives_whole(server, receiver, topic):
    text = '"' + "0123456789abcde\\n" * 60000 + '"'
    assert deliver(server, receiver, topic, body=text).body.decode() == json.loads(text)


HEADERS = {parameter["name"].lower(): parameter for parameter in contract.document["webhooks"]["delivery"]["post"]["parameters"]}
FRAMING = {"host", "accept", "content-length", "content-type"}


def check_headers(arrival, names):
    """Checks that the request has these headers and no others, and that their values follow the contract."""
    assert set(arrival.headers) - FRAMING == set(names)
    for name in names:
        value = arrival.headers[name]
        contract.validator(HEADERS[name]["schema"]).validate(int(value) if value.isdigit() else value)


def test_a_delivery_has_the_headers_of_the_contract(server, receiver, topic):
    secrets = {"secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                           "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="]}
    server.request("PUT", f"/topics/{topic}", json.dumps(secrets), {"Content-Type": "application/json"}).expect(200)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url()},
                headers={"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=1"}).expect(201)
    check_headers(until(lambda: receiver.of(topic), 5, "delivery")[0], [name for name in HEADERS if name not in ("duepost-round", "duepost-token", "duepost-end-url")])


def test_the_headers_say_which_job_and_attempt(server, receiver, topic):
    arrival = deliver(server, receiver, topic, body='{"n":1}')
    check_headers(arrival, [name for name, parameter in HEADERS.items() if parameter.get("required")])
    assert (arrival.topic, arrival.job_id, arrival.attempt) == (topic, "a", 1)
    assert arrival.headers["user-agent"].startswith("duepost/")
    assert arrival.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert "expect" not in arrival.headers


def test_the_jobs_own_headers_are_sent(server, receiver, topic):
    arrival = deliver(server, receiver, topic, body='"x"', headers='{"X-One":"1","x-empty":"","X-Tab":"a\\tb ~",'
                      '"content-type":"text/csv","Authorization":"Bearer t"}')
    assert arrival.headers["x-one"] == "1" and arrival.headers["x-empty"] == "" and arrival.headers["x-tab"] == "a\tb ~"
    assert arrival.headers["content-type"] == "text/csv" and arrival.headers["authorization"] == "Bearer t"
    names = [line.partition(":")[0].lower() for line in arrival.header_lines]
    assert len(names) == len(set(names)), names


def test_path_and_query_arrive_as_spelt(server, receiver, topic):
    server.schedule(topic=topic, url=receiver.url("/a/../b//c%2f?x=1&y=%20'{}"))
    until(lambda: receiver.count(topic), 5, "delivery")
    assert receiver.of(topic)[0].target in ("/a/../b//c%2f?x=1&y=%20'{}", "/b//c%2f?x=1&y=%20'{}")


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_success(server, receiver, topic, status):
    receiver.script(topic, Raw((f"HTTP/1.1 {status} Fine\r\n\r\n".encode(),)) if status == 204 else status)
    deliver(server, receiver, topic)
    assert receiver.count(topic) == 1


@pytest.mark.parametrize("action", [
    Answer(200, body_bytes=1000, body=b"cut"), Raw((b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nx",)),
    Answer(200, body=b"x" * 5_000_000),
    Raw((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n", b"nonsense")),
    Raw((b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n",) + (b"x",) * 40, pause=0.1)],
    ids=["cut later", "cut", "too long", "broken chunks", "slow"])
def test_the_status_counts_as_soon_as_the_header_section_is_complete(server, receiver, topic, action):
    """A 2xx is a success even if its body is too long, slow or cut off."""
    receiver.script(topic, action)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=1, retrySchedule=[0.1])
    server.wait_for_state(topic, "a", None)
    assert receiver.count(topic) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 408, 425, 429, 500, 503])
def test_any_other_answer_is_a_failed_attempt(server, receiver, topic, status):
    receiver.script(topic, Answer(status, (("Location", receiver.url("/elsewhere")),)), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.05])
    server.wait_for_state(topic, "a", None)
    assert [(a.attempt, a.target) for a in receiver.of(topic)] == [(1, "/hook"), (2, "/hook")]


FAILURES = {
    "reset": CLOSE,
    "timeout": Answer(200, delay=30),
    "timeout in the header": Raw((b"HTTP/1.1 200 OK\r\n",) + (b"X: y\r\n",) * 50, pause=0.1, close=False),
    "protocol": GARBAGE,
    "answer_too_large": Raw((b"HTTP/1.1 200 OK\r\n",) + (b"X: " + b"y" * 60000 + b"\r\n",) * 40),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_attempt_without_an_answer_has_an_error_word(server, receiver, topic, name):
    receiver.script(topic, FAILURES[name])
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=0, timeout=0.5)
    job = server.wait_for_state(topic, "a", "dead")
    assert job["lastAttempt"]["error"] == name.split()[0] and "status" not in job["lastAttempt"]
    assert job["attempts"] == receiver.count(topic) and job["reason"] == "retries_exhausted"


def test_a_refused_connection_and_an_unknown_name_count_as_attempts(start, redis, topic):
    from redis_server import free_port
    server = start("--allow-target", "127.0.0.0/8,::1,nowhere.invalid", allow=None)
    server.schedule(topic=topic, jobId="connect", url=f"http://127.0.0.1:{free_port()}/", retry=0)
    assert server.wait_for_state(topic, "connect", "dead")["lastAttempt"]["error"] == "connect"
    server.schedule(topic=topic, jobId="dns", url="http://nowhere.invalid/", retry=0, timeout=20)
    job = server.wait_for_state(topic, "dns", "dead", 25)
    assert job["lastAttempt"]["error"] == "dns" and job["attempts"] == 1 and "nowhere.invalid" in job["lastAttempt"]["errorDetail"]


def lines_of(server, topic):
    """Returns the lines about jobs of the topic in the log, as {job id: [(event, {field: value})]}."""
    found = collections.defaultdict(list)
    for line in server.log().splitlines():
        words = dict(word.split("=", 1) for word in shlex.split(line) if "=" in word)
        if words.get("job", "").startswith(topic + "/"):
            found[words["job"].partition("/")[2]].append((words.pop("event"), words))
    return found


def test_each_end_has_a_line_in_the_log(start, receiver, topic):
    server = start()
    receiver.script(topic, 503, 200, job_id="retried")
    receiver.script(topic, Answer(200, delay=30), job_id="late")
    receiver.script(topic, 410, job_id="gone")
    secret = "s3cret"
    for job_id, more in {"fine": {}, "retried": {"retrySchedule": [0.05]}, "late": {"retry": 0, "timeout": 0.5}, "gone": {}}.items():
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(f"/{secret}?{secret}"), headers={"X": secret}, body=secret, **more)
    receiver.script(topic, 500, job_id="expired")
    server.schedule(topic=topic, jobId="expired", url=receiver.url(), ttl=0.5, retrySchedule=[1])
    server.schedule(topic=topic, jobId="cancelled", url=receiver.url(), delay=60)
    server.cancel(topic, "cancelled").expect(200)
    until(lambda: {job_id for job_id, lines in lines_of(server, topic).items() if lines[-1][0] != "attempt_failed"} ==
          {"fine", "retried", "late", "gone", "expired", "cancelled"}, 10, lambda: lines_of(server, topic))
    told = lines_of(server, topic)
    where = f"127.0.0.1:{receiver.port}"
    assert {job_id: [event for event, _ in lines] for job_id, lines in told.items()} == {
        "fine": ["job_delivered"], "retried": ["attempt_failed", "job_delivered"], "late": ["job_dead"], "gone": ["job_dead"],
        "expired": ["attempt_failed", "job_dead"], "cancelled": ["job_cancelled"]}
    expected = {"fine": {"status": "200", "attempts": "1"}, "retried": {"status": "200", "attempts": "2"},
                "late": {"error": "timeout", "attempts": "1", "reason": "retries_exhausted"},
                "gone": {"status": "410", "attempts": "1", "reason": "gone"}, "expired": {"attempts": "1", "reason": "expired"}}
    for job_id, fields in expected.items():
        words = told[job_id][-1][1]
        assert fields.items() <= words.items() and words["receiver"] == where and int(words["late_ms"]) >= 0, words
    failed = told["retried"][0][1]
    assert failed["receiver"] == where and failed["status"] == "503" and failed["retry_in_ms"] == "50" and "reason" not in failed
    assert "timed out" in told["late"][0][1]["error_detail"] and "status" not in told["late"][0][1]
    assert secret not in server.log() and 'reason=""' not in server.log() and "status=0" not in server.log()


LOSE = """redis.call('HSET', KEYS[1], 't/a', '{"createdAt":1,"url":"http://a/"}')
redis.call('ZADD', KEYS[2], 1000, 't/a')
redis.call('HSET', KEYS[3], 't/a', 'n1 1000')
redis.call('HSET', KEYS[4], 't/a', '4 n0')"""


def test_a_job_that_lost_its_consumers_has_a_line_in_the_log(start, redis):
    its = redis()
    server = start(redis=its)
    its.command("EVAL", LOSE, "4", *(f"duepost:{{0}}:{key}" for key in ("jobs", "leases", "holders:t", "crashes")))
    until(lambda: "event=job_dead job=t/a reason=consumer_lost" in server.log(), 15, "the event job_dead in the log")
    assert server.job("t", "a")["reason"] == "consumer_lost"
    assert 'duepost_jobs_ended_total{topic="t",how="dead"} 1' in server.get("/metrics").body.decode()


def test_a_higher_level_leaves_out_what_went_well(start, receiver, topic):
    server = start("--log-level", "warning")
    receiver.script(topic, 410, job_id="gone")
    for job_id in ("fine", "gone"):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url())
    server.wait_for_state(topic, "fine", None)
    server.wait_for_state(topic, "gone", "dead")
    assert "event=job_dead" in server.log() and "event=job_delivered" not in server.log()


def test_the_404_of_a_job_that_has_ended_names_the_possible_reasons(server, receiver, topic):
    deliver(server, receiver, topic)
    for path in ("", "/why", "/attempts"):
        detail = server.get(f"/jobs/{topic}/a{path}").expect(404)["detail"]
        assert all(word in detail for word in ("delivered", "cancelled", "never", "retention", "log")), detail


def test_the_timeout_is_kept(server, receiver, topic):
    receiver.script(topic, Answer(200, delay=30))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=0, timeout=0.7)
    job = server.wait_for_state(topic, "a", "dead")
    assert 690 <= job["lastAttempt"]["durationMs"] < 700 + 500 * SLOW


def test_an_attempt_longer_than_its_lease_is_sent_once(server, receiver, topic):
    """A lease lasts 5 s, and duepost renews it while the attempt takes 7 s."""
    receiver.script(topic, Answer(200, delay=7))
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None, 12)
    assert receiver.count(topic) == 1


def test_a_receiver_that_closes_kept_connections_gets_one_post_an_attempt(server, receiver, topic):
    """The receiver closes a connection that was used before. Without duepost's own handling, libcurl would repeat the
    POST on a new connection."""
    other = topic + ".warm"
    for round_number in range(10):
        job_id = f"j{round_number}"
        for warm_id in f"{job_id}-1", f"{job_id}-2":  # two jobs, because two reactors take turns
            server.schedule(topic=other, jobId=warm_id, url=receiver.url())
            server.wait_for_state(other, warm_id, None)
        receiver.script(topic, CLOSE, 200, job_id=job_id)
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), retrySchedule=[0.2])
        server.wait_for_state(topic, job_id, None)
        assert [a.attempt for a in receiver.of(topic, job_id)] == [1, 2]
    seen, reused = set(), 0
    for arrival in sorted(receiver.of(other) + receiver.of(topic), key=lambda a: a.at_ms):
        reused += arrival.connection in seen and arrival.topic == topic and arrival.attempt == 1
        seen.add(arrival.connection)
    assert reused, "no connection was kept, so nothing was shown"


def test_connections_are_kept(server, receiver, topic):
    for i in range(10):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url())
        server.wait_for_state(topic, str(i), None)
    assert len({a.connection for a in receiver.of(topic)}) <= 7


def test_proxies_of_the_environment_are_not_used(start, receiver, topic):
    from receiver import Receiver
    proxy = Receiver()
    try:
        server = start(extra={"http_proxy": proxy.url(""), "HTTP_PROXY": proxy.url(""), "all_proxy": proxy.url("")})
        server.schedule(topic=topic, jobId="a", url=receiver.url())
        server.wait_for_state(topic, "a", None)
        assert receiver.count(topic) == 1 and not proxy.arrivals
    finally:
        proxy.stop()
