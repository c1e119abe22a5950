"""duepost check on a real host and Redis: each line of its output, without a problem and with one. It changes
nothing."""

import hashlib
import json
import os
import re
import socket
import sqlite3
import subprocess

import pytest

from cluster import Cluster
from clock import MovableClock
from duepost import BINARY, environment, run
from field import Field
from network import Unavailable
from patience import SLOW, until
from mongo_server import MongoServer
from postgres_server import PostgresServer
from redis_gate import RedisGate
from redis_server import free_port
import scratch
from sentinels import Sentinels
from tls import Authority
from tokens import TokenFile

FREE = ("--listen", "127.0.0.1:0")


class Checked:
    def __init__(self, code, text):
        self.code, self.answer = code, json.loads(text)
        assert set(self.answer) == {"checks", "ok"} and self.answer["ok"] == (code == 0), (code, text)
        assert self.answer["ok"] == all(each["result"] != "FAIL" for each in self.answer["checks"])

    def lines(self, name):
        return [(each["result"], each["text"]) for each in self.answer["checks"] if each["name"] == name]

    def line(self, name):
        (only,) = self.lines(name) or [("missing", self.answer)]
        return only

    def failed(self):
        return {each["name"] for each in self.answer["checks"] if each["result"] == "FAIL"}


def moved(clock):
    """Returns the environment of a duepost with this clock. verify_asan_link_order=0: AddressSanitizer accepts that
    the clock's library is loaded before its own."""
    return {**clock.environment, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def check(*options, extra=None, through=()):
    done = subprocess.run([*through, BINARY, "check", "--json", *FREE, *options], env=environment(extra), capture_output=True, text=True,
                          timeout=40 * SLOW, check=False)
    assert done.stderr == "", done.stderr
    return Checked(done.returncode, done.stdout)


def of(redis):
    return ("--redis", redis.address)


def state_of(directory):
    """Returns names, modes and contents of the files."""
    return {str(path.relative_to(directory)): (path.stat().st_mode, path.is_file() and hashlib.sha1(path.read_bytes()).hexdigest())
            for path in sorted(directory.rglob("*"))}


# ---- the whole check ----

def test_a_healthy_setup_passes_on_one_screen(redis):
    behind = redis()
    done = run("check", *FREE, "--redis", behind.address, "--durability", "fsync", seconds=40)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and done.stderr == "", done
    assert len(lines) <= 24
    assert {line.split()[0] for line in lines[:-1]} <= {"ok", "warn"}, done.stdout
    assert {line.split()[1] for line in lines[:-1]} == {
        "options", "tokens", "targets", "listen", "files", "dns", "timezones", "history", "redis", "version", "rights", "eviction", "data", "memory",
        "durability", "write", "clock", "encryption"}
    assert lines[-1].endswith("0 to repair (FAIL)")


def test_wrong_options_are_a_line(tmp_path):
    result = check("--max-body", "0")
    assert result.code == 1 and result.line("options")[0] == "FAIL" and "--max-body" in result.line("options")[1]
    done = run("check", "--nonsense")
    assert done.returncode == 1 and "--nonsense" in done.stdout
    config = tmp_path / "duepost.conf"
    config.write_text("max-jobs = many\n")
    assert f"{config}:1: max-jobs" in check("--config", str(config)).line("options")[1]
    config.write_text("max-jobs = 5\n")
    assert check("--config", str(config), "--data", str(tmp_path / "none")).line("options") == ("ok", str(config))


def test_its_help_is_that_of_a_command():
    for words in (("check", "-h"), ("check", "--help"), ("help", "check")):
        done = run(*words)
        assert done.returncode == 0 and "Usage: duepost check [--json]" in done.stdout and "--token-file" not in done.stdout


def test_nothing_is_created_where_nothing_is(tmp_path):
    result = check("--data", str(tmp_path / "a" / "b"))
    assert result.code == 0 and result.line("redis") == ("ok", f"the private Redis in {tmp_path}/a/b does not run; duepost starts it")
    assert result.line("server")[0] == "ok" and "first start creates it" in result.line("history")[1]
    assert list(tmp_path.iterdir()) == []


def test_data_of_a_stopped_duepost_remain_as_they_are(start, data, topic, receiver):
    server = start("--history", "sqlite", data=data)
    server.schedule(topic=topic, jobId="1", url=receiver.url(), delay=600)
    assert server.terminate() == 0
    before = state_of(data)
    result = check("--data", str(data))
    assert result.code == 0 and result.line("history") == ("ok", f"{data}/history.sqlite, tables of version 1")
    assert state_of(data) == before


def test_data_in_redis_remain_as_they_are(start, redis, topic, receiver):
    behind = redis()
    assert check(*of(behind)).line("data") == ("ok", "none under the prefix duepost: yet; the first start creates them")
    assert behind.command("DBSIZE") == b":0\r\n"
    server = start(redis=behind)
    server.schedule(topic=topic, jobId="1", url=receiver.url(), delay=600)
    assert server.terminate() == 0
    before = behind.command("DEBUG", "DIGEST")
    result = check(*of(behind))
    assert result.code == 0 and result.line("data")[1].startswith("format ") and result.line("write")[0] == "ok"
    assert behind.command("DEBUG", "DIGEST") == before


def test_beside_a_running_duepost(start, data):
    server = start(data=data)
    where = f"127.0.0.1:{server.port}"
    result = check("--data", str(data), "--listen", where)
    assert result.code == 0
    assert result.line("listen") == ("ok", f"http://{where}: a duepost is running there")
    assert result.line("redis") == ("ok", f"unix:{data}/redis.sock, version {result.line('version')[1]}, 1 shard")
    assert result.line("durability") == ("ok", "fsync is configured, Redis provides fsync")
    assert server.get("/readyz").status == 200


def test_beside_a_duepost_that_shares_its_port(start):
    """Even after the check has tried the port, all connections reach the duepost that runs there."""
    server = start("--share-port", "on")
    where = f"127.0.0.1:{server.port}"
    assert check("--listen", where, "--share-port", "on").line("listen") == ("ok", f"http://{where} can be used or shared")
    assert check("--listen", where).line("listen") == ("ok", f"http://{where}: a duepost is running there")
    for _ in range(20):
        server.close()
        assert server.get("/healthz").status == 200


# ---- options and host ----

def test_tokens():
    tokens = TokenFile()
    assert "holds no token" in check("--tokens", str(tokens.path)).line("tokens")[1]
    tokens.add("a")
    assert check("--tokens", str(tokens.path)).line("tokens") == ("ok", f"1 in {tokens.path}")
    tokens.path.chmod(0o666)
    assert ("warn", f"other users may write {tokens.path} and grant themselves any right; chmod go-w it") in check(
        "--tokens", str(tokens.path)).lines("options")


def test_a_secret_that_all_may_read(tmp_path):
    secret = tmp_path / "secret"
    assert check("--signing-secret-file", str(secret)).failed() == {"options"}
    secret.write_text("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n")
    secret.chmod(0o644)
    assert "every user of this host may read the file of signing-secret-file" in check("--signing-secret-file", str(secret)).lines("options")[0][1]
    secret.chmod(0o600)
    assert check("--signing-secret-file", str(secret)).line("options")[0] == "ok"


@pytest.mark.parametrize("allowed,risk", [
    ("10.1.0.0/16,fd12::/16,*.internal.example", None), ("0.0.0.0/0", "is wider than any private network"), ("::/0", "is wider than"),
    ("127.0.0.1", "includes loopback"), ("::1", "includes loopback"), ("169.254.0.0/16", "metadata services"), ("fd00::/8", "metadata services")])
def test_targets(allowed, risk):
    result, text = check("--allow-target", allowed, "--data", "/nonexistent/a").line("targets")
    if risk:
        assert result == "warn" and text.startswith(f"--allow-target {allowed}") and risk in text
    else:
        assert (result, text) == ("ok", "public addresses, 2 blocks and 1 names of --allow-target")


def test_a_port_that_another_program_holds():
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(20 * SLOW)
        port = other.getsockname()[1]
        result = check("--listen", f"127.0.0.1:{port}")
    assert result.code == 1 and result.line("listen") == (
        "FAIL", f"cannot listen on 127.0.0.1 port {port}: another program already listens there; stop it or choose another port. To share the "
        "port with another duepost of the same user, set --share-port on")
    port = free_port()
    assert check("--listen", f"127.0.0.1:{port}").line("listen") == ("ok", f"http://127.0.0.1:{port} is free")
    assert check("--listen", "192.0.2.1:7700").line("listen")[0] == "FAIL"
    assert check("--health-listen", f"127.0.0.1:{port}").line("health")[0] == "ok"


def test_an_address_that_others_reach():
    tokens = TokenFile()
    tokens.add("a")
    (_, reach) = check("--listen", "0.0.0.0:0").lines("listen")
    assert reach[0] == "FAIL" and "requires tokens" in reach[1]
    (_, reach) = check("--listen", "0.0.0.0:0", "--tokens", str(tokens.path)).lines("listen")
    assert reach[0] == "warn" and "can be read on the network" in reach[1]


@pytest.fixture(scope="module")
def authority():
    made = Authority()
    made.issue("localhost", "IP:127.0.0.1")
    return made


def tls_of(authority):
    key = authority.directory / "localhost.key"
    key.chmod(0o600)
    return "--tls-cert", str(authority.directory / "localhost.pem"), "--tls-key", str(key)


def test_the_dates_of_the_certificate(authority):
    """A certificate that expires in two days gets a warning. The clock is then moved to a time after the
    certificate's end, and to a time before its beginning."""
    options = tls_of(authority)
    result, text = check(*options).line("tls")
    assert result == "warn" and "is valid until 2" in text and text.endswith("; renew it and send SIGHUP to duepost")
    clock = MovableClock()
    clock.move_by(3 * 86400)
    result, text = check(*options, extra=moved(clock)).line("tls")
    assert result == "FAIL" and " has expired on 2" in text and "renew it" in text
    clock.move_by(-3 * 86400)
    assert check(*options, extra=moved(clock)).line("tls")[0] == "FAIL"
    assert "is not valid before" in check(*options, extra=moved(clock)).line("tls")[1]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90", "-subj", "/CN=long",
                    "-keyout", "long.key", "-out", "long.pem"], cwd=authority.directory, check=True, capture_output=True)
    result, text = check("--tls-cert", str(authority.directory / "long.pem"), "--tls-key", str(authority.directory / "long.key")).line("tls")
    assert result == "ok" and "is valid until" in text and "renew" not in text


