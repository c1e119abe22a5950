"""Stories for memory.py: each sends requests while an allocation fails, and may return a check that runs later. No
answer, or a refusal, is fine; any other answer must be right."""

import json

from patience import until

LONG_BODY = {"text": "x" * 20000}
REFUSED = (413, 503)
FAR = 3600
LISTED = 20


def post(site, job_id):
    site.schedule(job_id)

    def check():
        job = site.job(job_id)
        site.expect(job and job["body"] == LONG_BODY, f"post: {job_id} was accepted and is {job}")
    return check


def post_again(site, _):
    """Posts a job that exists already: the answer must be 200, and not 409, which only a different job with this id
    may get."""
    status, data = site.ask("POST", "/jobs", {"topic": "memory", "jobId": "known", "url": site.url(), "delay": FAR, "body": site.known})
    site.expect(status == 200, f"post_again: {status} {data[:200]!r}")


def _post_many(site, jobs, what):
    status, data = site.ask("POST", "/jobs", jobs)
    assert status == 207, (status, data)
    accepted = [job["jobId"] for job, result in zip(jobs, json.loads(data)["results"]) if result["status"] == 201]
    odd = [result for result in json.loads(data)["results"] if result["status"] not in (201, *REFUSED)]
    site.expect(not odd, f"{what}: {odd}")
    return accepted


def post_many(site, job_id):
    accepted = _post_many(site, [{"topic": "memory", "jobId": f"{job_id}-{i}", "url": site.url(), "delay": FAR} for i in range(20)], "post_many")

    def check():
        for name in accepted:
            site.expect(site.job(name), f"post_many: {name} was accepted and is gone")
    return check


def put(site, job_id):
    status, data = site.ask("PUT", "/jobs/memory/put", {"url": site.url(), "delay": FAR, "body": job_id + "x" * 20000})
    assert status in (200, 201), (status, data)

    def check():
        job = site.job("put")
        site.expect(job and job["body"].startswith(job_id), f"put: {job_id} is not there, but {str(job)[:200]}")
    return check


def read(site, _):
    job = site.expect_json("GET", "/jobs/memory/known")
    site.expect(job["body"] == site.known, f"read: {str(job)[:200]}")


def list_jobs(site, _):
    names = [job["jobId"] for job in site.expect_json("GET", "/jobs?topic=listed&state=delayed&limit=50")["jobs"]]
    site.expect(len(names) == LISTED, f"list: {len(names)} of {LISTED}")


def count(site, _):
    answer = site.expect_json("GET", "/jobs/count?topic=listed&state=delayed")
    site.expect(answer["count"] == LISTED, f"count: {answer}")


def why(site, _):
    answer = site.expect_json("GET", "/jobs/memory/known/why")
    site.expect(answer["state"] == "delayed", f"why: {answer}")


def attempts(site, _):
    answer = site.expect_json("GET", f"/jobs/{site.dead[0]}/dead/attempts")
    site.expect(answer["attempts"] and answer["attempts"][0]["status"] == 410, f"attempts: {answer}")


def receivers(site, _):
    site.expect("receivers" in site.expect_json("GET", "/receivers"), "receivers")


def metrics(site, _):
    status, data = site.ask("GET", "/metrics")
    site.expect(status == 200 and b"duepost_" in data, f"metrics: {status} {data[:200]!r}")


def patch(site, job_id):
    status, data = site.ask("PATCH", "/jobs/memory/known", {"headers": {"X-Number": job_id}})
    assert status == 200, (status, data)

    def check():
        job = site.job("known")
        site.expect(job["headers"]["X-Number"] == "***" or job["headers"]["X-Number"] == job_id, f"patch: {job['headers']}")
    return check


def cancel(site, job_id):
    site.schedule(job_id)
    status, data = site.ask("DELETE", f"/jobs/memory/{job_id}")
    assert status in (200, 204), (status, data)
    return lambda: site.expect(site.job(job_id) is None, f"cancel: {job_id} is still there")


def cancel_many(site, job_id):
    _post_many(site, [{"topic": job_id, "jobId": f"{i}", "url": site.url(), "delay": FAR} for i in range(5)], "cancel_many")
    answer = site.expect_json("DELETE", f"/jobs?topic={job_id}&state=delayed&all=true")

    def check():
        left = json.loads(site.retried(lambda: site.ask("GET", f"/jobs/count?topic={job_id}&state=delayed"))[1])["count"]
        site.expect(left == 0, f"cancel_many: {answer}, and {left} are there")
    return check


def run_dead(site, _):
    site.expect_json("POST", f"/jobs/{site.take_dead()}/dead/run", (202,))


def redrive(site, _):
    site.expect_json("POST", f"/jobs/redrive?topic={site.take_dead()}&all=true")


def topic_put(site, job_id):
    header = {"X-Number": job_id}
    answer = site.expect_json("PUT", "/topics/set", body={"headers": header, "maxInFlight": 7})
    site.expect(answer["settings"]["maxInFlight"] == 7, f"topic_put: {answer}")


def topic_patch(site, _):
    answer = site.expect_json("PATCH", "/topics/set", body={"maxInFlight": 8})
    site.expect(answer["settings"]["maxInFlight"] == 8, f"topic_patch: {answer}")


