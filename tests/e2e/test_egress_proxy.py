"""--egress-proxy: duepost connects to the proxy only, which resolves names and decides which addresses are allowed.
Settings that could bypass or replace the proxy have no effect."""

import base64
import contextlib
import socket
import threading

import pytest

from duepost import Duepost
from forward_proxy import ForwardProxy
from receiver import Receiver
from redis_server import free_port
from tls import Authority, Nginx

SECRET = "u:s3cr%40t"  # u and s3cr@t


@pytest.fixture
def proxy():
    started = []

    def one(places, **named):
        started.append(ForwardProxy(places, **named))
        return started[-1]
    yield one
    for each in started:
        each.stop()


def test_http_goes_through_the_proxy_which_resolves_its_name(start, proxy, receiver, topic):
    """Only the proxy can resolve the name of the receiver. Variables such as no_proxy have no effect."""
    between = proxy({"hook.example": ("127.0.0.1", receiver.port)})
    server = start("--egress-proxy", between.url(), allow=None,
                   extra={"no_proxy": "*", "NO_PROXY": "hook.example", "http_proxy": "http://127.0.0.1:1"})
    for job_id in "ab":
        server.schedule(topic=topic, jobId=job_id, url="http://hook.example/x?y", headers={"Authorization": "Bearer t"})
        server.wait_for_state(topic, job_id, None)
    assert [a.target for a in receiver.of(topic)] == ["/x?y"] * 2
    assert between.targets() == ["http://hook.example/x?y"] * 2


def test_https_goes_through_a_tunnel_that_sees_nothing(proxy, receiver, topic):
    authority = Authority()
    authority.issue("receiver", "DNS:hook.example")
    front = Nginx(authority, "receiver", receiver)
    between = proxy({"hook.example:443": ("127.0.0.1", front.port)})
    server = Duepost("--egress-proxy", between.url(), "--receiver-ca", str(authority.certificate), allow=None)
    try:
        server.schedule(topic=topic, jobId="a", url="https://hook.example/x", headers={"Authorization": "Bearer t"})
        server.wait_for_state(topic, "a", None)
        assert receiver.count(topic) == 1
        method, target, headers = between.asked[0]
        assert (method, target) == ("CONNECT", "hook.example:443") and headers["Authorization"] is None
        assert not any("duepost" in name.lower() for name in headers)
    finally:
        server.stop()
        front.stop()


def test_two_answers_of_the_proxy_do_no_harm(proxy, topic):
    """Each job needs a new tunnel, because the receiver behind the proxy closes its connection."""
    closing = socket.create_server(("127.0.0.1", 0))
    between = proxy({"hook.example:443": closing.getsockname()}, folds=True)
    server = Duepost("--egress-proxy", between.url(), "--breaker", "off", allow=None)

    def close_all():
        with contextlib.suppress(OSError):
            while True:
                closing.accept()[0].close()
    threading.Thread(target=close_all, daemon=True).start()
    try:
        for i in range(8):
            server.schedule(topic=topic, jobId=str(i), url="https://hook.example/x", retry=0)
            server.wait_for_state(topic, str(i), "dead")
        assert between.tunnels >= 8
    finally:
        server.stop()
        closing.close()


def test_a_refusal_of_the_proxy_is_a_failed_attempt(start, proxy, topic):
    """If the proxy refuses CONNECT, its answer is not taken for the receiver's. For a plain http request, duepost
    cannot tell the proxy's answer from that of the receiver."""
    between = proxy({})
    server = start("--egress-proxy", between.url(), allow=None)
    server.schedule(topic=topic, jobId="tunnel", url="https://hook.example/", retry=0)
    assert server.wait_for_state(topic, "tunnel", "dead")["lastAttempt"]["error"] == "connect"
    server.schedule(topic=topic, jobId="plain", url="http://hook.example/", retry=0)
    assert server.wait_for_state(topic, "plain", "dead")["lastAttempt"]["status"] == 403
    assert between.targets() == ["hook.example:443", "http://hook.example/"]


def test_a_proxy_that_is_away_is_a_connect_error(start, topic):
    server = start("--egress-proxy", f"http://127.0.0.1:{free_port()}", allow=None)
    for scheme in ("http", "https"):
        server.schedule(topic=topic, jobId=scheme, url=f"{scheme}://hook.example/", retry=0)
        assert server.wait_for_state(topic, scheme, "dead")["lastAttempt"]["error"] == "connect"
    named = start("--egress-proxy", "http://proxy.invalid:3128", allow=None)
    named.schedule(topic=topic, jobId="a", url="http://hook.example/", retry=0, timeout=20)
    assert named.wait_for_state(topic, "a", "dead", 30)["lastAttempt"]["error"] == "connect"


