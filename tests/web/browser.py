"""A headless Chromium, and the page in it.

Tests use the page as a person does: by roles and visible names. check() fails if the page logged an error, violated its
content security policy, executed a text that a test planted, or made a request to anywhere but loopback."""

import base64
import ctypes
import json
import os
import pathlib
import re
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

from patience import SLOW, until
import processes
import scratch

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
PAUSE = 0.05  # s between two queries to the browser

OPTIONS = [
    "--headless=new", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1", "--lang=en-US",
    "--no-first-run", "--no-default-browser-check", "--no-proxy-server", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-default-apps", "--disable-extensions", "--disable-client-side-phishing-detection", "--metrics-recording-only",
    "--password-store=basic", "--use-mock-keychain", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # Hides the browser's own tabs and buttons, which it would otherwise draw again for each page that it loads.
    "--kiosk",
    # The browser keeps no process for a page that was left, and starts no process in advance. Otherwise it would start two
    # processes for each test, and a page would take twice as long.
    "--disable-features=BackForwardCache,SpareRendererForSitePerProcess",
]

PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23  # linux/prctl.h, linux/capability.h

# Runs before the page's own scripts. Everything that must fail the test is written to the console, because the console's
# messages outlive a navigation.
WATCH = """
document.addEventListener("securitypolicyviolation", event =>
    console.error("policy violated: " + event.effectiveDirective + " " + event.blockedURI + " " + event.sample));
window.addEventListener("unhandledrejection", event => console.error("unhandled rejection: " + (event.reason?.stack || event.reason)));
window.executed = text => console.error("executed: " + text);
for (const name of ["alert", "confirm", "prompt", "print"]) window[name] = text => console.error("executed: " + name + " " + text);
"""

# Moves the page's clock forward by some ms.
AHEAD = """
{
    const Time = Date, now = Date.now;
    Date = class extends Time {
        constructor(...parts) { parts.length ? super(...parts) : super(Date.now()); }
        static now() { return now() + %d; }
    };
}
"""

# Delays the answers to the page's requests whose address matches a pattern, by some ms.
LATE = """
{
    const send = window.fetch;
    window.fetch = async (url, options) => {
        if (new RegExp(%s).test(url)) await new Promise(resolve => setTimeout(resolve, %d));
        return send(url, options);
    };
}
"""

# Returns the visible elements of a role. name: a text that the accessible name contains, or equals. Elements whose name begins with
# this text come first; otherwise the order is that of the page.
FIND = """
const SELECTORS = {
    button: "button, [role=button], input[type=submit], input[type=button]",
    link: "a[href], [role=link]",
    heading: "h1, h2, h3, h4, [role=heading]",
    field: "input, textarea, select, [contenteditable=true], [role=textbox], [role=combobox], [role=searchbox]",
    row: "tr, [role=row], li, [role=listitem]",
    dialog: "dialog[open], [role=dialog], [role=alertdialog]",
    toast: "[role=status], [role=alert]",
    checkbox: "input[type=checkbox], [role=checkbox], [role=switch]",
    any: "*",
};
const [role, name, exact, root] = arguments;
const squeeze = text => (text || "").replace(/\\s+/g, " ").trim();
const isVisible = element => element.checkVisibility({checkOpacity: false, checkVisibilityCSS: true}) && element.getClientRects().length > 0;
const labels = element => [...(element.labels || [])].map(label => label.textContent);
const referred = element => (element.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean)
    .map(id => document.getElementById(id)?.textContent);
const names = element => [element.getAttribute("aria-label"), ...referred(element), ...labels(element), element.title, element.placeholder,
    role === "field" ? "" : element.innerText, element.value && role === "button" ? element.value : ""].map(squeeze);
const fits = text => exact ? text === name : text.toLowerCase().includes(name.toLowerCase());
const begins = element => name !== null && names(element).some(text => text.startsWith(name));
return [...(root || document).querySelectorAll(SELECTORS[role] || role)]
    .filter(element => isVisible(element) && (name === null || names(element).some(fits)))
    .sort((one, other) => begins(other) - begins(one));
"""


