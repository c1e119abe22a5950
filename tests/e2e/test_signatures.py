"""Signatures of deliveries, and their trace headers."""

import base64
import hashlib
import hmac
import json
import re
import signal
import subprocess
import time

from duepost import BINARY
from patience import SLOW, until
from receiver import Answer
import scratch

SHARED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_plJ3nmyCDGBKInavdOK15jslAAAAAAAA"
PRIVATE = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
PUBLIC = "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
JSON = {"Content-Type": "application/json"}
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def set_topic(server, topic, **settings):
    return server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON).expect(200)


def signatures(arrival):
    return arrival.headers["webhook-signature"].split(" ")


def content(arrival):
    return b"%s.%s." % (arrival.headers["webhook-id"].encode(), arrival.headers["webhook-timestamp"].encode()) + arrival.body


def v1(secret, arrival):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.digest(key, content(arrival), hashlib.sha256)).decode()


def verify_v1a(signature, arrival):
    """Verifies with the openssl command, which is independent of duepost's code."""
    directory = scratch.directory("v1a")
    (directory / "key.der").write_bytes(bytes.fromhex("302a300506032b6570032100") + base64.b64decode(PUBLIC))
    (directory / "signature").write_bytes(base64.b64decode(signature.removeprefix("v1a,")))
    (directory / "content").write_bytes(content(arrival))
    subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", directory / "key.der", "-rawin",
                    "-in", directory / "content", "-sigfile", directory / "signature"], check=True, capture_output=True)


def came(receiver, topic, job_id, count=1):
    return until(lambda: len(found := receiver.of(topic, job_id)) >= count and found, 10, f"{topic}/{job_id}")


# ---- signatures ----

def test_a_topics_keys_sign_the_very_bytes_that_arrive(server, receiver, topic):
    shown = set_topic(server, topic, secrets=[SHARED, PRIVATE])["settings"]
    assert shown == {"secrets": ["whsec_***", "whpk_" + PUBLIC]}
    server.post('{"topic":"%s","jobId":"a.b","url":"%s","body":{ "n": 1.10, "s": "é" }}' % (topic, receiver.url())).expect(201)
    arrival, = came(receiver, topic, "a.b")
    assert arrival.body == '{ "n": 1.10, "s": "é" }'.encode()
    assert re.fullmatch("msg_[0-9a-f]{32}", arrival.headers["webhook-id"])
    assert abs(int(arrival.headers["webhook-timestamp"]) - time.time()) < 5 * SLOW
    shared, private = signatures(arrival)
    assert shared == v1(SHARED, arrival)
    verify_v1a(private, arrival)


def test_an_id_stays_over_retries_and_redrives_and_is_new_for_a_new_job(server, receiver, topic):
    set_topic(server, topic, secrets=[SHARED])
    receiver.script(topic, 500, 410, 204, 204, job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.1])
    server.wait_for_state(topic, "a", "dead")
    server.request("POST", f"/jobs/{topic}/a/run").expect(202)
    server.wait_for_state(topic, "a", None)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    arrivals = came(receiver, topic, "a", 4)
    assert all(signatures(a) == [v1(SHARED, a)] for a in arrivals)
    ids = [a.headers["webhook-id"] for a in arrivals]
    assert ids[0] == ids[1] == ids[2] != ids[3]


def test_keys_are_changed_without_a_gap(server, receiver, topic):
    for job_id, secrets in (("old", [SHARED]), ("both", [OTHER, SHARED]), ("new", [OTHER])):
        set_topic(server, topic, secrets=secrets)
        server.schedule(topic=topic, jobId=job_id, url=receiver.url())
        arrival, = came(receiver, topic, job_id)
        assert signatures(arrival) == [v1(secret, arrival) for secret in secrets]
    set_topic(server, topic)
    server.schedule(topic=topic, jobId="none", url=receiver.url())
    assert not {"webhook-id", "webhook-timestamp", "webhook-signature"} & set(came(receiver, topic, "none")[0].headers)


def test_a_files_keys_sign_what_no_topics_keys_do(start, receiver, topic):
    file = scratch.file("keys")
    file.write_text(f"# ours\n{SHARED}\n")
    server = start("--signing-secret-file", str(file))
    server.schedule(topic=topic, jobId="file", url=receiver.url())
    arrival, = came(receiver, topic, "file")
    assert signatures(arrival) == [v1(SHARED, arrival)]
    set_topic(server, topic, secrets=[OTHER])
    server.schedule(topic=topic, jobId="topic", url=receiver.url())
    arrival, = came(receiver, topic, "topic")
    assert signatures(arrival) == [v1(OTHER, arrival)]
    set_topic(server, topic)
    file.write_text(OTHER)
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "event=options_reloaded" in server.log(), 5, "the reload")
    server.schedule(topic=topic, jobId="reloaded", url=receiver.url())
    arrival, = came(receiver, topic, "reloaded")
    assert signatures(arrival) == [v1(OTHER, arrival)]
    file.write_text("no key")
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "options_not_reloaded" in server.log(), 5, "the refusal")
    server.schedule(topic=topic, jobId="kept", url=receiver.url())
    arrival, = came(receiver, topic, "kept")
    assert signatures(arrival) == [v1(OTHER, arrival)]
    assert SHARED[6:] not in server.log() and OTHER[6:] not in server.log()


