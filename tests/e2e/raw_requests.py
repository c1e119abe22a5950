"""Requests as bytes, from the rules of RFC 9112 and RFC 9110, and from known cases of request smuggling. Each request
has a name, its bytes, and the statuses that may answer it. CLOSED means that the connection is closed without an
answer. SECOND is a second request that changes something. It stands at a place where one parser sees a body, or
nothing at all, and another parser sees a request. It must never run, except in LEGAL, where each parser sees a
request."""

import ctypes

SECOND = b"DELETE /jobs/raw/victim HTTP/1.1\r\nHost: localhost\r\n\r\n"
JOB = b'{"topic":"raw","jobId":"first","url":"http://127.0.0.1:9/","delay":600}'
TAKEN = (200, 201)
CLOSED = None

_library = ctypes.CDLL("libmicrohttpd.so.12")  # the version with which duepost runs
_library.MHD_get_version.restype = ctypes.c_char_p
IS_MICROHTTPD_0_9 = _library.MHD_get_version().startswith(b"0.9.")


def request(first, *lines, body=b""):
    return b"\r\n".join((first, *lines)) + b"\r\n\r\n" + body


def post(*lines, body=b"", host=b"Host: localhost"):
    return request(b"POST /jobs HTTP/1.1", host, b"Content-Type: application/json", *lines, body=body)


def chunked(body, *lines):
    return post(*lines, b"Transfer-Encoding: chunked", body=body)


def get(*lines, target=b"/healthz", version=b"HTTP/1.1", host=b"Host: localhost"):
    return request(b"GET " + target + b" " + version, host, *lines)


def length(value):
    return b"Content-Length: " + value


def coding(value):
    return b"Transfer-Encoding: " + value


SIZE = b"%d" % len(SECOND)
SPARE = b"%x" % len(SECOND)
END = b"0\r\n\r\n"
WHOLE = b"%x\r\n%s\r\n" % (len(JOB), JOB) + END

# Two contradictory lengths of the body (RFC 9112, sections 6.1 and 6.3).
LENGTHS = [
    ("length, then coding", post(length(SIZE), coding(b"chunked"), body=END + SECOND), (400,)),
    ("coding, then length", post(coding(b"chunked"), length(b"5"), body=END + SECOND), (400,)),
    ("length of the chunk line only", post(length(b"4"), coding(b"chunked"), body=SPARE + b"\r\n" + SECOND + END), (400,)),
    ("length 0 and coding", post(length(b"0"), coding(b"chunked"), body=END + SECOND), (400,)),
    ("length and coding in other case", post(b"content-length: 5", b"TRANSFER-ENCODING: CHUNKED", body=END + SECOND), (400,)),
    ("length and identity", post(length(SIZE), coding(b"identity"), body=SECOND), (400,)),
    ("length and coding on 1.0", request(b"POST /jobs HTTP/1.0", length(b"5"), coding(b"chunked"), body=END + SECOND), (400,)),
    ("coding on 1.0", request(b"POST /jobs HTTP/1.0", coding(b"chunked"), body=END + SECOND), (400,)),
    ("coding on 1.0, kept alive", request(b"POST /jobs HTTP/1.0", b"Connection: keep-alive", coding(b"chunked"), body=END + SECOND), (400,)),
    ("coding on 1.0 with Host", request(b"POST /jobs HTTP/1.0", b"Host: localhost", coding(b"chunked"), body=WHOLE + SECOND), (400,)),
    ("two lengths", post(length(b"0"), length(SIZE), body=SECOND), (400,)),
    ("two lengths, the other way", post(length(SIZE), length(b"0"), body=SECOND), (400,)),
    ("two equal lengths", post(length(SIZE), length(SIZE), body=SECOND), (400,)),
    ("two lengths in other case", post(length(b"0"), b"CONTENT-LENGTH: " + SIZE, body=SECOND), (400,)),
    ("three lengths", post(length(b"0"), length(b"0"), length(SIZE), body=SECOND), (400,)),
    ("length named in Connection", post(b"Connection: Content-Length", length(SIZE), body=SECOND), (400,)),
    ("coding named in Connection", post(b"Connection: close, Transfer-Encoding", length(SIZE), coding(b"chunked"), body=END + SECOND), (400,)),
]

