"""POST /v2/publish: what is delivered, when, and what is refused."""

import base64
import time
import urllib.parse

import pytest

from patience import until
from qstash import QStash, arrivals
from receiver import Answer


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def path_of(topic, query=""):
    return f"/{topic}{query}"


# ---- what is delivered ----

def test_a_message_is_delivered_with_its_headers(qstash, receiver, topic):
    url = receiver.url(path_of(topic))
    message_id = qstash.publish(url, b'{"hello":"world"}', Content_Type="application/json", Upstash_Forward_My_Header="abc",
                                Authorization="Bearer whatever", X_Not_Forwarded="x")
    arrival, = arrivals(receiver, path_of(topic), 1)
    assert (arrival.method, arrival.body, arrival.job_id) == ("POST", b'{"hello":"world"}', message_id)
    assert arrival.headers["content-type"] == "application/json" and arrival.headers["my-header"] == "abc"
    assert arrival.headers["user-agent"] == "Upstash-QStash" and arrival.headers["upstash-retried"] == "0"
    assert arrival.headers["upstash-caller-ip"] == "127.0.0.1"
    assert not {"authorization", "x-not-forwarded", "duepost-topic", "webhook-id"} & set(arrival.headers)


def test_a_body_in_another_charset_arrives_with_its_type(qstash, receiver, topic):
    latin, said = "café".encode("latin-1"), "text/plain; charset=iso-8859-1"
    waits = qstash.publish(receiver.url(f"/{topic}"), latin, Content_Type=said, Upstash_Delay="1h")
    shown = qstash.call("GET", f"messages/{waits}").expect(200)
    assert (shown["bodyBase64"], shown["header"]) == (base64.b64encode(latin).decode(), {"Content-Type": [said]})
    qstash.publish(receiver.url(f"/{topic}"), latin, Content_Type=said)
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert (arrival.body, arrival.headers["content-type"]) == (latin, said)


@pytest.mark.parametrize("body", [b"", b"plain text", b'"a string"', b"\x00\xff bytes", b'{"twice":1,"twice":2}', b' {"spaces": [1.0, 1e3]} ',
                                  b'[1.000, "\\u00e9"]', "é".encode()])
def test_a_body_arrives_byte_for_byte(qstash, receiver, topic, body):
    qstash.publish(receiver.url(path_of(topic)), body)
    arrival, = arrivals(receiver, path_of(topic), 1)
    assert arrival.body == body and "content-type" not in arrival.headers


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_the_method_is_chosen(qstash, receiver, topic, method):
    qstash.publish(receiver.url(path_of(topic)), Upstash_Method=method)
    assert arrivals(receiver, path_of(topic), 1)[0].method == method


def test_the_destination_is_kept_byte_for_byte(qstash, receiver, topic):
    target = path_of(topic, "//a%20b/../c?x=1&qstash_token=secret&upstash-forward-from-query=a%20b&y=%20z&&z")
    qstash.publish(receiver.url(target))
    expected = path_of(topic, "//a%20b/../c?x=1&y=%20z&&z")
    arrival, = arrivals(receiver, expected, 1)
    assert arrival.headers["from-query"] == "a b"


def test_a_plus_in_a_setting_of_the_query_is_a_space(qstash, receiver, topic):
    qstash.publish(receiver.url(path_of(topic, "?upstash-forward-a=1+2%2B3&kept=1+2")), b"x")
    arrival, = arrivals(receiver, path_of(topic, "?kept=1+2"), 1)
    assert arrival.headers["a"] == "1 2+3"


def test_a_proxy_may_make_one_slash_of_two(qstash, receiver, topic):
    qstash.publish(receiver.url(path_of(topic)).replace("http://", "http:/"))
    arrivals(receiver, path_of(topic), 1)


def test_all_headers_are_forwarded_on_request(qstash, receiver, topic):
    qstash.publish(receiver.url(path_of(topic, "?upstash-header-forward=true")), b"{}", X_GitHub_Event="push", Authorization="Bearer t",
                   Upstash_Retries="1", Content_Type="application/json")
    arrival, = arrivals(receiver, path_of(topic), 1)
    assert arrival.headers["x-github-event"] == "push" and arrival.headers["content-type"] == "application/json"
    assert "authorization" not in arrival.headers and "upstash-retries" not in arrival.headers


