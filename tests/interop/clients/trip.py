"""Schedules, reads and cancels a job with the client that openapi-python-client made: trip.py BASE_URL."""

import sys

from duepost_client import Client
from duepost_client.api.jobs import cancel_job, read_job, schedule_job
from duepost_client.models import CallbackTarget, NewJob

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
job = NewJob(topic="made", job_id="python", url="http://127.0.0.1:9/", delay=3600.5, body={"total": 1.1},
             on_dead=CallbackTarget(url="http://127.0.0.1:9/dead"))
scheduled = schedule_job.sync(client=client, body=job)
found = read_job.sync(client=client, topic="made", job_id="python")
cancelled = cancel_job.sync(client=client, topic="made", job_id="python")
assert scheduled.due_at == found.due_at and found.delay == 3600.5 and found.body == {"total": 1.1}, found
assert cancelled.attempt_in_flight is False, cancelled

later = schedule_job.sync(client=client, body=NewJob(topic="made", url="http://127.0.0.1:9/", delay="15m", on_dead="http://127.0.0.1:9/"))
assert cancel_job.sync(client=client, topic="made", job_id=later.job_id).state == "cancelled", later