# Content-Length = 1*DIGIT (RFC 9110, section 8.6).
LENGTH_SPELLINGS = [
    (f"length {name}", post(length(value), body=SECOND), (400,))
    for name, value in [("with plus", b"+" + SIZE), ("with minus", b"-1"), ("minus zero", b"-0"), ("in hex", b"0x2f"), ("with a fraction", b"47.0"),
                        ("as list", b"0, " + SIZE), ("as list of equals", SIZE + b"," + SIZE), ("with exponent", b"4e1"), ("empty", b""),
                        ("a word", b"none"), ("with a space inside", b"4 7"), ("with a tab inside", b"4\t7"), ("with underscore", b"4_7"),
                        ("with a semicolon", b"0;47"), ("in quotes", b'"47"'), ("with a vertical tab", b"0\x0b47"), ("in other digits", "٤٧".encode()),
                        ("with a NUL behind", b"0\x00"), ("with a NUL in front", b"\x00" + SIZE)]
] + [
    ("length over 64 bits", post(length(b"18446744073709551616"), body=SECOND), (413, 400)),
    ("length over 64 bits that wraps to 0", post(length(b"18446744073709551616" + b"0" * 20), body=SECOND), (413, 400)),
    ("length of 2^63", post(length(b"9223372036854775808"), body=SECOND), (413,)),
    ("length just over the maximum", post(length(b"16777217"), body=SECOND), (413,)),
    ("length with zeros in front", post(length(b"000" + SIZE), body=SECOND), (400,)),
]

# Transfer-Encoding that some parsers recognize and others do not (RFC 9112, section 6.1; RFC 9110, section 5.6).
CODING_SPELLINGS = [
    (f"coding {name}", post(length(b"5"), line, body=END + SECOND), (400,))
    for name, line in [("with x in front", coding(b"xchunked")), ("in a list", coding(b"gzip, chunked")), ("not the last", coding(b"chunked, gzip")),
                       ("twice in a list", coding(b"chunked, chunked")), ("with a parameter", coding(b"chunked;q=1")), ("in quotes", coding(b'"chunked"')),
                       ("empty", coding(b"")), ("identity", coding(b"identity")), ("with comma behind", coding(b"chunked,")),
                       ("with a vertical tab in front", coding(b"\x0bchunked")), ("with a form feed behind", coding(b"chunked\x0c")),
                       ("with a NUL behind", coding(b"chunked\x00")), ("with a NUL and more", coding(b"chunked\x00x")), ("with DEL behind", coding(b"chunked\x7f")),
                       ("with a no-break space", coding(b"\xa0chunked")), ("with CR in front", coding(b"\rchunked")), ("with space before its colon", b"Transfer-Encoding : chunked"),
                       ("with tab before its colon", b"Transfer-Encoding\t: chunked"),
                       ("folded", b"Transfer-Encoding:\r\n chunked"), ("folded with a tab", b"Transfer-Encoding: \r\n\tchunked"),
                       ("folded in its name", b"Transfer-\r\n Encoding: chunked"), ("behind a lone LF", b"X: y\nTransfer-Encoding: chunked"),
                       ("behind a lone CR", b"X: y\rTransfer-Encoding: chunked"), ("behind a fold", b"X: y\r\n Transfer-Encoding: chunked"),
                       ("with a space in front", b" Transfer-Encoding: chunked"), ("with a NUL in its name", b"Transfer-Encoding\x00: chunked"),
                       ("with a colon in front", b":Transfer-Encoding: chunked"), ("with 0x80 in front", b"\x80Transfer-Encoding: chunked")]
] + [
    ("two codings", post(coding(b"chunked"), coding(b"identity"), body=END + SECOND), (400,)),
    ("two equal codings", post(coding(b"chunked"), coding(b"chunked"), body=END + SECOND), (400,)),
    ("coding without chunked", post(coding(b"gzip"), body=SECOND), (400,)),
    ("coding with spaces around", post(b"Transfer-Encoding:  \t chunked", body=WHOLE + SECOND), TAKEN),
    ("coding in capitals", post(coding(b"CHUNKED"), body=WHOLE + SECOND), TAKEN),
    ("TE is no coding", post(b"TE: chunked", length(b"%d" % len(JOB)), b"Connection: close", body=JOB + SECOND), TAKEN),
    ("a header like the coding's", post(b"Transfer_Encoding: chunked", length(SIZE), body=SECOND), (400,)),
]