def test_messages_are_jobs_of_the_native_api(qstash, topic):
    message_id = qstash.publish(f"https://example.com/{topic}", b"{}", Upstash_Delay="1h", Upstash_Label="a, b", Upstash_Retries="7")
    job = qstash.job("qstash~messages", message_id)
    assert (job["state"], job["form"], job["labels"], job["retry"]) == ("delayed", "qstash", ["a", "b"], 7)
    assert qstash.cancel("qstash~messages", message_id).status == 200


# ---- when ----

@pytest.mark.parametrize("delay, seconds", [("10s", 10), ("1d10m", 87000), ("1h30m", 5400), ("0s", 0)])
def test_a_delay_counts_from_now(qstash, topic, delay, seconds):
    before = time.time()
    message_id = qstash.publish(f"https://example.com/{topic}", Upstash_Delay=delay)
    if seconds:
        not_before = qstash.call("GET", f"messages/{message_id}").expect(200)["notBefore"] / 1000
        assert before + seconds - 2 < not_before < time.time() + seconds + 2


def test_not_before_wins_over_the_delay(qstash, topic):
    at = int(time.time()) + 3600
    message_id = qstash.publish(f"https://example.com/{topic}", Upstash_Delay="10s", Upstash_Not_Before=at)
    assert qstash.call("GET", f"messages/{message_id}").expect(200)["notBefore"] == at * 1000


# ---- failures ----

def test_retries_count_and_wait_as_the_answer_asks(qstash, receiver, topic):
    receiver.script(path_of(topic), Answer(500, headers=(("Retry-After", "0"),)), Answer(429, headers=(("X-RateLimit-Reset", "20ms"),)), 304, 200)
    message_id = qstash.publish(receiver.url(path_of(topic)), Upstash_Retries="3")
    found = arrivals(receiver, path_of(topic), 3)
    assert [each.headers["upstash-retried"] for each in found] == ["0", "1", "2"]
    job = qstash.wait_for_state("qstash~messages", message_id, "delayed")
    assert job["retrySchedule"] == [12, 148, 1808, 22026, 86400]
    assert qstash.cancel("qstash~messages", message_id).status == 200


def test_a_final_answer_ends_the_message(qstash, receiver, topic):
    receiver.script(path_of(topic), Answer(489, headers=(("Upstash-NonRetryable-Error", "true"),)))
    message_id = qstash.publish(receiver.url(path_of(topic)))
    job = qstash.wait_for_state("qstash~messages", message_id, "dead")
    assert job["reason"] == "rejected" and receiver.count(path_of(topic)) == 1


@pytest.mark.parametrize("answer", [Answer(489), Answer(410), Answer(300), Answer(200, headers=(("Duepost-Again", "1h"),))])
def test_other_answers_mean_what_their_status_says(qstash, receiver, topic, answer):
    receiver.script(path_of(topic), answer)
    message_id = qstash.publish(receiver.url(path_of(topic)), Upstash_Retries="0")
    job = qstash.wait_for_state("qstash~messages", message_id, None if answer.status == 200 else "dead")
    assert answer.status == 200 or job["reason"] == "retries_exhausted"
    assert receiver.count(path_of(topic)) == 1


def test_a_timeout_is_a_failed_attempt(qstash, receiver, topic):
    receiver.script(path_of(topic), Answer(200, delay=30))
    message_id = qstash.publish(receiver.url(path_of(topic)), Upstash_Timeout="1s", Upstash_Retries="0")
    assert qstash.wait_for_state("qstash~messages", message_id, "dead")["lastAttempt"]["error"] == "timeout"


# ---- duplicates ----

def test_a_deduplication_id_counts_once(qstash, receiver, topic):
    first = qstash.publish(receiver.url(path_of(topic)), b"1", Upstash_Deduplication_Id=topic)
    arrivals(receiver, path_of(topic), 1)
    again = qstash.call("POST", f"publish/{receiver.url(path_of(topic))}", b"2", Upstash_Deduplication_Id=topic).expect(202)
    assert again == {"messageId": first, "deduplicated": True}


def test_the_content_of_a_message_counts_once(qstash, topic):
    url = f"https://example.com/{topic}"
    settings = {"Upstash_Content_Based_Deduplication": "True", "Upstash_Forward_A": "1", "Content_Type": "text/plain"}

    def publish(target=url, body=b"1", **more):
        return qstash.call("POST", f"publish/{target}", body, **{**settings, "Upstash_Delay": "1h", **more})

    first = publish().expect(200)["messageId"]
    assert publish(Upstash_Retries="1").expect(202)["messageId"] == first
    others = [publish(body=b"2"), publish(target=f"{url}2"), publish(Upstash_Forward_A="2"), publish(Content_Type="text/html")]
    assert [each.status for each in others] == [200] * 4


