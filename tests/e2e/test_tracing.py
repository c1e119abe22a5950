"""Spans for an OpenTelemetry collector: their contents, their parents, and that nothing waits for the collector."""

import json
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import threading
import time

import pytest

import duepost
import scratch
from collector import Collector
from patience import SLOW, until
from redis_server import free_port
from tls import Authority

TRACE_ID, PARENT_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACE = f"00-{TRACE_ID}-{PARENT_ID}-01"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def collector():
    """collector(...) starts one."""
    started = []

    def one(**named):
        started.append(Collector(**named))
        return started[-1]

    yield one
    for each in started:
        if each.hold:
            each.hold.set()
        each.stop()


def metric(server, name):
    return next(int(line.split()[1]) for line in server.get("/metrics").body.decode().splitlines() if line.startswith(name + " "))


def test_a_request_and_its_attempts_are_one_trace(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    receiver.script(topic, 503, 200)
    began = time.time_ns()
    server.post({"topic": topic, "jobId": "a", "url": receiver.url("/hook?key=secret"), "retrySchedule": [0.2]}).expect(201)
    accept, first, second = spans.of(topic, 3)
    assert accept.kind == "server" and accept.name == "POST /jobs" and accept.parent is None and accept.status == {}
    assert accept.attributes == {"http.request.method": "POST", "http.route": "/jobs", "url.path": "/jobs", "http.response.status_code": 201,
                                 "duepost.topic": topic, "duepost.job.id": "a", "duepost.jobs": 1}
    for span, attempt, arrival in zip((first, second), (1, 2), receiver.of(topic)):
        assert span.kind == "client" and span.name == "POST" and (span.trace, span.parent) == (accept.trace, accept.id)
        assert arrival.headers["traceparent"] == f"00-{span.trace}-{span.id}-01"
        assert span.attributes["url.full"] == receiver.url("/hook?***") and span.attributes["server.address"] == "127.0.0.1"
        assert span.attributes["server.port"] == receiver.port and span.attributes["http.request.method"] == "POST"
        assert span.attributes["duepost.attempt"] == attempt and span.attributes["duepost.job.id"] == "a" and span.attributes["duepost.late_ms"] >= 0
        assert began - 10**9 < span.start <= span.end < time.time_ns() + 10**9
        assert span.start <= arrival.at_ms * 1e6 + 5e6 and span.end >= arrival.at_ms * 1e6 - 5e6
    assert len({accept.id, first.id, second.id}) == 3
    assert first.status["code"] == 2 and first.attributes["error.type"] == "503" and first.attributes["duepost.outcome"] == "retry"
    assert first.attributes["http.response.status_code"] == 503 and "http.request.resend_count" not in first.attributes
    assert second.status == {} and "error.type" not in second.attributes and second.attributes["duepost.outcome"] == "delivered"
    assert second.attributes["http.request.resend_count"] == 1 and second.attributes["http.response.status_code"] == 200
    resource = accept.resource
    assert resource["service.name"] == "duepost" and resource["service.version"] and resource["process.pid"] == server.process.pid
    assert resource["service.instance.id"] == f"{resource['host.name']}:{server.process.pid}"
    path, headers, body = spans.requests[0]
    assert path == "/v1/traces" and headers["Content-Type"] == "application/json" and b"secret" not in b"".join(r[2] for r in spans.requests)
    until(lambda: metric(server, "duepost_spans_exported_total") == 3, 5, "three spans are counted")
    assert metric(server, "duepost_spans_dropped_total") == 0


def test_a_trace_of_the_client_is_continued(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url()}, headers={"traceparent": TRACE, "tracestate": "a=1, b=2"}).expect(201)
    accept, attempt = spans.of(topic, 2)
    assert (accept.trace, accept.parent, accept.state) == (TRACE_ID, PARENT_ID, "a=1,b=2")
    assert (attempt.trace, attempt.parent, attempt.state) == (TRACE_ID, accept.id, "a=1,b=2")
    arrival, = receiver.of(topic)
    assert arrival.headers["traceparent"] == f"00-{TRACE_ID}-{attempt.id}-01" and arrival.headers["tracestate"] == "a=1,b=2"


