"""The metrics for Prometheus follow the jobs, and Prometheus can read them."""

import concurrent.futures
import re
import shutil
import subprocess
import time

import prometheus_client.openmetrics.parser as openmetrics
import pytest

from collector import Collector
from duepost import ROOT
from patience import SLOW, until
from receiver import GARBAGE, HANG, Answer


def numbers(server):
    """{series: value}"""
    rows = [line.rpartition(" ") for line in server.get("/metrics").body.decode().splitlines() if not line.startswith("#")]
    return {series: float(value) for series, _, value in rows}


def test_a_jobs_way_is_counted(start, receiver, topic):
    server = start()
    receiver.script(topic, 500, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.1])
    server.wait_for_state(topic, "a", None)
    server.schedule(topic=topic, jobId="later", url=receiver.url(), delay=60)
    expected = {f'duepost_jobs_accepted_total{{topic="{topic}"}}': 2,
                f'duepost_attempts_total{{topic="{topic}",result="5xx"}}': 1,
                f'duepost_attempts_total{{topic="{topic}",result="delivered"}}': 1,
                f'duepost_jobs_ended_total{{topic="{topic}",how="delivered"}}': 1,
                'duepost_jobs{state="delayed"}': 1, "duepost_redis_up": 1, "duepost_in_flight": 0}
    until(lambda: expected.items() <= numbers(server).items(), 5, lambda: numbers(server))


def test_metrics_hold_no_secrets(server, topic):
    server.schedule(topic=topic, jobId="s3cret", url="http://127.0.0.1:9/?t=s3cret", headers={"A": "s3cret"}, body="s3cret", delay=60)
    assert "s3cret" not in server.get("/metrics").body.decode()


def test_ends_and_errors_are_counted(start, receiver, topic):
    server = start()
    receiver.script(topic, 404, GARBAGE, 410)
    for job_id, retries in ("refused", 0), ("cut", 0), ("gone", 5):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), retry=retries)
        server.wait_for_state(topic, job_id, "dead")
    server.schedule(topic=topic, jobId="cancelled", url=receiver.url(), delay=60)
    server.cancel(topic, "cancelled").expect(200)
    server.cancel(topic, "gone").expect(200)
    expected = {f'duepost_attempts_total{{topic="{topic}",result="4xx"}}': 2,
                f'duepost_attempts_total{{topic="{topic}",result="protocol"}}': 1,
                f'duepost_jobs_ended_total{{topic="{topic}",how="dead"}}': 3,
                f'duepost_jobs_ended_total{{topic="{topic}",how="cancelled"}}': 2,
                'duepost_jobs{state="delayed"}': 0, 'duepost_jobs{state="dead"}': 2, 'duepost_jobs{state="leased"}': 0,
                'duepost_http_request_seconds_count{route="DELETE /jobs/{topic}/{jobId}",status="200"}': 2,
                "duepost_attempt_seconds_count": 3, "duepost_lateness_seconds_count": 3}
    until(lambda: expected.items() <= numbers(server).items(), 5, lambda: numbers(server))


OPENMETRICS = "application/openmetrics-text"
PROMETHEUS = f"{OPENMETRICS};version=1.0.0;q=0.5,{OPENMETRICS};version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"


def families(server, accept=OPENMETRICS):
    """Returns {name: family}, as the client library of Prometheus parses OpenMetrics. The library refuses text that
    is not OpenMetrics."""
    answer = server.request("GET", "/metrics", headers={"Accept": accept})
    assert answer.status == 200 and answer.headers["content-type"] == f"{OPENMETRICS}; version=1.0.0; charset=utf-8"
    return {family.name: family for family in openmetrics.text_string_to_metric_families(answer.body.decode())}


def exemplars(server, name):
    return {float(sample.labels["le"]): sample.exemplar for sample in families(server)[name].samples if sample.exemplar}