def test_a_duepost_with_tls_is_known(start, authority, data):
    import ssl
    trust = ssl.create_default_context(cafile=authority.certificate)
    server = start(*tls_of(authority), tls=trust, data=data)
    result = check(*tls_of(authority), "--listen", f"127.0.0.1:{server.port}")
    assert result.line("listen") == ("ok", f"https://127.0.0.1:{server.port}: a duepost is running there")


def test_open_files():
    result, text = check(through=("sh", "-c", 'ulimit -n 512; exec "$@"', "sh")).line("files")
    wanted = re.match(r"512 files may be open, but max-connections and max-in-flight may need (\d+): ", text)
    assert result == "warn" and int(wanted[1]) > 4096 + 1024, text
    assert check("--max-connections", "10", "--max-in-flight", "10").line("files")[0] == "ok"


def test_names():
    try:
        made = Field({"example.com": [["93.184.216.34"]]})
    except Unavailable as why:
        pytest.skip(str(why))
    with made:
        assert check(through=made.through).line("dns")[0] == "ok"
    made.close()
    result, text = check(through=("unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /etc/resolv.conf && exec "$@"', "sh", "unshare", "--net")).line("dns")
    assert result == "warn" and text.startswith("example.com does not resolve (")


def test_time_zones():
    assert check().line("timezones") == ("ok", "in /usr/share/zoneinfo")
    through = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/share/zoneinfo && exec "$@"', "sh")
    if subprocess.run([*through, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no mount of the test's own")
    result, text = check(through=through).line("timezones")
    assert result == "warn" and text.endswith("schedules can use UTC only")


# ---- history ----

def test_a_history_in_sqlite(redis, tmp_path):
    behind, path = redis(), tmp_path / "history.sqlite"
    options = (*of(behind), "--history", f"sqlite:{path}")
    assert check(*of(behind)).line("history") == ("ok", "off")
    assert check(*options).line("history") == ("ok", f"{path} has no tables yet; the first start creates them")
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"this is no database" * 100)
    result, text = check(*options).line("history")
    assert result == "FAIL" and "not a database" in text and text.endswith("; see --history")
    path.unlink()
    with sqlite3.connect(path) as made:
        made.executescript("CREATE TABLE duepost_meta (name TEXT PRIMARY KEY, value BIGINT); INSERT INTO duepost_meta VALUES ('version', 99)")
    assert "the tables have version 99" in check(*options).line("history")[1]
    assert check(*of(behind), "--history", f"sqlite:{tmp_path}/none/x.sqlite").line("history")[0] == "FAIL"


def test_a_history_that_is_in_use(start, redis, tmp_path):
    behind, path = redis(), tmp_path / "history.sqlite"
    start("--history", f"sqlite:{path}", redis=behind)
    until(path.with_name("history.sqlite-shm").exists, 10, "the database is open")
    until(lambda: check(*of(behind), "--history", f"sqlite:{path}").line("history") == ("ok", f"{path}, tables of version 1"), 10, "the history has its tables")


def test_a_history_in_postgresql(start, redis):
    behind, database = redis(), PostgresServer()
    options = (*of(behind), "--history", database.url)
    try:
        assert check(*options).line("history") == ("ok", "PostgreSQL has no tables yet; the first start creates them")
        start("--history", database.url, redis=behind)
        until(lambda: check(*options).line("history") == ("ok", "PostgreSQL, tables of version 1"), 10, "the history has its tables")
    finally:
        database.stop()
    assert check(*options).line("history")[0] == "FAIL"


def test_a_history_in_mongodb(start, redis):
    behind, database = redis(), MongoServer()
    options = (*of(behind), "--history", database.url("history"))
    try:
        assert check(*options).line("history") == ("ok", "MongoDB has no tables yet; the first start creates them")
        assert "history" not in database.client().list_database_names()
        first = start("--history", database.url("history"), redis=behind)
        until(lambda: check(*options).line("history") == ("ok", "MongoDB, tables of version 1"), 10, "the history has its tables")
        first.stop()
        database.client()["history"].duepost_meta.update_one({"_id": "version"}, {"$set": {"value": 99}})
        assert "the tables have version 99" in check(*options).line("history")[1]
    finally:
        database.stop()
    assert check(*options).line("history")[0] == "FAIL"


# ---- Redis ----

def test_no_redis():
    port = free_port()
    result = check("--redis", f"redis://127.0.0.1:{port}")
    assert result.code == 1 and result.line("redis") == ("FAIL", f"127.0.0.1:{port}: Redis is away: Connection refused; check --redis")


def test_a_wrong_password_and_missing_rights(redis):
    behind = redis(tcp=True)
    assert behind.command("ACL", "SETUSER", "duepost", "on", ">pw", "~duepost:*", "&duepost:*", "+@all", "-zadd") == b"+OK\r\n"
    result = check(extra={"DUEPOST_REDIS": f"redis://duepost:no@{behind.place}"})
    assert result.failed() == {"redis"} and "WRONGPASS" in result.line("redis")[1]
    result = check(extra={"DUEPOST_REDIS": f"redis://duepost:pw@{behind.place}"})
    assert result.failed() == {"rights"} and "ZADD" in result.line("rights")[1] and "ACL SETUSER duepost" in result.line("rights")[1]
    assert result.line("redis")[0] == "ok" and result.lines("write") == []


def test_a_wrong_policy_and_little_memory(redis):
    behind = redis()
    behind.command("CONFIG", "SET", "maxmemory", "64mb")
    behind.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    result = check(*of(behind))
    assert result.failed() == {"eviction"} and "duepost needs noeviction: CONFIG SET maxmemory-policy noeviction" in result.line("eviction")[1]
    assert result.line("memory")[0] == "ok" and "% of maxmemory" in result.line("memory")[1]
    behind.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    behind.command("CONFIG", "SET", "maxmemory", "1")
    result = check(*of(behind))
    assert result.failed() == {"write"} and "Redis is out of memory" in result.line("write")[1]
    assert result.line("memory")[0] == "warn"


def test_durability(redis):
    behind = redis(aof=False)
    result, text = check(*of(behind)).line("durability")
    assert result == "warn" and "Redis does not have appendonly yes and appendfsync always; set both" in text
    assert check(*of(behind), "--durability", "memory").line("durability") == ("ok", "memory is configured, Redis provides memory")
    result = check(*of(behind), "--durability", "fsync")
    assert result.failed() == {"durability"} and "it needs appendonly yes and appendfsync always" in result.line("durability")[1]
    assert "too few replicas are online" in check(*of(behind), "--durability", "replicated:1").line("durability")[1]


def test_a_replica(redis):
    first, second = redis(tcp=True), redis(tcp=True)
    second.command("REPLICAOF", "127.0.0.1", str(first.port))
    until(lambda: not second.is_primary(), 10, "replica")
    result = check(*of(second))
    assert "redis" in result.failed() and "is a replica" in result.line("redis")[1] and result.lines("write") == []


def test_a_replica_that_does_not_follow(redis):
    first, second = redis(tcp=True), redis(tcp=True)
    second.command("REPLICAOF", "127.0.0.1", str(first.port))
    until(lambda: first.replicas_online() == 1, 20, "replica")
    options = (*of(first), "--durability", "replicated:1")
    assert check(*options).line("write")[0] in ("ok", "warn")
    second.freeze()
    result, _ = check(*options).line("write")
    second.thaw()
    assert result == "FAIL"


def test_another_layout(redis):
    behind = redis()
    behind.command("HSET", "duepost:{0}:meta", "format", "99", "shards", "1")
    result = check(*of(behind))
    assert result.failed() == {"data"} and "run a newer duepost" in result.line("data")[1]
    behind.command("HSET", "duepost:{0}:meta", "format", "2", "shards", "7")
    assert "has 7 shards" in check(*of(behind)).line("data")[1]
    assert check(*of(behind), "--prefix", "other:").line("data")[0] == "ok"


@pytest.mark.parametrize("seconds,result,words", [(0, "ok", "differ by less than 1000 ms"), (60, "warn", "ahead of that of Redis"),
                                                  (-60, "warn", "behind that of Redis"), (3600, "FAIL", "synchronize both (NTP)")])
def test_clocks(redis, seconds, result, words):
    clock = MovableClock()
    clock.move_by(seconds)
    found = check(*of(redis()), extra=moved(clock)).line("clock")
    assert found[0] == result and words in found[1]


def test_slow_writes(redis):
    """Each command to Redis takes 0.12 s longer."""
    gate = RedisGate(redis(), delay=0.12)
    result, text = check("--redis", gate.address).line("write")
    gate.stop()
    assert result == "warn" and "check Redis's disk, replicas and network" in text
    assert float(re.search(r"took ([\d.]+) ms", text)[1]) >= 120


def test_the_program_of_the_private_redis(tmp_path):
    result, text = check("--data", str(tmp_path), extra={"PATH": str(tmp_path)}).line("server")
    assert result == "FAIL" and "redis-server is not installed" in text
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho Redis server v=6.2.7 sha=0:0\n")
    old.chmod(0o755)
    assert "redis-server is version 6.2.7; duepost needs 7.0" in check("--data", str(tmp_path), extra={"PATH": f"{tmp_path}:/bin"}).line("server")[1]


def test_a_data_directory_that_is_not_ours(tmp_path):
    (tmp_path / "other").write_text("")
    tmp_path.chmod(0o755)
    result, text = check("--data", str(tmp_path)).line("redis")
    assert result == "FAIL" and "is readable by other users and has other files" in text
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_sentinel():
    group = Sentinels()
    try:
        result = check("--redis", group.address, "--durability", "fsync+replicated:2")
        assert result.code == 0 and "sentinel://" in result.line("redis")[1] and result.line("write")[0] == "ok"
    finally:
        group.stop()


def test_cluster():
    group = Cluster()
    try:
        result = check("--redis", group.address, "--durability", "replicated:1")
        assert result.code == 0 and "cluster://" in result.line("redis")[1] and result.line("redis")[1].endswith(", 16 shards")
        assert result.line("write")[1].startswith("the slowest of 80 took ")
        assert all(node.command("DBSIZE") == b":0\r\n" for node in group.nodes)
        group.nodes[0].command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        result = check("--redis", group.address)
        assert result.failed() == {"eviction"} and result.line("eviction")[1].startswith("shard "), result.answer
    finally:
        group.stop()


# ---- outbox ----

@pytest.fixture(scope="module")
def outbox():
    """A PostgreSQL whose database shop has the tables."""
    started = PostgresServer()
    url = started.create("shop")
    done = run("outbox", "--install", "--source", url, seconds=30)
    assert done.returncode == 0, done.stderr
    yield started, url
    started.stop()


def test_an_outbox_that_is_well(redis, outbox):
    behind, (database, url) = redis(), outbox
    database.psql("CREATE ROLE relay LOGIN; GRANT SELECT, DELETE ON duepost_outbox TO relay; GRANT INSERT, SELECT ON duepost_outbox_failed TO relay;"
                  "GRANT SELECT ON duepost_outbox_meta TO relay", "shop")
    assert check(*of(behind)).lines("outbox") == []
    for options in ("--source", url.replace("postgres@", "relay@")), ("--outbox", url.replace("postgres@", "relay@")):
        result = check(*of(behind), *options)
        assert result.code == 0 and {found for found, _ in result.lines("outbox")} == {"ok"}, result.lines("outbox")
        texts = [text for _, text in result.lines("outbox")]
        assert "tables of this version" in texts[0] and texts[1] == "the role relay has all rights that are needed"
        assert texts[2] == "notifications arrive" and "agree within" in texts[3]
        assert texts[4:] == ["no row has failed", "no relay is at work now"]


def test_an_outbox_that_is_not_well(redis, outbox):
    behind, (database, url) = redis(), outbox

    def found(source, **more):
        result = check(*of(behind), "--source", source, **more)
        return {text: kind for kind, text in result.lines("outbox")}, result

    def has(found, kind, part):
        assert [text for text, each in found.items() if each == kind and part in text], found
    has(found("mysql://x/y")[0], "FAIL", "must be postgresql://")
    database.create("empty")
    lines, result = found(url.replace("/shop", "/empty"))
    has(lines, "FAIL", "duepost outbox --install creates the tables")
    assert result.code == 1 and len(lines) == 1
    has(found(url.replace("/shop", "/none"))[0], "FAIL", "does not exist")
    database.psql("CREATE ROLE little LOGIN; GRANT SELECT ON duepost_outbox, duepost_outbox_meta TO little", "shop")
    lines, _ = found(url.replace("postgres@", "little@"))
    has(lines, "FAIL", "the role little needs the right DELETE on duepost_outbox")
    has(lines, "ok", "may not read duepost_outbox_failed")
    database.psql("INSERT INTO duepost_outbox (topic, created_at) VALUES ('a', now() - interval '2 hours');"
                  "INSERT INTO duepost_outbox_failed (id, topic, action, created_at, error) VALUES (77, 'a', 'schedule', now(), 'x')", "shop")
    clock = MovableClock()
    clock.move_by(-90)
    lines, _ = found(url, extra=moved(clock))
    has(lines, "warn", "postgres is a superuser")
    has(lines, "warn", "1 rows have failed")
    has(lines, "warn", "and no relay is at work: start one")
    has(lines, "warn", "s ahead of that of this host: a due_at of now() is too late")
    database.psql("TRUNCATE duepost_outbox, duepost_outbox_failed", "shop")


def test_a_pooler_before_an_outbox(redis, outbox):
    behind, (database, _) = redis(), outbox
    folder, port = database.directory, free_port()
    (folder / "pooler.users").write_text('"postgres" ""\n')
    (folder / "pooler.ini").write_text(f"""[databases]
shop = host={database.directory} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/pooler.users
pool_mode = transaction
ignore_startup_parameters = options
""")
    as_user = {"user": "postgres"} if os.geteuid() == 0 else {}
    pooler = subprocess.Popen(["/usr/sbin/pgbouncer", "-q", folder / "pooler.ini"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user)
    try:
        until(lambda: is_open(port), 10, "the pooler")
        result = check(*of(behind), "--source", f"postgresql://postgres@127.0.0.1:{port}/shop")
        warnings = [text for kind, text in result.lines("outbox") if kind == "warn"]
        assert any("notifications do not arrive: a pooler" in text for text in warnings), result.lines("outbox")
    finally:
        pooler.kill()
        pooler.wait()


def is_open(port):
    with socket.socket() as link:
        return link.connect_ex(("127.0.0.1", port)) == 0
