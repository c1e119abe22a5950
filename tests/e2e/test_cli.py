"""The commands that call a running server."""

import base64
import hashlib
import http.server
import json
import os
import re
import select
import subprocess
import threading
import time

import pytest

import duepost
from patience import SLOW, until
from receiver import GARBAGE, Answer
from timestamp import from_ms


def ask(server, *words, code=0, token=""):
    environment = {**os.environ, "DUEPOST_SERVER": server.url, "DUEPOST_TOKEN": token}
    done = subprocess.run([duepost.BINARY, *words], env=environment, capture_output=True, text=True, timeout=30 * SLOW)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def tell(server, *words, feed=None, code=0):
    """Returns what a command prints to stdout and stderr. feed is its stdin."""
    done = subprocess.run([duepost.BINARY, *words], env={**os.environ, "DUEPOST_SERVER": server.url}, input=feed,
                          capture_output=True, text=True, timeout=30 * SLOW)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def rows(text):
    return [line.split() for line in text.splitlines()]


def bury(server, receiver, topic, *ids):
    receiver.script(topic, *[410] * len(ids), 200)
    for job_id in ids:
        server.schedule(topic=topic, jobId=job_id, url=receiver.url())
        server.wait_for_state(topic, job_id, "dead")


def test_jobs_are_listed_as_a_table_and_as_json(server, receiver, topic):
    for job_id in ("a", "b~:c"):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), dueAt="2030-01-01T00:00:00Z")
    table = rows(ask(server, "jobs", "--state", "delayed", "--topic", topic))
    assert table[0][:5] == ["TOPIC", "JOB", "STATE", "AT", "ATTEMPTS"]
    assert [row[:5] for row in table[1:]] == [[topic, job_id, "delayed", "2030-01-01T00:00:00.000Z", "0"]
                                              for job_id in ("a", "b~:c")]
    listed = json.loads(ask(server, "jobs", "--state=delayed", f"--topic={topic}", "--json"))
    assert [job["jobId"] for job in listed] == ["a", "b~:c"]
    assert len(json.loads(ask(server, "jobs", "--state=delayed", f"--topic={topic}", "--limit=1", "--json"))) == 1


def test_more_jobs_than_a_page_are_listed(server, receiver, topic):
    server.schedule_many([{"topic": topic, "url": receiver.url(), "delay": 3600} for _ in range(250)])
    assert len(rows(ask(server, "jobs", "--state", "delayed", "--topic", topic))) == 251


def test_a_job_is_shown_explained_run_and_cancelled(server, receiver, topic):
    server.schedule(topic=topic, jobId="a:1", url=receiver.url(), delay=3600)
    assert json.loads(ask(server, "show", f"{topic}/a:1"))["delay"] == 3600
    assert "not due" in ask(server, "why", f"{topic}/a:1")
    assert json.loads(ask(server, "why", f"{topic}/a:1", "--json"))["why"] == "not_due"
    assert re.fullmatch(rf"{re.escape(topic)}/a:1 is \w+, due .+, at \S+Z\n", ask(server, "run", f"{topic}/a:1"))
    until(lambda: receiver.count(topic) == 1, 5, "the delivery")
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=3600)
    assert ask(server, "cancel", f"{topic}/b") == "cancelled\n"
    assert "404" in ask(server, "cancel", f"{topic}/b", code=1)


def test_attempts_are_listed(server, receiver, topic):
    receiver.script(topic, Answer(503, body=b"The order\nis locked. " + "\u20ac".encode() * 200), GARBAGE)
    server.schedule(topic=topic, jobId="a:1", url=receiver.url(), retrySchedule=[0.02])
    server.wait_for_state(topic, "a:1", "dead")
    table = ask(server, "attempts", f"{topic}/a:1").splitlines()
    assert table[0].split() == ["ATTEMPT", "AT", "MS", "RESULT", "ANSWER"]
    assert [(row.split()[0], row.split()[3]) for row in table[1:]] == [("2", "protocol"), ("1", "503")], "the newest first"
    assert table[2].split(maxsplit=4)[4] == "The order?is locked. " + "\u20ac" * 26 + "..."
    listed = json.loads(ask(server, "attempts", f"{topic}/a:1", "--json"))
    assert listed[0]["errorDetail"] in table[1]
    assert [attempt["attempt"] for attempt in listed] == [2, 1]
    assert ask(server, "attempts", f"{topic}/a:1", "--since", "1h").splitlines() == table
    assert len(ask(server, "attempts", f"{topic}/a:1", "--since", "+1h").splitlines()) == 1
    assert json.loads(ask(server, "attempts", f"{topic}/a:1", "--since", "+1h", "--json")) == []
    assert "404" in ask(server, "attempts", f"{topic}/none", code=1)
    assert "TOPIC/ID" in ask(server, "attempts", topic, code=2)


def test_dead_jobs_are_listed_and_run_again(server, receiver, topic):
    bury(server, receiver, topic, "a", "b")
    assert [row[1] for row in rows(ask(server, "dead", "--topic", topic))[1:]] == ["b", "a"]
    assert [row[1] for row in rows(ask(server, "jobs", "--state", "dead", "--topic", topic))[1:]] == ["b", "a"]
    assert [row[1] for row in rows(ask(server, "dead", "--topic", topic, "--order", "oldest"))[1:]] == ["a", "b"]
    died = server.job(topic, "b")["deadAt"]
    for words, ids in ((["dead", "--since", "1h"], "ba"), (["dead", f"--since={died}"], "b"), (["dead", "--since", "+1h"], ""),
                       (["jobs", "--state", "dead", "--since", died], "b")):
        assert [row[1] for row in rows(ask(server, *words, "--topic", topic))[1:]] == list(ids), words
    assert ask(server, "redrive", "--topic", topic, "--since", died, "--all", "--dry-run").startswith("1 jobs match")
    assert "--since cannot be combined with --died-after" in ask(server, "dead", "--since", "1h", "--died-after", "-1h", code=2)
    for state in ([], ["--state", "delayed"]):
        assert "--since needs a state of jobs that have ended" in ask(server, "jobs", *state, "--since", "1h", code=2)
    assert "--since is noon: expected a duration such as 1h, or a time" in ask(server, "dead", "--since", "noon", code=2)
    assert "--all" in ask(server, "redrive", code=2)
    assert ask(server, "redrive", "--topic", topic, "--all") == "2 of 2 jobs done\n"
    until(lambda: receiver.count(topic) == 4, 5, "both deliveries")


