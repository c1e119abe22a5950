"""Whatever a receiver does, the attempt ends in time and takes little memory."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import urllib.request

import pytest

import duepost
from duepost import Duepost
from hostile import HTTP_2, PLAIN, TLS, Hostile
from patience import SLOW, until
from timestamp import to_ms
from tls import Authority

TIMEOUT = 3          # s
AT_ONCE = 1000
PER_ATTEMPT = 128    # KiB
KINDS = {**PLAIN, **TLS, **HTTP_2}
CASES = [("plain", each) for each in PLAIN] + [("tls", each) for each in TLS] + [("within_tls", each) for each in (*PLAIN, *HTTP_2)]


@pytest.fixture(scope="module")
def authority():
    made = Authority()
    made.issue("receiver", "IP:127.0.0.1")
    return made


@pytest.fixture(scope="module")
def hostile(authority):
    started = Hostile(authority)
    yield started
    started.stop()


def began(authority):
    return Duepost("--breaker", "off", "--max-in-flight-topic", "1024", "--max-in-flight", "1024", "--receiver-ca", str(authority.certificate),
                   "--log-level", "error")


@pytest.fixture(scope="module")
def shared(authority):
    started = began(authority)
    yield started
    started.stop()
    assert "AddressSanitizer" not in started.log()


def took(job):
    """Returns the duration of the job's last attempt in s."""
    return job["lastAttempt"]["durationMs"] / 1000


def took_with_redis(job):
    """Returns the seconds from the claim of the job to its death, by Redis's clock. On a busy machine, much of this
    time is spent waiting for a core."""
    return (to_ms(job["deadAt"]) - to_ms(job["lastAttempt"]["at"])) / 1000


@pytest.mark.parametrize("where, kind", CASES, ids=lambda part: getattr(part, "__name__", part))
def test_an_attempt_ends_in_time(shared, hostile, topic, where, kind):
    shared.schedule(topic=topic, jobId="a", url=getattr(hostile, where)[kind], body="x" * 1000, retry=0, timeout=TIMEOUT)
    job = shared.wait_for_state(topic, "a", "dead", TIMEOUT + 10)
    assert took(job) <= TIMEOUT + 1 * SLOW
    last = job["lastAttempt"]
    what = last.get("error") or last["status"]
    print(f"{kind.__name__}: {what}, {took(job):.2f} s")
    assert what == KINDS[kind]


@pytest.mark.parametrize("where", ["plain", "within_tls"])
@pytest.mark.parametrize("kind", [each for each in PLAIN if each.__name__.startswith("endless_")], ids=lambda kind: kind.__name__)
def test_a_flood_is_cut_off_before_its_time(shared, hostile, topic, where, kind):
    """Such a receiver sends without end, and keeps a core busy. So duepost must end the attempt before its
    timeout."""
    shared.schedule(topic=topic, jobId="a", url=getattr(hostile, where)[kind], retry=0, timeout=60)
    job = shared.wait_for_state(topic, "a", "dead", 20)
    print(f"{kind.__name__}: {took(job):.2f} s")


@pytest.mark.parametrize("scheme", ["http", "https", "HTTP", "HTTPS"])
@pytest.mark.parametrize("client", ["own", "libcurl"])
def test_two_answers_do_no_harm(authority, hostile, receiver, topic, client, scheme):
    """The own client leaves a url with capital letters to libcurl."""
    server = Duepost("--breaker", "off", "--receiver-ca", str(authority.certificate), "--plain-http", client)
    try:
        url, answers = hostile.twice[scheme.lower()].replace(scheme.lower(), scheme) + "/", hostile.answers
        for i in range(12):
            server.schedule(topic=topic, jobId=str(i), url=url, retry=0)
            until(lambda: hostile.answers > answers + i, 10, "an answer")
        server.schedule(topic=topic, jobId="after", url=receiver.url())
        server.wait_for_state(topic, "after", None)
    finally:
        server.stop()
    assert "AddressSanitizer" not in server.log()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_two_answers_do_a_command_no_harm(authority, hostile, scheme):
    answers = hostile.answers
    if answers % 2:  # begin with the first answer
        with contextlib.suppress(OSError):
            urllib.request.urlopen(hostile.twice["http"], timeout=5)
    done = subprocess.run([duepost.BINARY, "cancel", "--topic", "x", "--state", "dead", "--all", "--ca-file", str(authority.certificate)],
                          env={**os.environ, "DUEPOST_SERVER": hostile.twice[scheme]}, capture_output=True, text=True, timeout=30 * SLOW)
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
    assert hostile.answers >= answers + 2 and "AddressSanitizer" not in done.stderr


def memory(server, name):
    """KiB"""
    return int(re.search(rf"{name}:\s+(\d+)", pathlib.Path(f"/proc/{server.pid}/status").read_text())[1])


def are_dead(server, topic):
    """Returns whether all jobs are dead. The answer may be 503, because the server is too busy with handshakes to
    read the answer of Redis in time."""
    reply = server.get(f"/jobs/count?topic={topic}&state=dead")
    return reply.status == 200 and reply.json["count"] == AT_ONCE


@pytest.mark.parametrize("where", ["plain", "tls", "within_tls"])
def test_a_thousand_at_once_end_in_time_and_take_little_memory(authority, hostile, receiver, topic, where):
    server = began(authority)
    try:
        server.request("PUT", f"/topics/{topic}", '{"paused": true}', {"Content-Type": "application/json"}).expect(200)
        urls = list(getattr(hostile, where).values())
        jobs = [{"topic": topic, "jobId": str(i), "url": urls[i % len(urls)], "retry": 0, "timeout": TIMEOUT} for i in range(AT_ONCE)]
        for each in server.request("POST", "/jobs", json.dumps(jobs), {"Content-Type": "application/json"}).expect(207)["results"]:
            assert each["status"] == 201
        before = memory(server, "VmRSS")
        pathlib.Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # resets the peak of the memory, VmHWM
        server.request("DELETE", f"/topics/{topic}")
        until(lambda: are_dead(server, topic), TIMEOUT + 30, "all are dead")
        grown = (memory(server, "VmHWM") - before) / AT_ONCE
        dead = server.get(f"/jobs?topic={topic}&state=dead&limit={AT_ONCE}").expect(200)["jobs"]
        slowest = max(map(took, dead))
        print(f"{AT_ONCE} at once: the slowest took {slowest:.2f} s with a timeout of {TIMEOUT} s, from claim to record "
              f"{max(map(took_with_redis, dead)):.2f} s; {grown:.0f} KiB each")
        assert len(dead) == AT_ONCE and slowest <= TIMEOUT + 5 * SLOW
        if SLOW == 1:  # not under sanitizers, which keep freed memory
            assert grown < PER_ATTEMPT
        server.schedule(topic=topic, jobId="after", url=receiver.url())
        server.wait_for_state(topic, "after", None)
    finally:
        server.stop()
    assert "AddressSanitizer" not in server.log()
