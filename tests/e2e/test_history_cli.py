"""The commands that show, export and remove jobs that have ended; and the SQL of the documents."""

import csv
import io
import json
import os
import pty
import re
import subprocess

import pytest

import documents
import duepost
from duepost import ROOT, Duepost
from patience import SLOW, until
from mongo_server import MongoServer
from postgres_server import PostgresServer
import scratch


@pytest.fixture(scope="module")
def path():
    return scratch.file("history.sqlite")


@pytest.fixture(scope="module")
def keeper(path):
    started = Duepost("--breaker", "off", "--history", f"sqlite:{path}")
    yield started
    started.stop()


def ask(server, *words, code=0):
    """Returns what a command prints: to stdout, or to stderr if the command fails."""
    done = subprocess.run([duepost.BINARY, *words], env={**os.environ, "DUEPOST_SERVER": server.url}, capture_output=True, text=True,
                          timeout=30 * SLOW)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def fill(server, receiver, topic, *, delivered=(), dead=()):
    for job_id, members in delivered:
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), **members)
    for job_id in dead:
        receiver.script(topic, 410, job_id=job_id)
        server.schedule(topic=topic, jobId=job_id, url=receiver.url())
    until(lambda: server.get(f"/jobs/count?state=any&topic={topic}").expect(200)["count"] == len(delivered) + len(dead), 15,
          "all are in the history")


def test_ended_jobs_are_shown_and_listed(keeper, receiver, topic):
    fill(keeper, receiver, topic, delivered=[("a", {})], dead=["b"])
    assert json.loads(ask(keeper, "show", f"{topic}/a"))["state"] == "delivered"
    assert re.match(r"It was delivered \d+ seconds? ago, at attempt 1: the receiver answered 200 in \d+ ms\.\n", ask(keeper, "why", f"{topic}/a"))
    assert ask(keeper, "attempts", f"{topic}/a").splitlines()[1].split()[3] == "200"
    table = [line.split() for line in ask(keeper, "jobs", "--state", "any", "--topic", topic, "--order", "newest").splitlines()]
    assert sorted(row[1:3] for row in table[1:]) == [["a", "delivered"], ["b", "dead"]] and all(row[3].endswith("Z") for row in table[1:])
    assert "use the option --resend." in ask(keeper, "run", f"{topic}/a", code=1)
    ask(keeper, "run", f"{topic}/a", "--resend")
    until(lambda: len(receiver.of(topic, "a")) == 2, 15, "the job is sent again")


def test_since_selects_what_ended_lately(keeper, receiver, topic):
    fill(keeper, receiver, topic, delivered=[("a", {})], dead=["b"])

    def ids(*words):
        return sorted(json.loads(line)["jobId"] for line in ask(keeper, *words).splitlines())

    assert ids("history", "export", "--topic", topic, "--since", "1h") == ["a", "b"] and ids("history", "export", "--topic", topic, "--since", "+1h") == []
    listed = json.loads(ask(keeper, "jobs", "--state", "any", "--topic", topic, "--since", "1h", "--json"))
    ends = [job.get("deliveredAt") or job["deadAt"] for job in listed]
    assert len(ends) == 2 and ends == sorted(ends, reverse=True), "the newest first"
    assert ask(keeper, "jobs", "--state", "delivered", "--topic", topic, "--since", "+1h").count("\n") == 1
    counted = [line.split() for line in ask(keeper, "history", "stats", "--topic", topic, "--since", "10m").splitlines()[1:]]
    assert 10 <= len(counted) <= 11 and sum(int(row[1]) + int(row[3]) for row in counted) == 2
    assert "--since cannot be combined with --from" in ask(keeper, "history", "stats", "--since", "1h", "--from", "-1h", code=2)
    assert "--since: not an option of history delete" in ask(keeper, "history", "delete", "--topic", topic, "--since", "1h", code=2)


def test_jobs_are_exported_byte_for_byte(keeper, receiver, topic):
    text = '{ "order":1.10,\n "big":12345678901234567890, "name":"ä,\\"x\\"\\nb"}'
    fill(keeper, receiver, topic, delivered=[("z", {}), ("y", {"bodyBase64": "AP8="})])
    request = f'{{"topic":"{topic}","jobId":"a","url":"{receiver.url()}","labels":["eu","b,c"],"body":{text}}}'
    keeper.request("POST", "/jobs", request, {"Content-Type": "application/json"}).expect(201)
    until(lambda: keeper.get(f"/jobs/count?state=any&topic={topic}").expect(200)["count"] == 3, 15, "all are in the history")
    lines = ask(keeper, "history", "export", "--topic", topic, "--id-prefix", "a").splitlines()
    assert len(lines) == 1 and f'"body":{text}'.replace("\n", " ") in lines[0]
    assert json.loads(lines[0])["jobId"] == "a"
    rows = list(csv.DictReader(io.StringIO(ask(keeper, "history", "export", "--format", "csv", "--topic", topic), newline="")))
    assert sorted(row["jobId"] for row in rows) == ["a", "y", "z"]
    row = next(row for row in rows if row["jobId"] == "a")
    assert row["body"] == text and json.loads(row["labels"]) == ["eu", "b,c"] and row["status"] == "200" and row["state"] == "delivered"
    assert row["endedAt"].endswith("Z") and row["reason"] == "" and next(r for r in rows if r["jobId"] == "y")["bodyBase64"] == "AP8="