# Chunks (RFC 9112, section 7.1). A lenient parser that continues must not find SECOND.
CHUNKS = [
    ("chunks", chunked(WHOLE + SECOND), TAKEN),
    # libmicrohttpd 1.0.1 reads the line end after an extension as data, and then misses the line end after the chunk.
    ("chunks with extensions", chunked(b"%x;a=b;c=\"d\"\r\n%s\r\n0;e\r\n\r\n" % (len(JOB), JOB) + SECOND), TAKEN if IS_MICROHTTPD_0_9 else (400,)),
    ("chunks with capitals and zeros", chunked(b"000%X\r\n%s\r\n000\r\n\r\n" % (len(JOB), JOB) + SECOND), TAKEN),
    ("chunk size negative", chunked(b"-1\r\n" + SECOND + END), (400,)),
    ("chunk size with plus", chunked(b"+1\r\n{\r\n" + END + SECOND), (400,)),
    ("chunk size with 0x", chunked(b"0x0\r\n\r\n" + SECOND), (400,)),
    ("chunk size empty", chunked(b"\r\n\r\n" + SECOND), (400,)),
    ("chunk size a word", chunked(b"none\r\n\r\n" + SECOND), (400,)),
    ("chunk size only an extension", chunked(b";a=b\r\n\r\n" + SECOND), (400,)),
    ("chunk size with a space in front", chunked(b" 0\r\n\r\n" + SECOND), (400,)),
    ("chunk size with a space behind", chunked(b"0 \r\n\r\n" + SECOND), (400,)),
    ("chunk size with a NUL", chunked(b"0\x00\r\n\r\n" + SECOND), (400,)),
    ("chunk size over 64 bits", chunked(b"10000000000000000\r\n{}\r\n" + END + SECOND), (400, 413)),
    ("chunk size that wraps to 0", chunked(b"100000000000000000\r\n\r\n" + SECOND), (400, 413)),
    ("chunk size of 2^64 - 1", chunked(b"ffffffffffffffff\r\n{}\r\n" + END + SECOND), (400, 413, CLOSED)),
    ("chunk longer than its size", chunked(b"1\r\n{}\r\n" + END + SECOND), (400,)),
    ("chunk shorter than its size", chunked(b"%x\r\n{}\r\n" % (len(SECOND) + 11) + END + SECOND + b"\r\n" + END), (400,)),
    ("chunk without its line end", chunked(b"2\r\n{}" + END + SECOND), (400,)),
    ("chunk lines ended by LF", chunked(b"%x\n%s\n0\n\n" % (len(JOB), JOB) + SECOND), (*TAKEN, 400)),
    ("chunk lines ended by CR", chunked(b"%x\r%s\r0\r\r" % (len(JOB), JOB) + SECOND), (400, CLOSED)),
    ("chunk data ended by LF", chunked(b"%x\r\n%s\n0\r\n\r\n" % (len(JOB), JOB) + SECOND), (*TAKEN, 400)),
    ("chunk extension ended by LF", chunked(b"%x;\n%s\r\n0\r\n\r\n" % (len(JOB), JOB) + SECOND), (*TAKEN, 400)),
    ("last chunk's extension ended by LF", chunked(b"%x\r\n%s\r\n0;\n\r\n" % (len(JOB), JOB) + SECOND), (*TAKEN, 400)),
    ("a chunk in a chunk's extension", chunked(b"0;\n\r\n" + SECOND + b"\r\n"), (*TAKEN, 400)),
    ("a request in a chunk's extension", chunked(b"0;" + SECOND), (400, CLOSED)),
    ("a NUL in a chunk's extension", chunked(b"%x;a\x00b\r\n%s\r\n" % (len(JOB), JOB) + END + SECOND), (*TAKEN, 400)),
    ("trailers", chunked(WHOLE[:-2] + b"X: y\r\n\r\n" + SECOND, b"Trailer: X"), TAKEN),
    ("a length in the trailers", chunked(WHOLE[:-2] + length(SIZE) + b"\r\n\r\n" + SECOND), (*TAKEN, 400)),
    ("a coding in the trailers", chunked(WHOLE[:-2] + coding(b"gzip") + b"\r\n\r\n" + SECOND), (*TAKEN, 400)),
    ("a Host in the trailers", chunked(WHOLE[:-2] + b"Host: y\r\n\r\n" + SECOND), (*TAKEN, 400)),
    ("a type in the trailers only", request(b"POST /jobs HTTP/1.1", b"Host: localhost", coding(b"chunked"),
                                           body=WHOLE[:-2] + b"Content-Type: application/json\r\n\r\n" + SECOND), (415,)),
    ("trailers ended by LF", chunked(WHOLE[:-2] + b"X: y\n\n" + SECOND), (*TAKEN, 400)),
    ("trailers that are none", chunked(WHOLE[:-2] + SECOND), (*TAKEN, 400, CLOSED)),
    ("chunks that never end", chunked(b"%x\r\n%s\r\n" % (len(JOB), JOB)), (CLOSED,)),
]

