"""Requests whose framing is not sound never reach a handler: one 400, and the connection is closed."""

import pytest

SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def post(*lines, body=b""):
    return b"POST /jobs HTTP/1.1\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


REFUSED = {
    "both lengths": post(b"Host: x", b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
    "two lengths": post(b"Host: x", b"Content-Length: 0", b"Content-Length: 34"),
    "equal lengths": post(b"Host: x", b"Content-Length: 0", b"Content-Length: 0"),
    "space before colon": post(b"Host: x", b"Content-Length : 0"),
    "two codings": post(b"Host: x", b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", body=b"0\r\n\r\n"),
    "unknown coding": post(b"Host: x", b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
    "hidden coding": post(b"Host: x", b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
    "no host": post(b"Content-Length: 0"),
    "two hosts": post(b"Host: x", b"Host: y", b"Content-Length: 0"),
    "two types": post(b"Host: x", b"Content-Type: application/json", b"Content-Type: application/json", b"Content-Length: 0"),
    "two authorizations": post(b"Host: x", b"Authorization: a", b"Authorization: b", b"Content-Length: 0"),
    "name is no token": post(b"Host: x", b"X(y: 1", b"Content-Length: 0"),
    "control byte": post(b"Host: x", b"X: a\x01b", b"Content-Length: 0"),
    "coding on 1.0": b"POST /jobs HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "unknown version": b"GET /healthz HTTP/1.7\r\nHost: x\r\n\r\n",
    "unknown method": b"BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsound_framing_is_refused_and_nothing_behind_it_runs(server, name):
    answer = server.raw(REFUSED[name] + SMUGGLED)
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert answer.count(b"HTTP/1.1 ") == 1, answer


def test_what_the_parser_itself_refuses_is_closed_too(server):
    for data in (b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"):
        answer = server.raw(data + SMUGGLED, check=False)
        assert answer.count(b"HTTP/1.1 200") == 0, answer


def test_sound_requests_one_after_the_other_are_answered_in_order(server):
    answer = server.raw(SMUGGLED * 2 + b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", check=False)
    assert [piece[:3] for piece in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"404"]


def test_a_chunked_body_is_read(server, topic):
    text = b'{"topic":"%s","url":"http://127.0.0.1:9/","delay":60}' % topic.encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(text[i:i + 7]), text[i:i + 7]) for i in range(0, len(text), 7))
    answer = server.raw(post(b"Host: x", b"Content-Type: application/json", b"Transfer-Encoding: chunked", b"Connection: close",
                             body=chunks + b"0\r\n\r\n"), "POST", "/jobs")
    assert answer.startswith(b"HTTP/1.1 201 ")


def test_a_client_that_asks_first_is_told_to_go_on_or_not(server, topic):
    body = b'{"topic":"%s","url":"http://127.0.0.1:9/","delay":60}' % topic.encode()

    def ask(size):
        return post(b"Host: x", b"Content-Type: application/json", b"Expect: 100-continue", b"Connection: close",
                    b"Content-Length: %d" % size)
    answer = server.raw(ask(len(body)) + body, check=False)
    assert b"HTTP/1.1 201 " in answer
    assert server.raw(ask((16 << 20) + 1), "POST", "/jobs").startswith(b"HTTP/1.1 413 ")


def test_a_client_of_http_1_0_is_served(server):
    assert server.raw(b"GET /healthz HTTP/1.0\r\n\r\n", "GET", "/healthz").split()[1] == b"200"