FORMULAS = ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "'=1", "'"]
HARMLESS = ["", "a=1", " =1", "\"=1", "\uff1e1", "1-1", "http://a/?=+-@"]


def test_a_text_in_a_csv_is_not_a_formula_and_can_be_read_back(keeper, receiver, topic):
    """A spreadsheet evaluates a cell that begins with one of these characters, quoted or not."""
    bodies = [*FORMULAS, *HARMLESS, -5, [-1], {"=a": 1}]
    fill(keeper, receiver, topic, delivered=[(f"={number}", {"body": body}) for number, body in enumerate(bodies)])
    done = subprocess.run([duepost.BINARY, "history", "export", "--format", "csv", "--topic", topic, "--server", keeper.url],
                          capture_output=True, timeout=30 * SLOW, check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
    cells = {row["jobId"].removeprefix("'="): row["body"] for row in rows}
    assert all(row["jobId"].startswith("'=") for row in rows) and len(cells) == len(bodies)
    for number, body in enumerate(bodies):
        cell = cells[str(number)]
        if body in FORMULAS:
            assert cell == f"'{body}"
        else:
            assert cell == (body if isinstance(body, str) else json.dumps(body)), body
    lines = ask(keeper, "history", "export", "--topic", topic).splitlines()
    assert sorted(json.loads(line)["jobId"] for line in lines) == sorted(f"={number}" for number in range(len(bodies)))


def test_an_export_covers_all_pages_and_uses_filters(keeper, receiver, topic):
    keeper.schedule_many([{"topic": topic, "jobId": f"j{n}", "url": receiver.url()} for n in range(1100)])
    until(lambda: keeper.get(f"/jobs/count?state=any&topic={topic}").expect(200)["count"] == 1100, 60, "all are in the history")
    exported = [json.loads(line)["jobId"] for line in ask(keeper, "history", "export", "--topic", topic).splitlines()]
    assert len(exported) == 1100 and len(set(exported)) == 1100
    assert len(ask(keeper, "history", "export", "--topic", topic, "--limit", "1050").splitlines()) == 1050
    assert ask(keeper, "history", "export", "--topic", topic, "--state", "dead") == ""
    assert ask(keeper, "history", "export", "--topic", topic, "--ended-after", "+1h") == ""


def test_an_export_shows_its_progress_on_a_terminal_only(keeper, receiver, topic):
    fill(keeper, receiver, topic, delivered=[("a", {}), ("b", {})])
    master, slave = pty.openpty()
    try:
        done = subprocess.run([duepost.BINARY, "history", "export", "--topic", topic], stdout=subprocess.PIPE, stderr=slave,
                              env={**os.environ, "DUEPOST_SERVER": keeper.url}, timeout=30 * SLOW)
        os.close(slave)
        slave = -1
        shown = os.read(master, 4096).decode()
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2
    assert re.search(r"\r\x1b\[K\[[#.]{30}\] +\d+ %  \d of 2 jobs", shown) and shown.endswith("\r\x1b[K")


@pytest.mark.parametrize("words, shown", [([], '"a\\u202eb"'), (["--format", "csv"], ",a?b,")])
def test_an_exported_job_cannot_control_the_terminal(keeper, receiver, topic, words, shown):
    fill(keeper, receiver, topic, delivered=[("a\u202eb", {"body": "\u009b31m"})])
    master, slave = pty.openpty()
    try:
        done = subprocess.run([duepost.BINARY, "history", "export", "--topic", topic, *words], stdout=slave, stderr=subprocess.PIPE,
                              env={**os.environ, "DUEPOST_SERVER": keeper.url}, timeout=30 * SLOW)
        text = os.read(master, 65536).decode()
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == 0 and shown in text and not re.search("[\x7f-\x9f\u202e]", text), text


def test_a_failed_export_says_why(keeper, server, topic):
    assert "--history" in ask(server, "history", "export", code=1)
    assert "expected ndjson or csv" in ask(keeper, "history", "export", "--format", "xml", code=2)
    assert "expected export" in ask(keeper, "history", code=2)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([duepost.BINARY, "history", "export", "--format", "csv"], stdout=full, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "DUEPOST_SERVER": keeper.url}, timeout=30 * SLOW)
    assert done.returncode == 1 and "standard output cannot be written" in done.stderr