# Texts of bodies that other programs read with a loss, or not at all.
ODD = ['{"b":46302.206,"a":1.10}', "123456789012345678901234567890", "[1e400,-1E-7,0.1,1.0]", '"a\\u0000b"', '{ "x" : [ ] , "y":{}}']


def test_json_is_printed_as_the_server_sent_it(start, receiver, topic):
    """Numbers are not parsed and written anew, and a list is printed whatever the bodies of its jobs are."""
    server = start()
    for number, body in enumerate(ODD):
        text = f'{{"topic":"{topic}","jobId":"{number}","url":"{receiver.url()}","delay":46302.206,"body":{body}}}'
        server.request("POST", "/jobs", text, {"Content-Type": "application/json"}).expect(201)
        sent = server.get(f"/jobs/{topic}/{number}").body.decode()
        shown = ask(server, "show", f"{topic}/{number}")
        assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", sent), "each token is unchanged, and in its place"
        assert '"delay": 46302.206,' in shown
    assert [row[1] for row in rows(ask(server, "jobs"))[1:]] == list("01234")
    for words, path, member in ((["jobs"], "/jobs", "jobs"), (["topics"], "/topics", "topics"), (["attempts", f"{topic}/0"], f"/jobs/{topic}/0/attempts", "attempts")):
        printed, sent = ask(server, *words, "--json"), server.get(path).body.decode()
        assert re.sub(r"\s", "", printed) in re.sub(r"\s", "", sent), words
    ask(server, "set", topic, "timeout=0.3", 'retrySchedule=[0.1,46302.206]')
    assert '"retrySchedule":[0.1,46302.206]' in ask(server, "topics")
    assert server.get(f"/topics/{topic}").expect(200)["settings"] == {"retrySchedule": [0.1, 46302.206], "timeout": 0.3}
    ask(server, "set", topic, "rate=1/0.1s")
    assert server.get(f"/topics/{topic}").expect(200)["settings"]["rate"]["per"] == 0.1
    for body in ODD[1:3]:
        ask(server, "schedule", f"{topic}/typed", "--url", receiver.url(), "--delay", "1h", "--body", body)
        assert f'"body":{body}' in server.get(f"/jobs/{topic}/typed").body.decode(), "JSON, not a string"
        server.cancel(topic, "typed")
    listed = ask(server, "jobs", "--json", "--limit", "3")
    assert listed.startswith('[\n  {\n    "jobId": "0",\n') and listed.endswith("\n  }\n]\n")
    assert ask(server, "dead", "--json") == "[]\n"


def test_one_topic_is_shown(server, receiver, topic):
    ask(server, "set", topic, "maxInFlight=3", "paused=true", "retrySchedule=[0.1]")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=3600)
    printed = ask(server, "topics", topic).splitlines()
    assert printed[0] == f"topic      {topic}"
    assert printed[1] == "jobs       delayed 1  ready 1  held 0  leased 0  dead 0"
    assert re.match(r"last hour  delivered 0  retried 0  dead 0", printed[2]) and re.match(r"overdue    1, the oldest for \d+[sm]$", printed[3])
    assert printed[4] == f"held by    paused; duepost resume {topic} lets the jobs through"
    assert [line.split() for line in printed[6:]][0] == ["SETTING", "VALUE", "FROM"]
    assert ["maxInFlight", "3", "topic"] in rows("\n".join(printed[6:])) and ["retrySchedule", "[0.1]", "topic"] in rows("\n".join(printed[6:]))
    assert json.loads(ask(server, "topics", topic, "--json"))["topic"] == topic
    assert ask(server, "topics", f"{topic}.none").splitlines()[1] == "jobs       delayed 0  ready 0  held 0  leased 0  dead 0"
    ask(server, "set", f"{topic}*", "timeout=5")
    assert rows(ask(server, "topics", f"{topic}*"))[-1] == ["timeout", "5", "pattern"] or "timeout" in ask(server, "topics", f"{topic}*")
    assert ["timeout", "5", f"{topic}*"] in rows(ask(server, "topics", topic))
    ask(server, "topics", f"{topic}*", "--remove")
    assert "timeout" not in ask(server, "topics", topic)
    assert "a/b: expected a topic" in ask(server, "topics", "a/b", code=2)
    assert "--limit cannot be combined with a topic" in ask(server, "topics", topic, "--limit", "1", code=2)


