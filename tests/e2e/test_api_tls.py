"""The API over TLS: certificates, their change while duepost runs, and the same checks of requests as without TLS."""

import concurrent.futures
import contextlib
import shutil
import signal
import socket
import ssl
import struct

import pytest

from duepost import Duepost, run
from patience import SLOW, until
from pull import Waiter, await_waiting, end, make_pull, name
from test_cli import ask
from tls import Authority
from tokens import TokenFile


@pytest.fixture(scope="module")
def authority():
    made = Authority()
    made.issue("first", "IP:127.0.0.1")
    made.issue("second", "IP:127.0.0.1")
    return made


@pytest.fixture(scope="module")
def trust(authority):
    return ssl.create_default_context(cafile=authority.certificate)


class Pair:
    """The files of a server's certificate and key, and their current contents."""

    def __init__(self, authority, directory):
        self.authority = authority
        self.certificate, self.key = directory / "cert.pem", directory / "key.pem"
        self.options = ["--tls-cert", str(self.certificate), "--tls-key", str(self.key)]

    def put(self, name, key=None):
        shutil.copy(self.authority.directory / f"{name}.pem", self.certificate)
        shutil.copy(self.authority.directory / f"{key or name}.key", self.key)
        self.key.chmod(0o600)


@pytest.fixture
def pair(authority, tmp_path):
    made = Pair(authority, tmp_path)
    made.put("first")
    return made


@pytest.fixture(scope="module")
def server(authority, trust):
    started = Duepost("--tls-cert", str(authority.directory / "first.pem"), "--tls-key", str(authority.directory / "first.key"), tls=trust)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def rsa_server(authority, trust):
    authority.issue("rsa", "IP:127.0.0.1", key=("rsa:2048",))
    started = Duepost("--tls-cert", str(authority.directory / "rsa.pem"), "--tls-key", str(authority.directory / "rsa.key"), tls=trust)
    yield started
    started.stop()


def name_of(server):
    """Returns the name in the certificate of a new connection."""
    with server.connect() as link:
        return dict(part[0] for part in link.getpeercert()["subject"])["commonName"]


def test_a_job_s_life(server, receiver, topic):
    assert server.url.startswith("https://")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    assert server.job(topic, "a")["state"] == "delayed"
    server.run(topic, "a").expect(202)
    until(lambda: receiver.count(topic), 5, "the delivery")
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=3600)
    server.cancel(topic, "b").expect(200)
    assert "duepost_jobs" in server.get("/metrics").body.decode()


def leave_politely(link):
    """Sends close_notify first."""
    link.setblocking(False)
    with contextlib.suppress(ssl.SSLError):  # the server's close_notify has not come yet
        link.unwrap()
    link.close()


def leave_without_a_word(link):
    link.close()


def leave_with_a_reset(link):
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.close()


@pytest.mark.parametrize("leave", [leave_politely, leave_without_a_word, leave_with_a_reset])
def test_a_worker_waits_and_leases_nothing_after_it_has_left(server, topic, leave):
    make_pull(server, topic)
    for number in range(5):
        waiter = Waiter(server, topic)
        await_waiting(server, 1)
        leave(waiter.socket)
        await_waiting(server, 0)
        waiter = Waiter(server, topic)
        await_waiting(server, 1)
        server.schedule(topic=topic, jobId=str(number), body="x" * 20_000)
        job, = waiter.jobs()
        assert (job["jobId"], job["attempt"], len(job["body"])) == (str(number), 1, 20_000)
        end(server, "complete", topic, name(job)).expect(200)
        waiter.leave()


def test_bodies_of_every_size(server, topic):
    """Sizes just below, at and above 16 KiB (a TLS record), up to 1 MB, and a body with the maximum number of
    jobs."""
    for size in 1, 16383, 16384, 16385, 100_000, 1_000_000:
        server.schedule(topic=topic, jobId=f"job-{size}", url="http://127.0.0.1:9/", delay=3600, body="x" * size)
        assert len(server.job(topic, f"job-{size}")["body"]) == size
    jobs = [{"topic": topic, "jobId": f"many-{i}", "url": "http://127.0.0.1:9/", "delay": 3600, "body": "x" * 1500} for i in range(10000)]
    assert {result["status"] for result in server.post(jobs).expect(207)["results"]} == {201}
    too_large = server.request("POST", "/jobs", b'{"body":"' + b"x" * 2_000_000 + b'"}', {"Content-Type": "application/json"})
    too_large.expect(413)