def test_openmetrics_has_the_same_numbers(start, receiver, topic):
    server = start()
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    until(lambda: numbers(server)["duepost_attempt_seconds_count"] == 1, 5, "the attempt is counted")
    plain, found = numbers(server), families(server)
    changing = {"process_cpu_seconds_total", "duepost_redis_cpu_seconds_total", "duepost_redis_commands_total", "duepost_claims_total"}
    opened = {}
    for family in found.values():
        for sample in family.samples:
            labels = ",".join(f'{name}="{float(value):g}"' if name == "le" and value != "+Inf" else f'{name}="{value}"' for name, value in sample.labels.items())
            opened[sample.name + (f"{{{labels}}}" if labels else "")] = sample.value
    assert opened.keys() == plain.keys()
    # A request for the metrics is counted after its answer, so the counts of this route differ between the two
    # answers.
    assert all(opened[name] == value for name, value in plain.items() if name not in changing and 'route="GET /metrics"' not in name)
    assert found["duepost_jobs_accepted"].type == "counter" and found["duepost_in_flight"].type == "gauge"
    assert not exemplars(server, "duepost_lateness_seconds") and not exemplars(server, "duepost_attempt_seconds")


@pytest.mark.parametrize("accept, is_open", [
    (PROMETHEUS, True), (OPENMETRICS, True), (f"{OPENMETRICS.upper()}; Version=1.0.0", True), (f'text/plain, {OPENMETRICS};version="0.0.1"', True),
    ("*/*", False), ("text/plain", False), (f"{OPENMETRICS};version=2.0.0", False), (f"{OPENMETRICS};q=0", False), (f"{OPENMETRICS};q=0.000", False),
    (f"{OPENMETRICS};q=0.3,text/plain;version=0.0.4;q=0.5", False), (f"{OPENMETRICS};q=0.05,text/plain;q=0.4", False), ("application/openmetrics", False), (",;=,", False)])
def test_a_client_gets_openmetrics_when_it_prefers_it(server, accept, is_open):
    answer = server.request("GET", "/metrics", headers={"Accept": accept})
    assert (answer.headers["content-type"] == f"{OPENMETRICS}; version=1.0.0; charset=utf-8") == is_open
    assert answer.body.endswith(b"\n# EOF\n") == is_open and answer.body.count(b"# EOF") == is_open
    assert is_open or answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_exemplars_lead_to_the_traces_of_slow_attempts(start, receiver, topic):
    collector = Collector()
    try:
        server = start("--otlp-url", collector.url, "--reactors", "2")
        receiver.script(topic, 200, Answer(200, delay=0.3))
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        for job_id, sampled in ("quick", "01"), ("slow", "01"), ("unsampled", "00"):
            parent = f"00-{trace[:-1]}{'qsu'.index(job_id[0])}-00f067aa0ba902b7-{sampled}"
            server.post({"topic": topic, "jobId": job_id, "url": receiver.url()}, headers={"traceparent": parent}).expect(201)
            server.wait_for_state(topic, job_id, None)
        spans = {span.attributes["duepost.job.id"]: span for span in collector.of(topic, 4) if span.kind == "client"}
        found = exemplars(server, "duepost_attempt_seconds")
        slow = next(exemplar for le, exemplar in found.items() if exemplar.labels["trace_id"] == f"{trace[:-1]}1")
        assert slow.labels["span_id"] == spans["slow"].id and 0.3 <= slow.value < 30 and abs(float(slow.timestamp) - time.time()) < 60
        assert all(exemplar.value <= le for le, exemplar in found.items())
        assert {exemplar.labels["trace_id"] for exemplar in found.values()} == {f"{trace[:-1]}0", f"{trace[:-1]}1"}
        late = exemplars(server, "duepost_lateness_seconds")
        assert late and all(exemplar.labels["trace_id"][-1] in "01" for exemplar in late.values())
        assert b"trace_id" not in server.get("/metrics").body
    finally:
        collector.stop()


def test_topics_beyond_a_hundred_are_counted_as_one(start):
    server = start()
    server.schedule_many({"topic": f"t{i % 150}", "url": "http://127.0.0.1:9/", "delay": 600} for i in range(300))
    accepted = {series: value for series, value in numbers(server).items() if series.startswith("duepost_jobs_accepted_total")}
    assert len(accepted) == 101 and sum(accepted.values()) == 300
    assert accepted['duepost_jobs_accepted_total{topic="_other"}'] == 100
    assert numbers(server)['duepost_jobs{state="delayed"}'] == 300


