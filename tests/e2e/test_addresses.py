"""No packet goes to an address that is not public, however a url or a name server spells it: in a network where each
address answers, and each packet is seen."""

import codecs
import contextlib
import ipaddress
import json
import pathlib
import re

import pytest

from field import Field
from forward_proxy import ForwardProxy
from name_server import NXDOMAIN, SERVFAIL, SILENCE, Alias
from network import Unavailable
from patience import until
from receiver import Receiver

TABLE = pathlib.Path(__file__).parents[1] / "support" / "targets.txt"
PRIVATE, PUBLIC = "10.6.6.6", "8.8.4.4"


def table(*verdicts):
    """Returns the urls of the table as bytes."""
    for line in TABLE.read_text().splitlines():
        verdict, _, url = line.partition(" ")
        if verdict in verdicts:
            yield codecs.escape_decode(url.strip())[0]


@contextlib.contextmanager
def network(names=None):
    try:
        field = Field(names)
    except Unavailable as why:
        pytest.skip(str(why))
    try:
        with field:
            receiver = Receiver(hosts=("0.0.0.0", "::"), port=80)
            try:
                yield field, receiver
            finally:
                receiver.stop()
    finally:
        field.close()


def schedule(server, topic, job_id, url, **members):
    text = json.dumps({"topic": topic, "jobId": job_id, "retry": 0, "timeout": 5, **members, "url": "URL"})
    try:
        spelt = json.dumps(url.decode())
    except UnicodeDecodeError:  # JSON texts cannot have bytes that are not UTF-8
        spelt = f'"{url.decode("latin-1")}"'
    return until(lambda: _answered(server.post(text.encode().replace(b'"URL"', spelt.encode("latin-1")))), 20, "an answer other than 503")


def _answered(reply):
    """Returns None for 503, so that the caller repeats the request: Redis may be slow if the disk is busy."""
    return reply if reply.status != 503 else None


def set_paused(server, topic, paused):
    server.request("PATCH", f"/topics/{topic}", json.dumps({"paused": paused or None}),
                   {"Content-Type": "application/merge-patch+json"}).expect(200)


def host_of(url):
    return re.match(rb"(?i)https?://([^/?:]+)", url)[1].decode().lower().rstrip(".")


def test_urls_in_every_spelling_lead_to_public_addresses_only(topic):
    """Every url that can be scheduled is scheduled, and becomes due. The names resolve to a private address."""
    with network({"*": [[PRIVATE, "fc00::6"]]}) as (field, receiver):
        server = field.start(allow=None)
        for url in table("invalid", "refused"):
            schedule(server, topic, "no", url).expect(400)
        public = list(table("public"))
        local, names = [], []
        for url in table("name"):
            (local if "localhost" in host_of(url).split(".") else names).append(url)
        for url in local:
            schedule(server, topic, "no", url).expect(400)
        for i, url in enumerate(public + names):
            schedule(server, topic, str(i), url).expect(201)
        for i, url in enumerate(public):
            server.wait_for_state(topic, str(i), None)
        for i, url in enumerate(names, len(public)):
            job = server.wait_for_state(topic, str(i), "dead")
            assert job["lastAttempt"]["error"] == ("dns" if b"//-" in url else "target_refused"), url  # libc refuses a leading hyphen
        assert receiver.count(topic) == len(public) > 50
        assert field.forbidden() == {}
        heard = {address for address, count in field.heard.items() if count > 2}
        assert {"8.8.8.8", "64:ff9b::808:808", "2606:4700::1111", "223.255.255.255", "2000::"} <= heard, "nothing was counted"
        unasked = {name for name in map(host_of, names) if not field.name_server.asked[name]}
        assert local and all(name.startswith("-") for name in unasked), unasked


def test_an_address_that_was_allowed_at_the_post_is_checked_again_when_due(tmp_path, topic):
    """Here POST accepts addresses in urls, so only the check before the connection can refuse them."""
    with network() as (field, receiver):
        config = tmp_path / "duepost.conf"
        config.write_text("allow-target = 0.0.0.0/0,::/0\n")
        server = field.start("--config", str(config), allow=None)
        urls = list(table("refused"))
        schedule(server, topic, "control", b"http://10.0.0.99/").expect(201)
        server.wait_for_state(topic, "control", None)
        assert receiver.count(topic) == 1 and set(field.forbidden()) == {"10.0.0.99"}, "this is what packets look like"
        set_paused(server, topic, True)
        for i, url in enumerate(urls):
            schedule(server, topic, str(i), url).expect(201)
        config.write_text("")
        server.reload()
        set_paused(server, topic, False)
        for i, url in enumerate(urls):
            assert server.wait_for_state(topic, str(i), "dead")["reason"] == "target_refused", url
        assert set(field.forbidden()) == {"10.0.0.99"} and receiver.count(topic) == 1


