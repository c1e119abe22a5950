"""Behind a proxy that changes paths, the dashboard says so."""

import pytest

from fronts import NGINX_COMMAND, NGINX_PLAIN, Front

PATH = 'if ($request_uri !~ "^/duepost(?<path>/.*)$") {{ return 404; }} '
PASS = "proxy_pass http://127.0.0.1:{behind}$path;"
PROXIES = {
    "passes": (PATH + PASS, None),
    "decodes": ("proxy_pass http://127.0.0.1:{behind}/;", "A proxy changes the path a%2F..%2Fb%252Fc//d to b%252Fc/d. An action on a job can reach"),
    "refuses": (PATH + 'if ($path ~ "%2F") {{ return 400; }} ' + PASS, "A proxy refuses the path a%2F..%2Fb%252Fc//d"),
    "joins slashes": (PATH + 'if ($path ~ "^(?<begin>.*)//(?<end>.*)$") {{ set $path $begin/$end; }} ' + PASS,
                      "A proxy changes the path a%2F..%2Fb%252Fc//d to a%2F..%2Fb%252Fc/d. Clients of QStash's API"),
}


@pytest.mark.parametrize("name", PROXIES)
def test_the_dashboard_notices_a_proxy_that_changes_paths(browser, start, name):
    location, warning = PROXIES[name]
    port = start().port
    front = Front(NGINX_COMMAND, NGINX_PLAIN, port, f"location ^~ /duepost/ {{ {location.format(behind=port)} proxy_set_header Host $http_host; }}")
    if name == "refuses":
        browser.expect("the server responded with a status of 400")
    front.url = f"http://127.0.0.1:{front.port}/duepost"
    try:
        browser.open(front)
        browser.await_one("h1")
        browser.await_true("performance.getEntriesByType('resource').some(entry => /path-check/.test(entry.name) && entry.responseEnd)")
        if warning:
            browser.await_text(warning)
            browser.click("link", "How to configure the proxy")
            browser.await_text("Check that a proxy does not change paths", "http-request replace-path")
        else:
            browser.await_no_text("A proxy")
    finally:
        front.stop()
