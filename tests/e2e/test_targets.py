"""Addresses that jobs may be sent to: public addresses and those that the operator allows."""


import pytest

from duepost import run
from names import private_name
from patience import until, watch
from tokens import TokenFile

PRIVATE = """127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 017700000001 127.0.0.1. 0 0.0.0.0 10.0.0.1 10.255.255.255 100.64.0.1
100.127.255.255 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255
198.51.100.1 203.0.113.1 168.63.129.16 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 [::] [::1] [::ffff:127.0.0.1]
[::ffff:10.0.0.1] [64:ff9b::7f00:1] [fc00::1] [fd12::1] [fe80::1] [ff02::1] [2001::1] [2001:db8::1] [2002:7f00:1::] [3fff::1]
[100::1] [4000::1]""".split()

PUBLIC = """8.8.8.8 100.63.255.255 100.128.0.1 172.15.255.255 172.32.0.1 192.0.1.1 198.20.0.1 223.255.255.255 168.63.129.17
[2606:4700::1] [2001:200::1] [64:ff9b::808:808] [::ffff:8.8.8.8]""".split()


@pytest.fixture(scope="module")
def strict(request):
    """A duepost that allows public addresses only."""
    from duepost import Duepost
    started = Duepost(allow=None)
    yield started
    started.stop()


@pytest.mark.parametrize("host", PRIVATE)
def test_a_literal_that_is_not_public_is_refused_at_once(strict, topic, host):
    for url in (f"http://{host}/", f"https://{host}:8443/x?y"):
        assert strict.post({"topic": topic, "jobId": "a", "url": url, "delay": 3600}).fields() == ["url"]


@pytest.mark.parametrize("host", PUBLIC)
def test_a_public_literal_is_accepted(strict, topic, host):
    """The job is cancelled long before it is due."""
    strict.schedule(topic=topic, jobId="a", url=f"http://{host}/", delay=3600)
    strict.cancel(topic, "a").expect(200)


@pytest.mark.parametrize("host", ["[fe80::1%25eth0]", "[::1%lo]", "[::1", "1.2.3.4.5:x", "256.256.256.256"])
def test_an_invalid_address_is_refused(server, topic, host):
    assert server.post({"topic": topic, "url": f"http://{host}/", "delay": 3600}).fields() == ["url"]


LOOPBACK_RULE = "leads to 127.0.0.1: loopback (127.0.0.0/8) is not allowed, see --allow-target"


def test_a_name_with_a_private_address_is_dead_at_once(strict, receiver, topic):
    strict.schedule(topic=topic, jobId="a", url=f"http://{private_name()}:{receiver.port}/", retrySchedule=[0.05])
    job = strict.wait_for_state(topic, "a", "dead")
    assert job["reason"] == "target_refused" and job["lastAttempt"]["error"] == "target_refused" and job["attempts"] == 1
    watch(0.5, lambda: not receiver.count(topic), "the receiver got a request that must be refused")

    # The error names the address, the rule and the option, and says that running the job again does not help.
    assert job["lastAttempt"]["errorDetail"] == LOOPBACK_RULE
    assert strict.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"][0]["errorDetail"] == LOOPBACK_RULE
    why = strict.get(f"/jobs/{topic}/a/why").expect(200)["detail"]
    assert LOOPBACK_RULE in why and "POST .../run alone would be refused again" in why and "--allow-target" in why
    assert f'receiver={private_name()}:{receiver.port} attempts=1 error=target_refused error_detail="{LOOPBACK_RULE}"' in strict.log()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "api.localhost"])
def test_localhost_is_refused_at_once(strict, topic, host):
    answer = strict.post({"topic": topic, "url": f"http://{host}:8080/x", "delay": 3600})
    assert answer.fields() == ["url"] and answer.json["errors"][0]["detail"] == LOOPBACK_RULE
    assert strict.request("PUT", f"/topics/{topic}", '{"url": "http://localhost/"}', {"Content-Type": "application/json"}).fields() == ["url"]


@pytest.mark.parametrize("allow", ["localhost", "127.0.0.1", "::1", "*.localhost,localhost"])
def test_localhost_is_accepted_where_one_of_its_addresses_is_allowed(start, topic, allow):
    start(allow=allow).schedule(topic=topic, jobId="a", url="http://localhost/", delay=3600)


