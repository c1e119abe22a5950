"""A page of another site, in a real browser, can neither change nor read anything of a server without tokens."""

import json

from patience import until
from receiver import Answer

# Tries requests that a browser sends without a preflight request, and requests that need one. window.seen has the answers that the page could read.
PAGE = """<!doctype html><body><script>
const server = "%s", job = JSON.stringify(%s), seen = [];
const request = (path, options) => fetch(server + path, options).then(
    async (answer) => answer.type === "opaque" || seen.push(path + " " + answer.status + " " + await answer.text()), () => {});
const form = (action, type, sandbox) => {
  const frame = document.createElement("iframe");
  if (sandbox) frame.setAttribute("sandbox", sandbox);
  frame.srcdoc = `<form method=post enctype="${type}" action="${server + action}"><input name='{"a":"' value='"}'></form>
                  <script>document.forms[0].submit()</` + "script>";
  document.body.append(frame);
};
(async () => {
  for (const mode of ["no-cors", "cors"]) {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json", "text/plain;application/json"])
      await request("/jobs", {method: "POST", mode, body: job, headers: {"Content-Type": type}});
    await request("/jobs", {method: "POST", mode, body: new Blob([job], {type: "application/json"})});
    await request("/jobs/%s/there/run", {method: "POST", mode});
    await request("/v2/publish/http://127.0.0.1:9/", {method: "POST", mode, body: "x"});
    await request("/jobs?state=delayed", {mode});
  }
  await request("/jobs/%s/there", {method: "DELETE"});
  navigator.sendBeacon(server + "/jobs/%s/there/run", "");
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    form("/jobs/%s/there/run", type);
    form("/jobs/%s/there/run", type, "allow-forms allow-scripts");  // a page with the origin null
  }
  const frame = document.createElement("iframe");
  frame.src = server + "/";
  frame.onload = () => { window.seen = seen; };
  document.body.append(frame);
})();
</script>"""


def refused(server):
    return sum(float(line.split()[-1]) for line in server.get("/metrics").body.decode().splitlines()
               if line.startswith("duepost_http_request_seconds_count") and 'status="403"' in line)


def test_a_page_of_another_site_can_do_nothing(browser, start, receiver, topic):
    browser.expect(".*")  # the browser logs each refusal
    server = start("--qstash", "on")
    server.schedule(topic=topic, jobId="there", url="http://127.0.0.1:9/", delay=3600)
    before = server.get("/jobs?state=delayed").expect(200)
    job = {"topic": topic, "jobId": "made", "url": "http://127.0.0.1:9/", "delay": 3600}
    page = PAGE % (server.url, json.dumps(job), *[topic] * 5)
    receiver.script("", Answer(200, headers=(("Content-Type", "text/html"),), body=page.encode()))
    browser.driver.get(receiver.url("/"))
    seen = until(lambda: browser.script("return window.seen && [window.seen]"), 20, "the page's requests have ended")[0]
    assert seen == []
    # The requests that reached the server, and were refused there: those without a preflight request, the beacon and the forms.
    until(lambda: refused(server) >= 10, 10, lambda: f"only {refused(server)} requests were refused")
    assert server.get("/jobs?state=delayed").expect(200) == before
    assert server.get("/jobs/count?state=ready").expect(200)["count"] == 0
