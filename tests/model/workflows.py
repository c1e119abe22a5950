"""Workflows in the model: lists of elements that grow, and the jobs that belong to them, see src/store/scripts/lib/workflows.lua and
events.lua."""

KEPT_MS = 604_800_000
RESULT_AGAIN = -2
LISTED = ("state", "createdAt", "endedAt", "first", "failedBy", "result", "settings")
HOOK = "webhook\n"  # the names of the events of webhooks begin with this


def size_of(event, data):
    return sum(100 + len(event) + len(each) for each in data)


class Workflows:
    """The workflows of a Pool (pool.py), which is derived from this class and has the jobs."""

    def __init__(self):
        self.last_made = {}  # owner/workflowId -> when the last workflow with this id was created, ms
        self.workflows = {}  # place (owner/workflowId/ms) -> fields of its hash
        self.elements = {}  # place -> texts
        self.element_jobs = {}  # place -> for each element a text 'role time bytes jobId'
        self.open = {}  # place -> the workflow's jobs that have not ended, in the order in which they were scheduled -> mark, see is_done
        self.steps = {}  # place -> name of a step -> (number of the step after it, its first job)
        self.members = {}  # id of a job in open -> (role, number of elements up to the job's own, their bytes, place)
        self.over = {}  # place -> ms when the workflow ended
        self.waits = {}  # id of a job that waits -> (event, text, element that its deadline adds)
        self.waiters = {}  # (owner or place, event) -> job -> when the job began to wait, ms
        self.kept_events = {}  # place -> event -> data
        self.answered_members = set()  # dropped jobs whose result an item of the current call has got already
        self.dropped_members, self.prepared_members = [], []  # jobs that the call under way drops: (id, whether it was leased); jobs that it prepares: (id, due)

    def active_place(self, workflow):
        place = f"{workflow}/{self.last_made.get(workflow)}"
        return place if self.is_active(place) else None

    def is_active(self, place):
        return self.workflows.get(place, {}).get("state") == "active"

    def add_membership(self, job_id, role, position, size, place, mark=""):
        self.members[job_id] = role, position, size, place
        self.open.setdefault(place, {})[job_id] = mark

    def job_of_step(self, place, step):
        return self.steps.get(place, {}).get(step, (0, ""))[1]

    def note_step(self, place, step, job_id, last=None):
        """Notes a step that is appended. Returns the mark of its job."""
        if not step:
            return ""
        steps, number = self.steps.setdefault(place, {}), int(step.rstrip("cp"))
        after = (number if last is None else last) + 1 if step.endswith("p") else steps.get(f"{number}p", (number + 1,))[0]
        steps[step] = after, job_id
        return "" if step.endswith("c") else f"={number}" if step.endswith("p") else str(after)

    def is_done(self, place, mark):
        """Returns whether the workflow has the step that the delivery of a job with this mark would make."""
        steps = self.steps.get(place, {})
        if mark.startswith("="):
            return mark[1:] in steps or f"{mark[1:]}c" in steps
        return bool(mark) and max((int(step.rstrip("cp")) for step in steps), default=0) >= int(mark)

    def add_element(self, place, role, job_id, element):
        """Appends an element. Returns its position, and the size of all elements."""
        self.elements.setdefault(place, []).append(role + element)
        self.element_jobs.setdefault(place, []).append(f"{role} {self.now} {len(element)} {job_id}")
        fields = self.workflows[place]
        fields["bytes"] = str(int(fields.get("bytes", 0)) + len(element) + 1)
        return len(self.elements[place]), int(fields["bytes"])

    def add_member(self, place, role, job_id, when, record, element, mark=""):
        position, size = self.add_element(place, role, job_id, element) if role in "sc" else (0, 0)
        self.add_membership(job_id, role, position, size, place, mark)
        return self.start(job_id, when, record)[0]

    def leave(self, job_id):
        """Notes that a job has ended. Returns its role and the place of its workflow."""
        role, _, _, place = self.members.pop(job_id, (None, 0, 0, None))
        if role:
            del self.open[place][job_id]
        if role == "w":
            self.forget_wait(job_id, place)
        return role, place

    def forget_wait(self, job_id, place):
        event, *_ = self.waits.pop(job_id)
        for scope in (place.split("/")[0], place):
            del self.waiters[scope, event][job_id]

    def drop_members(self, place, how=None):
        for job_id in list(self.open.get(place, ())):
            is_last = how == "succeeded" and self.members[job_id][0] != "c" and self.deadline(job_id) is not None
            self.drop_member(job_id, "delivered" if is_last else "cancelled")

    def drop_member(self, job_id, state):
        self.dropped_members.append((job_id, bool(self.remove(job_id, state))))

    def begin(self, max_jobs, items):
        answers, room = [], self.room(max_jobs)
        self.look([item[10] for item in items])
        for workflow, settings, parent, if_failed, if_cancelled, replaces, failed, kept, size, *first, step, parent_step in items:
            place = self.active_place(workflow)
            letter = self.letter_of(failed, kept)
            if place and replaces == "0":
                answers.append([0, int(self.workflows[place]["createdAt"]), self.workflows[place]["first"]])
            elif parent and self.job_of_step(parent, parent_step):
                answers.append([0, int(self.workflows[parent]["createdAt"]), self.job_of_step(parent, parent_step)])
            elif failed and not letter:
                answers.append(-1)
            elif room < 1 or first[1] in self.jobs:
                answers.append(-7 if room < 1 else -6)
            elif not parent and not place and self.refusal(first[1]):
                answers.append(self.refusal(first[1]))
            else:
                room -= 1
                self.take_room(first[1])
                made = self.last_made[workflow] if place else max(self.now, self.last_made.get(workflow, 0) + 1)
                before = self.workflows[place] if place else None
                if place:
                    self.drop_members(place)
                    self.elements.pop(place, None)
                    self.element_jobs.pop(place, None)
                    self.steps.pop(place, None)
                place = f"{workflow}/{made}"
                previous = before.get("previous") if before else self.last_made.get(workflow)
                self.last_made[workflow] = made
                self.workflows[place] = {"state": "active", "createdAt": str(made), "settings": settings, "first": first[1]}
                if previous:
                    self.workflows[place]["previous"] = str(previous)
                if parent:
                    self.workflows[place] |= {"parent": parent, "ifFailed": if_failed, "ifCancelled": if_cancelled}
                if parent and parent_step and self.is_active(parent):
                    self.workflows[place]["parentStep"] = parent_step
                    self.note_step(parent, parent_step, first[1])
                if letter and kept:
                    self.workflows[place] |= {name: "" for name in self.workflows[failed] if name.startswith(HOOK)}
                    self.elements[place] = self.elements[failed][:kept]
                    self.element_jobs[place] = self.element_jobs[failed][:kept]
                    self.workflows[place]["bytes"] = str(size)
                if letter:
                    self.remove_dead(letter)
                self.add_member(place, *first, self.note_step(place, step, first[1]))
                self.forget_old()
                answers.append([1, made])
        self.finish()
        return answers

    def letter_of(self, place, kept):
        """Returns the dead job of a failed workflow that has at least `kept` elements, or None."""
        letter = self.workflows.get(place, {}).get("failedBy")
        if letter in self.dead and len(self.elements.get(place, ())) >= kept:
            return letter
        return None

    def append(self, max_jobs, items):
        answers, room = [], self.room(max_jobs)
        for workflow, number, *words in items:
            place, entries = self.active_place(workflow), [words[i:i + 7] for i in range(0, len(words), 7)]
            firsts, named = [], {}
            for _, job_id, *_, step in entries:
                firsts.append(step and (self.job_of_step(place, step) or named.get(step)) or "")
                named.setdefault(step, job_id)
            entries = [entry for entry, first in zip(entries, firsts) if not first]
            ids = [job_id for _, job_id, *_ in entries]
            if not place or len(ids) > room:
                answers.append(-7 if place else -1)
            elif len(set(ids)) < len(ids) or any(job_id in self.jobs for job_id in ids):
                answers.append(-6)
            else:
                last = max((int(step[:-1]) for *_, step in entries if step.endswith("p")), default=0)
                for *entry, hook, step in entries:
                    self.add_member(place, *entry, self.note_step(place, step, entry[1], last))
                    if hook:
                        self.workflows[place][hook] = ""
                room -= len(ids)
                answers.append(firsts if any(firsts) else int(self.workflows[place]["createdAt"]))
        self.finish()
        return answers

    def wait(self, max_jobs, items):
        answers = [self.wait_one(max_jobs, *item) for item in items]
        self.finish()
        return answers

    def wait_one(self, max_jobs, workflow, event, text, job_id, when, record, element, read, *taking):
        *taking, step = taking
        place = self.active_place(workflow)
        if not place:
            return -1
        if self.job_of_step(place, step):
            return 1
        if self.room(max_jobs) < 1:
            return -7
        events = self.kept_events.get(place, {}).get(event)
        if events and events[0] != read:
            return [events[0]]
        if (taking[0] if events else job_id) in self.jobs:
            return -6
        if events:
            events.pop(0)
            if not events:
                del self.kept_events[place][event]
            self.add_member(place, "s", taking[0], "0", *taking[1:], self.note_step(place, step, taking[0]))
            return 2
        if event.startswith(HOOK):
            self.workflows[place][event] = ""
        self.add_member(place, "w", job_id, when, record, "", self.note_step(place, step, job_id))
        self.waits[job_id] = event, text, element
        for scope in (place.split("/")[0], place):
            self.waiters.setdefault((scope, event), {})[job_id] = self.now
        return 1

    def scope_of(self, owner, workflow):
        return self.active_place(workflow) if workflow else owner

    def waiting_for(self, owner, event, workflow, most, behind):
        """Returns a page of the jobs that wait for the event: where the next page begins, the jobs, and their texts."""
        found = sorted((at, job_id) for job_id, at in self.waiters.get((self.scope_of(owner, workflow), event), {}).items())
        if behind:
            at, job_id = behind.split(":")
            found = [one for one in found if one > (int(at), job_id)]
        page = found[:most]
        place = "%d:%s" % page[-1] if len(found) > most else ""
        return [place, *(word for _, job_id in page for word in (job_id, self.waits[job_id][1]))]

    def notify(self, owner, event, workflow, data, notices):
        results = [self.notify_one(*notice) for notice in notices]
        kept = self.keep_event(event, workflow, data) if workflow and not any(results) else 0
        self.finish()
        return [[kept, *results]]

    def notify_one(self, waiter, job_id, record, element):
        if waiter not in self.waits or job_id in self.jobs:
            return 0
        place = self.members[waiter][3]
        mark = self.open[place][waiter]
        self.drop_member(waiter, "cancelled")
        self.add_member(place, "s", job_id, "0", record, element, mark)
        return 1

    def keep_event(self, event, workflow, data):
        place = self.active_place(workflow)
        if not place:
            return -1
        if self.waiters.get((place, event)):
            return RESULT_AGAIN
        self.kept_events.setdefault(place, {}).setdefault(event, []).append(data)
        return 1

    def event_bytes(self):
        return sum(size_of(event, data) for events in self.kept_events.values() for event, data in events.items())

    def arrive(self, ids):
        return [self.arrive_one(job_id) for job_id in ids]

    def arrive_one(self, job_id):
        if job_id not in self.members:
            return ["over"]
        role, position, _, place = self.members[job_id]
        if role == "s" and self.is_done(place, self.open[place][job_id]):
            return ["done"]
        if role == "w":
            role = "s"
            element = self.waits[job_id][2]
            self.forget_wait(job_id, place)
            position, size = self.add_element(place, role, job_id, element)
            self.members[job_id] = role, position, size, place
        upto = position if role == "s" else 1
        return ["list" if role == "s" else "own", int(self.workflows[place]["createdAt"]), self.elements.get(place, [])[:upto]]

    def list_workflows(self, owner, state, behind, most):
        """Returns a page, and the place of the last workflow that was examined, see workflow_list.lua."""
        latest = sorted(self.workflows, key=lambda place: (int(place.rsplit("/", 1)[1]), place), reverse=True)
        if behind in self.workflows:
            latest = latest[latest.index(behind) + 1:]
        elif behind:
            latest = [place for place in latest if int(place.rsplit("/", 1)[1]) < int(behind.rsplit("/", 1)[1])]
        words, found = [], 0
        for i, place in enumerate(latest):
            fields = self.workflows[place]
            if (not owner or place.split("/")[0] == owner) and (not state or fields["state"] == state):
                found += 1
                words += [place, [fields.get(name, "") for name in LISTED], len(self.open.get(place, ())), len(self.elements.get(place, ()))]
            if found == most:
                return [place if i + 1 < len(latest) else "", *words]
        return ["", *words]

    def conclude(self, items):
        answers = []
        for workflow, state, result, prepared in items:
            place = self.active_place(workflow)
            answers.append(int(self.workflows[place]["createdAt"]) if place else -1)
            if place:
                if state == "cancelled":
                    prepared = self.workflows[place].get("ifCancelled", "")
                self.end_workflow(place, state, prepared, result=result)
        self.finish()
        return answers

    def end_workflow(self, place, state, prepared, **more):
        self.drop_members(place, state)
        self.kept_events.pop(place, None)
        self.steps.pop(place, None)
        self.workflows[place] |= {"state": state, "endedAt": str(self.now), **more}
        self.over[place] = self.now
        parent = self.workflows[place].get("parent")
        if parent and prepared and self.is_active(parent):
            id_size, record_size, rest = prepared.split(" ", 2)
            job_id, rest = rest[:int(id_size)], rest[int(id_size):]
            if job_id not in self.jobs:
                after, _ = self.steps.get(parent, {}).get(self.workflows[place].get("parentStep"), ("", ""))
                due = self.add_member(parent, "s", job_id, "0", rest[:int(record_size)], rest[int(record_size):], str(after))
                self.prepared_members.append((job_id, due))
        self.forget_old()

    def fail_workflow_of(self, job_id):
        role, place = self.leave(job_id)
        if role in ("s", "a", "w"):
            self.end_workflow(place, "failed", self.workflows[place].get("ifFailed"), failedBy=job_id)

    def forget_old(self):
        for _ in range(4):
            ended, place = min(((ended, place) for place, ended in self.over.items()), default=(0, None))
            if not place or ended > self.now - KEPT_MS:
                return
            workflow, made = place.rsplit("/", 1)
            if self.last_made.get(workflow) == int(made):
                del self.last_made[workflow]
            del self.workflows[place], self.over[place]
            self.elements.pop(place, None)
            self.element_jobs.pop(place, None)

    def workflow_keyspace(self):
        return {
            "workflows": {workflow: str(made) for workflow, made in self.last_made.items()},
            "workflow_times": {place: int(place.rsplit("/", 1)[1]) for place in self.workflows},
            "workflows_over": self.over, "workflow": self.workflows, "elements": self.elements,
            "element_jobs": self.element_jobs,
            "open": {place: ids for place, ids in self.open.items() if ids},
            "steps": {place: {step: f"{after} {job_id}" for step, (after, job_id) in steps.items()}
                      | {"": str(number) for number in [max(int(step.rstrip("cp")) for step in steps)] if number}
                      for place, steps in self.steps.items() if steps},
            "workflow_jobs": {job_id: " ".join(map(str, words)) for job_id, words in self.members.items()},
            "waits": {job_id: f"{len(event)} {len(text)} {event}{text}{element}" for job_id, (event, text, element) in self.waits.items()},
            "waiters": {f"{scope}/{event}": jobs for (scope, event), jobs in self.waiters.items() if jobs},
            "events": {f"{place}/{event}": data for place, events in self.kept_events.items() for event, data in events.items() if data},
            "event_names": {place: {event: str(size_of(event, data)) for event, data in events.items()}
                            | {"": str(sum(size_of(event, data) for event, data in events.items()))}
                            | {HOOK: str(size_of(event, data)) for event, data in events.items() if event.startswith(HOOK)}
                            for place, events in self.kept_events.items() if events},
        }
