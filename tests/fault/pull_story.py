"""The worker of a pull topic in the story of a test point: each kind of end, and a lease that runs out."""

from lane import request

JOBS = ("done", "failed", "back", "forgotten")


class PullStory:
    def __init__(self, lane):
        self.lane, self.topic = lane, lane.name + "-work"
        self.completed = False

    def ask(self, node, action, **document):
        return request(node, "POST", f"/topics/{self.topic}/{action}", document)

    def leases(self, node):
        _, answer = self.ask(node, "lease", max=10, lease=1)
        return {job["jobId"]: {"jobId": job["jobId"], "token": job["token"]} for job in (answer or {}).get("jobs", ())}

    def use(self, node, can_go_on):
        request(node, "PUT", f"/topics/{self.topic}", {"delivery": "pull"})
        for job_id in JOBS:
            if can_go_on():
                request(node, "POST", "/jobs", {"topic": self.topic, "jobId": job_id, "retry": 0, "body": job_id})
        leases = self.leases(node) if can_go_on() else {}
        for action, job_id in (("extend", "done"), ("complete", "done"), ("retry", "failed"), ("release", "back")):
            if can_go_on() and job_id in leases:
                status, _ = self.ask(node, action, **leases[job_id])
                self.completed |= action == "complete" and status == 200
        again = self.leases(node) if can_go_on() else {}
        if can_go_on() and "back" in again:
            self.ask(node, "bury", **again["back"])

    def end(self, node):
        """Cancels the jobs that are left, and returns broken promises."""
        status, done = request(node, "GET", f"/jobs/{self.topic}/done")
        is_left = status == 200 and done["state"] != "delivered"  # a delivered job may still be in the history
        for state in ("leased", "ready", "delayed"):
            request(node, "DELETE", f"/jobs?topic={self.topic}&state={state}&all=true")
        return [f"{self.topic}/done: completed, and still there"] if self.completed and is_left else []
