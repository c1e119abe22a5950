"""Valid bodies and connections of HTTP. test_http_raw.py has invalid requests."""

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def post(*lines, body=b""):
    return b"POST /jobs HTTP/1.1\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def test_sound_requests_one_after_the_other_are_answered_in_order(server):
    answer = server.raw(HEALTH * 2 + b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", check=False)
    assert [piece[:3] for piece in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"404"]


def test_a_chunked_body_is_read(server, topic):
    text = b'{"topic":"%s","url":"http://127.0.0.1:9/","delay":60}' % topic.encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(text[i:i + 7]), text[i:i + 7]) for i in range(0, len(text), 7))
    answer = server.raw(post(b"Host: localhost", b"Content-Type: application/json", b"Transfer-Encoding: chunked", b"Connection: close",
                             body=chunks + b"0\r\n\r\n"), "POST", "/jobs")
    assert answer.startswith(b"HTTP/1.1 201 ")


def test_expect_100_continue_is_answered_100_or_with_the_error(server, topic):
    body = b'{"topic":"%s","url":"http://127.0.0.1:9/","delay":60}' % topic.encode()

    def ask(size):
        return post(b"Host: localhost", b"Content-Type: application/json", b"Expect: 100-continue", b"Connection: close",
                    b"Content-Length: %d" % size)
    answer = server.raw(ask(len(body)) + body, check=False)
    assert b"HTTP/1.1 201 " in answer
    assert server.raw(ask((16 << 20) + 1), "POST", "/jobs").startswith(b"HTTP/1.1 413 ")


def test_a_client_of_http_1_0_is_served(server):
    assert server.raw(b"GET /healthz HTTP/1.0\r\n\r\n", "GET", "/healthz").split()[1] == b"200"