def parse(text):
    try:
        return ipaddress.ip_address(text)
    except ValueError:  # for example 127.1, which resolvers accept as an address, and Python does not
        return None


def test_names_for_every_range_that_is_not_public(topic):
    """Each address of the table gets two names: one name resolves to it directly, the other through an
    alias."""
    hosts = {re.match(rb"(?i)https?://\[?([0-9a-f:.]+)\]?/", url)[1].decode() for url in table("refused")
             if re.match(rb"(?i)https?://([0-9.]+|\[[0-9a-f:.]+\])/", url)}
    addresses = sorted({str(address) for address in map(parse, hosts) if address})
    names = {f"a{i}.example": [[address]] for i, address in enumerate(addresses)}
    names |= {f"b{i}.example": [[Alias(f"a{i}.example")]] for i in range(len(addresses))}
    names["good.example"] = [[PUBLIC]]
    with network(names) as (field, receiver):
        server = field.start(allow=None)
        for i, name in enumerate(names):
            schedule(server, topic, str(i), f"http://{name}/".encode()).expect(201)
        for i, name in enumerate(names):
            if name != "good.example":
                assert server.wait_for_state(topic, str(i), "dead")["reason"] == "target_refused", names[name]
        until(lambda: receiver.count(topic), 5, "the good one")
        assert field.forbidden() == {} and len(addresses) > 60 and field.heard[PUBLIC]


V4, V6 = ["10.1.1.1", "127.0.0.1", "169.254.169.254", "192.168.1.1", "0.0.0.0"], ["::1", "fc00::1", "fe80::1", "::ffff:10.0.0.1"]
GOOD4, GOOD6 = "8.8.8.8", "2606:4700::8"
CASES = {
    # name: (its DNS answers; the error of its job, or None if the job is delivered; the addresses that get packets)
    "mixed": ([[*V4, GOOD4, *V6]], None, {GOOD4}),
    "mixed the other way": ([[GOOD4, *V4, *V6]], None, {GOOD4}),
    "mixed six": ([[*V6, GOOD6, *V4]], None, {GOOD6}),
    "private six, public four": ([["::1", "fd00::1", GOOD4]], None, {GOOD4}),
    "public six, private four": ([["10.0.0.1", GOOD6]], None, {GOOD6}),
    "both": ([[GOOD4, GOOD6]], None, {GOOD4, GOOD6}),
    "only private": ([[*V4, *V6]], "target_refused", set()),
    "nat64 of private": ([["64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1"]], "target_refused", set()),
    "nat64 of public": ([["64:ff9b::8.8.8.8", "64:ff9b::10.0.0.1"]], None, {"64:ff9b::808:808"}),
    "6to4 and Teredo": ([["2002:a00:1::", "2001:0:a00:1::1"]], "target_refused", set()),
    "very many": ([[f"10.0.{i}.1" for i in range(250)] + [GOOD4]], None, {GOOD4}),
    "very many private": ([[f"10.0.{i}.1" for i in range(250)]], "target_refused", set()),
    "alias to private": ([[Alias("only-private.example")]], "target_refused", set()),
    "aliases": ([[Alias("alias-to-private.example")]], "target_refused", set()),
    "alias to public": ([[Alias("mixed.example")]], None, {GOOD4}),
    "alias to localhost": ([[Alias("localhost")]], "target_refused", set()),
    "none": ([NXDOMAIN], "dns", set()),
    "failing": ([SERVFAIL], "dns", set()),
    "empty": ([[]], "dns", set()),
    "silent": ([SILENCE], "timeout", set()),
}


@pytest.mark.parametrize("case", CASES)
def test_only_the_public_addresses_of_a_name_are_connected_to(case, topic):
    names = {name.replace(",", "").replace(" ", "-").lower() + ".example": answers for name, (answers, _, _) in CASES.items()}
    _, error, heard = CASES[case]
    with network({**names, "localhost": [["127.0.0.1"]]}) as (field, receiver):
        server = field.start(allow=None)
        name = case.replace(",", "").replace(" ", "-").lower() + ".example"
        schedule(server, topic, "a", f"http://{name}/".encode(), timeout=2).expect(201)
        if error:
            assert server.wait_for_state(topic, "a", "dead", 20)["lastAttempt"]["error"] == error
        else:
            server.wait_for_state(topic, "a", None)
        assert field.forbidden() == {}
        assert receiver.count(topic) == (0 if error else 1)
        connected = {address for address in field.heard if address != "9.9.9.10"}
        assert connected <= heard and (connected or not heard)