def topic_numbers(server, name):
    """Returns {topic: value}, or {topic: {state: value}} if the metric has the label state."""
    found = {}
    for series, value in numbers(server).items():
        labels = dict(re.findall(r'(\w+)="([^"]*)"', series))
        if series.startswith(f"{name}{{") and "state" in labels:
            found.setdefault(labels["topic"], {})[labels["state"]] = value
        elif series.startswith(f"{name}{{"):
            found[labels["topic"]] = value
    return found


def test_topics_have_gauges_of_their_own(start, receiver):
    server = start("--reactors", "2")
    server.request("PATCH", "/topics/paused", '{"paused":true}', {"Content-Type": "application/merge-patch+json"}).expect(200)
    for job_id in "a", "b":
        server.schedule(topic="paused", jobId=job_id, url=receiver.url())
    server.schedule(topic="later", jobId="a", url=receiver.url(), delay=600)
    expected = {"paused": {"delayed": 0, "ready": 2, "held": 0, "leased": 0, "dead": 0},
                "later": {"delayed": 1, "ready": 0, "held": 0, "leased": 0, "dead": 0}}
    until(lambda: topic_numbers(server, "duepost_topic_jobs") == expected, 5, lambda: topic_numbers(server, "duepost_topic_jobs"))

    def is_paused_late():
        late = topic_numbers(server, "duepost_topic_oldest_overdue_seconds")
        return late["paused"] > 0 and late["later"] == 0
    until(is_paused_late, 5, "the age of the paused topic's jobs")


def test_a_hundred_topics_have_gauges_the_most_overdue_ones_first(start, receiver):
    server = start("--reactors", "1")
    server.request("PATCH", "/topics/z-paused", '{"paused":true}', {"Content-Type": "application/merge-patch+json"}).expect(200)
    server.schedule(topic="z-paused", jobId="a", url=receiver.url())
    server.schedule_many({"topic": f"t{i:03}", "url": receiver.url(), "delay": 600 + i} for i in range(150))
    expected = {"z-paused", *(f"t{i:03}" for i in range(99))}
    until(lambda: set(topic_numbers(server, "duepost_topic_jobs")) == expected, 5, lambda: topic_numbers(server, "duepost_topic_jobs"))


def test_limits_that_topics_share_have_gauges(start):
    server = start()
    for name in "stripe", "mail.out":
        server.request("PUT", f"/limits/{name}", '{"maxInFlight": 2}', {"Content-Type": "application/json"}).expect(201)
    lines = [f'duepost_limit_{what}{{limit="{name}"}} 0' for name in ("mail.out", "stripe") for what in ("in_flight", "waiting_topics")]
    until(lambda: set(lines) <= set(server.get("/metrics").body.decode().splitlines()), 5, "the gauges of both limits")


def test_scrapes_share_one_count_a_second(start, redis):
    """Redis counts the jobs once a second, however many clients and reactors ask. An idle process makes some five
    other script calls a second."""
    kept = redis()
    server = start("--reactors", "2", redis=kept)

    def calls():
        found = re.findall(rb"cmdstat_fcall:calls=(\d+)", kept.command("INFO", "commandstats"))
        return sum(map(int, found))

    before, begin = calls(), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: numbers(server), range(600)))
    allowed = 15 * (time.monotonic() - begin + 1)
    assert all(answer['duepost_jobs{state="delayed"}'] == 0 for answer in answers)
    assert calls() - before <= allowed


def test_jobs_that_are_due_in_thousands_of_topics_are_surveyed(start, receiver):
    """There are more topics than one call to Redis can count. So several calls count them, and
    duepost_survey_age_seconds is set."""
    server = start("--max-in-flight", "1", "--reactors", "1")
    receiver.script("t0", HANG)
    server.schedule(topic="t0", jobId="a", url=receiver.url())
    server.wait_for_state("t0", "a", "leased")
    assert numbers(server)["duepost_oldest_overdue_seconds"] == 0
    server.schedule_many({"topic": f"t{i}", "url": receiver.url()} for i in range(1, 1501))

    def is_surveyed():
        found = numbers(server)
        return (found.get('duepost_jobs{state="ready"}') == 1500 and found['duepost_jobs{state="delayed"}'] == 0 and
                found["duepost_oldest_overdue_seconds"] >= 1 and found["duepost_survey_age_seconds"] <= 10)
    until(is_surveyed, 10, lambda: numbers(server))