# ---- what is refused ----

@pytest.mark.parametrize("destination, headers, part", [
    ("", {}, "a non-empty destination must be provided"),
    ("ftp://example.com", {}, "destination"),
    ("http://", {}, "host"),
    ("https://example.com/", {"Upstash-Delay": "soon"}, "Delay"),
    ("https://example.com/", {"Upstash-Delay": "10"}, "Delay"),
    ("https://example.com/", {"Upstash-Not-Before": "x"}, "Not-Before"),
    ("https://example.com/", {"Upstash-Retries": "-1"}, "Retries"),
    ("https://example.com/", {"Upstash-Method": "OPTIONS"}, "Method"),
    ("https://example.com/", {"Upstash-Timeout": "0s"}, "Timeout"),
    ("https://example.com/", {"Upstash-Callback": "example.com"}, "Callback"),
    ("https://example.com/", {"Upstash-Failure-Callback": "x"}, "Failure-Callback"),
    ("https://example.com/", {"Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": "speed=1"}, "Flow-Control-Value"),
    ("https://example.com/", {"Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": "rate=1, period=8d"}, "Flow-Control-Value"),
    ("https://example.com/", {"Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": "period=1m"}, "Flow-Control-Value"),
    ("https://example.com/", {"Upstash-Redact-Fields": "everything"}, "Redact-Fields"),
    ("https%3A%2F%2Fexample.com%2F%zz", {}, "percent-encoding"),
    ("http://169.254.169.254/", {}, "url"),
])
def test_an_invalid_publish_is_refused(qstash, destination, headers, part):
    reply = qstash.call("POST", f"publish/{destination}", **headers)
    assert reply.status == 400 and part in reply.json["error"], reply.body


def test_too_many_retries_are_over_the_plan(qstash):
    qstash.call("POST", "publish/https://example.com/", Upstash_Retries="101").expect(412)


def test_too_long_a_timeout_is_over_the_plan(qstash):
    for name in ("Upstash-Timeout", "Upstash-Callback-Timeout"):
        qstash.call("POST", "publish/https://example.com/", **{name: "61m", "Upstash-Callback": "https://example.com/"}).expect(412)
    qstash.publish("https://example.com/", Upstash_Timeout="1h", Upstash_Delay="1h")


def test_the_error_for_a_label_is_a_sentence(qstash):
    error = qstash.call("POST", "publish/https://example.com/", Upstash_Label="a" * 65).expect(400)["error"]
    assert error.count("must be") == 1


def test_a_destination_may_be_percent_encoded(qstash, receiver, topic):
    """encodeURIComponent(url) has no character of its own, so the query inside belongs to the url."""
    target = f"/{topic}/a%20b?x=1&upstash-retries=9&y=%2B"
    encoded = urllib.parse.quote(receiver.url(target), safe="")
    qstash.publish(encoded, b"1")
    qstash.publish(f"{encoded}?upstash-forward-own=1&z=2&qstash_token=t", b"2")
    first, = arrivals(receiver, target, 1)
    second, = arrivals(receiver, f"{target}&z=2", 1)
    assert (first.body, second.body, second.headers["own"]) == (b"1", b"2", "1")
    qstash.call("POST", f"enqueue/{topic}/{encoded}", b"3").expect(200)
    qstash.call("POST", "batch", [{"destination": encoded, "body": "4"}]).expect(200)
    until(lambda: receiver.count(target) == 3, 15, "all are delivered")
    made = qstash.call("POST", f"schedules/{encoded}", b"", Upstash_Cron="0 0 1 1 *").expect(200)["scheduleId"]
    assert qstash.call("GET", f"schedules/{made}").expect(200)["destination"] == receiver.url(target)
    qstash.call("DELETE", f"schedules/{made}").expect(200)


def test_an_unknown_group_is_not_found(qstash):
    assert qstash.call("POST", "publish/nobody").expect(404)["error"] == "topic nobody not found"


def test_unknown_settings_are_ignored(qstash, topic):
    qstash.publish(f"https://example.com/{topic}", Upstash_Telemetry_Sdk="x", Upstash_Something_New="y", Upstash_Delay="1h")


def test_other_paths_and_methods_answer_as_this_api(qstash):
    qstash.call("GET", "publish/https://example.com/").expect(405)


def test_without_the_option_the_paths_do_not_exist(server):
    assert server.request("POST", "/v2/publish/https://example.com/", check=False).status == 404