def test_versions_of_the_client_and_of_the_server(start, tmp_path):
    server = start()
    own = subprocess.run([duepost.BINARY, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    until(lambda: len(json.loads(ask(server, "version", "--json"))["servers"]) == 1, 10, "the process is known")
    printed = ask(server, "version").splitlines()
    assert printed[0] == f"client {own}" and re.fullmatch(rf"server {own} on \S+, process \w+, started \S+Z", printed[1]) and len(printed) == 2
    answer = json.loads(ask(server, "version", "--json"))
    assert answer["client"] == own and answer["servers"][0]["version"] == own and answer["servers"][0]["pid"] == server.process.pid
    done = subprocess.run([duepost.BINARY, "version", "--server", "http://127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, f"client {own}\n") and "check the server" in done.stderr


def test_topics_are_listed_paused_and_resumed(server, receiver, topic):
    ask(server, "pause", topic)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    row, = [row for row in rows(ask(server, "topics")) if row[0] == topic]
    assert row[1:6] == ["0", "1", "0", "0", "0"] and row[6] == "1" and re.fullmatch(r"\d+[sm]", row[7]) and row[9] == "paused"
    server.schedule(topic=f"{topic}-later", jobId="a", url=receiver.url(), delay=600)
    assert [row[6:8] for row in rows(ask(server, "topics")) if row[0] in ("TOPIC", f"{topic}-later")] == [["OVERDUE", "FOR"], ["0", "-"]]
    ask(server, "resume", topic)
    until(lambda: receiver.count(topic) == 1, 5, "the delivery")


def test_a_quota_is_set_and_its_use_is_shown(server, receiver, topic):
    ask(server, "set", topic, "maxPending=1")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=600)
    assert ["quota", "maxPending", "1", "pending", "1"] in rows(ask(server, "topics", topic))
    assert "its quota maxPending is 1" in ask(server, "schedule", topic, "--url", receiver.url(), code=1)
    ask(server, "set", topic, "maxPending=")
    assert "quota" not in [row[0] for row in rows(ask(server, "topics", topic)) if row]


def test_patterns_are_set_listed_and_passed_by(start, receiver, topic):
    server = start("--reactors", "1")
    ask(server, "set", f"{topic}-*", "paused=true", f"url={receiver.url()}")
    name = f"{topic}-1"
    server.schedule(topic=name, jobId="a")
    printed = ask(server, "topics")
    assert printed.startswith(f'{topic}-*  {{"paused":true') and "TOPIC" in printed
    row, = [row for row in rows(printed) if row and row[0] == name]
    assert row[9] == "paused"
    assert [entry["topic"] for entry in json.loads(ask(server, "topics", "--json"))] == [name]
    ask(server, "resume", name)
    until(lambda: receiver.count(name) == 1, 5, "the delivery")
    assert server.get(f"/topics/{name}").expect(200)["settings"]["paused"] is False
    ask(server, "set", f"{topic}-*", "paused=", "url=")


def test_receivers_are_listed_and_closed(start, topic):
    server, down = start("--breaker-wait", "60s"), "127.0.0.1:9"
    assert rows(ask(server, "receivers"))[1:] == []
    for i in range(20):
        server.schedule(topic=topic, url=f"http://{down}/", retry=0)
    until(lambda: rows(ask(server, "receivers"))[1:][0][:4] == [down, "open", "20", "connect"], 5, "an open breaker")
    assert json.loads(ask(server, "receivers", "--json"))[0]["state"] == "open"
    assert ask(server, "close", down) == "closed\n"
    assert rows(ask(server, "receivers"))[1][:4] == [down, "closed", "0", "connect"]
    assert "404" in ask(server, "close", "nobody.example:80", code=1)
    assert "HOST:PORT" in ask(server, "close", code=2)


def test_a_job_is_scheduled_with_a_method_bytes_and_labels(server, receiver, topic, tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\x00\n{}")
    tell(server, "schedule", f"{topic}/a", "--url", receiver.url(), "--method", "PUT", "--body-file", str(tmp_path / "bytes"))
    tell(server, "schedule", f"{topic}/b", "--url", receiver.url(), "--body-base64", "/w==")
    until(lambda: receiver.count(topic) == 2, 10, "both deliveries")
    assert sorted((each.job_id, each.method, each.body) for each in receiver.of(topic)) == [
        ("a", "PUT", b"\xff\x00\n{}"), ("b", "POST", b"\xff")]
    for job_id, labels in ("c", ["--label", "eu", "--label=vip"]), ("d", ["--label", "eu"]), ("e", []):
        tell(server, "schedule", f"{topic}/{job_id}", "--url", receiver.url(), "--delay", "1h", *labels)
    assert server.get(f"/jobs/{topic}/c").expect(200)["labels"] == ["eu", "vip"]
    assert [row[1] for row in rows(ask(server, "jobs", "--topic", topic, "--label", "eu"))[1:]] == ["c", "d"]
    assert [row[1] for row in rows(ask(server, "jobs", "--topic", topic, "--label", "eu", "--label", "vip"))[1:]] == ["c"]
    assert ask(server, "cancel", "--topic", topic, "--state", "delayed", "--label", "eu", "--all") == "2 of 2 jobs done\n"
    assert "400: method" in ask(server, "schedule", topic, "--url", receiver.url(), "--method", "TRACE", code=1)


def test_callbacks_of_a_job_and_of_a_topic(server, receiver, topic):
    url = receiver.url("/done")
    tell(server, "schedule", f"{topic}/a", "--url", receiver.url(), "--delay", "1h", "--on-delivered", url, "--on-dead",
         json.dumps({"url": url, "method": "PUT"}), f"--on-attempt={url}")
    job = server.get(f"/jobs/{topic}/a").expect(200)
    assert [job[name] for name in ("onDelivered", "onDead", "onAttempt")] == [url, {"url": url, "method": "PUT"}, url]
    assert "400: onDead" in ask(server, "schedule", topic, "--url", receiver.url(), "--on-dead", "x", code=1)
    for value in ("{", '{"url":"http://h/"},"retry":0'):
        problem = ask(server, "schedule", topic, "--url", receiver.url(), "--on-dead", value, code=2)
        assert f"--on-dead is {value}: expected a url, or a JSON object with a url" in problem
    tell(server, "set", topic, f"onDelivered={url}", 'onDead={"url":"%s","includeBody":true}' % url)
    settings = server.get(f"/topics/{topic}").expect(200)["settings"]
    assert settings == {"onDelivered": url, "onDead": {"url": url, "includeBody": True}}


def test_a_job_under_a_key_is_scheduled_once(server, receiver, topic):
    words = ["schedule", topic, "--url", receiver.url(), "--delay", "1h", "--idempotency-key", f"{topic} 1"]
    ids = {json.loads(ask(server, *words, "--json"))["jobId"] for _ in range(2)}
    assert len(ids) == 1 and {job["jobId"] for job in server.get(f"/jobs?topic={topic}").expect(200)["jobs"]} == ids
    assert "422" in ask(server, *words, "--body", "1", code=1)
    for words in (["run", f"{topic}/x"], ["cancel", f"{topic}/x"]):
        assert f"--idempotency-key: not an option of {words[0]}" in ask(server, *words, "--idempotency-key", "k", code=2)
    for words in (["schedules", "set", f"{topic}/x"], ["schedules"]):
        assert f"--idempotency-key: not an option of {' '.join(words[:2])}" in ask(server, *words, "--idempotency-key", "k", code=2)


def test_a_job_is_scheduled(server, receiver, topic):
    said, _ = tell(server, "schedule", f"{topic}/a", "--url", receiver.url(), "--body", '{"total": 1.10}',
                   "--header", "X-Shop: 7", "--header=X-Empty:", "--retry=2", "--timeout=1.5s")
    assert said.startswith(f"{topic}/a is delayed, due ")
    until(lambda: receiver.count(topic) == 1, 5, "the delivery")
    got, = receiver.of(topic)
    assert got.body == b'{"total": 1.10}' and got.headers["x-shop"] == "7"
    said, _ = tell(server, "schedule", f"{topic}/later", "--url", receiver.url(), "--delay", "15m", "--ttl", "1h",
                   "--body-file", "-", feed="plain \u20ac")
    assert re.search(r"due in 1[45] min \d+ s, at ", said)
    job = server.get(f"/jobs/{topic}/later").expect(200)
    assert job["delay"] == 900 and job["body"] == "plain \u20ac" and "expiresAt" in job
    made = json.loads(ask(server, "schedule", topic, "--url", receiver.url(), "--due-at", "+1h", "--json"))
    assert server.get(f"/jobs/{topic}/{made['jobId']}").expect(200)["dueAt"] == made["dueAt"]
    assert "--delay is soon" in ask(server, "schedule", topic, "--delay", "soon", code=2)
    assert "--due-at is tomorrow: expected RFC 3339" in ask(server, "schedule", topic, "--due-at", "tomorrow", code=2)
    assert "expected Name: value" in ask(server, "schedule", topic, "--header", "X-Shop", code=2)
    assert "cannot read" in ask(server, "schedule", topic, "--body-file", "/nothing", code=2)
    assert "expected TOPIC" in ask(server, "schedule", code=2)
    assert "400: url" in ask(server, "schedule", topic, "--url", "ftp://a/", code=1)


def test_many_jobs_are_cancelled(server, receiver, topic):
    server.schedule_many([{"topic": topic, "url": receiver.url(), "delay": 3600} for _ in range(250)])
    words = ["cancel", "--state", "delayed", "--topic", topic]
    assert ask(server, *words, "--all", "--dry-run").startswith("250 jobs match")
    assert ask(server, *words, "--all", "--due-before", "now") == "0 of 0 jobs done\n"
    assert ask(server, *words, "--limit", "20", "--due-before=+2h") == "20 of 20 jobs done\n"
    assert ask(server, *words, "--all") == "230 of 230 jobs done\n"
    assert "--limit N" in ask(server, "cancel", "--state", "delayed", code=2)
    assert "--limit N" in ask(server, *words, "--limit", "1", "--all", code=2)
    assert "expected a job" in ask(server, "cancel", code=2)
    assert "--limit" in ask(server, *words, "--limit", "0", code=2)


def test_many_jobs_are_run_and_rescheduled(server, receiver, topic):
    server.schedule_many([{"topic": topic, "jobId": f"j{i:04}", "url": receiver.url(), "delay": 3600} for i in range(1100)])
    words = ["--state", "delayed", "--topic", topic]
    assert ask(server, "reschedule", *words, "--limit", "1050", "--delay", "2h") == "1050 of 1050 jobs done\n"
    assert server.get(f"/jobs/count?state=delayed&topic={topic}&dueAfter={from_ms(time.time() * 1000 + 5_400_000)}").expect(200)["count"] == 1050
    assert ask(server, "reschedule", *words, "--all", "--due-at", "+3h") == "1100 of 1100 jobs done\n"
    assert ask(server, "run", *words, "--limit", "2", "--dry-run").startswith("2 jobs match")
    assert ask(server, "run", *words, "--limit", "2") == "2 of 2 jobs done\n"
    until(lambda: receiver.count(topic) == 2, 20, "two deliveries")
    assert "--delay DURATION" in ask(server, "reschedule", *words, "--all", code=2)
    assert "--limit N" in ask(server, "run", *words, code=2)
    assert "expected a job" in ask(server, "run", code=2)
    assert "--state" in ask(server, "reschedule", "--all", "--delay", "1h", code=2)


def test_a_redrive_is_bounded_and_can_be_tried_first(server, receiver, topic):
    bury(server, receiver, topic, "a", "b", "c")
    assert ask(server, "redrive", "--topic", topic, "--all", "--dry-run").startswith("3 jobs match")
    assert ask(server, "redrive", "--topic", topic, "--limit", "1", "--died-after=-1h") == "1 of 1 jobs done\n"
    until(lambda: receiver.count(topic) == 4, 5, "one delivery")
    assert len(rows(ask(server, "dead", "--topic", topic))) == 3


def test_settings_are_changed(server, topic):
    ask(server, "set", topic, "maxInFlight=3", "rate=100/1m", "url=https://shop.example/hook", "paused=true")
    settings = server.get(f"/topics/{topic}").expect(200)["settings"]
    assert settings["maxInFlight"] == 3 and settings["rate"]["jobs"] == 100 and settings["rate"]["per"] == 60
    assert settings["url"] == "https://shop.example/hook" and settings["paused"] is True
    ask(server, "set", topic, "rate=5/s", "paused=")
    settings = server.get(f"/topics/{topic}").expect(200)["settings"]
    assert settings["rate"]["per"] == 1 and "paused" not in settings
    assert "NAME=VALUE" in ask(server, "set", topic, code=2)
    assert "NAME=VALUE" in ask(server, "set", topic, "paused", code=2)
    assert "rate=fast: expected JOBS/TIME" in ask(server, "set", topic, "rate=fast", code=2)


def test_pausing_a_topic_without_jobs_says_that_it_is_new(server, topic):
    assert "is new" in tell(server, "pause", topic)[1]
    assert tell(server, "pause", topic)[1] == ""


def test_why_says_when_it_ends(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    assert re.search(r"^The wait ends in 5\d min \d+ s, at \S+Z\.$", ask(server, "why", f"{topic}/a"), re.MULTILINE)


def test_why_names_commands_instead_of_requests(start, receiver, topic):
    server = start("--breaker-wait", "60s")
    receiver.script(topic, 503, 410)
    ask(server, "set", topic, "retrySchedule=[60]")
    server.schedule(topic=topic, jobId="re try's", url=receiver.url())
    until(lambda: server.job(topic, "re%20try's")["attempts"] == 1, 5, "a failed attempt")
    quoted = f"""'{topic}/re try'\\''s'"""
    assert f"Attempt 1 was answered 503; the job waits for its next attempt. duepost run {quoted} makes it due now." in ask(server, "why", f"{topic}/re try's")
    server.schedule(topic=topic, jobId="dead", url=receiver.url(), retry=0)
    server.wait_for_state(topic, "dead", "dead")
    said = ask(server, "why", f"{topic}/dead")
    assert f"(gone) after 1 attempt; the last one was answered 410. duepost run {topic}/dead sends it again, but its receiver" in said
    ask(server, "pause", topic)
    server.schedule(topic=topic, jobId="paused", url=receiver.url())
    assert f"Its topic is paused. duepost resume {topic} resumes it." in ask(server, "why", f"{topic}/paused")
    server.schedule(topic=topic, jobId="later", url=receiver.url(), delay=60)
    assert f"paused, too: no attempt begins until duepost resume {topic}." in ask(server, "why", f"{topic}/later")
    ask(server, "set", "pull", "delivery=pull")
    server.schedule(topic="pull", jobId="a")
    assert "waits for a worker that leases it, such as duepost work pull -- COMMAND" in ask(server, "why", "pull/a")
    ask(server, "set", "line", "order=fifo", "paused=true")
    for job_id in "ab":
        server.schedule(topic="line", jobId=job_id, url="http://127.0.0.1:9/", retrySchedule=[60])
    ask(server, "resume", "line")
    until(lambda: "duepost why line/a says what that job waits for." in ask(server, "why", "line/b"), 5, "the line")
    ask(server, "set", "none", "url=http://127.0.0.1:9/")
    server.schedule(topic="none", jobId="a", delay=1)
    ask(server, "set", "none", "url=")
    until(lambda: "duepost set none url=URL, or delivery=pull, resumes all jobs" in ask(server, "why", "none/a"), 5, "no url")
    slow = f"{topic}.slow"
    ask(server, "set", slow, "rate=1/1h")
    server.schedule(topic=slow, jobId="a", url=receiver.url())
    until(lambda: receiver.count(slow) == 1, 5, "the first delivery")
    server.schedule(topic=slow, jobId="b", url=receiver.url())
    assert f"A higher rate lets more attempts begin, such as duepost set {slow} rate=100/1m." in ask(server, "why", f"{slow}/b")
    for job_id in range(21):
        server.schedule(topic="down", jobId=str(job_id), url="http://127.0.0.1:9/", retrySchedule=[0.05] * 5)
    until(lambda: "duepost close 127.0.0.1:9 resumes them." in ask(server, "why", "down/20"), 10, "the breaker")


class Sentences(http.server.BaseHTTPRequestHandler):
    """Answers GET /jobs/<topic>/<number>/why with the sentence of this number."""
    texts = ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', run)).replace('\\"', '"') for run in
             re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', (duepost.ROOT / "src" / "api" / "why.c").read_text())]
    sentences = [re.sub(r"%\.\*s|%s|%l*d", "x", text) for text in texts if re.search(r"\b(GET|PUT|POST|PATCH|DELETE)\b", text)]

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        detail = self.sentences[int(self.path.split("/")[3])]
        self.wfile.write(json.dumps({"topic": "t", "jobId": "j", "state": "ready", "why": "in_turn", "detail": detail}).encode())

    def log_message(self, *_):
        pass


def test_each_request_of_the_sentences_of_why_has_a_command():
    """The sentences are all those in the source of the API."""
    assert len(Sentences.sentences) >= 15, Sentences.sentences
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sentences) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            for number, sentence in enumerate(Sentences.sentences):
                done = subprocess.run([duepost.BINARY, "why", f"t/{number}", "--server", f"http://127.0.0.1:{server.server_port}"],
                                      capture_output=True, text=True, timeout=30 * SLOW, check=True)
                assert "duepost " in done.stdout and not re.search(r"\b(GET|PUT|POST|PATCH|DELETE)\b|%", done.stdout), (sentence, done.stdout)
        finally:
            server.shutdown()
            thread.join()


def test_a_group_is_made_listed_sent_to_and_removed(server, receiver, topic):
    made = json.loads(ask(server, "group", topic, f"north={receiver.url()}", f"south={receiver.url('/s')}"))
    assert made == {"group": topic, "endpoints": {"north": {"url": receiver.url()}, "south": {"url": receiver.url("/s")}}}
    assert json.loads(ask(server, "group", topic)) == made
    table = rows(ask(server, "groups"))
    assert table[0] == ["GROUP", "ENDPOINT", "METHOD", "URL"] and [topic, "south", "POST", receiver.url("/s")] in table
    assert ask(server, "schedule", f"{topic}/j", "--group", topic, "--delay", "1h").startswith(f"{topic}/j is delayed")
    shown = json.loads(ask(server, "show", f"{topic}/j", "--group", topic))
    assert [job["jobId"] for job in shown["jobs"]] == ["j~north", "j~south"]
    assert ask(server, "cancel", f"{topic}/j", "--group", topic) == "cancelled\n"
    assert ask(server, "group", topic, "--remove") == "removed\n"
    assert "no such group" in ask(server, "group", topic, code=1)
    for words in ([], [topic, "north"], [topic, "north="], [topic, "--remove", "a=http://b/"]):
        assert "expected" in ask(server, "group", *words, code=2)


def test_a_limit_is_made_changed_paused_shown_and_removed(server, topic):
    assert json.loads(ask(server, "limits", topic, "maxInFlight=20", "rate=100/1s")) == {
        "limit": topic, "settings": {"maxInFlight": 20, "rate": {"jobs": 100, "per": 1, "burst": 1}}}
    assert json.loads(ask(server, "limits", topic, "rate=", "maxInFlight=5"))["settings"] == {"maxInFlight": 5}
    table = rows(ask(server, "limits"))
    assert table[0] == ["LIMIT", "USED", "OF", "RATE", "WAITING", "HELD", "BY"] and [topic, "0", "5", "-", "0"] in [row[:5] for row in table]
    ask(server, "limits", topic, "pause", "the provider is down")
    shown = ask(server, "limits", topic)
    assert f"limit      {topic}\nin flight  0\nwaiting    0 topics\nheld by    paused\n" in shown
    assert '"the provider is down"' in shown
    ask(server, "set", topic, f"limit={topic}")
    assert "Topics or patterns name this limit" in ask(server, "limits", topic, "--remove", code=1)
    ask(server, "topics", topic, "--remove")
    assert json.loads(ask(server, "limits", topic, "resume"))["settings"] == {"maxInFlight": 5}
    assert json.loads(ask(server, "limits", topic, "--json"))["waiting"] == []
    assert ask(server, "limits", topic, "--remove") == "removed\n"
    assert "no such limit" in ask(server, "limits", topic, "pause", code=1)
    assert "no such limit" in ask(server, "limits", topic, code=1)


def test_keys_are_listed_shown_changed_paused_and_removed(server, topic):
    for number in range(2):
        server.schedule(topic=topic, jobId=str(number), key="a b", url="http://127.0.0.1:9/", delay=3600)
    server.schedule(topic=topic, jobId="plain", url="http://127.0.0.1:9/", delay=3600)
    assert json.loads(ask(server, "keys", topic, "a b", "maxInFlight=2", "rate=10/1m")) == {
        "topic": topic, "key": "a b", "settings": {"maxInFlight": 2, "rate": {"jobs": 10, "per": 60, "burst": 1}}}
    assert json.loads(ask(server, "keys", topic, "a b", "rate="))["settings"] == {"maxInFlight": 2}
    table = [re.split(r"  +", line) for line in ask(server, "keys", topic).splitlines()]
    assert table[0] == ["KEY", "WAITING", "IN FLIGHT", "SHARE", "OVERDUE FOR", "OLDEST", "HELD BY", "SETTINGS"]
    assert [row[:5] for row in table[1:]] == [["a b", "2", "0", "0%", "-"], ["(no key)", "1", "0", "0%", "-"]]
    assert len(json.loads(ask(server, "keys", topic, "--json", "--limit", "1"))) == 1
    ask(server, "keys", topic, "a b", "pause", "unpaid")
    shown = ask(server, "keys", topic, "a b")
    assert "key        a b\njobs       waiting 2  in flight 0\nshare      0 % of the attempts of its topic\n" in shown and '"unpaid"' in shown
    assert json.loads(ask(server, "keys", topic, "a b", "resume"))["settings"] == {"maxInFlight": 2}
    assert json.loads(ask(server, "keys", topic, "a b", "--json"))["waiting"] == 2
    assert json.loads(ask(server, "keys", topic, "a b", "--remove"))["settings"] == {}
    assert "--remove needs a key" in ask(server, "keys", topic, "--remove", code=2)
    assert "unexpected argument" in ask(server, "keys", topic, "a b", "resume", "now", code=2)
    for number in ("0", "1", "plain"):
        server.cancel(topic, number)


def test_settings_in_an_object_are_set_one_by_one(server, topic):
    changed = json.loads(ask(server, "set", topic, "perKey.maxInFlight=2", "timeout=9", "perKey.rate=10/1m", "headers.X-A.b=c d", "perKey.order=fifo"))
    bounds = {"maxInFlight": 2, "rate": {"jobs": 10, "per": 60, "burst": 1}, "order": "fifo"}
    assert changed["settings"] == {"perKey": bounds, "timeout": 9, "headers": {"X-A.b": "***"}}
    assert json.loads(ask(server, "set", topic, "perKey.rate=", "perKey.maxInFlight=3"))["settings"]["perKey"] == {"maxInFlight": 3, "order": "fifo"}
    assert "perKey" not in json.loads(ask(server, "set", topic, "perKey="))["settings"]
    assert "expected NAME=VALUE" in ask(server, "set", topic, "perKey.rate", code=2)
    assert "expected JOBS/TIME" in ask(server, "set", topic, "perKey.rate=fast", code=2)
    assert "perKey.wight: unknown setting; did you mean weight?" in ask(server, "set", topic, "perKey.wight=2", code=1)
    ask(server, "topics", topic, "--remove")


def test_each_command_has_help(server):
    names = [line.split()[0] for line in ask(server, "help").splitlines() if re.match(r"  \w", line)]
    assert len(names) > 15
    for name in names:
        for words in ([name, "-h"], [name, "--help"], ["help", name]):
            assert ask(server, *words).startswith(f"Usage: duepost {name} ")
    assert "--per-second" in ask(server, "redrive", "--topic", "a", "-h")


@pytest.mark.parametrize("words", [("token", "new", "shop", "scopes=read"), ("sign-test", "http://127.0.0.1:1/")], ids=lambda words: words[0])
def test_the_help_of_a_command_that_calls_no_server_shows_no_options_of_such_calls(server, words):
    assert "--server" not in ask(server, words[0], "-h")
    assert ask(server, *words, "--server", server.url, code=2)


def test_an_option_of_another_command_is_refused_and_changes_nothing(server, receiver, topic):
    for words, flag in ((("pause", topic, "--delay", "5m"), "--delay"), (("dead", "--state", "delayed"), "--state"),
                        (("topics", "--all"), "--all"), (("show", f"{topic}/a", "--header", "A: b"), "--header"),
                        (("jobs", "--url", receiver.url()), "--url")):
        problem = ask(server, *words, code=2)
        assert f"duepost {words[0]}: {flag}: not an option of {words[0]}; see duepost {words[0]} -h" in problem
    assert topic not in ask(server, "topics")


def test_the_address_of_the_server_may_end_in_a_slash(server):
    assert ask(server, "topics", "--server", f"{server.url}/").startswith("TOPIC")
    assert "The command for this is duepost set TOPIC delivery=pull." in ask(server, "work", "mail", "--server", f"{server.url}/", "--", "true", code=1)


def test_one_job_and_a_filter_are_not_mixed(server, receiver, topic):
    job = f"{topic}/kept"
    server.schedule(topic=topic, jobId="kept", url=receiver.url(), delay=3600)
    for verb in ("cancel", "run"):
        for words in (["--dry-run"], ["--all"], ["--limit", "1"], ["--state", "dead"], ["--label", "a"]):
            assert f"{words[0]} cannot be combined with TOPIC/ID" in ask(server, verb, job, *words, code=2)
    assert "--group needs TOPIC/ID" in ask(server, "cancel", "--group", "g", "--topic", topic, "--state", "delayed",
                                           "--all", code=2)
    assert "--resend needs TOPIC/ID" in ask(server, "run", "--resend", "--topic", topic, "--state", "delayed", "--all",
                                            code=2)
    assert server.job(topic, "kept")["state"] == "delayed"


def test_a_wrong_value_names_its_option(server, receiver, topic):
    for value in ("x", "-1", "", '1,"label":"a"', "99999999999999999999"):
        problem = ask(server, "schedule", topic, "--url", receiver.url(), f"--retry={value}", code=2)
        assert f"--retry is {value}: expected a whole number from 0 to 100" in problem
    assert "No such file" in ask(server, "schedule", topic, "--body-file", "/nonexistent", code=2)
    assert "expected a receiver as HOST:PORT" in ask(server, "close", "shop.example", code=2)


def test_tail_prints_the_topics_that_change(server, receiver, topic):
    environment = {**os.environ, "DUEPOST_SERVER": f"http://{server.host}:{server.port}"}
    with subprocess.Popen([duepost.BINARY, "tail", topic], env=environment, stdout=subprocess.PIPE, text=True) as tail:
        try:
            server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
            assert tail.stdout.readline().startswith(f"{topic}  delayed 1 ")
            server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=3600)
            assert tail.stdout.readline().startswith(f"{topic}  delayed 2 ")
        finally:
            tail.terminate()


def test_tail_prints_events(server, receiver, topic):
    environment = {**os.environ, "DUEPOST_SERVER": f"http://{server.host}:{server.port}"}
    server.request("PUT", f"/topics/{topic}", json.dumps({"events": True}), {"Content-Type": "application/json"}).expect(200)
    with subprocess.Popen([duepost.BINARY, "tail", topic], env=environment, stdout=subprocess.PIPE, text=True) as tail:
        try:
            for n in range(100):  # until it reads
                server.schedule(topic=topic, jobId=f"{n}", key="acme", url=receiver.url())
                if select.select([tail.stdout], [], [], 0.3)[0]:
                    break
            receiver.script(topic, 503, 200, job_id="last")
            server.schedule(topic=topic, jobId="last", key="acme", url=receiver.url(), retrySchedule=[0.1])
            said = []
            while not said or said[-1][0] != "delivered" or said[-1][1] != "last":
                said.append(tail.stdout.readline().split()[1:])
        finally:
            tail.terminate()
    mine = [line for line in said if line[1] == "last"]
    assert mine == [["accepted", "last", "key", "acme"], ["begun", "last", "key", "acme"], ["retried", "last", "key", "acme", "attempt", "1", "503"],
                    ["begun", "last", "key", "acme"], ["delivered", "last", "key", "acme", "attempt", "2", "200"]]


@pytest.mark.parametrize("as_json", [False, True])
def test_foreign_text_cannot_control_the_terminal(server, receiver, topic, as_json):
    """U+009B begins a control sequence like ESC [, and U+202E shows text from right to left."""
    foreign, body = "b\u202ec\u200bd\u00fc", "a\u009b31m\u007f"
    option = ["--json"] if as_json else []
    texts = [ask(server, "schedule", f"{topic}/{foreign}", "--url", receiver.url(), "--delay", "1h", "--body", json.dumps(body), *option),
             ask(server, "why", f"{topic}/{foreign}", *option),
             ask(server, "jobs", "--state=delayed", f"--topic={topic}", *option),
             ask(server, "why", f"{topic}/{foreign}-not", code=1), ask(server, body, code=2)]
    for text in texts:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]", text)
    if as_json:
        assert json.loads(texts[2])[0]["jobId"] == foreign and "d\u00fc" in texts[2]  # the same JSON, with escapes


def test_a_token_for_the_clients_of_qstash(start, tmp_path):
    """createWebhook of the client for workflows decodes the token."""
    token, line = duepost.run("token", "new", "app", "scopes=schedule,admin", "topics=qstash", "--for-qstash").stdout.splitlines()
    decoded = json.loads(base64.b64decode(token))
    assert list(decoded) == ["UserID", "Password"] and decoded["UserID"] == "duepost" and len(decoded["Password"]) == 67
    assert line == f"app sha256:{hashlib.sha256(token.encode()).hexdigest()} scopes=schedule,admin topics=qstash"
    (tmp_path / "tokens").write_text(line + "\n")
    server = start("--tokens", str(tmp_path / "tokens"), "--qstash", "on", token=token)
    assert server.request("GET", "/v2/keys", check=False).status == 200
    assert server.with_token(None).request("GET", f"/v2/keys?qstash_token={token}", check=False).status == 200


def test_a_token_is_made_shown_and_used(start, topic, tmp_path):
    made = duepost.run("token", "new", "shop", "scopes=schedule,read", f"topics={topic},b-*", "rate=1000/s").stdout
    token, line = made.splitlines()
    assert re.fullmatch(r"dp_[0-9a-f]{64}", token)
    assert line == f"shop sha256:{hashlib.sha256(token.encode()).hexdigest()} scopes=schedule,read topics={topic},b-* rate=1000/s"
    assert duepost.run("token", "new", "shop", "scopes=read").stdout.splitlines()[0] != token
    (tmp_path / "tokens").write_text(line + "\n")
    (tmp_path / "token").write_text(token + "\n")
    server = start("--tokens", str(tmp_path / "tokens"), token=token)
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600)
    listed = ["jobs", "--state=delayed", f"--topic={topic}"]
    assert "DUEPOST_TOKEN" in ask(server, *listed, code=1)
    assert " a " in ask(server, *listed, f"--token-file={tmp_path}/token")
    assert " a " in ask(server, *listed, token=token)
    assert "401" in ask(server, *listed, code=1, token="dp_wrong")
    assert "The parameter is the option --topic." in ask(server, "jobs", code=1, token=token)
    assert "403: Token shop lacks the scope cancel" in ask(server, "cancel", f"{topic}/a", code=1, token=token)
    assert ask(server, "topics", token=token).count("\n") == 2
    assert token not in server.log()


@pytest.mark.parametrize("words, reason", [
    ([], "NAME"), (["new"], "NAME"), (["old", "a", "scopes=read"], "NAME"), (["new", "a b", "scopes=read"], "NAME"),
    (["new", "a"], "scopes="), (["new", "a", "scopes=all"], "scopes="), (["new", "a/b", "scopes=read"], "name"),
    (["new", "a", "scopes=read", "topics=a b"], "only scopes="), (["new", "a", "scopes=read", "rate=1/d"], "rate="),
    (["new", "a", "scopes=read\nb"], "scopes="),
], ids=str)
def test_an_invalid_token_is_not_created(words, reason):
    done = duepost.run("token", *words)
    assert done.returncode == 2 and reason in done.stderr and done.stdout == ""


def test_a_token_file_without_a_token_is_an_error(server, tmp_path):
    for text in "", "\n", "a b\n", "a\tb", "\x00":
        (tmp_path / "token").write_text(text)
        assert "has no token" in ask(server, "topics", f"--token-file={tmp_path}/token", code=2)
    assert "cannot read" in ask(server, "topics", f"--token-file={tmp_path}/nothing", code=2)
    assert "DUEPOST_TOKEN" in ask(server, "topics", code=2, token="a\r\nX-Other: b")


def test_wrong_usage_has_a_clear_error(server):
    assert "unknown command" in ask(server, "nope", code=2)
    assert "--nope" in ask(server, "dead", "--nope", code=2)
    assert "needs a value" in ask(server, "dead", "--topic", code=2)
    assert "unexpected argument" in ask(server, "show", "a/b", "c", code=2)
    assert "TOPIC/ID" in ask(server, "show", "a", code=2)
    assert "unknown option" in ask(server, "dead", "-x", code=2)
    assert "expected a topic" in ask(server, "pause", code=2)
    assert "check the server" in ask(server, "topics", "--server", "http://127.0.0.1:1", code=1)
    help_text = ask(server, "help")
    assert all(name in help_text for name in ("jobs", "dead", "topics", "redrive", "cancel", "why", "tail", "receivers", "close"))