def test_requests_that_come_together_are_all_answered(server):
    """The server must not wait for the socket when TLS has decrypted data already."""
    with server.connect() as link:
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        received = b""
        while received.count(b'{"healthy":true}') < 50:
            piece = link.recv(65536)
            assert piece, received[-300:]
            received += piece


def test_a_request_in_single_bytes(server):
    with server.connect() as link:
        for byte in b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}":
            link.sendall(bytes([byte]))
        assert b" 400 " in link.recv(65536)


def test_many_clients_at_once(server, topic):
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        done = list(pool.map(lambda i: server.with_token(None).schedule(topic=topic, jobId=str(i), url="http://127.0.0.1:9/", delay=3600),
                             range(400)))
    assert len(done) == 400


@pytest.mark.parametrize("head", [
    b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 4\r\nContent-Length: 5\r\n", b"Content-Length : 4\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n", b"X: a\x00b\r\n", b"X: a\r\n b\r\n", b"X: a\nY: b\r\n", b"X: a\x00\nY: b\r\n", b":\nX: a\r\n",
    b"Authorization: a\r\nAuthorization: b\r\n",
], ids=str)
def test_doubtful_framing_is_refused_beneath_tls_too(server, head):
    smuggled = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + head + b"\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    received = server.raw(smuggled, check=False)
    assert received.startswith(b"HTTP/1.1 400 ") and b"healthy" not in received and received.count(b"HTTP/1.1 ") == 1


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@pytest.mark.parametrize("version, is_spoken", [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)])
def test_versions_of_tls(server, authority, version, is_spoken):
    context = ssl.create_default_context(cafile=authority.certificate)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = version
    with socket.create_connection((server.host, server.port), timeout=15 * SLOW) as link:
        if is_spoken:
            assert context.wrap_socket(link, server_hostname=server.host).version() == version.name.replace("_", ".")
        else:
            with pytest.raises(ssl.SSLError):
                context.wrap_socket(link, server_hostname=server.host)
    server.get("/healthz").expect(200)


@pytest.mark.parametrize("cipher, is_spoken", [("AES128-GCM-SHA256", False), ("AES256-GCM-SHA384", False), ("AES128-SHA", False),
                                               ("ECDHE-RSA-AES128-SHA", False), ("ECDHE-RSA-AES256-SHA384", False), ("DHE-RSA-AES256-SHA", False),
                                               ("ECDHE-RSA-AES128-GCM-SHA256", True), ("ECDHE-RSA-CHACHA20-POLY1305", True)])
def test_ciphers_of_tls_1_2(rsa_server, authority, cipher, is_spoken):
    """Without forward secrecy (key exchange with RSA), and with CBC or SHA-1, there is no connection."""
    context = ssl.create_default_context(cafile=authority.certificate)
    context.set_ciphers(f"{cipher}:@SECLEVEL=0")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection((rsa_server.host, rsa_server.port), timeout=15 * SLOW) as link:
        try:
            with context.wrap_socket(link, server_hostname=rsa_server.host) as spoken:
                assert is_spoken and spoken.cipher()[0] == cipher
        except (ssl.SSLError, ConnectionError):
            assert not is_spoken


def test_plain_http_gets_nothing(server):
    with socket.create_connection((server.host, server.port), timeout=15 * SLOW) as link:
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        received = b""
        while piece := link.recv(65536):
            received += piece
    assert b"HTTP/" not in received
    server.get("/healthz").expect(200)


def test_a_handshake_has_a_deadline(server):
    """A handshake has the same deadline as the head of a request, 10 s."""
    with socket.create_connection((server.host, server.port), timeout=15 * SLOW) as link:
        link.sendall(b"\x16\x03\x01\x02\x00")  # the rest of this TLS record is never sent
        assert link.recv(100) == b""


