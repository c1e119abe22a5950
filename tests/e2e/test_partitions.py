"""Networks that lose packets between duepost and the nodes of a Sentinel service or a Cluster, and between these
nodes: confirmed jobs are kept, and everything works again afterwards. Each node (with its Sentinel) has a host of its
own; duepost, its client and the receiver share one host. A story is a network to which one kind of fault happens a
few times under load. All stories run at the same time, because they mostly wait. DUEPOST_TEST_FAULTS is the number of
faults of each kind."""

import collections
import concurrent.futures
import contextlib
import os
import time

import pytest

from cluster import NODE_TIMEOUT_MS, Cluster, slot_of, topic_in
from duepost import Duepost
from load import Load
import network
from patience import until
from receiver import Receiver
from sentinels import Sentinels

FAULTS = int(os.environ.get("DUEPOST_TEST_FAULTS", "3"))
SHARDS = 16


class SentinelGroup(Sentinels):
    """With replicated:1, changes are confirmed while the old primary is away. replicated:2 is also safe if a replica
    still follows the old primary, but then changes are confirmed only after the old primary has become a replica.
    Sentinels order this some ten seconds after they see it again."""

    HOSTS, SIDE_BY_SIDE = 3, 3
    DOWN_AFTER_MS = 2000
    RESUMED_WITHIN_S = DOWN_AFTER_MS / 1000 + 5
    REJOINED_WITHIN_S = 30
    ONE, ALL = "replicated:1", "replicated:2"

    def __init__(self, hosts):
        super().__init__(hosts=hosts, down_after_ms=self.DOWN_AFTER_MS)

    def victim(self, _number):
        return self.primary()

    def has_heir(self, victim):
        return any(node.is_primary() for node in self.nodes if node is not victim)

    @staticmethod
    def topics(prefix):
        return [f"{prefix}.{number}" for number in range(4)]

    def topic_at(self, _victim, prefix):
        return prefix


class ClusterGroup(Cluster):
    """Each primary has one replica, so replicated:1 waits for all replicas of a primary."""

    HOSTS, SIDE_BY_SIDE = 6, 1
    RESUMED_WITHIN_S = NODE_TIMEOUT_MS / 1000 + 5
    REJOINED_WITHIN_S = RESUMED_WITHIN_S
    ONE = ALL = "replicated:1"

    def __init__(self, hosts):
        super().__init__(hosts=hosts)

    def victim(self, number):
        """Returns the primary of one third of the slots: of the first, second or third one, by number modulo 3."""
        victim = self.owner(slot_of((7, 1, 0)[number % 3]))
        self.heir = self.follower(victim)
        return victim

    def has_heir(self, _victim):
        return self.heir.is_primary()

    @staticmethod
    def topics(prefix):
        return [topic_in(shard, prefix) for shard in range(SHARDS)]

    def topic_at(self, victim, prefix):
        return topic_in(next(shard for shard in range(SHARDS) if self.owner(slot_of(shard)) is victim), prefix)


GROUPS = {"sentinel": SentinelGroup, "cluster": ClusterGroup}


class World:
    """A group of Redis nodes, and duepost under load, each on a host of its own. The test itself runs on duepost's
    host."""

    def __init__(self, kind, net, durability, topic):
        self.net, self.here = net, net.hosts[-1]
        self.needs_all = durability == kind.ALL
        self.figures = collections.defaultdict(list)  # seconds
        self.stops = []
        try:
            self.group = self._begin(kind(net.hosts[:-1]))
            self.receiver = self._begin(Receiver())
            self.server = self._begin(Duepost("--durability", durability, redis=self.group.address))
            self.load = self._begin(Load(self.server, self.receiver, self.group.topics(topic), pause=0.25))
        except BaseException:
            self.stop()
            raise

    def _begin(self, what):
        self.stops.append(what.stop)
        return what

    def others(self, victim):
        return [node.host for node in self.group.nodes if node is not victim]

    def await_heir(self, victim):
        until(lambda: self.group.has_heir(victim), self.group.RESUMED_WITHIN_S, "another primary")

    def await_deliveries(self, since):
        self.load.await_deliveries(since + self.group.RESUMED_WITHIN_S - time.monotonic())
        self.figures["deliveries after the fault"].append(time.monotonic() - since)

    def await_promises(self, since, seconds, words):
        self.figures["201s and deliveries after " + words].append(self.load.await_resumed(since, seconds))

    def heal(self, seconds):
        """Ends the fault, and fails if not everything works again within this number of seconds."""
        self.net.heal()
        self.await_promises(time.monotonic(), seconds, "its end")

    def stop(self):
        for stop in reversed(self.stops):
            stop()


