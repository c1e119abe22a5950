"""A schedule of a lane that fires twice and ends: each of its times is fired exactly once, whichever process died."""

import datetime
import re

from client import Told
from lane import request
from patience import until

TICKS = 2


class Ticks:
    def __init__(self, lane):
        self.lane = lane
        self.path = f"/schedules/{lane.name}/tick"
        self.times = None  # the times in the answer; None: there was no answer

    def define(self, node):
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=TICKS + 0.5)
        body = {"every": 1, "misfire": "all", "endAt": end.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "job": {"url": self.lane.judge.url + "/200"}}
        status, answer = request(node, "PUT", self.path, body)
        if status == 201:
            self.times = [int(datetime.datetime.fromisoformat(text).timestamp() * 1000 + 0.5) for text in answer["next"]]

    def read(self, node):
        request(node, "GET", self.path)
        request(node, "GET", "/schedules")

    def delete(self, node, may_go_on):
        """Deletes the schedule when all its jobs have arrived, so that the deletion prevents no job."""
        until(lambda: not may_go_on() or len(self.arrived()) == len(self.times or ()), 20, "the ticks")
        if may_go_on():
            request(node, "DELETE", self.path)

    def arrived(self):
        """Returns {time of the schedule in ms: key of the job that has arrived}."""
        found = {}
        for key in self.lane.judge.arrivals():
            match = re.fullmatch(re.escape(self.lane.name) + r"/tick~(\d{8}T\d{6})(\.\d{3})?Z", key)
            if match:
                whole = datetime.datetime.strptime(match[1] + "+0000", "%Y%m%dT%H%M%S%z").timestamp()
                found[int(whole * 1000 + 1000 * float(match[2] or 0) + 0.5)] = key
        return found

    def await_all(self):
        """Waits until the schedule has ended, even if the answer to its request was lost, so that its data do not
        change while they are read."""
        until(lambda: not int(self.lane.ask("ZCARD", self.lane.keys + "fires")), 60, lambda: f"{self.lane.name}: fires no more")
        until(lambda: len(self.arrived()) >= len(self.times or ()), 60, lambda: f"{self.lane.name}: ticks at {self.times}, {self.arrived()}")

    def faults(self):
        """Returns the broken promises as sentences. Adds the jobs to the lane, which checks that each comes once and not early."""
        arrived = self.arrived()
        for time_ms, key in arrived.items():
            self.lane.told[key] = Told(scheduled=201, sent_us=1000 * time_ms, due_ms=time_ms)
        if self.times is not None and set(arrived) != set(self.times):
            return [f"{self.lane.name}: ticks came at {sorted(arrived)}, not {self.times}"]
        return []