def test_without_redis_there_are_numbers_still(start, redis):
    kept = redis()
    server = start(redis=kept)
    kept.stop()
    until(lambda: numbers(server)["duepost_redis_up"] == 0, 5, lambda: numbers(server))
    assert not [series for series in numbers(server) if series.startswith("duepost_jobs{")]


def classes(server):
    return [re.findall(r'"([^"]*)"', series) for series, value in numbers(server).items()
            if series.startswith("duepost_durability_info{configured=") and value == 1]


def test_the_durability_is_what_readyz_says(start, redis):
    own = start()
    assert classes(own) == [["fsync", "fsync"]]
    kept = redis()
    server = start(redis=kept)
    assert classes(server) == [["auto", "fsync"]]
    kept.command("CONFIG", "SET", "appendfsync", "everysec")
    until(lambda: classes(server) == [["auto", "memory"]], 15, lambda: classes(server))
    kept.stop()
    until(lambda: classes(server) == [["auto", "unknown"]], 5, lambda: classes(server))


@pytest.mark.parametrize("scene", ["fresh", "used"])
def test_promtool_finds_nothing(start, receiver, topic, scene):
    promtool = shutil.which("promtool", path=f"{ROOT / 'build' / 'tools'}:/usr/bin")
    if not promtool:
        pytest.skip("there is no promtool; script/bootstrap brings it")
    server = start()
    if scene == "used":
        receiver.script(topic, 500, 200)
        for job_id in "a", "b":
            server.schedule(topic=topic, jobId=job_id, url=receiver.url(), retry=0)
            server.wait_for_state(topic, job_id, "dead" if job_id == "a" else None)
        server.cancel(topic, "nothing").expect(404)
    text = server.get("/metrics").body
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, timeout=30, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b""), checked.stderr.decode()


# ---- held time is not lateness ----

def seconds(server, name):
    """Returns the sum and the count of a histogram."""
    text = server.get("/metrics").body.decode()
    return tuple(float(re.search(rf"^{name}_{end} ([0-9.]+)$", text, re.M)[1]) for end in ("sum", "count"))


def has_counted_the_hold(server, jobs, least):
    late, attempts = seconds(server, "duepost_lateness_seconds")
    held, number = seconds(server, "duepost_held_seconds")
    assert attempts >= jobs and late / attempts < least / 2, (late, attempts)
    assert number >= 1 and held >= least * number, (held, number)


def test_the_time_of_a_pause_is_not_lateness(start, receiver, topic):
    server = start()
    server.request("PUT", f"/topics/{topic}", '{"paused": true}', {"Content-Type": "application/json"}).expect(200)
    for number in range(4):
        server.schedule(topic=topic, jobId=str(number), url=receiver.url())
    time.sleep(3 * SLOW)
    server.request("PATCH", f"/topics/{topic}", '{"paused": false}', {"Content-Type": "application/merge-patch+json"}).expect(200)
    until(lambda: receiver.count(topic) == 4, 10 * SLOW, "all are delivered")
    has_counted_the_hold(server, 4, 2.5 * SLOW)


@pytest.mark.parametrize("closing", ("probe", "request"))
def test_the_time_of_an_open_breaker_is_not_lateness(start, receiver, topic, closing):
    """With one reactor: another one learns a moment later that the breaker is open, and a job that it sends closes the breaker."""
    wait = 3 * SLOW
    server = start("--breaker", "on", "--breaker-wait", f"{wait}s" if closing == "probe" else "10m", "--reactors", "1")
    receiver.script(topic, *[503] * 20, 200)
    for number in range(20):
        server.schedule(topic=topic, jobId=f"fails-{number}", url=receiver.url(), retrySchedule=[3600])
    until(lambda: [one["state"] for one in server.get("/receivers").expect(200)["receivers"]] == ["open"], 10 * SLOW, "the breaker is open")
    for number in range(4):
        server.schedule(topic=topic, jobId=f"held-{number}", url=receiver.url())
    time.sleep(wait)
    if closing == "request":
        server.request("POST", f"/receivers/{receiver.url().split('/')[2]}/close").expect(200)
    until(lambda: server.get(f"/topics/{topic}").expect(200)["lastHour"]["delivered"] == 4, 10 * SLOW, "the held jobs are delivered")
    has_counted_the_hold(server, 24, wait / 3)