def test_the_same_post_again_is_the_same_job_and_another_span(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    job = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60}
    server.post(job).expect(201)
    assert server.post(job).status == 200 and server.post({**job, "delay": 61}).status == 409
    first, second, third = spans.of(topic, 3)
    assert [span.attributes["http.response.status_code"] for span in (first, second, third)] == [201, 200, 409]
    assert len({first.trace, second.trace, third.trace}) == 3 and third.status == {}  # 409 is not an error of the server


def test_a_trace_that_is_not_sampled_has_no_spans(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url()}, headers={"traceparent": TRACE[:-1] + "0"}).expect(201)
    until(lambda: receiver.of(topic), 10, "the job comes")
    other = f"{topic}-other"
    server.post({"topic": other, "url": receiver.url()}).expect(201)
    spans.of(other, 2)
    assert not [span for span in spans.spans if span.topic == topic]
    assert re.fullmatch(f"00-{TRACE_ID}-[0-9a-f]{{16}}-00", receiver.of(topic)[0].headers["traceparent"])


def test_one_of_many_traces_is_recorded_whole(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url, "--otlp-one-in", "4")
    server.schedule_many([{"topic": topic, "jobId": f"j{number}", "url": receiver.url()} for number in range(200)])
    until(lambda: receiver.count(topic) == 200, 20, "the jobs come")
    sampled = {a.headers["traceparent"][3:35] for a in receiver.of(topic) if a.headers["traceparent"].endswith("-01")}
    assert 10 < len(sampled) < 120
    found = spans.of(topic, 2 * len(sampled))
    assert {span.trace for span in found} == sampled


@pytest.mark.parametrize("path", ["batch", "put", "group", "array"])
def test_each_way_to_schedule_is_a_span(start, receiver, topic, collector, path):
    spans = collector()
    server = start("--otlp-url", spans.url)
    job = {"topic": topic, "jobId": "a", "url": receiver.url()}
    count = 1
    if path == "put":
        server.request("PUT", f"/jobs/{topic}/a", json.dumps({"url": receiver.url()}), JSON).expect(201)
    elif path == "group":
        server.request("PUT", "/groups/tracing", json.dumps({"endpoints": {"x": {"url": receiver.url()}, "y": {"url": receiver.url()}}}), JSON)
        reply = server.post({"topic": topic, "jobId": "a", "group": "tracing"})
        assert reply.status // 100 == 2, reply.body
        count = 2
    else:
        jobs = [{**job, "jobId": job_id} for job_id in "abc"]
        text = json.dumps(jobs) if path == "array" else "\n".join(map(json.dumps, jobs))
        kind = "application/json" if path == "array" else "application/x-ndjson"
        server.request("POST", "/jobs", text, {"Content-Type": kind}).expect(207)
        count = 3
    found = spans.of(topic, 1 + count)
    accept, = [span for span in found if span.kind == "server"]
    assert accept.name == ("PUT /jobs/{topic}/{jobId}" if path == "put" else "POST /jobs")
    assert all((span.trace, span.parent) == (accept.trace, accept.id) for span in found if span is not accept)
    assert accept.attributes["duepost.jobs"] == (3 if path in ("batch", "array") else 1)
    assert ("duepost.job.id" in accept.attributes) == (path not in ("batch", "array"))


def test_jobs_without_a_request_begin_a_trace_with_each_attempt(start, receiver, topic, collector):
    """A schedule creates these jobs, so no request has given them a trace. A callback belongs to the trace of its
    job."""
    spans = collector()
    server = start("--otlp-url", spans.url)
    server.request("PUT", f"/schedules/{topic}/s", json.dumps({"every": 1, "job": {"url": receiver.url(), "onDelivered": receiver.url("/back")}}), JSON).expect(201)
    until(lambda: receiver.count(topic) >= 2, 20, "two occurrences come")
    server.request("DELETE", f"/schedules/{topic}/s")
    until(lambda: len([span for span in spans.spans if span.topic == topic]) >= 2, 15, "two spans")
    found = [span for span in spans.spans if span.topic == topic]
    assert all(span.parent is None and span.kind == "client" for span in found) and len({span.trace for span in found}) == len(found)