# Lines and names (RFC 9112, sections 2.2 and 5).
LINES = [
    ("head ended by LF", b"GET /healthz HTTP/1.1\nHost: x\n\n" + SECOND, (400,)),
    ("one line ended by LF", b"POST /jobs HTTP/1.1\r\nHost: x\nContent-Length: " + SIZE + b"\r\n\r\n" + SECOND, (400,)),
    ("request line ended by LF", b"GET /healthz HTTP/1.1\nHost: localhost\r\n\r\n" + SECOND, (400,)),
    ("head ended by CR", b"GET /healthz HTTP/1.1\rHost: x\r\r" + SECOND, (400, 505, CLOSED)),
    ("empty line ended by LF", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n" + SECOND, (400,)),
    ("empty line with two CR", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\r\n" + SECOND, (400,)),
    ("CR in a value", post(b"X: y\rContent-Length: " + SIZE, body=SECOND), (400,)),
    ("CR at the end of a value", post(b"X: y\r", body=SECOND), (400,)),
    ("a folded value", get(b"X: y\r\n z") + SECOND, (400,)),
    ("a folded length", post(b"Content-Length:\r\n " + SIZE, body=SECOND), (400,)),
    ("a fold before the first header", b"GET /healthz HTTP/1.1\r\n X: y\r\nHost: localhost\r\n\r\n" + SECOND, (400,)),
    ("a value folded with a tab", get(b"X: y\r\n\tz") + SECOND, (400,)),
    ("a value folded before it begins", get(b"X:\r\n y") + SECOND, (400,)),
    ("a fold in the last header", get(b"X: y\r\n ") + SECOND, (400,)),
    ("a fold ended by LF", get(b"X: y\n z") + SECOND, (400,)),
    ("a line of tabs", get(b"\t") + SECOND, (400,)),
    ("CR and LF the wrong way", get(b"X: y\n\rContent-Length: " + SIZE) + SECOND, (400,)),
    ("the last line ended by LF", b"GET /healthz HTTP/1.1\r\nHost: localhost\n\r\n" + SECOND, (400,)),
    ("a line of spaces", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n   \r\n\r\n" + SECOND, (400,)),
    ("a header without colon", get(b"Content-Length 47") + SECOND, (400,)),
    ("a header without name", get(b": 47") + SECOND, (400,)),
    ("a header without name and value", get(b":") + SECOND, (400,)),
    ("space before the colon", post(b"Content-Length : " + SIZE, body=SECOND), (400,)),
    ("tab before the colon", post(b"Content-Length\t: " + SIZE, body=SECOND), (400,)),
    ("a space in a name", get(b"X Y: z") + SECOND, (400,)),
    ("a parenthesis in a name", get(b"X(Y): z") + SECOND, (400,)),
    ("a byte over 127 in a name", get(b"X\xc3\xa4: z") + SECOND, (400,)),
    ("a NUL in a name", get(b"X\x00Y: z") + SECOND, (400,)),
    ("a NUL in a value", get(b"X: y\x00z") + SECOND, (400,)),
    ("a NUL at the end of a value", get(b"X: y\x00") + SECOND, (400,)),
    ("a NUL for the CR of a value", post(b"X: y\x00\nContent-Length: " + SIZE, body=SECOND), (400,)),
    ("a NUL for the CR of the empty line", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\x00\nX: y\r\n\r\n" + SECOND, (400,)),
    ("a NUL for the CR of the request line", b"GET /healthz HTTP/1.1\x00\nHost: localhost\r\n\r\n" + SECOND, (400, 505, CLOSED)),
    ("a colon for the CR of the empty line", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n:\nX: y\r\n\r\n" + SECOND, (400,)),
    ("a control byte in a value", get(b"X: y\x01z") + SECOND, (400,)),
    ("DEL in a value", get(b"X: y\x7fz") + SECOND, (400,)),
    ("an escape in a value", get(b"X: y\x1b[2J") + SECOND, (400,)),
    ("two types", post(b"Content-Type: application/json", length(SIZE), body=SECOND), (400,)),
    ("two authorizations", get(b"Authorization: Bearer a", b"Authorization: Bearer b") + SECOND, (400,)),
    ("two idempotency keys", post(b"Idempotency-Key: a", b"Idempotency-Key: b", length(SIZE), body=SECOND), (400,)),
    ("129 headers", get(*[b"X: y"] * 128) + SECOND, (400,)),
    ("3,000 headers", get(*[b"X: y"] * 3000) + SECOND, (431,)),
    ("a header over 16 KiB", get(b"X: " + b"y" * 20000) + SECOND, (431,)),
    ("a name over 16 KiB", get(b"X" * 20000 + b": y") + SECOND, (431,)),
]

# Request line and target (RFC 9112, section 3).
TARGETS = [
    ("two spaces before the target", b"GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400,)),
    ("two spaces before the version", b"GET /healthz  HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400,)),
    ("a space behind the version", b"GET /healthz HTTP/1.1 \r\nHost: localhost\r\n\r\n" + SECOND, (400, 505)),
    ("a tab for a space", b"GET\t/healthz\tHTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400, 505, CLOSED)),
    ("a vertical tab for a space", b"GET\x0b/healthz\x0bHTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400, 505, CLOSED)),
    ("a form feed for a space", b"GET /healthz\x0cHTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400, 505, CLOSED)),
    ("a CR for a space", b"GET\r/healthz\rHTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400, 505, CLOSED)),
    ("a tab behind the version", b"GET /healthz HTTP/1.1\t\r\nHost: localhost\r\n\r\n" + SECOND, (400, 505)),
    ("a space in front", b" GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400, CLOSED)),
    ("a space in the target", b"GET /healthz HTTP/1.1 /x HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400,)),
    ("no target", b"GET HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400, 505)),
    ("no method", b"/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400, 505, CLOSED)),
    ("a method in small letters", b"get /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400,)),
    ("an unknown method", b"BREW /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400,)),
    ("a method that is no token", b"GE(T /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400,)),
    ("a very long method", b"G" * 20000 + b" /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + SECOND, (400, 414, 431, CLOSED)),
    ("a control byte in the target", get(target=b"/health\x01z") + SECOND, (400,)),
    ("a NUL in the target", get(target=b"/healthz\x00/x") + SECOND, (400, CLOSED)),
    ("CR in the target", get(target=b"/healthz\rX: y") + SECOND, (400, 505)),
    ("DEL in the target", get(target=b"/healthz\x7f") + SECOND, (400,)),
    ("a fragment", get(b"Connection: close", target=b"/healthz#x") + SECOND, (404, 400)),
    ("an escaped NUL", get(b"Connection: close", target=b"/jobs/raw/victim%00") + SECOND, (404, 400)),
    ("an escaped slash", get(b"Connection: close", target=b"/jobs/raw%2fvictim") + SECOND, (404, 400)),
    ("an escaped line end", get(b"Connection: close", target=b"/jobs/raw/a%0d%0aX:%20y") + SECOND, (404, 400)),
    ("a broken escape", get(b"Connection: close", target=b"/jobs/raw/%zz") + SECOND, (404, 400)),
    ("dots", get(b"Connection: close", target=b"/x/../healthz") + SECOND, (404, 400)),
    ("two slashes", get(b"Connection: close", target=b"//healthz") + SECOND, (404, 400)),
    ("a target without slash", get(b"Connection: close", target=b"healthz") + SECOND, (404, 400)),
    ("a backslash", get(b"Connection: close", target=b"\\healthz") + SECOND, (404, 400)),
    ("a target of 8,000 bytes", get(b"Connection: close", target=b"/" + b"x" * 8000) + SECOND, (404, 414)),
    ("a target over 16 KiB", get(b"Connection: close", target=b"/" + b"x" * 20000) + SECOND, (404, 414, 431)),
    ("a target over 64 KiB", get(target=b"/" + b"x" * 70000) + SECOND, (414,)),
    ("a control byte in the end of a long target", get(target=b"/healthz?" + b"x" * 20000 + b"\x01y") + SECOND, (400,)),
    ("a line end in the end of a long target", get(target=b"/healthz?" + b"x" * 20000 + b"\nX: y") + SECOND, (400, 505)),
    ("a NUL in the end of a long target", get(target=b"/healthz?" + b"x" * 20000 + b"\x00y") + SECOND, (400, CLOSED)),
    ("a space in the end of a long target", get(target=b"/healthz?" + b"x" * 20000 + b" y") + SECOND, (400,)),
    ("the absolute form", get(b"Connection: close", target=b"http://x/healthz") + SECOND, (200,)),
    ("the absolute form, another authority", get(b"Connection: close", target=b"http://y/healthz", host=b"Host: localhost") + SECOND, (200, 400)),
    ("the absolute form with https", get(b"Connection: close", target=b"HTTPS://x:443/healthz?a") + SECOND, (200, 400)),
    ("the absolute form without path", get(b"Connection: close", target=b"http://x") + SECOND, (404, 400)),
    ("the absolute form of another scheme", get(b"Connection: close", target=b"ftp://x/healthz") + SECOND, (404, 400)),
    ("the authority form", request(b"CONNECT x:80 HTTP/1.1", b"Host: x:80", b"Connection: close") + SECOND, (404, 405, 400)),
    ("the asterisk form", request(b"OPTIONS * HTTP/1.1", b"Host: localhost", b"Connection: close") + SECOND, (200, 204, 404, 405, 400)),
    ("TRACE", request(b"TRACE /healthz HTTP/1.1", b"Host: localhost", b"Connection: close") + SECOND, (405,)),
    ("HTTP/0.9", b"GET /healthz\r\n" + SECOND, (400, 505, CLOSED)),
    ("HTTP/1.2", get(version=b"HTTP/1.2") + SECOND, (200, 400, 505)),
    ("HTTP/2.0", get(version=b"HTTP/2.0") + SECOND, (400, 505)),
    ("HTTP/1.10", get(version=b"HTTP/1.10") + SECOND, (400, 505)),
    ("HTTP/01.1", get(version=b"HTTP/01.1") + SECOND, (400, 505)),
    ("http/1.1", get(version=b"http/1.1") + SECOND, (400, 505)),
    ("HTTP/1", get(version=b"HTTP/1") + SECOND, (400, 505)),
    ("HTTP/1,1", get(version=b"HTTP/1,1") + SECOND, (400, 505)),
    ("another protocol", get(version=b"ICY/1.1") + SECOND, (400, 505)),
    ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + SECOND, (400, 505)),
    ("TLS", b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"\x00" * 200 + b"\r\n\r\n", (400, 505, CLOSED)),
    ("the protocol of proxies", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" + SECOND, (400, 505, CLOSED)),
    ("nothing but letters", b"a" * 20000, (400, 414, 431, CLOSED)),
]

# Host (RFC 9112, section 3.2; RFC 9110, section 7.2).
HOSTS = [
    ("no Host", request(b"GET /healthz HTTP/1.1") + SECOND, (400,)),
    ("no Host with the absolute form", request(b"GET http://x/healthz HTTP/1.1") + SECOND, (400,)),
    ("two Hosts", get(b"Host: y") + SECOND, (400,)),
    ("two equal Hosts", get(b"Host: localhost") + SECOND, (400,)),
    ("two Hosts on 1.0", get(b"Host: y", version=b"HTTP/1.0") + SECOND, (400,)),
] + [
    (f"Host with {name}", get(host=b"Host: " + value) + SECOND, (400,))
    for name, value in [("a space", b"x y"), ("a comma and a space", b"x, y"), ("a path", b"x/y"), ("userinfo", b"u@x"), ("a port that is none", b"x:y"),
                        ("two ports", b"x:1:2"), ("a bracket open", b"[::1"), ("a byte over 127", b"\xc3\xa4"), ("quotes", b'"x"'), ("a query", b"x?y"),
                        ("a fragment", b"x#y"), ("a scheme", b"http://x"), ("a backslash", b"x\\y")]
] + [
    ("an empty Host", get(b"Connection: close", host=b"Host:") + SECOND, (200,)),
    ("Host with a port", get(b"Connection: close", host=b"Host: x:7700") + SECOND, (200,)),
    ("Host of IPv6", get(b"Connection: close", host=b"Host: [::1]:7700") + SECOND, (200,)),
    ("no Host on 1.0", request(b"GET /healthz HTTP/1.0") + SECOND, (200,)),
]

# Bodies of requests that usually have none, and connections that end (RFC 9110, sections 9.3 and 10.1.1; RFC 9112,
# section 9).
BODIES = [
    ("GET with a body", get(b"Connection: close", length(SIZE)) + SECOND, (200,)),
    ("GET with a body, kept", get(length(SIZE)) + SECOND, (200,)),
    ("GET with chunks", get(coding(b"chunked")) + SPARE + b"\r\n" + SECOND + b"\r\n" + END, (200,)),
    ("HEAD with a body", request(b"HEAD /healthz HTTP/1.1", b"Host: localhost", length(SIZE)) + SECOND, (200,)),
    ("DELETE with a body", request(b"DELETE /jobs/raw/nobody HTTP/1.1", b"Host: localhost", length(SIZE)) + SECOND, (404,)),
    ("OPTIONS with a body", request(b"OPTIONS /healthz HTTP/1.1", b"Host: localhost", length(SIZE)) + SECOND, (405,)),
    ("TRACE with a body", request(b"TRACE /healthz HTTP/1.1", b"Host: localhost", length(SIZE)) + SECOND, (405, 400)),
    ("CONNECT with a body", request(b"CONNECT x:80 HTTP/1.1", b"Host: localhost", length(SIZE)) + SECOND, (404, 400)),
    ("an unknown path with a body", request(b"POST /nothing HTTP/1.1", b"Host: localhost", length(SIZE)) + SECOND, (404,)),
    ("a wrong type with a body", request(b"POST /jobs HTTP/1.1", b"Host: localhost", b"Content-Type: text/plain", length(SIZE)) + SECOND, (415,)),
    ("a body that is no job", post(length(SIZE)) + SECOND, (400,)),
    ("a body that is too long", post(length(b"16777300")) + SECOND, (413,)),
    ("a body that is shorter than its length", post(length(b"%d" % (len(SECOND) + 9))) + SECOND, (CLOSED,)),
    ("a body on 1.0 without length", request(b"POST /jobs HTTP/1.0", b"Content-Type: application/json") + SECOND, (400,)),
    ("Connection: close", get(b"Connection: close") + SECOND, (200,)),
    ("Connection: Close", get(b"Connection: Close") + SECOND, (200,)),
    ("1.0 without keep-alive", get(version=b"HTTP/1.0") + SECOND, (200,)),
    ("an expectation that is not met", post(b"Expect: 100-continue", length(b"16777217")) + SECOND, (413,)),
    ("an expectation on 1.0", request(b"POST /jobs HTTP/1.0", b"Content-Type: application/json", b"Expect: 100-continue", length(b"%d" % len(JOB)), body=JOB + SECOND), TAKEN),
    ("an unknown expectation", get(b"Connection: close", b"Expect: the-unexpected") + SECOND, (200, 417)),
    ("an upgrade to h2c", get(b"Connection: Upgrade, HTTP2-Settings, close", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk") + SECOND, (200,)),
    ("an upgrade to WebSocket", get(b"Connection: Upgrade, close", b"Upgrade: websocket", b"Sec-WebSocket-Key: eA==", b"Sec-WebSocket-Version: 13") + SECOND, (200,)),
    ("another method by header", request(b"POST /jobs/raw/nobody/run HTTP/1.1", b"Host: localhost", b"X-HTTP-Method-Override: DELETE", b"X-Original-URL: /jobs/raw/victim",
                                         b"X-Rewrite-URL: /jobs/raw/victim", b"Connection: close") + SECOND, (404,)),
    ("a range", get(b"Range: bytes=0-1", b"Connection: close") + SECOND, (200, 206)),
]

NEVER = LENGTHS + LENGTH_SPELLINGS + CODING_SPELLINGS + CHUNKS + LINES + TARGETS + HOSTS + BODIES

# Here SECOND is a request, and runs. This shows that the other tests would notice SECOND if it ran.
LEGAL = [
    ("one after the other", get() + SECOND, (200,)),
    ("behind a body", post(length(b"%d" % len(JOB)), body=JOB) + SECOND, TAKEN),
    ("behind a refused job", post(length(b"2"), body=b"{}") + SECOND, (400,)),
    ("behind an unknown path", get(target=b"/nothing") + SECOND, (404,)),
    ("behind length 0", request(b"POST /jobs/raw/nobody/run HTTP/1.1", b"Host: localhost", length(b"0")) + SECOND, (404,)),
    ("behind an empty line", b"\r\n" + get() + SECOND, (200,)),
    ("behind values with spaces around", get(b"X: \t y \t", b"X:", b"X: \t", b"X: y\tz", b"X: y ") + SECOND, (200,)),
    ("behind 1.0 with keep-alive", get(b"Connection: keep-alive", version=b"HTTP/1.0") + SECOND, (200,)),
]