def await_service_without(world, victim, since):
    """Checks that the other nodes continue during the fault: duepost delivers jobs, and, unless it needs all
    replicas, confirms new jobs. Then ends the fault."""
    world.await_heir(victim)
    world.await_deliveries(since)
    if not world.needs_all:
        world.await_promises(since, world.group.RESUMED_WITHIN_S, "the fault")
    world.heal(world.group.REJOINED_WITHIN_S)


def cut_off(world, number):
    victim = world.group.victim(number)
    world.load.put_ahead(10)
    since = time.monotonic()
    world.net.part([victim.host])
    await_service_without(world, victim, since)


@contextlib.contextmanager
def control(world, victim, number):
    """A control of the test: a second duepost without replicated:N meets the same fault, and must lose confirmed
    jobs. Otherwise the fault would prove nothing."""
    prefix = f"control{number}"
    careless = Duepost("--durability", "fsync", "--prefix", prefix + ":", redis=world.group.address)
    try:
        load = Load(careless, world.receiver, [world.group.topic_at(victim, prefix)], held_every=1)
        try:
            yield
        finally:
            load.stop()
        world.group.await_whole()
        assert load.release(), "without WAIT nothing was lost: the fault proves nothing"
    finally:
        careless.stop()


def minority(world, number):
    """Cuts off duepost together with the primary. duepost continues to use this primary, while the other nodes have a
    new one."""
    victim = world.group.victim(number)
    with control(world, victim, number):
        world.net.part([victim.host, world.here])
        world.await_heir(victim)
        if number % 2:
            time.sleep(1)  # in the other rounds, a replica may still follow the old primary when the fault ends
        world.heal(world.group.REJOINED_WITHIN_S)


def one_way(world, number):
    victim = world.group.victim(number)
    others = world.others(victim)
    senders, receivers = [([victim.host], others), (others, [victim.host]), ([victim.host], [world.here]),
                          ([world.here], [victim.host])][number % 4]
    world.load.put_ahead(10)
    since = time.monotonic()
    world.net.lose(senders, receivers)
    if others in (senders, receivers):
        await_service_without(world, victim, since)
    else:  # the fault is between duepost and the primary only, so no other node becomes primary
        time.sleep(4)
        world.heal(world.group.RESUMED_WITHIN_S)


def durability(kind, fault, part):
    return kind.ALL if fault is minority or part == 2 else kind.ONE


def story(kind, fault, part, topic):
    """Runs the story. Returns its figures, and the number of confirmed jobs."""
    net = network.Network(kind.HOSTS + 1)
    try:
        with net.hosts[-1]:
            world = World(kind, net, durability(kind, fault, part), topic)
            try:
                for number in range(part, FAULTS, kind.SIDE_BY_SIDE):
                    fault(world, number)
                    world.group.await_whole()
                confirmed = world.load.end()
            finally:
                world.stop()
            assert "books_are_off" not in world.server.log() and "ERROR: AddressSanitizer" not in world.server.log()
            return world.figures, confirmed
    finally:
        net.close()


@pytest.fixture(scope="module")
def stories(request):
    """Starts the stories of the selected tests. A test divides its faults into parts, with one story for each
    part."""
    wanted = [(item.callspec.params["name"], item.callspec.params["fault"]) for item in request.session.items
              if item.function is test_a_partition_loses_nothing]
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        def begin(name, fault):
            parts = min(FAULTS, GROUPS[name].SIDE_BY_SIDE)
            return [pool.submit(story, GROUPS[name], fault, part, f"{name}-{fault.__name__}{part}") for part in range(parts)]
        yield {each: begin(*each) for each in wanted}


@pytest.mark.parametrize("fault", [cut_off, minority, one_way])
@pytest.mark.parametrize("name", GROUPS)
def test_a_partition_loses_nothing(stories, name, fault):
    try:
        told = [part.result() for part in stories[name, fault]]
    except network.Unavailable as why:
        pytest.skip(str(why))
    for words in sorted({words for figures, _ in told for words in figures}):
        print(words + ":", " ".join(f"{each:.1f}" for each in sorted(sum((figures[words] for figures, _ in told), []))), "s")
    print("jobs confirmed:", sum(confirmed for _, confirmed in told))
