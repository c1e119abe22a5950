"""Requests of a client of durable workflows to a QStash: begin a run, and append steps to it."""

import itertools

from runs import TAKEN

numbers = itertools.count()


def item(url, run_id, body, init="false", **headers):
    own = {"upstash-workflow-runid": run_id, "upstash-workflow-init": init, "upstash-workflow-url": url, "upstash-workflow-sdk-version": "1"}
    return {"destination": url, "body": body, "headers": {**own, **{name.replace("_", "-"): value for name, value in headers.items()}}}


def begin(server, url, run_id=None, **headers):
    run_id = run_id or f"wfr_{next(numbers)}"
    server.call("POST", "batch", [item(url, run_id, "secret payload", "true", **headers)]).expect(200)
    return run_id


def append(server, url, run_id, *bodies, **headers):
    return [one["messageId"] for one in server.call("POST", "batch", [item(url, run_id, body, **headers) for body in bodies]).expect(200)]


def end(server, run_id, result=b""):
    server.call("DELETE", f"workflows/runs/{run_id}?cancel=false", result).expect(200)


def wait(server, url, run_id, event, timeout="1h"):
    headers = {"Upstash-Workflow-Init": ["false"], "Upstash-Workflow-RunId": [run_id], "Upstash-Workflow-Url": [url]}
    body = {"url": url, "timeout": timeout, "timeoutUrl": url, "timeoutHeaders": headers,
            "step": {"stepId": 1, "stepType": "Wait", "stepName": "for it", "concurrent": 1}}
    server.call("POST", f"wait/{event}", body, Upstash_Workflow_RunId=run_id, Upstash_Workflow_CallType="step").expect(200)
