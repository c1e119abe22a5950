"""A durable run in the API of QStash, and the messages that a client sends for it."""

import base64
import itertools
import json

from qstash import arrivals
from receiver import Answer

TAKEN = Answer(200, headers=(("Upstash-Workflow-Sdk-Version", "1"),))
numbers = itertools.count()


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def decoded(arrival):
    """A delivery has the list of the run's steps. Returns the decoded bodies in this list."""
    return [base64.b64decode(element["body"]).decode() for element in json.loads(arrival.body)]


def step(number, out, **more):
    return json.dumps({"stepId": number, "stepName": f"s{number}", "stepType": "Run", "out": json.dumps(out), "concurrent": 1, **more},
                      separators=(",", ":"))


class Run:
    """A run, and the messages that a client sends for it."""

    def __init__(self, qstash, receiver, path, payload="payload", id=None, **headers):
        self.qstash, self.receiver, self.path = qstash, receiver, path
        self.steps = itertools.count(1)  # numbers of the steps that the helper functions send
        self.id, self.url = id or f"wfr_{path[1:].replace('/', '-')}-{next(numbers)}", receiver.url(path)
        self.first = self.send(self.item(payload, init="true", **headers)).expect(200)[0]

    def item(self, body, init="false", **headers):
        own = {"upstash-workflow-runid": self.id, "upstash-workflow-init": init, "upstash-workflow-url": self.url,
               "upstash-workflow-sdk-version": "1", "upstash-feature-set": "LazyFetch,InitialBody"}
        return {"destination": self.url, "body": body, "headers": {**own, **{name.replace("_", "-"): value for name, value in headers.items()}}}

    def send(self, *items):
        return self.qstash.call("POST", "batch", list(items))

    def step(self, *bodies, **headers):
        """Sends one step, or several parallel steps, and returns the ids of their messages."""
        return [one["messageId"] for one in self.send(*[self.item(body, **headers) for body in bodies]).expect(200)]

    def is_active(self):
        return self.qstash.call("GET", f"workflows/runs/{self.id}").status == 200

    def end(self, result=b""):
        return self.qstash.call("DELETE", f"workflows/runs/{self.id}?cancel=false", result)


def call(run, destination, body='{"ask":1}', **headers):
    back = {f"upstash-callback-{name}": value for name, value in {
        "workflow-runid": run.id, "workflow-init": "false", "workflow-url": run.url, "workflow-calltype": "fromCallback",
        "feature-set": "LazyFetch", "forward-upstash-workflow-callback": "true", "forward-upstash-workflow-stepid": str(next(run.steps))}.items()}
    own = {"upstash_workflow_calltype": "toCallback", "upstash_retries": "0", "upstash_callback": run.url, **headers}
    item = run.item(body, **own)
    item["headers"].update(back)
    return run.send({**item, "destination": destination}).expect(200)[0]["messageId"]


def failing(qstash, receiver, topic, answer, **more):
    """Creates a run with a failure callback to /<topic>/failed."""
    receiver.script(f"/{topic}", TAKEN)
    back = {f"upstash-failure-callback-{name}": value for name, value in {
        "forward-shop": "one", "forward-upstash-workflow-is-failure": "true", "workflow-runid": f"wfr_{topic}", "workflow-init": "false",
        "workflow-url": receiver.url(f"/{topic}"), "workflow-calltype": "failureCall", "retries": "1"}.items()}
    run = Run(qstash, receiver, f"/{topic}", upstash_failure_callback=receiver.url(f"/{topic}/failed"), **back, **more)
    arrivals(receiver, run.path, 1)
    receiver.script(run.path, answer)
    return run