def stay_nice():
    """Programs that this process starts later cannot raise their priority. Otherwise Chromium, run by root, would give its
    threads precedence over the servers under test."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0)  # fails without an effect if the user is not root


class Browser:
    def __init__(self):
        stay_nice()
        self.profile = scratch.directory("profile")
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for option in [*OPTIONS, f"--user-data-dir={self.profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(DRIVER, log_path=str(self.profile / "driver.log"), env={**os.environ, "TZ": "Europe/Berlin", "HOME": str(self.profile)})
        self.driver = webdriver.Chrome(service=service, options=options)
        self.driver_pid = service.process.pid
        self.expected, self.messages, self.requests, self.bytes, self.cached, self.added = [], [], [], {}, set(), []
        self.driver.set_page_load_timeout(30 * SLOW)
        self.driver.set_script_timeout(60 * SLOW)
        self.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        self.reset()

    def stop(self):
        try:
            self.driver.quit()
        except (WebDriverException, OSError):
            pass  # the browser has ended; its processes are ended below
        for pid in [*processes.naming(str(self.profile)), self.driver_pid]:
            processes.end(pid)

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def reset(self):
        """Resets the browser as for a new visit: an empty page, nothing stored, a wide window, the light theme. Files that servers
        allow to be kept stay in the cache; see forget_files()."""
        first, *others = self.driver.window_handles
        for handle in others:
            self.driver.switch_to.window(handle)
            self.driver.close()
        self.driver.switch_to.window(first)
        self.driver.get("about:blank")
        self.command("Storage.clearDataForOrigin", origin="*", storageTypes="all")
        self.size(1440, 900)
        self.theme("light")
        self.zone("")  # the time zone of the environment
        for identifier in self.added:
            self.command("Page.removeScriptToEvaluateOnNewDocument", identifier=identifier)
        self.added = []
        self.read_logs()
        self.expected, self.messages, self.requests, self.bytes, self.cached = [], [], [], {}, set()

    def forget_files(self):
        """Empties the cache. The next visit of a server is like the first one."""
        self.command("Network.clearBrowserCache")

    # actions of the page

    def read_logs(self):
        """Reads the browser's logs since the last call: messages of the console, and requests."""
        self.messages += self.driver.get_log("browser")
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            parameters = event["params"]
            if event["method"] == "Network.requestWillBeSent":
                self.requests.append((parameters["requestId"], parameters["request"]["method"], parameters["request"]["url"]))
            elif event["method"] == "Network.requestServedFromCache":
                self.cached.add(parameters["requestId"])
            elif event["method"] == "Network.responseReceived" and parameters["response"].get("fromDiskCache"):
                self.cached.add(parameters["requestId"])
            elif event["method"] == "Network.loadingFinished":
                self.bytes[parameters["requestId"]] = parameters["encodedDataLength"]

    def requested(self, pattern="", method=None):
        """Returns the requested URLs, in order."""
        self.read_logs()
        return [url for _, verb, url in self.requests if re.search(pattern, url) and method in (None, verb)]

    def fetched(self, pattern=""):
        """Returns the requested URLs that the browser did not have in its cache."""
        self.read_logs()
        return [url for request, _, url in self.requests if re.search(pattern, url) and request not in self.cached]

    def transferred(self):
        """Returns {url: number of bytes, header section included} for the answers that are complete."""
        self.read_logs()
        return {url: self.bytes[request] for request, _, url in self.requests if request in self.bytes}

    def expect(self, *patterns):
        """From now on, console messages that match one of these patterns do not fail the test."""
        self.expected += patterns

    def faults(self):
        self.read_logs()
        found = [entry["message"] for entry in self.messages
                 if entry["level"] in ("SEVERE", "WARNING") or "executed:" in entry["message"]]
        found = [text for text in found if not any(re.search(pattern, text) for pattern in self.expected)]
        return found + [f"request to elsewhere: {url}" for _, _, url in self.requests
                        if urllib.parse.urlsplit(url).hostname not in ("127.0.0.1", None)]

    def check(self):
        found = self.faults()
        assert not found, "\n".join(found)

    # the page

    def open(self, server, route="#/"):
        """Opens a page of the dashboard anew, as from a bookmark."""
        self.driver.get("about:blank")
        self.driver.get(f"{server.url}/{route}")

    def go(self, route):
        """Goes to another page of the dashboard without loading the document again."""
        self.script("location.hash = arguments[0]", route)

    def route(self):
        return self.script("return location.hash")

    def size(self, width, height, scale=1):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def theme(self, scheme, motion="no-preference"):
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                             {"name": "prefers-reduced-motion", "value": motion}])

    def zone(self, name):
        """The time zone of the page, until reset()."""
        self.command("Emulation.setTimezoneOverride", timezoneId=name)

    def clock_ahead(self, seconds):
        """Sets the clock of all pages opened from now on ahead of the server's clock, until reset()."""
        self.run_first(AHEAD % (1000 * seconds))

    def answer_late(self, pattern, seconds):
        """Delays answers for all pages opened from now on, until reset(). pattern: a regular expression for addresses."""
        self.run_first(LATE % (json.dumps(pattern), 1000 * seconds))

    def run_first(self, text):
        self.added.append(self.command("Page.addScriptToEvaluateOnNewDocument", source=text)["identifier"])

    def text(self):
        return self.script("return document.body ? document.body.innerText : ''")

    def all(self, role, name=None, exact=False, root=None):
        """Returns the visible elements of a role (see FIND) or of a CSS selector whose accessible name contains name."""
        try:
            return self.script(FIND, role, name, exact, root)
        except (JavascriptException, StaleElementReferenceException):
            return []  # the page changed during the search

    def await_one(self, role, name=None, exact=False, root=None, seconds=10):
        """Waits until all() finds an element, and returns the first one."""
        return until(lambda: self.all(role, name, exact, root), seconds, lambda: f"{role} {name!r} is shown\n{self.shown()}", PAUSE)[0]

    def await_none(self, role, name=None, exact=False, root=None, seconds=10):
        until(lambda: not self.all(role, name, exact, root), seconds, lambda: f"{role} {name!r} is gone\n{self.shown()}", PAUSE)

    def await_text(self, *texts, seconds=10):
        until(lambda: all(text in self.text() for text in texts), seconds,
              lambda: f"shown: {[text for text in texts if text not in self.text()]}\n{self.shown()}", PAUSE)

    def await_no_text(self, text, seconds=10):
        until(lambda: text not in self.text(), seconds, lambda: f"no longer shown: {text!r}\n{self.shown()}", PAUSE)

    def await_true(self, expression, *arguments, seconds=10):
        until(lambda: self.script(f"return ({expression})", *arguments), seconds, lambda: f"{expression}\n{self.shown()}", PAUSE)

    def act(self, role, name, action, exact=False, root=None):
        """Waits until the element exists and is enabled, then does action. The page may redraw the element meanwhile."""
        def done():
            for element in self.all(role, name, exact, root):
                try:
                    if element.is_enabled():
                        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
                        action(element)
                        return True
                except WebDriverException as error:
                    self.last_error = error
            return False
        until(done, 10, lambda: f"{role} {name!r} can be used: {getattr(self, 'last_error', 'not there')}\n{self.shown()}", PAUSE)

    def click(self, role, name=None, exact=False, root=None):
        self.act(role, name, lambda element: element.click(), exact, root)

    def fill(self, name, text, exact=False, root=None):
        def replace(element):
            if element.tag_name == "select":
                self.script("""const [select, text] = arguments;
                    select.value = [...select.options].find(option => option.text.trim() === text || option.value === text).value;
                    select.dispatchEvent(new Event("input", {bubbles: true})); select.dispatchEvent(new Event("change", {bubbles: true}));""",
                            element, text)
                return
            element.send_keys(Keys.CONTROL, "a")
            element.send_keys(Keys.DELETE)
            element.send_keys(text)
        self.act("field", name, replace, exact, root)

    def press(self, *keys):
        """Types into the element that has the focus."""
        actions = webdriver.ActionChains(self.driver)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def shown(self):
        """Returns address, text and faults of the page, for messages of failures."""
        try:
            return f"at {self.driver.current_url}\n{self.text()[:3000]}\n" + "\n".join(self.faults())
        except WebDriverException as error:
            return f"the browser does not answer: {error}"

    def picture(self, path, whole=False):
        data = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