def test_a_callback_belongs_to_the_trace_of_its_job(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url(), "onDelivered": receiver.url("/back")}).expect(201)
    accept, _ = spans.of(topic, 2)
    back, = spans.of(f"{topic}~callbacks", 1)
    assert (back.trace, back.parent) == (accept.trace, accept.id) and back.attributes["url.full"] == receiver.url("/back")


def test_errors_of_attempts_have_their_words(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "refused", "url": f"http://127.0.0.1:{free_port()}/", "retry": 0}).expect(201)
    refused = spans.of(topic, 2)[1]
    assert refused.attributes["error.type"] == "connect" and refused.attributes["duepost.outcome"] == "dead"
    assert refused.status["code"] == 2 and refused.status["message"] and "http.response.status_code" not in refused.attributes
    other = f"{topic}-2"
    receiver.script(other, 410)
    server.post({"topic": other, "jobId": "gone", "method": "PUT", "url": receiver.url()}).expect(201)
    gone = spans.of(other, 2)[1]
    assert gone.name == "PUT" and gone.attributes["error.type"] == "410" and gone.attributes["duepost.outcome"] == "dead"


def test_odd_names_reach_the_collector(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    odd = 'a "quoted" \\ \u00e4\U0001f680/' + "x" * 200
    server.post({"topic": topic, "jobId": odd, "url": receiver.url("/" + "p" * 1500)}).expect(201)
    accept, attempt = spans.of(topic, 2)
    assert accept.attributes["duepost.job.id"] == odd == attempt.attributes["duepost.job.id"]
    assert attempt.attributes["url.full"].startswith(receiver.url("/ppp")) and len(attempt.attributes["url.full"]) < 512


def test_a_job_with_a_traceparent_of_its_own_sends_that(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url(), "headers": {"Traceparent": "mine"}}).expect(201)
    assert len(spans.of(topic, 2)) == 2 and receiver.of(topic)[0].headers["traceparent"] == "mine"


# ---- the collector ----

def test_options_of_the_collector(start, receiver, topic, collector):
    spans, headers = collector(), scratch.file("headers")
    headers.write_text("# for the collector\nAuthorization: Bearer s3cret\r\n\nX-Tenant: shop\n")
    headers.chmod(0o600)
    server = start("--otlp-url", f"{spans.url}/custom/path", "--otlp-headers-file", str(headers),
                   "--otlp-attributes", "service.name=shop,deployment.environment.name=te=st,empty=")
    server.post({"topic": topic, "url": receiver.url()}).expect(201)
    accept, _ = spans.of(topic, 2)
    assert accept.resource["service.name"] == "shop" and accept.resource["deployment.environment.name"] == "te=st" and accept.resource["empty"] == ""
    path, sent, _ = spans.requests[0]
    assert path == "/custom/path" and sent["Authorization"] == "Bearer s3cret" and sent["X-Tenant"] == "shop"
    assert "s3cret" not in server.log()


@pytest.mark.parametrize("words, said", [
    (["--otlp-url", "ftp://a/"], "--otlp-url"),
    (["--otlp-url", "127.0.0.1:4318"], "--otlp-url"),
    (["--otlp-attributes", "service.name"], "must be NAME=VALUE,..., such as service.name=shop, not 'service.name'"),
    (["--otlp-attributes", "a=1,=2"], "not '=2'"),
    (["--otlp-one-in", "0"], "--otlp-one-in: must be a number from 1 to 1000000"),
    (["--otlp-headers-file", "/nowhere/at/all"], "--otlp-headers-file"),
    (["--otlp-headers-file", None], "line 2: expected at most 20 lines like 'Authorization: Bearer ...'"),
])
def test_wrong_options_are_refused(words, said):
    if words[1] is None:
        path = scratch.file("headers")
        path.write_text("A: b\nno header\n")
        words = [words[0], str(path)]
    result = duepost.run(*words)
    assert result.returncode == 2 and said in result.stderr, result.stderr


def test_without_the_option_there_are_no_spans(server, receiver, topic):
    server.post({"topic": topic, "url": receiver.url()}).expect(201)
    until(lambda: receiver.of(topic), 10, "the job comes")
    assert "traceparent" not in receiver.of(topic)[0].headers
    assert metric(server, "duepost_spans_exported_total") == metric(server, "duepost_spans_dropped_total") == 0