def topic_get(site, _):
    site.expect(site.expect_json("GET", "/topics/listed")["jobs"]["delayed"] == LISTED, "topic_get")


def topics(site, _):
    found = site.expect_json("GET", "/topics?limit=3")["topics"]
    site.expect(len(found) == 3, f"topics: {found}")


def _deliver(site, job_id, what, body):
    """The first attempt fails, so that a retry is recorded, too."""
    site.receiver.script("memory", 503, 200, job_id=job_id)
    site.schedule(job_id, delay=0, retrySchedule=[0.05], retry=5, body=body)

    def check():
        until(lambda: site.job(job_id) is None, 30, lambda: f"{what}: gone, and not {site.job(job_id)}\n{site.node.log()[-3000:]}")
        arrivals = site.receiver.of("memory", job_id)
        site.expect(len(arrivals) >= 2, f"{what}: {job_id} is gone, and was not delivered")
        wanted = body if isinstance(body, str) else None
        site.expect(wanted is None or all(arrival.body.decode() == wanted for arrival in arrivals), f"{what}: another body")
        site.expect(all("json" in arrival.headers["content-type"] for arrival in arrivals), f"{what}: another type")
    site.later.append(check)

    def is_over():
        return (not site.node.is_alive() or f"no_memory_for_job job=memory/{job_id}" in site.node.log()
                or any(arrival.attempt > 1 for arrival in site.receiver.of("memory", job_id)))
    try:
        until(is_over, 2, "")
    except AssertionError:
        pass  # the claim may have been lost: then the job comes when its lease ends


def deliver(site, job_id):
    _deliver(site, job_id, "deliver", LONG_BODY)


# ---- large texts of a client ----

def with_many_keys(escape=""):
    """Returns a JSON text with 4,000 keys in nested objects, which all stay open until the end. escape: the beginning of some keys."""
    text = "1"
    for depth in range(5):
        keys = ",".join(f'"{escape if i % 100 == 0 else ""}k{depth}-{i}-{"y" * 20}":0' for i in range(800))
        text = "{" + keys + ',"inner":' + text + "}"
    return text


LARGE_BODY = json.loads(with_many_keys())
ESCAPED = with_many_keys("\\u0041")


def post_large(site, job_id):
    text = f'{{"topic":"memory","jobId":"{job_id}","url":"{site.url()}","delay":3600,"body":{ESCAPED}}}'
    status, data = site.ask("POST", "/jobs", text.replace("http://", "http:\\/\\/"))
    assert status == 201, (status, data)
    return lambda: site.expect(site.job(job_id)["body"] == json.loads(ESCAPED), "post_large: another body")


def post_again_large(site, _):
    post_again(site, _)


def post_many_large(site, job_id):
    jobs = [{"topic": "memory", "jobId": f"{job_id}-{i}", "url": site.url(), "delay": FAR} for i in range(3000)]
    jobs[7]["body"] = LARGE_BODY
    accepted = _post_many(site, jobs, "post_many_large")

    def check():
        for name in accepted[:10]:
            site.expect(site.job(name), f"post_many_large: {name} was accepted and is gone")
    return check


def put_large(site, job_id):
    status, data = site.ask("PUT", "/jobs/memory/put", {"url": site.url(), "delay": FAR, "body": [job_id, LARGE_BODY]})
    assert status in (200, 201), (status, data)
    return lambda: site.expect(site.job("put")["body"][0] == job_id, "put_large: another body")


def patch_large(site, job_id):
    status, data = site.ask("PATCH", "/jobs/memory/known", {"body": LARGE_BODY, "headers": {"X-Number": job_id}})
    assert status == 200, (status, data)


def headers_large(site, job_id):
    """These requests are refused because they are invalid, or because memory is short."""
    job = {"topic": "memory", "jobId": job_id, "url": site.url(), "headers": {"X-Long": "\n" + "x" * 200000}}
    status, data = site.ask("POST", "/jobs", job)
    site.expect(status == 400, f"headers_large: {status} {data[:200]!r}")


def topic_put_large(site, _):
    status, data = site.ask("PUT", "/topics/set", ESCAPED)
    site.expect(status == 400, f"topic_put_large: {status} {data[:200]!r}")


def topic_patch_large(site, _):
    status, data = site.ask("PATCH", "/topics/set", {"odd": [0] * 20000})
    site.expect(status == 400, f"topic_patch_large: {status} {data[:200]!r}")


def deliver_large(site, job_id):
    """The body is a JSON string with escapes, and the delivery is signed."""
    _deliver(site, job_id, "deliver_large", with_many_keys())


STORIES = (post, post_again, post_many, put, read, list_jobs, count, why, attempts, receivers, metrics, patch, cancel,
           cancel_many, run_dead, redrive, topic_put, topic_patch, topic_get, topics, deliver)
LARGE_STORIES = (post_large, post_again_large, post_many_large, put_large, read, list_jobs, patch_large, headers_large,
                 cancel_many, run_dead, redrive, topic_put_large, topic_patch_large, topics, metrics, deliver_large)
