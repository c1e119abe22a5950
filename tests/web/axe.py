"""axe-core, which finds accessibility faults. axe-core is fetched from the npm registry in a pinned version, and kept in
build/."""

import functools
import hashlib
import io
import os
import tarfile
import urllib.request

import pytest

from duepost import ROOT

VERSION = "4.14.1"
SHA256 = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
URL = f"https://registry.npmjs.org/axe-core/-/axe-core-{VERSION}.tgz"
KEPT = ROOT / "build" / "web-libraries" / f"axe-core-{VERSION}.tgz"

RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"]}).then(
    found => done(found.violations.map(one => one.id + ": " + one.help + "\\n" +
        one.nodes.slice(0, 5).map(node => "    " + node.html.slice(0, 200) + "\\n        " + node.any.concat(node.all, node.none).map(check => check.message)
            .join("; ")).join("\\n"))),
    error => done(["axe failed: " + error]));
"""


def is_right(data):
    return hashlib.sha256(data).hexdigest() == SHA256


def fetch():
    """Returns the bytes of the package."""
    if KEPT.exists() and is_right(KEPT.read_bytes()):
        return KEPT.read_bytes()
    with urllib.request.urlopen(URL, timeout=60) as answer:
        data = answer.read(10_000_000)
    if not is_right(data):
        raise ValueError(f"{URL} has not the SHA-256 {SHA256}")
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    written = KEPT.with_name(f"{KEPT.name}.{os.getpid()}")
    written.write_bytes(data)
    written.rename(KEPT)
    return data


@functools.cache
def source():
    """Returns the text of axe.min.js. If the file cannot be fetched, the test is skipped, or fails with CI=true."""
    try:
        package = fetch()
    except (OSError, ValueError) as error:
        pytest.skip(f"axe-core cannot be fetched: {error}")
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def faults(browser, text):
    """Returns one line for each rule that the page breaks. text: the text of source()."""
    if browser.script("return typeof axe") == "undefined":
        browser.script(text)
    return browser.driver.execute_async_script(RUN)