def test_deliveries_continue_without_a_collector_and_spans_are_dropped(start, receiver, topic, collector):
    port = free_port()
    server = start("--otlp-url", f"http://127.0.0.1:{port}")
    jobs = [{"topic": topic, "jobId": f"j{number}", "url": receiver.url()} for number in range(5000)]
    for at in range(0, len(jobs), 1000):
        server.request("POST", "/jobs", json.dumps(jobs[at:at + 1000]), JSON, check=False).expect(207)
    until(lambda: receiver.count(topic) >= 5000, 60, "all jobs come")
    until(lambda: metric(server, "duepost_spans_dropped_total") > 0, 15, "spans are dropped")
    until(lambda: "event=spans_not_sent error=connect" in server.log(), 15, "the log says so")
    spans = collector(port=port)
    until(lambda: len(spans.spans) > 4000, 60, "the spans of the queue come")
    until(lambda: "event=spans_taken_again" in server.log(), 10, "the log says so")
    assert server.log().count("event=spans_not_sent") == 1
    until(lambda: metric(server, "duepost_spans_exported_total") + metric(server, "duepost_spans_dropped_total") == 5005, 15, "each span is counted")
    assert metric(server, "duepost_spans_exported_total") == len(spans.spans)
    assert max(len(json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]) for _, _, body in spans.requests) == 512


def test_a_collector_that_hangs_delays_no_delivery(start, receiver, topic, collector):
    spans = collector()
    spans.hold = threading.Event()
    server = start("--otlp-url", spans.url)
    for job_id in "abc":
        began = time.monotonic()
        server.post({"topic": topic, "jobId": job_id, "url": receiver.url()}).expect(201)
        until(lambda job_id=job_id: receiver.of(topic, job_id), 10, "the job comes")
        assert time.monotonic() - began < 3 * SLOW
        time.sleep(1.1)  # by then, duepost has sent a batch of spans
    assert len(spans.requests) == 1
    spans.hold.set()
    spans.of(topic, 6)