def test_a_new_certificate_is_used_after_sighup_and_old_connections_stay_open(start, pair, trust):
    server = start(*pair.options, "--reactors", "2", tls=trust)
    assert name_of(server) == "first"
    old = server.with_token(None)
    old.get("/topics").expect(200)
    pair.put("second")
    assert name_of(server) == "first"
    server.reload()
    until(lambda: {name_of(server) for _ in range(5)} == {"second"}, 5, "the new certificate")
    sock = old._local.link.sock
    old.get("/topics").expect(200)
    assert old._local.link.sock is sock, "the old connection was closed"


def test_an_unusable_certificate_leaves_the_old_one(start, pair, trust):
    server = start(*pair.options, tls=trust)

    def is_kept():
        server.reload("options_not_reloaded")
        return name_of(server) == "first"
    pair.put("first", key="second")
    assert is_kept() and "cannot use the certificate" in server.log()
    pair.put("second")
    pair.certificate.write_text("nonsense")
    assert is_kept()
    pair.certificate.unlink()
    assert is_kept()
    pair.put("second")
    server.reload()
    until(lambda: name_of(server) == "second", 5, "the new certificate")


def test_certificates_change_while_many_connect(start, pair, trust):
    """The certificate changes during handshakes. Each handshake ends with the certificate with which it began."""
    server = start(*pair.options, "--reactors", "2", tls=trust)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = pool.submit(lambda: [name_of(server) for _ in range(80)])
        others = [pool.submit(lambda: [name_of(server) for _ in range(80)]) for _ in range(3)]
        for i in range(10):
            pair.put("second" if i % 2 == 0 else "first")
            server.process.send_signal(signal.SIGHUP)  # duepost may still be busy with the last SIGHUP
            until(lambda: server.log().count("reloaded") > i, 5, "an answer to SIGHUP")
        assert {name for future in [names, *others] for name in future.result()} <= {"first", "second"}
    server.get("/healthz").expect(200)


def test_a_wrong_pair_stops_the_start(pair, tmp_path):
    def refusal(*options):
        result = run("--listen", "127.0.0.1:0", "--data", str(tmp_path / "d"), *options)
        assert result.returncode == 2 and "listening" not in result.stdout
        return result.stderr
    assert "--tls-cert: needs tls-key" in refusal("--tls-cert", str(pair.certificate))
    assert "--tls-key: needs tls-cert" in refusal("--tls-key", str(pair.key))
    pair.put("first", key="second")
    assert "--tls-cert: cannot use the certificate" in refusal(*pair.options)
    pair.key.unlink()
    assert "--tls-cert: cannot use the certificate" in refusal(*pair.options)


def test_it_is_switched_on_and_off_by_a_restart_only(start, pair, trust, tmp_path):
    file = tmp_path / "duepost.conf"
    lines = f"tls-cert = {pair.certificate}\ntls-key = {pair.key}\n"
    for before, after, tls in ("", lines, None), (lines, "", trust):
        file.write_text(before)
        server = start("--config", str(file), tls=tls)
        file.write_text(after)
        server.reload("options_not_reloaded")
        assert "needs a restart" in server.log()
        server.get("/topics").expect(200)


def test_a_key_that_others_may_read_is_a_warning(start, pair, trust):
    pair.key.chmod(0o644)
    assert "chmod o-r" in start(*pair.options, tls=trust).log()


def test_beyond_loopback_without_tls_there_is_a_warning(start, pair, trust):
    tokens = TokenFile()
    root = tokens.add("root")
    for options, is_warned in ([], True), (pair.options, False):
        server = start("--tokens", str(tokens.path), *options, listen="0.0.0.0:0", token=root, tls=trust if options else None, ready=False)
        assert ("listens_without_tls" in server.log()) == is_warned


def test_it_drains(start, pair, trust, receiver, topic):
    server = start(*pair.options, tls=trust)
    server.get("/healthz").expect(200)
    assert server.terminate() == 0


def test_commands_verify_the_server(server, authority):
    assert "TOPIC" in ask(server, "topics", f"--ca-file={authority.certificate}")
    assert "check the server" in ask(server, "topics", code=1)
