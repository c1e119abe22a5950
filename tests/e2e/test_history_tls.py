"""The history in a PostgreSQL or a MongoDB with TLS: which certificates are trusted, and what happens while the certificate of the
server is not trusted."""

import pytest

from duepost import Duepost
from patience import until
from mongo_server import MongoServer
from postgres_server import PostgresServer
from redis_server import RedisServer
from test_archive import counter
from tls import Authority


@pytest.fixture(scope="module")
def authority():
    made = Authority()
    made.issue("postgres", "IP:127.0.0.1")
    made.issue("other", "DNS:other.example")
    return made


@pytest.fixture
def redis():
    server = RedisServer()
    yield server
    server.stop()


@pytest.fixture
def postgres(request, authority):
    """Starts a PostgreSQL with TLS. The fixture's parameter names the files of its certificate and key."""
    name = getattr(request, "param", "postgres")
    server = PostgresServer((authority.directory / f"{name}.pem", authority.directory / f"{name}.key"))
    yield server
    server.stop()


def verified(postgres, authority, mode="verify-full"):
    return postgres.tls_url(sslmode=mode, sslrootcert=authority.certificate)


def rows(postgres):
    return [job_id for job_id, in postgres.rows("SELECT job_id FROM duepost_jobs ORDER BY job_id") or []]


def deliver(server, receiver, topic, job_id):
    server.schedule(topic=topic, jobId=job_id, url=receiver.url())
    server.wait_for_state(topic, job_id, "delivered")


def expect_refused(redis, receiver, topic, url, why):
    """Jobs are delivered, and wait in the outbox; the log says why."""
    server = Duepost("--history", url, redis=redis)
    try:
        until(lambda: any("event=history_unavailable" in line and why in line for line in server.log().splitlines()), 20, server.log)
        deliver(server, receiver, topic, "a")
        assert counter(server, "duepost_outbox_jobs") == 1
        assert server.get("/readyz").status == 200
    finally:
        server.stop()


@pytest.mark.parametrize("postgres, mode", [("postgres", "verify-full"), ("other", "verify-ca")], indirect=["postgres"])
def test_a_server_with_the_right_certificate(receiver, redis, postgres, authority, topic, mode):
    server = Duepost("--history", verified(postgres, authority, mode), redis=redis)
    try:
        deliver(server, receiver, topic, "a")
        until(lambda: rows(postgres) == ["a"], 20, "the row")
        links = postgres.rows("SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_addr = '127.0.0.1'")
        assert links and all(ssl == "t" for ssl, in links)
    finally:
        server.stop()


def test_a_server_of_another_authority_gets_nothing(receiver, redis, postgres, authority, topic):
    expect_refused(redis, receiver, topic, verified(postgres, Authority()), "certificate verify failed")
    assert rows(postgres) == []
    server = Duepost("--history", verified(postgres, authority), redis=redis)
    try:
        until(lambda: rows(postgres) == ["a"], 30, "the row, with the right authority")
    finally:
        server.stop()


@pytest.mark.parametrize("postgres", ["other"], indirect=True)
def test_a_server_with_a_certificate_of_another_name_gets_nothing(receiver, redis, postgres, authority, topic):
    expect_refused(redis, receiver, topic, verified(postgres, authority), "does not match host name")
    assert rows(postgres) == []


def test_a_server_that_wants_tls_refuses_a_client_without(receiver, redis, postgres, topic):
    expect_refused(redis, receiver, topic, postgres.tls_url(sslmode="disable"), "no encryption")


# ---- MongoDB ----

@pytest.fixture
def mongo(request, authority):
    """Starts a server with a port for TLS. The fixture's parameter names the files of its certificate and key."""
    name = getattr(request, "param", "postgres")
    server = MongoServer((authority.directory / f"{name}.pem", authority.directory / f"{name}.key"))
    yield server
    server.stop()


def over_tls(mongo, **parameters):
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    return f"mongodb://127.0.0.1:{mongo.tls_port}/history?tls=true&{query}"


@pytest.mark.parametrize("mongo, more", [("postgres", {}), ("other", {"tlsAllowInvalidHostnames": "true"})], indirect=["mongo"])
def test_a_mongodb_with_the_right_certificate(receiver, redis, mongo, authority, topic, more):
    server = Duepost("--history", over_tls(mongo, tlsCAFile=authority.certificate, **more), redis=redis)
    try:
        deliver(server, receiver, topic, "a")
        until(lambda: [document["job_id"] for document in mongo.documents("history")] == ["a"], 20, "the row")
    finally:
        server.stop()


@pytest.mark.parametrize("mongo, is_known, why", [("postgres", False, "certificate verify failed"), ("other", True, "certificate verif")], indirect=["mongo"])
def test_a_mongodb_with_a_wrong_certificate_gets_nothing(receiver, redis, mongo, authority, topic, is_known, why):
    trusted = authority if is_known else Authority()
    expect_refused(redis, receiver, topic, over_tls(mongo, tlsCAFile=trusted.certificate), why)
    assert mongo.documents("history") == []


def test_a_mongodb_without_tls_gets_nothing(receiver, redis, mongo, authority, topic):
    expect_refused(redis, receiver, topic, f"{mongo.url('history')}?tls=true&tlsCAFile={authority.certificate}", "TLS handshake")
    assert mongo.documents("history") == []
