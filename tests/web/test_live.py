"""The page updates while it is visible, and sends no requests while it is hidden."""

import re
import time

from patience import until
from redis_server import free_port, release_port

LOST = "No connection since"
QUIET = 3.5  # s; a visible page would send three requests in this time


def requests_of(server):
    """Returns the number of requests that the server has answered, without those for metrics."""
    text = server.get("/metrics").body.decode()
    return sum(int(number) for label, number in re.findall(r'^duepost_http_request_seconds_count\{([^}]*)\} (\d+)$', text, re.M)
               if "/metrics" not in label)


def test_a_new_job_appears_on_the_open_page(browser, start, receiver, topic):
    server = start()
    browser.open(server)
    browser.await_text("curl")  # without jobs, the first page shows how to schedule one
    server.schedule(topic=topic, jobId="first", url=receiver.url(), delay=3600)
    browser.await_text(topic)


def test_a_hidden_tab_asks_for_nothing(browser, world):
    browser.open(world.server)
    browser.await_text("Delayed")
    page = browser.driver.current_window_handle
    count = len(browser.requested("/overview"))
    until(lambda: len(browser.requested("/overview")) >= count + 2, 10, "a seen tab asks again and again", 0.1)
    browser.driver.switch_to.new_window("tab")
    time.sleep(1)  # wait until earlier requests are answered
    before = requests_of(world.server)
    time.sleep(QUIET)
    assert requests_of(world.server) == before
    browser.driver.close()
    browser.driver.switch_to.window(page)
    browser.await_true("document.visibilityState === 'visible'")
    until(lambda: requests_of(world.server) > before, 10, "a tab that is seen again asks", 0.1)


def test_a_lost_connection_is_shown_and_comes_back(browser, start, data, receiver, topic):
    port = free_port()  # the port stays reserved while no server listens
    address = f"127.0.0.1:{port}"
    server = start(listen=address, data=data)
    server.schedule(topic=topic, jobId="before", url=receiver.url(), delay=3600)
    browser.expect("net::ERR_", "503")  # the kill may cut off a request of the page at any moment
    browser.open(server)
    browser.await_text("1 job waits")  # the page shows a topic only while it is busy, here for some seconds
    server.kill()
    browser.await_text(LOST)
    again = start(listen=address, data=data)
    again.schedule(topic=topic, jobId="after", url=receiver.url(), delay=3600)
    browser.await_no_text(LOST)
    browser.await_text("2 jobs wait")
    release_port(port)