def test_statistics_are_a_table(keeper, receiver, topic):
    fill(keeper, receiver, topic, delivered=[("a", {})], dead=["b"])
    rows = [line.split() for line in ask(keeper, "history", "stats", "--topic", topic, "--from", "-1h", "--step", "30m").splitlines()]
    assert rows[0] == ["AT", "DELIVERED", "CANCELLED", "DEAD"] and len(rows) in (3, 4)
    assert [sum(int(row[column]) for row in rows[1:]) for column in (1, 2, 3)] == [1, 0, 1]
    assert len(json.loads(ask(keeper, "history", "stats", "--topic", topic, "--json"))["steps"]) == 60


def test_jobs_are_removed(keeper, receiver, topic):
    fill(keeper, receiver, topic, delivered=[("a", {}), ("b", {})])
    assert "expected --topic" in ask(keeper, "history", "delete", code=2)
    assert ask(keeper, "history", "delete", "--topic", topic, "--before", "-1h") == "0 jobs removed from the history\n"
    assert ask(keeper, "history", "delete", "--topic", topic) == "2 jobs removed from the history\n"
    assert json.loads(ask(keeper, "history", "delete", "--topic", topic, "--json")) == {"deleted": 0}


# ---- the SQL of docs/history.md ----

def statements(database):
    """Yields the SQL statements of the page that work with this database."""
    for block in documents.blocks(ROOT / "docs/history.md"):
        first, _, rest = block.text.partition("\n")
        if block.language == "sql" and (not first.startswith("--") or first == f"-- {database}"):
            yield rest if first.startswith("--") else block.text


def columns_of_the_page():
    text = (ROOT / "docs/history.md").read_text()
    table = text[text.index("| column | type | meaning |"):].split("\n\n", 1)[0]
    return [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_the_documented_sql_runs_in_sqlite(receiver, topic):
    path = scratch.file("documented.sqlite")
    def run(sql):
        return subprocess.run(["sqlite3", f"file:{path}?mode=ro", sql], capture_output=True, text=True, check=True, timeout=30 * SLOW).stdout
    server = Duepost("--breaker", "off", "--history", f"sqlite:{path}")
    try:
        fill(server, receiver, topic, delivered=[("a", {"labels": ["eu"]})], dead=["b"])
        answers = [run(sql) for sql in statements("SQLite")]
        assert len(answers) == 5 and all(topic in answer for answer in answers[:4]) and "a|1|200" in answers[4]
        assert set(columns_of_the_page()) == set(run("SELECT name FROM pragma_table_info('duepost_jobs')").split())
    finally:
        server.stop()


def test_the_documented_sql_runs_in_postgresql(receiver, topic):
    postgres = PostgresServer()
    server = None
    try:
        server = Duepost("--breaker", "off", "--history", postgres.create("history"))
        fill(server, receiver, topic, delivered=[("a", {"labels": ["eu"]})], dead=["b"])
        answers = [postgres.psql(sql, "history") for sql in statements("PostgreSQL")]
        assert len(answers) == 5 and all(topic in answer for answer in answers[:4]) and "a|1|200" in answers[4]
        assert set(columns_of_the_page()) == set(postgres.psql(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'duepost_jobs'", "history").split())
    finally:
        if server:
            server.stop()
        postgres.stop()


def in_mongosh(collection, text):
    """Runs a line such as db.duepost_jobs.find(FILTER, FIELDS).limit(5), whose arguments are JSON."""
    found = collection
    for name, arguments in re.findall(r"\.(find|aggregate|sort|limit)\(((?:[^()]|\([^()]*\))*)\)", text):
        values = json.loads(f"[{arguments}]")
        found = found.sort(list(values[0].items())) if name == "sort" else getattr(found, name)(*values)
    return list(found)


def test_the_documented_queries_run_in_mongodb(receiver, topic):
    mongo = MongoServer()
    server = None
    try:
        server = Duepost("--breaker", "off", "--history", mongo.url("history"))
        receiver.script("orders", 503, job_id="c")
        server.schedule(topic="orders", jobId="c", url=receiver.url(), retry=0)
        fill(server, receiver, topic, delivered=[("a", {"labels": ["eu"], "key": "k"})], dead=["b"])
        until(lambda: len(mongo.documents("history")) == 3, 15, "all are in the history")
        queries = [block.text for block in documents.blocks(ROOT / "docs/history.md") if block.language == "mongosh"]
        with mongo.client() as client:
            dead, labelled, answered = [in_mongosh(client.history.duepost_jobs, query) for query in queries]
        assert sorted((row["_id"], row["jobs"]) for row in dead) == sorted([("orders", 1), (topic, 1)])
        assert [(row["job_id"], row["outcome"]) for row in labelled] == [("a", "delivered")]
        assert [(row["job_id"], row["status"]) for row in answered] == [("c", 503)]
        row, = [document for document in mongo.documents("history") if document["job_id"] == "a"]
        assert set(row) == set(columns_of_the_page()) | {"_id"} and row["labels"] == ["eu", "\x1fk"]
        assert row["_id"] == f"a\n{topic}\n{row['created_at']:015}"
    finally:
        if server:
            server.stop()
        mongo.stop()
