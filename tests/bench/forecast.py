#!/usr/bin/python3
"""tests/bench/forecast.py [--schedules N] [--jobs N] [--topics N]: how long GET /forecast takes with many schedules and jobs,
how long Redis is busy with it at a time, and that nothing is written. Prints figures, and never fails because of one.

duepost: the binary in $DUEPOST, or build/release/duepost. Most of the run's minutes are needed to create the data."""

import argparse
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import socket
import subprocess
import tempfile
import threading
import time

from parts import await_condition, cpu_seconds

ROOT = pathlib.Path(__file__).parents[2]
BINARY = os.environ.get("DUEPOST", str(ROOT / "build" / "release" / "duepost"))
CRONS = [f"{minute} {hour} * * {day}" for minute in range(0, 60, 7) for hour in ("*", "*/2", "8", "9-17") for day in ("*", "mon-fri")]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]
WRITES = {"carry", "meta", "ready", "numbers", "trail"}  # keys that the roles of an idle process write

own = threading.local()


def ask(port, method, path, body=None, media="application/json"):
    if not hasattr(own, "link"):
        own.link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    own.link.request(method, path, body, {"Content-Type": media} if body else {})
    reply = own.link.getresponse()
    text = reply.read()
    if reply.status >= 400:
        raise SystemExit(f"{method} {path}: {reply.status} {text[:500]!r}")
    return json.loads(text)


def is_up(port):
    with contextlib.suppress(OSError):
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        link.request("GET", "/readyz")
        return link.getresponse().status == 200


def redis(path, *words):
    return subprocess.run(["redis-cli", "-s", path, *words], check=True, capture_output=True, text=True).stdout


def state(place):
    """Returns the number of keys, and the digest of each key, without those that an idle process changes."""
    script = "local r = {} for _, k in ipairs(redis.call('KEYS', '*')) do r[#r + 1] = k .. ' ' .. redis.sha1hex(redis.call('DUMP', k)) end table.sort(r) return r"
    redis(place, "CONFIG", "SET", "busy-reply-threshold", "600000")
    return redis(place, "DBSIZE").strip(), [line for line in redis(place, "EVAL", script, "0").splitlines() if line.split()[0].rpartition(":")[2] not in WRITES]


def fill(port, arguments):
    chance = random.Random(1)

    def jobs(first):
        lines = [json.dumps({"topic": f"topic-{chance.randrange(arguments.topics)}", "jobId": f"{first + i}", "url": "http://127.0.0.1:9/",
                             "delay": 60 + chance.randrange(8 * 86400)}) for i in range(min(5000, arguments.jobs - first))]
        ask(port, "POST", "/jobs", "\n".join(lines), "application/x-ndjson")

    def schedule(number):
        times = {"every": 3600 + number % 7200} if number % 5 == 0 else {"cron": chance.choice(CRONS), "timezone": chance.choice(ZONES)}
        if number % 10 == 1:
            times["jitter"] = 600
        if number % 50 == 2:
            times["windows"] = [{"from": "08:00", "to": "18:00"}]
        ask(port, "PUT", f"/schedules/topic-{number % arguments.topics}/s{number}", json.dumps({**times, "job": {"url": "http://127.0.0.1:9/"}}))

    ask(port, "PUT", "/limits/shared", '{"rate": {"jobs": 100, "per": 1}}')
    for number in range(arguments.topics // 10):
        own_settings = ({"rate": {"jobs": 1, "per": 60}}, {"windows": [{"from": "08:00", "to": "18:00"}]}, {"limit": "shared"}, {"maxInFlight": 1})[number % 4]
        ask(port, "PUT", f"/topics/topic-{number}", json.dumps(own_settings))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(jobs, range(0, arguments.jobs, 5000)))
        list(pool.map(schedule, range(arguments.schedules), chunksize=100))


def measure(port, place, path, processes):
    redis(place, "CONFIG", "SET", "slowlog-log-slower-than", "500", "slowlog-max-len", "10000")
    redis(place, "SLOWLOG", "RESET")
    before = redis(place, "INFO", "commandstats")
    own.link = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    begin, cpu = time.monotonic(), [cpu_seconds(pid) for pid in processes]
    answer = ask(port, "GET", path)
    took, cpu = time.monotonic() - begin, [cpu_seconds(pid) - before for pid, before in zip(processes, cpu)]
    slow = [int(line.split("=")[1]) for line in redis(place, "EVAL", "local r = {} for _, e in ipairs(redis.call('SLOWLOG', 'GET', '-1')) do r[#r + 1] = 'us=' .. e[3] end return r", "0").splitlines() if "=" in line]
    calls, spent = (sum(int(part.split("=")[1]) for text, sign in ((before, -1), (redis(place, "INFO", "commandstats"), 1)) for line in text.splitlines() if line.startswith("cmdstat_fcall")
                        for part in [f"x={sign * int(line.split(name + '=')[1].split(',')[0])}"]) for name in ("calls", "usec"))
    print(f"{path:32} {took * 1000:8.0f} ms; CPU duepost {cpu[0] * 1000:.0f} ms, Redis {cpu[1] * 1000:.0f} ms; {calls} calls take Redis {spent / 1000:.0f} ms, the longest {max(slow, default=500) / 1000:.1f} ms; "
          f"{answer['jobs']}, partial: {answer.get('partial', False)}, {len(json.dumps(answer)) // 1024} KiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, number in (("schedules", 100000), ("jobs", 1000000), ("topics", 1000)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--nice", type=int, default=0, help="priority of duepost and Redis while they are measured, for a busy machine; a negative one needs root")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duepost-bench-") as folder:
        log = open(f"{folder}/log", "w")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        server = subprocess.Popen([BINARY, "--listen", f"127.0.0.1:{port}", "--data", f"{folder}/data", "--allow-target", "127.0.0.0/8", "--reactors", "1", "--clock", "manual"], stdout=log, stderr=subprocess.STDOUT)
        try:
            await_condition(lambda: is_up(port), 30, "duepost")
            begin = time.monotonic()
            fill(port, arguments)
            print(f"{arguments.jobs} jobs in {arguments.topics} topics, {arguments.schedules} schedules; created in {time.monotonic() - begin:.0f} s", flush=True)
            path_of_redis = f"{folder}/data/redis.sock"
            processes = [server.pid, int(redis(path_of_redis, "INFO", "server").split("process_id:")[1].split()[0])]
            for pid in processes:
                os.setpriority(os.PRIO_PROCESS, pid, arguments.nice)
                for thread in os.listdir(f"/proc/{pid}/task"):
                    os.setpriority(os.PRIO_PROCESS, int(thread), arguments.nice)
            first = state(path_of_redis)
            for path in ("/forecast", "/forecast?to=" + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 7 * 86400)), "/forecast?duration=200ms", "/forecast?topic=topic-1"):
                measure(port, path_of_redis, path, processes)
            last = state(path_of_redis)
            changed = [one for one in set(first[1]) ^ set(last[1])]
            print(f"keys before {first[0]}, after {last[0]}; keys with another content: {len({one.split()[0] for one in changed})} {sorted({one.split()[0] for one in changed})[:5]}")
        finally:
            server.terminate()
            server.wait(60)


if __name__ == "__main__":
    main()