def test_a_key_file_that_others_may_read_is_a_warning(start):
    file = scratch.file("keys")
    file.write_text(f"{SHARED}\n")
    file.chmod(0o640)
    server = start("--signing-secret-file", str(file))
    assert "chmod o-r" not in server.log()
    file.chmod(0o644)
    server.reload()
    assert "may read the file of signing-secret-file; chmod o-r" in server.log()


def test_a_client_cannot_sign_in_our_name(server, receiver, topic):
    for name in ("webhook-id", "Webhook-Signature", "WEBHOOK-TIMESTAMP"):
        reply = server.post({"topic": topic, "url": receiver.url(), "headers": {name: "x"}})
        assert reply.fields() == [f"headers.{name}"]


def sign_test(*words):
    done = subprocess.run([BINARY, "sign-test", *words], capture_output=True, text=True, timeout=20 * SLOW)
    return done.returncode, done.stdout, done.stderr


def test_a_sample_shows_what_is_signed(receiver):
    file = scratch.file("keys")
    file.write_text(f"{SHARED}\n{PRIVATE}\n")
    code, said, _ = sign_test(receiver.url("/sample"), str(file))
    arrival = [a for a in receiver.of("") if a.target == "/sample"][-1]
    assert code == 0 and "answer   204" in said or "answer   200" in said
    assert f"signed   {content(arrival).decode()}\n" in said
    assert signatures(arrival)[0] == v1(SHARED, arrival)
    assert f"header   webhook-signature: {arrival.headers['webhook-signature']}\n" in said
    receiver.script("", 400)
    code, _, wrong = sign_test(receiver.url("/sample"), str(file))
    assert code == 1 and "did not answer 2xx" in wrong
    hostile = "\x1b]0;owned\x07\x7f\u009b2J\r\nwell \u00e4\u00e9"
    receiver.script("", Answer(200, (), hostile.encode()))
    code, said, _ = sign_test(receiver.url("/sample"), str(file))
    assert code == 0 and "answer   200 ?]0;owned???2J??well \u00e4\u00e9\n" in said
    assert sign_test(receiver.url())[0] == 2
    file.write_text("secret-but-no-key")
    code, _, wrong = sign_test(receiver.url(), str(file))
    assert code == 2 and "line 1" in wrong and "secret-but" not in wrong


# ---- traces ----

def test_a_trace_continues_with_each_attempt(server, receiver, topic):
    receiver.script(topic, 500, job_id="a")
    body = {"topic": topic, "jobId": "a", "url": receiver.url(), "retrySchedule": [0.1]}
    server.post(body, headers={"traceparent": TRACE, "tracestate": "a=1, b=2"}).expect(201)
    assert server.post(body, headers={"traceparent": TRACE.replace("4bf9", "5bf9")}).status == 200
    arrivals = came(receiver, topic, "a", 2)
    parents = [a.headers["traceparent"] for a in arrivals]
    assert all(re.fullmatch(TRACE.replace("00f067aa0ba902b7", "[0-9a-f]{16}"), parent) for parent in parents)
    assert len({TRACE, *parents}) == 3
    assert all(a.headers["tracestate"] == "a=1,b=2" for a in arrivals)


def test_a_tracestate_in_several_lines_is_one_list(server, receiver, topic):
    body = json.dumps({"topic": topic, "jobId": "a", "url": receiver.url()})
    lines = ["tracestate: a=1, b=2", f"traceparent: {TRACE}", "TraceState:", "tracestate:c=3 ,", "Tracestate: d=4"]
    head = "\r\n".join(["POST /jobs HTTP/1.1", "Host: 127.0.0.1", "Connection: close", "Content-Type: application/json", f"Content-Length: {len(body)}", *lines])
    assert b" 201 " in server.raw(f"{head}\r\n\r\n{body}".encode(), "POST", "/jobs")
    assert came(receiver, topic, "a")[0].headers["tracestate"] == "a=1,b=2,c=3,d=4"


def test_an_invalid_trace_is_ignored_and_a_jobs_own_header_wins(server, receiver, topic):
    job = {"topic": topic, "url": receiver.url()}
    server.post({**job, "jobId": "bad"}, headers={"traceparent": TRACE.upper(), "tracestate": "a=1"}).expect(201)
    server.post({**job, "jobId": "own", "headers": {"Traceparent": "mine"}}, headers={"traceparent": TRACE}).expect(201)
    assert not {"traceparent", "tracestate"} & set(came(receiver, topic, "bad")[0].headers)
    assert came(receiver, topic, "own")[0].headers["traceparent"] == "mine"


def test_a_trace_is_that_of_the_request_that_brought_the_job(server, receiver, topic):
    server.post(json.dumps([{"topic": topic, "jobId": j, "url": receiver.url()} for j in "ab"]), headers={"traceparent": TRACE}).expect(207)
    server.request("PUT", f"/jobs/{topic}/c", json.dumps({"url": receiver.url(), "delay": 0.5}), {**JSON, "traceparent": TRACE}).expect(201)
    server.request("PATCH", f"/jobs/{topic}/c", '{"timeout":5}', JSON).expect(200)
    for job_id in "abc":
        assert came(receiver, topic, job_id)[0].headers["traceparent"].startswith(TRACE[:36])