def test_addresses_in_urls_are_judged_as_without_it(start, proxy, tmp_path, topic):
    """Even with a proxy, duepost checks addresses in urls at POST, and again when the job is due. It also checks the
    name localhost, by which the proxy would connect to its own host."""
    between = proxy({"127.0.0.1": ("127.0.0.1", 1), "localhost": ("127.0.0.1", 1), "8.8.8.8": ("127.0.0.1", 1)})
    config = tmp_path / "duepost.conf"
    config.write_text("allow-target = 127.0.0.0/8,::/0\n")
    server = start("--config", str(config), "--egress-proxy", between.url(), allow=None)
    server.request("PATCH", f"/topics/{topic}", '{"paused": true}', {"Content-Type": "application/merge-patch+json"}).expect(200)
    urls = ["http://127.0.0.1/", "http://127.1/", "https://[::1]/", "http://localhost/", "http://LocalHost.:8080/", "https://a.localhost/",
            f"http://127.0.0.1:{server.port}/"]
    jobs = {str(i): url for i, url in enumerate(urls[:-1])}
    for job_id, url in jobs.items():
        server.schedule(topic=topic, jobId=job_id, url=url)
    assert server.post({"topic": topic, "url": urls[-1]}).fields() == ["url"]
    config.write_text("")
    server.reload()
    server.request("PATCH", f"/topics/{topic}", '{"paused": null}', {"Content-Type": "application/merge-patch+json"}).expect(200)
    for job_id, url in jobs.items():
        assert server.wait_for_state(topic, job_id, "dead")["reason"] == "target_refused", url
    assert between.targets() == []
    assert server.post({"topic": topic, "url": urls[0]}).fields() == ["url"]


def test_the_proxys_password_comes_from_the_environment_and_is_not_shown(start, proxy, receiver, topic):
    wanted = "Basic " + base64.b64encode(b"u:s3cr@t").decode()
    between = proxy({"hook.example": ("127.0.0.1", receiver.port)}, credentials=wanted)
    server = start(allow=None, extra={"DUEPOST_EGRESS_PROXY": between.url(SECRET + "@")})
    server.schedule(topic=topic, jobId="a", url="http://hook.example/")
    server.wait_for_state(topic, "a", None)
    assert receiver.count(topic) == 1
    assert not any("proxy-" in line.lower() and "connection" not in line.lower() for line in receiver.of(topic)[0].header_lines)
    assert "s3cr" not in server.log()


def test_nothing_else_leads_past_the_address_check_or_to_a_proxy(start, receiver, tmp_path, topic):
    """duepost ignores the proxies in the environment, .netrc and .curlrc."""
    other = Receiver()
    proxy = other.url("")
    for name in (".netrc", "netrc"):
        (tmp_path / name).write_text("default login u password netrc-was-read\n")
    for name in (".curlrc", "curlrc"):
        (tmp_path / name).write_text(f'proxy = "{proxy}"\nuser = "u:curlrc-was-read"\nuser-agent = "curlrc-was-read"\n')
    names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    homes = ("HOME", "CURL_HOME", "XDG_CONFIG_HOME")
    try:
        server = start("--egress-proxy", proxy, extra=dict.fromkeys(names, "http://127.0.0.1:1"))
        server.schedule(topic=topic, jobId="shown", url=receiver.url())
        server.wait_for_state(topic, "shown", None)
        assert other.count(topic) == 1, "this is what the use of a proxy looks like"
        server = start(extra={**dict.fromkeys(names, proxy), **dict.fromkeys(homes, str(tmp_path)), "NETRC": str(tmp_path / "netrc")})
        server.schedule(topic=topic, jobId="a", url=receiver.url())
        server.wait_for_state(topic, "a", None)
        server.schedule(topic=topic, jobId="b", url=receiver.url().replace("http:", "https:"), retry=0, timeout=3)
        server.wait_for_state(topic, "b", "dead")
        (arrival,) = receiver.of(topic)
        assert "was-read" not in str(arrival.header_lines) and "authorization" not in arrival.headers
        assert other.count(topic) == 1 and len(other.arrivals) == 1
    finally:
        other.stop()
