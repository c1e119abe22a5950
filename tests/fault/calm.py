"""Runs without faults: each job arrives once, and no job arrives early."""

import time

from client import Order, mixed_orders
import control
from premises import Site


def one_run(orders, seconds, binary=None):
    site = Site(binary=binary, connections=64)
    try:
        begin = time.monotonic()
        site.begin(orders)
        site.await_client(seconds)
        site.await_settled(30)
        return time.monotonic() - begin, site.verdict()
    finally:
        site.stop()


def run(report):
    jobs = report.amount(100_000, 1_000_000)
    orders = (Order(0, f"t{n % 20}", str(n), delay_ms=n % 7 * 100) for n in range(jobs))
    seconds, said = one_run(orders, jobs / 1000)
    report.say(f"{jobs} jobs in {seconds:.1f} s")
    report.verdict("no faults", said)
    report.expect(said.counts["delivered"] == jobs, f"{said.counts['delivered']} of {jobs} delivered")
    report.verdict("no faults, all kinds of jobs", one_run(mixed_orders(report.seed, 3000, 4), 30)[1])
    for name in ("no due time", "no cancel"):
        report.control(name, one_run(mixed_orders(report.seed, 500, 1), 30, control.without(name))[1])


