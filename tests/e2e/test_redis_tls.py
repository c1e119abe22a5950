"""A Redis that speaks TLS: whose certificate is trusted and whose is not, with connections that break and peers that stall."""

import hashlib
import itertools
import json
import random
import re
import select
import socket
import threading
import time

import pytest

from cluster import Cluster
from duepost import run
from patience import SLOW, until
from redis_server import free_port
from sentinels import Sentinels
from tls import Authority, RedisTls
import scratch

NAMES = "IP:127.0.0.1,DNS:localhost"


@pytest.fixture(scope="module")
def authority():
    made = Authority()
    made.issue("redis", NAMES)
    made.issue("stranger", "DNS:elsewhere.example")
    made.issue("expired", NAMES, days=-1)
    return made


@pytest.fixture(scope="module")
def other_authority():
    made = Authority()
    made.issue("redis", NAMES)
    return made


class Pipe:
    """A TCP proxy in front of a Redis. cut() ends all connections; stall() lets no byte pass until go_on()."""

    def __init__(self, redis):
        self.redis = redis
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"rediss://127.0.0.1:{self.listener.getsockname()[1]}/0"
        self.links = set()
        self._may_pass = threading.Event()
        self._may_pass.set()
        self.bytes = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        for link in list(self.links):
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stall(self):
        self._may_pass.clear()

    def go_on(self):
        self._may_pass.set()

    def stop(self):
        self.go_on()
        self.listener.close()
        self.cut()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.redis.port))
            except OSError:
                near.close()
                continue
            self.links |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source, sink):
        try:
            while data := source.recv(65536):
                self._may_pass.wait(120)
                self.bytes += len(data)
                sink.sendall(data)
        except OSError:
            pass
        for link in (source, sink):
            self.links.discard(link)
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


@pytest.fixture
def pipe():
    made = []

    def one(redis):
        made.append(Pipe(redis))
        return made[-1]
    yield one
    for each in made:
        each.stop()


