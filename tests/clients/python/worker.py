"""A worker: worker.py URL TOPIC SECONDS LEASE. Prints each job that it begins."""

import sys
import time

import duepost

url, topic, seconds, lease = sys.argv[1:]


def handle(job):
    print("begin", job.job_id, flush=True)
    time.sleep(float(seconds))
    return {"done": job.body}


duepost.Duepost(url).work(topic, handle, lease=float(lease))
print("drained", flush=True)
