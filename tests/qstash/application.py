"""The applications with durable workflows (application.mjs, application_python.py) as processes, and requests to them."""

import json
import os
import pathlib
import subprocess
import urllib.request

import scratch
from patience import SLOW, until

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE.parents[1] / "build/qstash-clients/node_modules"
PYTHON_MODULES = HERE.parents[1] / "build/qstash-clients/python"
ENVIRONMENT = {**os.environ, "UPSTASH_DISABLE_TELEMETRY": "1"}


class Application:
    def __init__(self, server, command=("node", HERE / "application.mjs", MODULES)):
        self.server, self.port, self.process, self.command = server, 0, None, command
        self.file = scratch.file("effects.jsonl")
        self.file.touch()
        self.output = scratch.file("application.log").open("ab")
        self.start()

    def start(self):
        """Starts the process. If another process ran before, the new process listens at the same port."""
        keys = json.dumps(self.server.request("GET", "/v2/keys", check=False).expect(200))
        self.process = subprocess.Popen([*self.command, str(self.port), self.server.url, keys, self.file],
                                        stdout=subprocess.PIPE, stderr=self.output, env=ENVIRONMENT)
        line = self.process.stdout.readline().decode()
        assert line.startswith("listening on "), line
        self.port = int(line.split()[-1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.kill()
        self.output.close()

    def url(self, workflow):
        return f"http://127.0.0.1:{self.port}/{workflow}"

    def client(self, text, **names):
        """Runs JavaScript text in Node, with the client of workflows as `client`."""
        values = json.dumps({"baseUrl": self.server.url, **names})
        answer = subprocess.run(["node", HERE / "run.mjs", MODULES / "@upstash/workflow/index.mjs", values], input=text.encode(),
                                capture_output=True, timeout=20 * SLOW, env=ENVIRONMENT)
        assert answer.returncode == 0, answer.stderr.decode()
        return json.loads(answer.stdout)

    def trigger(self, workflow, body=None, **options):
        """Returns the id of the run."""
        answer = self.client("return client.trigger(options)", options={"url": self.url(workflow), "body": body, **options})
        assert "error" not in answer, answer
        return answer["workflowRunId"]

    def all_effects(self):
        """Returns the effects that the application has written to its file, without a line that a kill has cut
        off."""
        lines = self.file.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def effects(self, run):
        return [one for one in self.all_effects() if one["run"] == run]

    def steps(self, run):
        """Returns the steps that have taken effect, in their order."""
        return [one["step"] for one in self.effects(run) if one["step"] not in ("result", "webhook", "failure")]

    def result(self, run, seconds=30):
        """Waits until the run has succeeded; returns its result."""
        found = until(lambda: [one for one in self.effects(run) if one["step"] == "result"], seconds, lambda: f"{run} ends: {self.effects(run)}")[0]
        until(lambda: self.is_over(run), seconds, f"{run} has ended")
        return found.get("result")

    def is_over(self, run):
        return self.server.request("GET", f"/v2/workflows/runs/{run}", check=False).status == 404

    def post(self, url, body, headers):
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method="POST"), timeout=20 * SLOW) as answer:
            return answer.status
