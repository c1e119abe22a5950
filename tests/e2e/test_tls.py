"""Receivers with TLS: certificates are verified, and requests use HTTP/1.1, even if the receiver offers HTTP/2."""

import contextlib
import socket
import ssl
import struct
import threading

import pytest

from duepost import LOOPBACK, Duepost
from tls import Authority, Nginx


@pytest.fixture(scope="module")
def authority():
    made = Authority()
    made.issue("receiver", "IP:127.0.0.1,DNS:localhost")
    made.issue("stranger", "DNS:elsewhere.example")
    return made


@pytest.fixture(scope="module")
def trusting(authority):
    started = Duepost("--receiver-ca", str(authority.certificate), allow=LOOPBACK + ",localhost")
    yield started
    started.stop()


@pytest.fixture
def nginx(authority, receiver):
    started = []

    def one(name="receiver", **named):
        started.append(Nginx(authority, name, receiver, **named))
        return started[-1]
    yield one
    for each in started:
        each.stop()


@pytest.mark.parametrize("http2", [True, False])
def test_https_is_delivered(trusting, nginx, receiver, topic, http2):
    front = nginx(http2=http2)
    for job_id in "abc":
        trusting.schedule(topic=topic, jobId=job_id, url=front.url(), body={"n": 1.10}, headers={"X-Own": "1"})
        trusting.wait_for_state(topic, job_id, None)
    assert [a.job_id for a in receiver.of(topic)] == ["a", "b", "c"]
    for arrival in receiver.of(topic):
        assert arrival.headers["x-protocol"] == "HTTP/1.1" and arrival.headers["x-own"] == "1" and arrival.body == b'{"n": 1.1}'


def test_connections_that_tls_has_closed_are_not_used(trusting, nginx, receiver, topic):
    """nginx announces the close with a TLS alert, which may hide the FIN behind it for a moment. Few requests are
    sent in that moment."""
    front = nginx(keepalive="20ms")
    for i in range(30):
        trusting.schedule(topic=topic, jobId=str(i), url=front.url(), retry=0, delay=0.01 * (i % 6))
        trusting.wait_for_state(topic, str(i), None)
    assert [a.job_id for a in receiver.of(topic)] == [str(i) for i in range(30)]
    assert trusting.log().count("error=reset") <= 5


def test_new_connections_resume_the_session(trusting, nginx, receiver, topic):
    front = nginx(keepalive="0")
    for i in range(20):
        trusting.schedule(topic=topic, jobId=str(i), url=front.url(), retry=0)
        trusting.wait_for_state(topic, str(i), None)
    sessions = [arrival.headers["x-session"] for arrival in receiver.of(topic)]
    assert sessions[0] == "." and sessions.count("r") >= 10, sessions


def test_many_at_once(trusting, nginx, receiver, topic):
    front = nginx()
    trusting.schedule_many([{"topic": topic, "jobId": str(i), "url": front.url(), "body": i, "retry": 0} for i in range(300)])
    for i in range(300):
        trusting.wait_for_state(topic, str(i), None, 20)
    assert sorted(int(a.body) for a in receiver.of(topic)) == list(range(300))


def test_a_name_is_verified(trusting, nginx, receiver, topic):
    front = nginx()
    trusting.schedule(topic=topic, jobId="a", url=front.url("localhost"))
    trusting.wait_for_state(topic, "a", None)
    assert receiver.count(topic) == 1


def test_a_certificate_for_another_name_fails(trusting, nginx, receiver, topic):
    trusting.schedule(topic=topic, jobId="a", url=nginx("stranger").url(), retrySchedule=[0, 0])
    job = trusting.wait_for_state(topic, "a", "dead")
    assert job["lastAttempt"]["error"] == "tls" and job["attempts"] == 3 and not receiver.count(topic)
    # The error of one attempt must name the certificate. Other errors may differ: if the process was stopped during
    # the handshake, it sees the end of the connection first.
    details = [attempt["errorDetail"] for attempt in trusting.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]]
    assert any("certificate" in detail for detail in details), details


def test_a_certificate_of_an_unknown_ca_fails(server, nginx, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=nginx().url(), retry=0)
    assert server.wait_for_state(topic, "a", "dead")["lastAttempt"]["error"] == "tls"
    assert not receiver.count(topic)


def test_a_receiver_that_speaks_no_tls_fails(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url().replace("http:", "https:"), retry=0, timeout=3)
    assert server.wait_for_state(topic, "a", "dead")["lastAttempt"]["error"] in ("tls", "timeout")


@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize("scheme", ["https", "HTTPS"])
def test_a_receiver_that_wants_a_certificate_of_the_client_says_so(authority, trusting, topic, scheme, resets):
    """With TLS 1.3, the handshake has already ended for the client when the receiver refuses it, and perhaps resets the
    connection. The own client leaves the second url to libcurl."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.directory / "receiver.pem", authority.directory / "receiver.key")
    context.load_verify_locations(authority.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    listening = socket.create_server(("127.0.0.1", 0))

    def refuse_all():
        with contextlib.suppress(OSError):
            while True:
                link = listening.accept()[0]
                with contextlib.suppress(ssl.SSLError), link:
                    if resets:
                        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    context.wrap_socket(link, server_side=True)
    threading.Thread(target=refuse_all, daemon=True).start()
    for job_id in "abcdef":
        trusting.schedule(topic=topic, jobId=job_id, url=f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/", retry=0)
        last = trusting.wait_for_state(topic, job_id, "dead")["lastAttempt"]
        print(last)
        if scheme == "HTTPS" and last["error"] == "reset":  # libcurl has written first, and does not read after a failed write
            assert last["errorDetail"] == "The receiver closed the connection before it had read the request"
        else:
            assert (last["error"], last["errorDetail"]) == ("tls", "TLS alert 116 of the receiver: certificate required")
    listening.close()