def test_names_below_a_name_can_be_allowed(start, receiver, topic):
    server = start(allow="*.localhost")
    server.schedule(topic=topic, jobId="a", url=f"http://a.b.localhost:{receiver.port}/", timeout=20, retry=0)
    job = until(lambda: (job := server.job(topic, "a")) is None or job["state"] == "dead", 25, "an end") and server.job(topic, "a")
    assert job is None or job["lastAttempt"]["error"] in ("dns", "connect")  # libc may or may not resolve the name, but duepost allows the url
    assert server.post({"topic": topic, "url": "http://localhost/"}).fields() == ["url"]


@pytest.mark.parametrize("word", ["all", "any", "*"])
def test_words_for_all_addresses_are_not_host_names(word):
    """duepost would take such a value for the name of a host, and allow only this host."""
    ended = run("--allow-target", word)
    assert ended.returncode == 2 and "0.0.0.0/0,::/0" in ended.stderr


def test_a_name_can_be_allowed(start, receiver, topic):
    server = start(allow="localhost")
    server.schedule(topic=topic, jobId="a", url=f"http://localhost:{receiver.port}/")
    server.wait_for_state(topic, "a", None)
    assert receiver.count(topic) == 1
    assert server.post({"topic": topic, "url": receiver.url()}).fields() == ["url"], "the name, not its address"


def test_a_block_can_be_allowed_by_the_environment(start, receiver, topic):
    server = start(allow=None, extra={"DUEPOST_ALLOW_TARGET": "127.0.0.0/8"})
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    server.schedule(topic=topic, jobId="b", url=f"http://127.1:{receiver.port}/")
    server.wait_for_state(topic, "b", None)
    assert receiver.count(topic) == 2
    assert server.post({"topic": topic, "url": "http://10.0.0.1/"}).fields() == ["url"]


def test_its_own_listener_and_its_redis_are_refused_even_if_allowed(start, redis, topic):
    behind = redis(tcp=True)
    server = start(redis=behind, allow="127.0.0.0/8")  # allows only this address of localhost
    for port in (server.port, behind.port):
        assert server.post({"topic": topic, "url": f"http://127.0.0.1:{port}/jobs", "delay": 60}).fields() == ["url"]
        assert "no option" in server.post({"topic": topic, "url": f"http://localhost:{port}/jobs"}).json["errors"][0]["detail"]
        server.schedule(topic=topic, jobId=f"p{port}", url=f"http://{private_name()}:{port}/jobs")
        job = server.wait_for_state(topic, f"p{port}", "dead")
        assert job["reason"] == "target_refused" and "no option" in job["lastAttempt"]["errorDetail"]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_redis_on_this_host_is_refused_on_each_of_its_addresses(start, redis, receiver, topic, name):
    behind = redis(tcp=True, options=("--bind", "0.0.0.0"))
    server = start(redis=f"redis://{name}:{behind.port}", allow="0.0.0.0/0,::/0,localhost")
    server.reload()
    for host in ("127.0.0.1", "127.0.0.2", "127.9.9.9", "[::ffff:127.0.0.3]", "0.0.0.0"):
        assert server.post({"topic": topic, "url": f"http://{host}:{behind.port}/", "delay": 60}).fields() == ["url"], host
    assert server.post({"topic": topic, "url": f"http://localhost:{behind.port}/"}).fields() == ["url"]
    server.schedule(topic=topic, jobId="well", url=receiver.url())
    server.wait_for_state(topic, "well", None)
    assert receiver.count(topic) == 1


@pytest.mark.parametrize("listen, hosts", [
    ("0.0.0.0:0", ["127.0.0.1", "127.0.0.2", "127.2", "0", "[::ffff:127.0.0.1]"]),
    ("[::]:0", ["[::1]", "[::]", "127.0.0.1", "[::ffff:127.0.0.9]", "0.0.0.0"])])
def test_a_listener_on_all_addresses_is_refused_on_each(start, topic, listen, hosts):
    tokens = TokenFile()
    root = tokens.add("root")
    server = start("--tokens", str(tokens.path), listen=listen, token=root, allow="0.0.0.0/0,::/0,localhost")
    for host in hosts:
        assert server.post({"topic": topic, "url": f"http://{host}:{server.port}/jobs", "delay": 60}).fields() == ["url"], host
        server.schedule(topic=topic, url=f"http://{host}:{server.port + 1 if server.port < 65535 else 1}/jobs", delay=60)
    assert server.post({"topic": topic, "url": f"http://localhost:{server.port}/jobs"}).fields() == ["url"]


def test_redirects_are_not_followed(server, receiver, topic):
    from receiver import Answer
    receiver.script(topic, Answer(302, (("Location", receiver.url("/other")),)))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=0)
    assert server.wait_for_state(topic, "a", "dead")["lastAttempt"]["status"] == 302
    assert [a.target for a in receiver.of(topic)] == ["/hook"]
