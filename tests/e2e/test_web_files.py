"""How the files of the dashboard are served. tests/web runs its pages in a browser."""

import gzip
import re

import pytest

from duepost import ROOT

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


def page(server, **headers):
    return server.request("GET", "/", headers=headers, check=False)


def files(server):
    """Returns the addresses of all files that the page itself names."""
    found = re.findall(r'(?:src|href)="(web/[^"]+)"', page(server).body.decode())
    assert found
    return ["/" + path for path in found]


def test_the_page_is_served_compressed_and_plain(server):
    plain, compressed = page(server), page(server, **GZIP)
    assert plain.status == compressed.status == 200
    assert "Content-Encoding" not in plain.headers and compressed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.body) == plain.body
    assert plain.headers["Content-Type"] == "text/html; charset=utf-8" and plain.headers["Cache-Control"] == "no-cache"
    assert plain.headers["ETag"] != compressed.headers["ETag"]
    for refusal in "gzip;q=0", "br", "identity", "*, gzip;q=0", "*;q=0":
        assert page(server, **{"Accept-Encoding": refusal}).body == plain.body
    for wish in "*;q=0, gzip", "br, *", "GZIP;q=0.1":
        assert page(server, **{"Accept-Encoding": wish}).body == compressed.body


def test_a_page_that_is_known_is_not_sent_again(server):
    tag = page(server, **GZIP).headers["ETag"]
    again = page(server, **GZIP, **{"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"") and again.headers["ETag"] == tag
    assert page(server, **GZIP, **{"If-None-Match": f"W/{tag}"}).status == 304
    assert page(server, **GZIP, **{"If-None-Match": '"other"'}).status == 200


def test_head_tells_the_length_only(server):
    head = server.request("HEAD", "/", headers=GZIP, check=False)
    assert head.status == 200 and head.body == b"" and int(head.headers["Content-Length"]) == len(page(server, **GZIP).body)


def test_files_are_kept_for_ever(server):
    for path in files(server):
        reply = server.request("GET", path, headers=GZIP, check=False)
        assert reply.status == 200, path
        assert "immutable" in reply.headers["Cache-Control"] and reply.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(reply.body)


def test_the_policy_lets_a_browser_load_nothing_from_other_hosts(server):
    for path in "/", files(server)[-1]:
        headers = server.request("GET", path, headers=GZIP, check=False).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"


def test_other_paths_are_not_found(server):
    known = files(server)[0]
    other_hash = re.sub(r"/web/[0-9a-f]+/", "/web/0123456789abcdef/", known)
    for path in known + "x", other_hash, "/web/x/..%2Findex.html", "/web", "/web/x", "/web/a/b/c/d", "/index.html":
        assert server.request("GET", path, headers=GZIP, check=False).status == 404, path


def test_a_client_without_gzip_gets_406(server):
    assert server.request("GET", files(server)[0], headers={"Accept-Encoding": "identity"}, check=False).status == 406


def test_only_reading_is_allowed(server):
    reply = server.request("POST", "/", b"", check=False)
    assert reply.status == 405 and reply.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("path, media", [("/openapi.yaml", "application/yaml"), ("/docs", "text/html; charset=utf-8")])
def test_the_contract_and_its_page_are_served(server, path, media):
    plain, compressed = (server.request("GET", path, headers=headers, check=False) for headers in ({}, GZIP))
    assert plain.status == compressed.status == 200 and plain.headers["Content-Type"] == compressed.headers["Content-Type"] == media
    assert gzip.decompress(compressed.body) == plain.body and compressed.headers["ETag"] != plain.headers["ETag"]
    assert server.request("GET", path, headers={"If-None-Match": plain.headers["ETag"]}, check=False).status == 304
    assert "default-src 'self'" in plain.headers["Content-Security-Policy"]
    if path == "/openapi.yaml":
        assert plain.body == (ROOT / "api/openapi.yaml").read_bytes()


def test_all_files_of_the_docs_are_there(server):
    page = server.request("GET", "/docs", check=False).body.decode()
    for path in re.findall(r'(?:src|href)="(web/[^"]+)"', page):
        assert server.request("GET", f"/{path}", headers=GZIP, check=False).status == 200, path


@pytest.mark.parametrize("path", ["/", None], ids=["page", "file"])
def test_pages_of_other_sites_see_nothing(server, path):
    path = path or files(server)[0]
    assert server.request("GET", path, headers={**GZIP, "Host": "other.example"}, check=False).status == 403


def test_the_dashboard_can_be_switched_off(start):
    assert start("--dashboard", "off").request("GET", "/", check=False).status == 404
