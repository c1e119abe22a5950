"""The numbers for Prometheus move as jobs do."""

from patience import until


def numbers(server):
    """{series: value}"""
    rows = [line.rpartition(" ") for line in server.get("/metrics").body.decode().splitlines() if not line.startswith("#")]
    return {series: float(value) for series, _, value in rows}


def test_a_jobs_way_is_counted(start, receiver, topic):
    server = start()
    receiver.script(topic, 500, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.1])
    server.wait_for_state(topic, "a", None)
    server.schedule(topic=topic, jobId="later", url=receiver.url(), delay=60)
    expected = {f'duepost_jobs_accepted_total{{topic="{topic}"}}': 2,
                f'duepost_attempts_total{{topic="{topic}",result="5xx"}}': 1,
                f'duepost_attempts_total{{topic="{topic}",result="delivered"}}': 1,
                f'duepost_jobs_ended_total{{topic="{topic}",how="delivered"}}': 1,
                'duepost_jobs{state="delayed"}': 1, "duepost_redis_up": 1, "duepost_in_flight": 0}
    until(lambda: expected.items() <= numbers(server).items(), 5, lambda: numbers(server))


def test_metrics_hold_no_secrets(server, topic):
    server.schedule(topic=topic, jobId="s3cret", url="http://127.0.0.1:9/?t=s3cret", headers={"A": "s3cret"}, body="s3cret", delay=60)
    assert "s3cret" not in server.get("/metrics").body.decode()
