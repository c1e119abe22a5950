"""Kills, freezes, lost connections, pauses and a full Redis, while jobs are scheduled, cancelled and delivered."""

from client import mixed_orders
import control
from nemesis import Nemesis, bursts
from premises import Site

SETTLE_S = 200  # of the jobs that have lost two consumers, one is attempted at a time; the fourth loss is followed by a wait of up to 16 leases


def one_run(seed, jobs, kills, rounds, binary=None):
    site = Site(binary=binary)
    try:
        steps = bursts(seed, kills, rounds)
        site.begin(mixed_orders(seed, jobs, steps[-1].at + 2))
        nemesis = Nemesis(site)
        nemesis.run(steps)
        nemesis.end()
        site.await_client(60)
        settled = site.await_settled(SETTLE_S)
        return nemesis, settled, site.verdict(nemesis.faults)
    finally:
        site.stop()


def run(report):
    jobs, kills, rounds = report.amount(24_000, 400_000), report.amount(100, 1000), report.amount(7, 70)
    nemesis, settled, verdict = one_run(report.seed, jobs, kills, rounds)
    report.say(f"{nemesis.kills} kills, {nemesis.counted} of them with something under way; "
               + ", ".join(f"{n} {kind}" for kind, n in sorted(nemesis.done.items()) if not kind.startswith("kill")))
    report.expect(settled is not None, f"not settled within {SETTLE_S} s after the faults")
    if settled is not None:
        report.say(f"settled {settled:.1f} s after the last fault and request")
    report.verdict("chaos", verdict)
    report.expect(nemesis.counted >= kills * 0.7, f"only {nemesis.counted} kills hit something")
    for name in ("destructive pop",):
        report.control(name, one_run(report.seed, 2000, 6, 1, control.without(name))[2])