def test_a_public_address_that_does_not_answer_leads_to_no_private_one(topic):
    """The public address does not answer, so duepost goes on to the name's other addresses, which are all
    private."""
    with network({"a.example": [[GOOD4, *V4, *V6]]}) as (field, receiver):
        server = field.start(allow=None)
        schedule(server, topic, "a", b"http://a.example:81/").expect(201)
        assert server.wait_for_state(topic, "a", "dead")["lastAttempt"]["error"] == "connect"
        assert field.forbidden() == {} and field.heard[GOOD4]


def test_an_answer_that_flips_is_judged_each_time(topic):
    """DNS rebinding: a name is public when it is checked, and private at a second lookup. There is no second lookup
    for one connection, and duepost connects to the address that it has checked."""
    turns = [[[GOOD4], [PRIVATE]], [[PRIVATE], [GOOD4]], [[GOOD4], [PRIVATE], [GOOD4], ["127.0.0.1"]]]
    names = {f"{i}.flip.example": turns[i % len(turns)] for i in range(30)}
    with network(names) as (field, receiver):
        server = field.start("--breaker", "off", allow=None)
        for turn in range(3):
            for i in range(30):
                schedule(server, topic, f"{turn}.{i}", f"http://{i}.flip.example/".encode(), headers={"Connection-Is": "new"}).expect(201)
        for i in range(30):
            for turn in range(3):
                until(lambda: (server.job(topic, f"{turn}.{i}") or {"state": "dead"})["state"] == "dead", 10, "the job has ended")
        assert field.forbidden() == {} and field.heard[GOOD4]
        assert 0 < receiver.count(topic) < 90


def test_a_connection_is_not_used_again_once_its_address_is_not_allowed(tmp_path, topic):
    with network({"hook.example": [[PRIVATE]]}) as (field, receiver):
        config = tmp_path / "duepost.conf"
        config.write_text("allow-target = 10.0.0.0/8\n")
        server = field.start("--config", str(config), "--reactors", "1", allow=None)  # each reactor has its own connections
        set_paused(server, topic + "later", True)
        for i, url in enumerate((b"http://hook.example/", b"http://10.6.6.6/")):
            for job_id in "ab":
                schedule(server, topic, job_id + str(i), url).expect(201)
                server.wait_for_state(topic, job_id + str(i), None)
            schedule(server, topic + "later", str(i), url).expect(201)
        connections = [arrival.connection for arrival in receiver.of(topic)]
        assert len(connections) == 4 and len(set(connections)) == 2, "they are not used again, so nothing is shown"
        before = field.said[PRIVATE]
        assert before > 0 and field.forbidden()
        config.write_text("")
        server.reload()
        set_paused(server, topic + "later", False)
        for i in range(2):
            assert server.wait_for_state(topic + "later", str(i), "dead")["reason"] == "target_refused"
        assert set(field.forbidden()) == {PRIVATE} and field.said[PRIVATE] == before, "closing is all that it may say there"
        assert len(receiver.arrivals) == 4


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_a_retry_goes_to_the_new_address_of_a_name(topic, scheme):
    """The receiver has moved: nothing listens at the first address. The own client leaves the second url to libcurl."""
    with network({"moved.example": [["8.8.4.4"], ["8.8.8.8"]]}) as (field, receiver):
        del receiver  # it answers at port 80 of all addresses
        there = Receiver(hosts=("8.8.8.8",), port=8080)
        server = field.start(allow=None)
        schedule(server, topic, "a", f"{scheme}://moved.example:8080/".encode(), retry=1, retryWait="100")
        server.wait_for_state(topic, "a", None)
        assert [arrival.attempt for arrival in there.of(topic)] == [2]
        there.stop()


def test_the_name_of_a_proxy_is_looked_up_again(topic):
    with network({"proxy.example": [["8.8.4.4"], ["8.8.8.8"]]}) as (field, receiver):
        with contextlib.closing(ForwardProxy({"hook.example": ("127.0.0.1", 80)}, address=("8.8.8.8", 3128))) as proxy:
            server = field.start("--egress-proxy", "http://proxy.example:3128", allow=None)
            schedule(server, topic, "a", b"http://hook.example/", retry=1, retryWait="100")
            server.wait_for_state(topic, "a", None)
            assert proxy.targets() == ["http://hook.example/"] and receiver.count(topic) == 1