def rss_kib(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_a_collector_that_never_answers_takes_bounded_memory_and_each_span_is_counted(start, receiver, topic, collector):
    """The collector accepts connections and reads nothing. Soon the queue is full; from then on, spans are dropped."""
    deaf = socket.create_server(("127.0.0.1", 0))
    port = deaf.getsockname()[1]
    server = start("--otlp-url", f"http://127.0.0.1:{port}")
    memory = []
    for thousand in range(1, 13):
        jobs = [{"topic": topic, "jobId": f"j{thousand}-{number}", "url": receiver.url()} for number in range(1000)]
        server.request("POST", "/jobs", json.dumps(jobs), JSON, check=False).expect(207)
        until(lambda thousand=thousand: receiver.count(topic) == 1000 * thousand, 30, "all jobs come")
        memory.append(rss_kib(server))
    until(lambda: metric(server, "duepost_attempt_seconds_count") == 12000, 10, "all attempts end")
    # The queue was full after five thousand jobs, so memory may not grow after that. Sanitizers keep freed memory, so
    # it grows with them.
    assert SLOW > 1 or max(memory[6:]) - memory[5] < 16 * 1024, memory
    kept = 12012 - metric(server, "duepost_spans_dropped_total")
    assert 4096 <= kept <= 4096 + 512 and metric(server, "duepost_spans_exported_total") == 0
    deaf.close()
    until(lambda: "event=spans_not_sent" in server.log(), 20, "the log says so")
    spans = collector(port=port)
    until(lambda: metric(server, "duepost_spans_exported_total") == kept, 60, "the spans of the queue come")
    assert len({(span.trace, span.id) for span in spans.spans}) == len(spans.spans) == kept
    assert metric(server, "duepost_spans_dropped_total") == 12012 - kept
    other = f"{topic}-2"
    server.post({"topic": other, "url": receiver.url()}).expect(201)
    spans.of(other, 2)


READ_AND_HANG = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
link, _ = server.accept()
text = b""
while b"]}]}]}" not in text:
    text += link.recv(65536)
print("read", flush=True)
time.sleep(600)
"""


def test_a_collector_that_is_killed_with_a_batch_gets_it_again(start, receiver, topic, collector):
    """The collector has read the batch, and was killed before its answer."""
    with subprocess.Popen([sys.executable, "-c", READ_AND_HANG], stdout=subprocess.PIPE, text=True) as dying:
        try:
            port = int(dying.stdout.readline())
            server = start("--otlp-url", f"http://127.0.0.1:{port}")
            server.post({"topic": topic, "jobId": "a", "url": receiver.url()}).expect(201)
            assert dying.stdout.readline() == "read\n"
            server.post({"topic": topic, "jobId": "b", "url": receiver.url()}).expect(201)
            until(lambda: receiver.of(topic, "b"), 10, "the job comes")
        finally:
            dying.kill()
    until(lambda: "event=spans_not_sent" in server.log(), 20, "the log says so")
    spans = collector(port=port)
    assert {span.attributes["duepost.job.id"] for span in spans.of(topic, 4, 30)} == {"a", "b"}
    until(lambda: metric(server, "duepost_spans_exported_total") == 4, 5, "each is counted once")
    assert metric(server, "duepost_spans_dropped_total") == 0


def test_a_batch_is_sent_again_when_the_collector_asks_for_it(start, receiver, topic, collector):
    spans = collector(status=503, headers={"Retry-After": "1"})
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url()}).expect(201)
    until(lambda: len(spans.requests) >= 2, 20, "the batch is sent twice")
    assert spans.requests[0][2] == spans.requests[1][2] and "event=spans_not_taken status=503" in server.log()
    spans.status = 200
    spans.of(topic, 2)
    until(lambda: metric(server, "duepost_spans_exported_total") == 2, 5, "both are counted")
    assert metric(server, "duepost_spans_dropped_total") == 0


def test_a_batch_that_is_refused_is_dropped(start, receiver, topic, collector):
    spans = collector(status=400)
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url()}).expect(201)
    until(lambda: metric(server, "duepost_spans_dropped_total") == 2, 15, "both are dropped")
    spans.status = 200
    other = f"{topic}-2"
    server.post({"topic": other, "jobId": "a", "url": receiver.url()}).expect(201)
    spans.of(other, 2)
    assert metric(server, "duepost_spans_dropped_total") == 2


@pytest.mark.parametrize("rejected", ['"1"', "1"])
def test_spans_that_the_collector_rejects_are_counted(start, receiver, topic, collector, rejected):
    spans = collector(answer='{"partialSuccess":{"rejectedSpans":%s,"errorMessage":"no"}}' % rejected)
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60}).expect(201)
    until(lambda: metric(server, "duepost_spans_dropped_total") == 1, 15, "the span is counted as dropped")
    assert metric(server, "duepost_spans_exported_total") == 0


def test_the_last_spans_are_sent_when_the_process_ends(start, receiver, topic, collector):
    spans = collector()
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url()}).expect(201)
    until(lambda: receiver.of(topic), 10, "the job comes")
    assert server.terminate() == 0  # stop() would cut the attempt off after 50 ms
    # The spans are in the collector's socket, which a busy machine may read late.
    until(lambda: len([span for span in spans.spans if span.topic == topic]) == 2, 10,
          lambda: f"both spans have come, and not only {[vars(span) for span in spans.spans]}")


def test_a_process_ends_although_the_collector_hangs(start, receiver, topic, collector):
    spans = collector()
    spans.hold = threading.Event()
    server = start("--otlp-url", spans.url)
    server.post({"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60}).expect(201)
    until(lambda: spans.requests, 10, "a batch is under way")
    assert server.terminate() == 0  # within 10 s
    assert "event=spans_dropped spans=1" in server.log()


def test_a_collector_with_tls(start, receiver, topic, collector):
    """The certificate of the collector is checked with the CAs of --receiver-ca."""
    authority = Authority()
    authority.issue("collector", "IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.directory / "collector.pem", authority.directory / "collector.key")
    spans = collector(tls=context)
    server = start("--otlp-url", spans.url, "--receiver-ca", str(authority.certificate))
    server.post({"topic": topic, "jobId": "a", "url": receiver.url()}).expect(201)
    spans.of(topic, 2)
    assert spans.url.startswith("https:")