def is_refused(server, *words):
    """Waits until /readyz and the log have this reason."""
    def is_told():
        reply = server.get("/readyz")
        assert reply.status == 503
        return all(word in reply.body.decode() for word in words)
    until(is_told, 10, lambda: server.get("/readyz").body)
    warnings = [line for line in server.log().splitlines() if "event=not_ready" in line]
    assert warnings and all(word in warnings[0] for word in words), server.log()
    server.post({"topic": "t", "jobId": "a", "url": "http://127.0.0.1:1/", "delay": 60}).expect(503)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def large_jobs(receiver, topic, count, size):
    """Returns jobs with random bodies, which no compression would shorten, and {jobId: digest of the body}."""
    source = random.Random(7)
    jobs = [{"topic": topic, "jobId": str(i), "url": receiver.url(), "body": {"n": source.randbytes(size // 2).hex()}} for i in range(count)]
    return jobs, {job["jobId"]: digest(json.dumps(job["body"])) for job in jobs}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_jobs_come_and_go(start, redis, receiver, topic, authority, host):
    behind = redis(tls=RedisTls(authority))
    server = start(*behind.tls.options(), redis=f"rediss://{host}:{behind.port}/0")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body={"n": 1})
    server.wait_for_state(topic, "a", None)
    assert receiver.of(topic)[0].body == b'{"n": 1}'
    assert server.terminate() == 0


def test_a_user_with_a_password_over_tls(start, redis, receiver, topic, authority):
    behind = redis(tls=RedisTls(authority), options=["--user", "duepost", "on", ">s3cret", "~*", "&*", "+@all"])
    secret = scratch.file("password")
    secret.write_text("s3cret\n")
    secret.chmod(0o600)
    server = start(*behind.tls.options(), "--redis-password-file", str(secret), redis=f"rediss://duepost@127.0.0.1:{behind.port}")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    assert b"name=duepost" not in behind.command("ACL", "WHOAMI")
    assert b"user=duepost" in behind.command("CLIENT", "LIST")


def test_large_batches_arrive_whole(start, redis, receiver, topic, authority):
    behind = redis(tls=RedisTls(authority))
    server = start(*behind.tls.options(), redis=behind)
    jobs, digests = large_jobs(receiver, topic, 64, 200_000)
    reply = server.request("POST", "/jobs", json.dumps(jobs), {"Content-Type": "application/json"}, check=False)
    assert [each["status"] for each in reply.json["results"]] == [201] * len(jobs), reply.json
    until(lambda: receiver.count(topic) >= len(jobs), 60, lambda: receiver.count(topic))
    assert {a.job_id: digest(a.body.decode()) for a in receiver.of(topic)} == digests


def test_the_certificate_of_redis_must_be_from_a_trusted_ca(start, redis, authority, other_authority):
    behind = redis(tls=RedisTls(authority))
    server = start("--redis-ca", str(other_authority.certificate), redis=behind, ready=False)
    is_refused(server, "certificate of Redis is refused", "redis-ca")
    server.stop()
    is_refused(start(redis=behind, ready=False), "certificate of Redis is refused", "redis-ca")  # only the CAs of the system are trusted


def test_an_expired_certificate_is_refused(start, redis, authority):
    behind = redis(tls=RedisTls(authority, "expired"))
    is_refused(start(*behind.tls.options(), redis=behind, ready=False), "certificate has expired")


def test_a_certificate_of_another_host_is_refused_unless_its_name_is_given(start, redis, receiver, topic, authority):
    behind = redis(tls=RedisTls(authority, "stranger"))
    server = start(*behind.tls.options(), redis=behind, ready=False)
    is_refused(server, "the certificate of Redis is not for 127.0.0.1", "redis-server-name")
    server.stop()
    server = start(*behind.tls.options(), "--redis-server-name", "elsewhere.example", redis=behind)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)


def test_redis_may_demand_a_certificate_of_duepost(start, redis, receiver, topic, authority):
    behind = redis(tls=RedisTls(authority, clients="yes"))
    is_refused(start("--redis-ca", str(authority.certificate), redis=behind, ready=False), "Redis refuses the connection", "redis-cert")
    server = start(*behind.tls.options(), redis=behind)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)


def test_a_redis_without_tls_is_not_used(start, redis, authority):
    behind = redis(tcp=True)
    server = start("--redis-ca", str(authority.certificate), redis=behind.address.replace("redis:", "rediss:"), ready=False)
    until(lambda: b"speak TLS" in server.get("/readyz").body, 20, lambda: server.get("/readyz").body)
    server.stop()
    behind = redis(tls=RedisTls(authority))
    server = start(redis=behind.address.replace("rediss:", "redis:"), ready=False)
    until(lambda: any(why in server.get("/readyz").body for why in (b"Server closed the connection", b"Connection reset by peer")), 20,
          lambda: server.get("/readyz").body)


def test_duepost_check_connects_over_tls(redis, authority):
    behind = redis(tls=RedisTls(authority, clients="yes"))
    options = ["check", "--redis", behind.address, "--listen", "127.0.0.1:0", *behind.tls.options()]
    assert re.search(rf"^ok +redis +{re.escape(behind.place)} with TLS, version", run(*options, seconds=20).stdout, re.M)
    ended = run(*options, "--redis-server-name", "elsewhere.example", seconds=20)
    assert ended.returncode == 1 and "the certificate of Redis is not for elsewhere.example" in ended.stdout, ended.stdout


def test_options_that_cannot_be_used_end_the_start(authority, other_authority):
    empty = scratch.file("empty")
    empty.touch()
    certificate, key = authority.directory / "redis.pem", authority.directory / "redis.key"
    tls = ["--redis", "rediss://127.0.0.1:1"]
    for options, words in (
            (["--redis", "redis://127.0.0.1:1", "--redis-ca", str(certificate)], "--redis-ca: needs TLS"),
            (["--redis-server-name", "x"], "--redis-server-name: needs TLS"),
            ([*tls, "--redis-ca", str(empty)], "--redis-ca: cannot use"),
            ([*tls, "--redis-ca", "/nonexistent"], "No such file"),
            ([*tls, "--redis-cert", str(certificate)], "--redis-cert: needs redis-key, too"),
            ([*tls, "--redis-key", str(key)], "--redis-key: needs redis-cert, too"),
            ([*tls, "--redis-cert", str(certificate), "--redis-key", str(other_authority.directory / "redis.key")], "key values mismatch"),
    ):
        ended = run(*options)
        assert ended.returncode == 2 and words in ended.stderr, ended


def test_lost_connections_are_made_again(start, redis, receiver, topic, authority, pipe):
    behind = redis(tls=RedisTls(authority))
    between = pipe(behind)
    server = start(*behind.tls.options(), redis=between.address)
    confirmed, stop = [], threading.Event()

    def schedule():
        for i in itertools.count():
            if stop.is_set():
                return
            if server.post({"topic": topic, "jobId": str(i), "url": receiver.url()}, check=False).status == 201:
                confirmed.append(str(i))
            else:
                time.sleep(0.02)
    thread = threading.Thread(target=schedule)
    thread.start()
    for _ in range(8):
        time.sleep(0.3)
        between.cut()
    behind.kill()
    behind.start()
    before = len(confirmed)
    until(lambda: len(confirmed) > before + 50, 20, "jobs are confirmed again")
    stop.set()
    thread.join()
    until(lambda: {a.job_id for a in receiver.of(topic)} >= set(confirmed), 60,
          lambda: sorted(set(confirmed) - {a.job_id for a in receiver.of(topic)}))


def answers_at_once(server):
    began = time.monotonic()
    assert server.get("/healthz").status == 200
    assert time.monotonic() - began < 1 * SLOW


def test_a_peer_that_never_finishes_its_handshake_blocks_nothing(start, authority):
    with socket.create_server(("127.0.0.1", free_port()), backlog=64, reuse_port=True) as silent:
        server = start("--redis-ca", str(authority.certificate), "--reactors", "1", redis=f"rediss://127.0.0.1:{silent.getsockname()[1]}",
                       ready=False)
        assert select.select([silent], [], [], 5)[0]
        for _ in range(20):
            answers_at_once(server)
        until(lambda: "the TLS handshake took too long" in server.get("/readyz").body.decode(), 20, lambda: server.get("/readyz").body)
        assert server.terminate() == 0


def test_a_peer_that_stalls_blocks_nothing(start, redis, receiver, topic, authority, pipe):
    behind = redis(tls=RedisTls(authority))
    between = pipe(behind)
    server = start(*behind.tls.options(), "--reactors", "1", redis=between.address)
    between.stall()
    jobs, digests = large_jobs(receiver, topic, 20, 400_000)
    threads = [threading.Thread(target=server.post, args=(job,), kwargs={"check": False}) for job in jobs]
    for thread in threads:
        thread.start()
    for _ in range(20):
        answers_at_once(server)
        time.sleep(0.05)
    until(lambda: server.get("/readyz").status == 503, 30, "the stalled connections are dropped")
    answers_at_once(server)
    for thread in threads:
        thread.join()
    between.cut()
    between.go_on()
    until(lambda: server.get("/readyz").status == 200, 20, "ready")
    for job in jobs:
        assert server.post(job).status in (200, 201)
    until(lambda: {a.job_id for a in receiver.of(topic)} == set(digests), 30, lambda: receiver.count(topic))
    assert {a.job_id: digest(a.body.decode()) for a in receiver.of(topic)} == digests


def test_sighup_reads_the_certificates_again(start, redis, receiver, topic, authority, other_authority):
    """Redis and duepost change to another CA."""
    files = {name: scratch.file(name) for name in ("ca", "cert", "key")}

    def use(source):
        for name, content in (("ca", "ca.pem"), ("cert", "redis.pem"), ("key", "redis.key")):
            files[name].write_bytes((source.directory / content).read_bytes())
            files[name].chmod(0o600)
    use(authority)
    behind = redis(tls=RedisTls(authority, clients="yes"))
    server = start("--redis-ca", str(files["ca"]), "--redis-cert", str(files["cert"]), "--redis-key", str(files["key"]), redis=behind)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    behind.kill()
    behind.tls = RedisTls(other_authority, clients="yes")
    behind.start()
    until(lambda: "certificate of Redis is refused" in server.get("/readyz").body.decode(), 20, lambda: server.get("/readyz").body)
    files["key"].write_text("no key\n")
    server.reload("options_not_reloaded")
    use(other_authority)
    server.reload()
    until(lambda: server.get("/readyz").status == 200, 20, lambda: server.get("/readyz").body)
    server.run(topic, "a").expect(202)
    server.wait_for_state(topic, "a", None)


def test_sentinels_over_tls(start, receiver, topic, authority):
    behind = Sentinels(tls=RedisTls(authority, clients="yes"))
    try:
        server = start(*behind.nodes[0].tls.options(), "--durability", "fsync+replicated:1", redis=behind.address)
        server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
        old = behind.primary()
        behind.fail_over()
        until(lambda: behind.primary() is not old, 30, "another primary")
        behind.await_whole()
        until(lambda: server.get("/readyz").status == 200, 30, lambda: server.get("/readyz").body)
        server.run(topic, "a").expect(202)
        server.wait_for_state(topic, "a", None)
        server.stop()
    finally:
        behind.stop()


def test_a_cluster_over_tls(start, receiver, topic, authority):
    behind = Cluster(tls=RedisTls(authority, clients="yes"))
    try:
        server = start(*behind.nodes[0].tls.options(), redis=behind.address)
        topics = [f"{topic}.{i}" for i in range(40)]
        for each in topics:
            server.schedule(topic=each, jobId="a", url=receiver.url())
        for each in topics:
            server.wait_for_state(each, "a", None)
        behind.primaries()[0].kill()
        until(lambda: len(behind.primaries()) == 3, 30, "a replica takes over")
        until(lambda: server.get("/readyz").status == 200, 30, lambda: server.get("/readyz").body)
        for each in topics:
            server.schedule(topic=each, jobId="b", url=receiver.url())
        for each in topics:
            server.wait_for_state(each, "b", None)
        server.stop()
    finally:
        behind.stop()
