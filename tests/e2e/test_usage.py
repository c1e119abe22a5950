"""Wrong usage of the command line: exit status 2, an error that names the right word, and nothing is sent.

Exit status 1 is for all that the server refused or could not do."""

import http.server
import os
import socket
import subprocess
import threading

import pytest

import duepost
from patience import SLOW

URL = "http://127.0.0.1:9/"


def command(*words, server="http://127.0.0.1:1", **variables):
    environment = {**os.environ, "DUEPOST_SERVER": server, **variables}
    return subprocess.run([duepost.BINARY, *words], env=environment, capture_output=True, text=True, timeout=30 * SLOW)


def refused(*words, code=2, **options):
    """Returns the error of a command that prints nothing else."""
    done = command(*words, **options)
    assert (done.returncode, done.stdout) == (code, ""), (words, done)
    assert done.stderr.startswith("duepost") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.rstrip("\n")


@pytest.fixture(scope="module")
def listener():
    """A listening socket that must not get a connection. Each test checks this at its end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.mark.parametrize("typed, right", [
    ("scheduel", "schedule"), ("job", "jobs"), ("Topics", "topics"), ("re-drive", "redrive"), ("recievers", "receivers"),
    ("sched", "schedule"), ("schedules-list", "schedules"), ("cancle", "cancel"), ("signtest", "sign-test"), ("hlep", "help"),
    ("versoin", "version"), ("workflow", "workflows"),
])
def test_an_unknown_command_names_the_nearest(typed, right):
    said = f"duepost: unknown command {typed}; did you mean {right}? duepost help lists all commands"
    assert refused(typed) == said
    assert refused(typed, "--topic", "a", "-h") == said
    assert refused("help", typed) == said


def test_an_unknown_command_that_is_near_none_names_the_list():
    for typed in "nope", "x", "", "z" * 10_000, "\N{SNOWMAN}":
        assert refused(typed) == refused("help", typed) == f"duepost: unknown command {typed}; duepost help lists all commands"
    assert refused("help", "jobs", "dead") == "duepost help: expected one command, or none; see duepost help -h"


def test_help_is_asked_for_in_any_way():
    for words in ("help",), ("help", "-h"), ("help", "--help"), ("help", "help"):
        done = command(*words)
        assert done.returncode == 0 and done.stdout.startswith("Usage: duepost ") and done.stderr == ""


@pytest.mark.parametrize("words, right", [
    (["schedule", "a", "--dely", "1m"], "--delay"), (["schedule", "a", "--due_at", "now"], "--due-at"),
    (["schedule", "a", "--URL", URL], "--url"), (["schedule", "a", "--idempotency", "k"], "--idempotency-key"),
    (["schedule", "a", "-delay", "1m"], "--delay"), (["jobs", "--topics", "a"], "--topic"), (["jobs", "--jsn"], "--json"),
    (["schedule", "a", "--headers", "A: b"], "--header"), (["jobs", "--sever", URL], "--server"), (["jobs", "--hlep"], "--help"),
    (["cancel", "--dryrun"], "--dry-run"), (["work", "a", "--untilempty"], "--until-empty"), (["bench", "--job=1"], "--jobs"),
    (["history", "stats", "--stp", "1m"], "--step"),
])
def test_an_unknown_option_names_the_nearest_of_its_command(words, right):
    typed = next(word for word in words if word.startswith("-")).split("=")[0]
    assert refused(*words) == f"duepost {words[0]}: {typed}: unknown option; did you mean {right}? See duepost {words[0]} -h"


def test_an_option_of_other_commands_is_not_suggested():
    assert refused("topics", "--dely", "1m") == "duepost topics: --dely: unknown option; see duepost topics -h"
    for typed in "-x", "--", "-", "--nope":
        assert "did you mean" not in refused("dead", typed)


@pytest.mark.parametrize("words, said", [
    ([], "schedule: expected TOPIC or TOPIC/ID"),
    (["a", "--delay", "15min"], "schedule: --delay is 15min: expected a duration such as 90s, 15m or 1h"),
    (["a", "--delay="], "schedule: --delay is : expected a duration"),
    (["a", "--due-at", "tomorrow"], "schedule: --due-at is tomorrow: expected RFC 3339 (2030-01-01T00:00:00Z), now, -1h or +15m"),
    (["a", "--ttl", "x"], "schedule: --ttl is x: expected a duration"),
    (["a", "--timeout", "x"], "schedule: --timeout is x: expected a duration"),
    (["a", "--retry", "many"], "schedule: --retry is many: expected a whole number"),
    (["a", "--header", "X-Shop"], "schedule: --header X-Shop: expected Name: value"),
    (["a", "--header", ": x"], "schedule: --header : x: expected Name: value"),
    (["a", "--header", "X-A: 1", "--header", "x-a: 2"], "schedule: --header x-a: 2: x-a appears twice"),
    (["a", "--on-dead", "{"], "schedule: --on-dead is {: expected a url"),
    (["a", "--body-file", "/nonexistent"], "schedule: cannot read /nonexistent: No such file"),
    (["a", "--idempotency-key", ""], "schedule: --idempotency-key: expected 1 to 255"),
    (["a", "--token-file", "/nonexistent"], "schedule: cannot read /nonexistent: No such file"),
    (["a", "--token-file", "/"], "schedule: cannot read /: Is a directory"), (["a", "--body-file", "/"], "schedule: cannot read /: Is a directory"),
    (["a", "--token-file", "/dev/null"], "schedule: /dev/null has no token on its first line"),
    (["a", "--ca-file", "/nonexistent"], "schedule: --ca-file: cannot read /nonexistent: No such file"),
    (["a", "--server", "ftp://h"], "schedule: --server or DUEPOST_SERVER is ftp://h: expected a URL such as http://127.0.0.1:7700"),
    (["a", "--server="], "schedule: --server or DUEPOST_SERVER is : expected a URL"),
    (["a", "--delay", "--ttl", "1h"], "schedule: --delay: needs a value"),
    (["a", "--delay"], "schedule: --delay: needs a value"),
    (["a", *["--label", "x"] * 21], "schedule: --label: appears more than 20 times"),
    (["a", *["--header", "x: y"] * 51], "schedule: --header: appears more than 50 times"),
    (["a", "b"], "schedule: b: unexpected argument"),
], ids=str)
def test_wrong_values_of_schedule(words, said, listener):
    assert said in refused("schedule", *words, server="http://%s:%s" % listener.getsockname())
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.parametrize("words, said", [
    (["jobs", "--limit", "0"], "--limit is 0: expected a whole number from 1"),
    (["jobs", "--due-after", "noon"], "--due-after is noon: expected RFC 3339"),
    (["jobs", "a"], "a: unexpected argument"),
    (["dead", "--died-before", "noon"], "--died-before is noon: expected RFC 3339"),
    (["show"], "expected a job as TOPIC/ID"), (["show", "a"], "expected a job as TOPIC/ID"), (["show", "/a"], "expected a job as TOPIC/ID"),
    (["why", "a/"], "expected a job as TOPIC/ID"),
    (["attempts", "a"], "expected a job as TOPIC/ID"),
    (["run"], "expected a job as TOPIC/ID, or several jobs"),
    (["run", "a"], "expected a job as TOPIC/ID"),
    (["run", "a/b", "--all"], "--all cannot be combined with TOPIC/ID"),
    (["run", "--resend", "--state", "dead"], "--resend needs TOPIC/ID"),
    (["reschedule", "--state", "dead", "--all"], "expected --delay DURATION or --due-at TIME"),
    (["reschedule", "--state", "dead", "--delay", "1h"], "expected --limit N"),
    (["reschedule", "--state", "dead", "--all", "--delay", "15min"], "--delay is 15min: expected a duration"),
    (["cancel"], "expected a job as TOPIC/ID, or several jobs"),
    (["cancel", "--state", "dead"], "expected --limit N"),
    (["redrive"], "expected --limit N"),
    (["redrive", "--limit", "1x"], "--limit is 1x: expected a whole number from 1"),
    (["history"], "expected export, stats or delete"), (["history", "exprot"], "exprot: expected export, stats or delete"),
    (["history", "export", "--format", "xml"], "--format is xml: expected ndjson or csv"),
    (["history", "stats", "--from", "noon"], "--from is noon: expected RFC 3339"),
    (["history", "delete"], "expected --topic TOPIC or --before TIME"),
    (["topics", "--limit", "-1"], "--limit is -1: expected a whole number from 1"),
    (["set"], "expected TOPIC NAME=VALUE"), (["set", "a"], "expected TOPIC NAME=VALUE"), (["set", "a", "b"], "b: expected NAME=VALUE"),
    (["pause"], "expected a topic"), (["resume"], "expected a topic"),
    (["limits", "--limit", "x"], "--limit is x"), (["limits", "--remove"], "expected a limit"), (["limits", "a", "b"], "b: expected NAME=VALUE"),
    (["limits", "a", "resume", "b"], "b: unexpected argument"), (["limits", "a", "pause", "b", "c"], "c: unexpected argument"),
    (["limits", "a", "--limit", "1"], "--limit cannot be combined"), (["limits", "a", "b=1", "--remove"], "--remove cannot be combined"),
    (["groups", "--limit", "x"], "--limit is x"),
    (["group"], "expected a group"), (["group", "a", "b"], "b: expected ENDPOINT=URL"),
    (["schedules", "list"], "list: expected set, preview, show, pause, resume, run or delete"),
    (["schedules", "set", "a"], "expected a schedule as TOPIC/ID"),
    (["schedules", "set", "a/b", "--every", "often"], "--every is often: expected a duration"),
    (["schedules", "set", "a/b", "--jitter", "often"], "--jitter is often: expected a duration"),
    (["schedules", "set", "a/b", "--start-at", "soon"], "--start-at is soon: expected RFC 3339"),
    (["schedules", "show"], "expected a schedule as TOPIC/ID"),
    (["schedules", "--next-after", "soon"], "--next-after is soon: expected RFC 3339"),
    (["work"], "expected TOPIC -- COMMAND"), (["work", "a"], "expected TOPIC -- COMMAND"),
    (["work", "a", "--parallel", "0", "--", "true"], "--parallel is 0"),
    (["work", "a", "--lease", "13h", "--", "true"], "--lease is 13h"),
    (["work", "a", "--grace", "x", "--", "true"], "--grace is x"),
    (["receivers", "x"], "x: unexpected argument"),
    (["close"], "expected a receiver as HOST:PORT"), (["close", "shop.example"], "expected a receiver as HOST:PORT"),
    (["tail", "a", "b"], "b: unexpected argument"),
    (["top", "--topic", "a"], "--topic: not an option of top"),
    (["workflows", "a"], "a: expected a workflow as TOPIC/ID"), (["workflows", "a/b", "--state", "active"], "--state cannot be combined with TOPIC/ID"),
    (["bench", "--jobs", "0"], "--jobs is 0"), (["bench", "--batch", "x"], "--batch is x"),
    (["bench", "--topic", "a b"], "--topic is a b"), (["bench", "--receiver-url", "x"], "--receiver-url is x"),
    (["token"], "expected: new NAME"), (["token", "new", "a", "scopes=al"], "scopes="),
    (["sign-test"], "expected: URL FILE"), (["sign-test", URL, "/nonexistent"], "cannot read /nonexistent"),
    (["sign-test", URL, "/"], "cannot read /: Is a directory"),
], ids=str)
def test_wrong_words_of_other_commands(words, said, listener):
    error = refused(*words, server="http://%s:%s" % listener.getsockname())
    assert said in error and error.startswith(f"duepost {words[0]}: ") and error.endswith(f"ee duepost {words[0]} -h")
    with pytest.raises(BlockingIOError):
        listener.accept()


NAMED = "a topic has 1 to 128 characters of A-Z a-z 0-9 . _ -"


@pytest.mark.parametrize("words, said", [
    *[([*words, name], f"{name}: expected a topic") for name in ("", "a b", "a/b", "..", "a" * 129)
      for words in (["pause"], ["resume"], ["tail"], ["schedules", "--topic"])],
    (["set", "a b", "paused=true"], f"a b: expected a topic, or a pattern such as orders-*; {NAMED}"),
    (["set", "", "paused=true"], ": expected a topic"), (["pause", "a*b"], "a*b: expected a topic"), (["tail", "a*"], "a*: expected a topic"),
    (["work", "a/b", "--", "true"], "a/b: expected a topic"),
    *[([*verb, f"{topic}/x"], f"{topic}/x: expected a {what} as TOPIC/ID; {NAMED}") for topic in ("a b", "..", "\N{SNOWMAN}")
      for verb, what in ((["show"], "job"), (["cancel"], "job"), (["run"], "job"), (["why"], "job"), (["attempts"], "job"),
                         (["schedules", "delete"], "schedule"), (["schedules", "run"], "schedule"))],
    (["cancel", "a/.."], "a/..: expected a job as TOPIC/ID"), (["show", "a/."], "a/.: expected a job"),
    (["schedules", "delete", "a/.."], "a/..: expected a schedule"),
    (["limits", ""], ": expected a limit"), (["limits", "a~b"], "a~b: expected a limit"), (["limits", "..", "--remove"], "..: expected a limit"),
    (["group", ""], ": expected a group"), (["group", "a b"], "a b: expected a group"), (["group", "..", "--remove"], "..: expected a group"),
    (["group", "a~b"], "a~b: expected a group"),
    (["close", "a:"], "a:: expected a receiver as HOST:PORT"), (["close", "http://a:80"], "http://a:80: expected a receiver as HOST:PORT"),
    (["close", "a:80/path"], "a:80/path: expected a receiver as HOST:PORT"),
    (["set", "a", "rate=10"], "rate=10: expected JOBS/TIME, such as rate=100/1m"), (["set", "a", "rate=fast"], "rate=fast: expected JOBS/TIME"),
    (["set", "a", "rate=10/x"], "rate=10/x: expected JOBS/TIME"),
    (["schedule", "a", "--body", "1", "--body-file", "/dev/null"], "--body-file cannot be combined with --body"),
    (["schedule", "a", "--body-base64", "YQ==", "--body-file", "/dev/null"], "--body-file cannot be combined with --body-base64"),
    (["schedule", "a", "--body", "1", "--body-base64", "YQ=="], "--body-base64 cannot be combined with --body"),
    (["schedule", "a", "--delay", "1h", "--due-at", "now"], "--due-at cannot be combined with --delay"),
    (["schedule", "a", "--url", URL, "--group", "b"], "--group cannot be combined with --url"),
    (["schedules", "set", "a/b", "--cron", "@daily", "--every", "1h"], "--every cannot be combined with --cron"),
    (["reschedule", "--state", "dead", "--all", "--delay", "1h", "--due-at", "now"], "--due-at cannot be combined with --delay"),
], ids=str)
def test_wrong_names_and_pairs(words, said, listener):
    error = refused(*words, server="http://%s:%s" % listener.getsockname())
    assert f"duepost {words[0]}: {said}" in error
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.parametrize("words, flag", [
    (["schedules", "set", "a/b", "--every", "1h", "--topic", "x"], "--topic"), (["schedules", "--cron", "@daily"], "--cron"),
    (["schedules", "--url", URL], "--url"), (["schedules", "delete", "a/b", "--paused"], "--paused"),
    (["schedules", "run", "a/b", "--url", URL], "--url"), (["schedules", "pause", "a/b", "--limit", "1"], "--limit"),
    (["schedules", "set", "a/b", "--idempotency-key", "k"], "--idempotency-key"), (["schedules", "--idempotency-key", "k"], "--idempotency-key"),
    (["history", "stats", "--state", "dead"], "--state"), (["history", "delete", "--topic", "a", "--limit", "1"], "--limit"),
    (["history", "export", "--step", "1m"], "--step"), (["history", "stats", "--format", "csv"], "--format"),
], ids=str)
def test_an_option_of_another_verb_is_refused(words, flag):
    command = " ".join(words[:2]) if not words[1].startswith("-") else words[0]
    assert refused(*words) == f"duepost {words[0]}: {flag}: not an option of {command}; see duepost {words[0]} -h"


def test_a_refusal_of_the_server_has_exit_status_1(server, topic):
    for words, said in ((["schedule", topic, "--url", "ftp://a/"], "400: url"), (["show", f"{topic}/none"], "404"),
                        (["jobs", "--state", "dedd"], "400: state: must be"), (["jobs", "--topic="], "400: topic: must be"),
                        (["set", topic, "priority=1"], "400: priority: unknown setting"), (["schedule", topic, "--timeout", "1ms"], "0.1 to 3600 seconds"),
                        (["schedules", "show", f"{topic}/none"], "404"), (["set", topic, "pausd=true"], "did you mean paused?"),
                        (["redrive", "--all", "--reason", "?"], "400: reason"), (["history", "stats"], "--history")):
        assert said in refused(*words, server=server.url, code=1), words
    words = ["schedule", topic, "--url", "ftp://a/", "--timeout", "1ms", "--retry", "101"]
    assert refused(*words, server=server.url, code=1) == ("duepost schedule: 400: url: must begin with http:// or https://; "
                                                          "retry: must be an integer from 0 to 100; timeout: must be 0.1 to 3600 seconds")
    labels = [option for number in range(20) for option in ("--label", f"{number:02}{'x' * 70}")]
    assert refused("schedule", topic, *labels, server=server.url, code=1).startswith("duepost schedule: 400: ")


def test_output_that_cannot_be_written_is_1(server, topic):
    server.schedule(topic=topic, jobId="a", url=URL, delay=3600)
    for words in (["jobs"], ["topics"], ["show", f"{topic}/a"], ["why", f"{topic}/a"], ["tail"], ["top", "--once"], ["help"], ["jobs", "-h"],
                  ["token", "new", "a", "scopes=read"], ["--help"], ["--version"], ["--print-config"], ["check", "--listen", "127.0.0.1:0"],
                  ["history", "-h"], ["schedule", topic, "--url", URL, "--delay", "1h"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([duepost.BINARY, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30 * SLOW,
                                  env={**os.environ, "DUEPOST_SERVER": server.url})
        assert done.returncode == 1 and "standard output cannot be written: No space left on device" in done.stderr, (words, done)


def test_a_server_of_another_kind_or_version_is_reported(server):
    assert refused("jobs", server=f"{server.url}/v1", code=1).endswith(
        "404: There is nothing at this path. Check the path of the server's URL (--server), and the version of the server.")
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404 if self.path.startswith("/jobs/") else 200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            url = "http://127.0.0.1:%d" % other.server_port
            assert f"the answer of {url} is not JSON; is it a duepost server?" in refused("jobs", server=url, code=1)
            assert "404: the server gives no reason; is it a duepost server?" in refused("show", "a/b", server=url, code=1)
        finally:
            other.shutdown()
            thread.join()


def test_an_unreachable_server_has_exit_status_1():
    for words in (["jobs"], ["schedule", "a", "--url", URL], ["top", "--once"], ["tail"], ["bench", "--jobs", "1"]):
        done = command(*words)
        assert done.returncode == 1 and "check the server" in done.stderr, (words, done)


def test_an_empty_variable_names_no_server(start):
    assert "127.0.0.1:7700" in command("jobs", server="", DUEPOST_TOKEN="").stderr or command("jobs", server="").returncode == 0
