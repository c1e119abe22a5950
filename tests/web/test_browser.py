"""The browser of these tests detects violations: each page here does something that no page of the dashboard may do."""

import http.server
import threading
import types

import pytest

import axe
from patience import until

CSP = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
PAGES = {
    "/fine": ("", "<h1>Fine</h1><button id=b>Press</button><script src=/fine.js></script>"),
    "/fine.js": ("", "document.getElementById('b').onclick = () => { document.querySelector('h1').textContent = 'Pressed' }"),
    "/inline": (CSP, "<script>document.title = 'ran'</script>"),
    "/style": (CSP, "<p style='color: red'>text</p>"),
    "/eval": (CSP, "<script src=/eval.js></script>"),
    "/eval.js": ("", "eval('1')"),
    "/elsewhere": ("", "<img src='http://elsewhere.example/picture.png' alt=''>"),
    "/planted": ("", "<img src='data:,' alt='' onerror='executed(1)'>"),
    "/alert": ("", "<script>alert(1)</script>"),
    "/error": ("", "<script>nothing.here</script>"),
    "/rejection": ("", "<script>Promise.reject(new Error('unwanted'))</script>"),
    "/404": ("", "<script src=/missing.js></script>"),
    "/contrast": ("", "<!doctype html><html lang=en><title>t</title><main><h1>t</h1><p style='color: #ccc; background: #fff'>pale</p></main>"),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        policy, text = PAGES.get(self.path, (None, ""))
        self.send_response(404 if policy is None and self.path != "/favicon.ico" else 200)
        self.send_header("Content-Type", "text/javascript" if self.path.endswith(".js") else "text/html")
        if policy:
            self.send_header("Content-Security-Policy", policy)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield types.SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path,fault", [
    ("inline", "policy violated: script-src-elem"), ("style", "policy violated: style-src-attr"), ("eval", "policy violated: script-src"),
    ("elsewhere", "request to elsewhere: http://elsewhere.example"), ("planted", "executed: 1"), ("alert", "executed: alert 1"),
    ("error", "nothing is not defined"), ("rejection", "unhandled rejection: Error: unwanted"), ("404", "404"),
])
def test_a_page_with_a_fault_fails(browser, site, path, fault):
    browser.open(site, path)
    until(lambda: any(fault in text for text in browser.faults()), 10, lambda: f"{fault}, found {browser.faults()}")
    browser.expect(".")
    browser.requests = []  # forgets this request to another host, which check() would otherwise report again


def test_a_page_without_faults_passes(browser, site):
    browser.open(site, "fine")
    browser.click("button", "press")
    browser.await_one("heading", "Pressed", exact=True)
    browser.await_none("heading", "Fine")
    assert browser.requested() == [f"{site.url}/fine", f"{site.url}/fine.js"] or browser.requested("favicon")
    assert browser.transferred()[f"{site.url}/fine.js"] > len(PAGES["/fine.js"][1])


def test_axe_finds_what_is_hard_to_read(browser, site):
    browser.open(site, "contrast")
    found = axe.faults(browser, axe.source())
    assert [text.split(":")[0] for text in found] == ["color-contrast"], found
