package clients

import (
	"sort"
	"testing"
	"time"

	"github.com/upstash/qstash-go"
)

func TestQueues(t *testing.T) {
	name, r := t.Name(), newReceiver(t)
	ok(t, client.Queues().Upsert(qstash.Queue{Name: name, Parallelism: 1, IsPaused: true}))
	_, err := client.Enqueue(qstash.EnqueueOptions{Queue: name, PublishOptions: qstash.PublishOptions{Url: r.url, Body: "text"}})
	ok(t, err)
	_, err = client.EnqueueJSON(qstash.EnqueueJSONOptions{Queue: name,
		PublishJSONOptions: qstash.PublishJSONOptions{Url: r.url, Body: map[string]interface{}{"n": 2}}})
	ok(t, err)
	queue, err := client.Queues().Get(name)
	ok(t, err)
	if queue.CreatedAt == 0 || queue.UpdatedAt < queue.CreatedAt {
		t.Errorf("times %d and %d", queue.CreatedAt, queue.UpdatedAt)
	}
	queue.CreatedAt, queue.UpdatedAt = 0, 0
	equal(t, "queue", queue, qstash.QueueWithLag{Name: name, Parallelism: 1, Lag: 2, IsPaused: true})
	ok(t, client.Queues().Resume(name))
	got := r.wait(t, 2)
	equal(t, "order", []string{got[0].body, got[1].body}, []string{"text", `{"n":2}`})
	ok(t, client.Queues().Pause(name))
	queues, err := client.Queues().List()
	ok(t, err)
	paused := false
	for _, each := range queues {
		paused = paused || each.Name == name && each.IsPaused
	}
	equal(t, "is listed and paused", paused, true)
	ok(t, client.Queues().Delete(name))
	_, err = client.Queues().Get(name)
	fails(t, err, name)
}

func TestUrlGroups(t *testing.T) {
	name, one, two := t.Name(), newReceiver(t), newReceiver(t)
	ok(t, client.UrlGroups().Delete(name))
	ok(t, client.UrlGroups().UpsertEndpoints(name, []qstash.Endpoint{{Url: one.url, Name: "First endpoint"}, {Url: two.url}}))
	group, err := client.UrlGroups().Get(name)
	ok(t, err)
	sort.Slice(group.Endpoints, func(i, j int) bool { return group.Endpoints[i].Name > group.Endpoints[j].Name })
	equal(t, "endpoints", group.Endpoints, []qstash.Endpoint{{Url: one.url, Name: "First endpoint"}, {Url: two.url}})
	groups, err := client.UrlGroups().List()
	ok(t, err)
	found := false
	for _, each := range groups {
		found = found || each.Name == name && each.CreatedAt > 0 && each.UpdatedAt >= each.CreatedAt
	}
	equal(t, "is listed", found, true)

	sent, err := client.UrlGroups().Publish(qstash.PublishUrlGroupOptions{UrlGroup: name, Body: "text"})
	ok(t, err)
	urls := []string{sent[0].Url, sent[1].Url}
	expected := []string{one.url, two.url}
	sort.Strings(urls)
	sort.Strings(expected)
	equal(t, "urls", urls, expected)
	json, enqueued := qstash.PublishUrlGroupJSONOptions{UrlGroup: name, Body: map[string]interface{}{"n": 1}}, qstash.PublishUrlGroupOptions{UrlGroup: name}
	_, err = client.UrlGroups().PublishJSON(json)
	ok(t, err)
	sent, err = client.UrlGroups().Enqueue(qstash.EnqueueUrlGroupOptions{Queue: name, PublishUrlGroupOptions: enqueued})
	ok(t, err)
	equal(t, "enqueued", len(sent), 2)
	sent, err = client.UrlGroups().EnqueueJSON(qstash.EnqueueUrlGroupJSONOptions{Queue: name, PublishUrlGroupJSONOptions: json})
	ok(t, err)
	equal(t, "enqueued", len(sent), 2)
	mixed, err := client.Batch([]qstash.BatchOptions{{UrlGroup: name}, {Url: "https://example.com", Delay: "1h"}})
	ok(t, err)
	equal(t, "batch", []int{len(mixed[0]), len(mixed[1])}, []int{2, 1})
	for _, r := range []*receiver{one, two} {
		bodies := map[string]int{}
		for _, got := range r.wait(t, 5) {
			bodies[got.body]++
			equal(t, "group", got.header.Get("Upstash-Topic-Name"), name)
		}
		equal(t, "bodies", bodies, map[string]int{"text": 1, `{"n":1}`: 2, "": 2})
	}

	ok(t, client.UrlGroups().RemoveEndpoints(name, []qstash.Endpoint{{Name: "First endpoint"}}))
	group, err = client.UrlGroups().Get(name)
	ok(t, err)
	equal(t, "the rest", group.Endpoints, []qstash.Endpoint{{Url: two.url}})
	ok(t, client.UrlGroups().Delete(name))
	_, err = client.UrlGroups().Get(name)
	fails(t, err, name)
	_, err = client.UrlGroups().Publish(qstash.PublishUrlGroupOptions{UrlGroup: name})
	fails(t, err, "topic "+name+" not found")
}

func TestSchedules(t *testing.T) {
	id, err := client.Schedules().Create(qstash.ScheduleOptions{Cron: "0 4 1 1 *", Destination: "https://example.com/a?b=c", Body: "text",
		Method: "PUT", Headers: map[string]string{"My-Header": "v"}, Retries: qstash.RetryCount(2), Delay: "1m", Timeout: "20s",
		Callback: "https://example.com/cb", FailureCallback: "https://example.com/fail"})
	ok(t, err)
	schedule, err := client.Schedules().Get(id)
	ok(t, err)
	if schedule.CreatedAt == 0 || schedule.NextScheduleTime <= schedule.CreatedAt {
		t.Errorf("times %d and %d", schedule.CreatedAt, schedule.NextScheduleTime)
	}
	schedule.CreatedAt, schedule.NextScheduleTime = 0, 0
	equal(t, "schedule", schedule, qstash.Schedule{Id: id, Cron: "0 4 1 1 *", Destination: "https://example.com/a?b=c", Method: "PUT", Body: "text",
		Header: map[string][]string{"My-Header": {"v"}}, Retries: 2, Delay: 60, Callback: "https://example.com/cb",
		FailureCallback: "https://example.com/fail", CallerIP: "127.0.0.1"})
	ok(t, client.Schedules().Pause(id))
	schedules, err := client.Schedules().List()
	ok(t, err)
	paused := false
	for _, each := range schedules {
		paused = paused || each.Id == id && each.IsPaused
	}
	equal(t, "is listed and paused", paused, true)
	ok(t, client.Schedules().Resume(id))
	schedule, err = client.Schedules().Get(id)
	ok(t, err)
	equal(t, "is paused", schedule.IsPaused, false)
	ok(t, client.Schedules().Delete(id))
	_, err = client.Schedules().Get(id)
	fails(t, err, "not found")
	_, err = client.Schedules().Create(qstash.ScheduleOptions{Cron: "never", Destination: "https://example.com"})
	fails(t, err, "cron")
}

func TestAScheduleSends(t *testing.T) {
	r := newReceiver(t)
	id, err := client.Schedules().CreateJSON(qstash.ScheduleJSONOptions{Cron: "* * * * * *", Destination: r.url,
		Body: map[string]interface{}{"n": 1}})
	ok(t, err)
	got := r.first(t)
	ok(t, client.Schedules().Delete(id))
	equal(t, "what arrived", []string{got.body, got.header.Get("Upstash-Schedule-Id"), got.header.Get("Content-Type")},
		[]string{`{"n":1}`, id, "application/json"})
	ok(t, verify(t, got, r.url))
}

func TestAScheduleSendsToAUrlGroup(t *testing.T) {
	name, one, two := t.Name(), newReceiver(t), newReceiver(t)
	ok(t, client.UrlGroups().UpsertEndpoints(name, []qstash.Endpoint{{Url: one.url, Name: "one"}, {Url: two.url}}))
	id, err := client.Schedules().Create(qstash.ScheduleOptions{Cron: "* * * * * *", Destination: name, Body: "text",
		Headers: map[string]string{"My-Header": "v"}, Retries: qstash.RetryCount(1)})
	ok(t, err)
	schedule, err := client.Schedules().Get(id)
	ok(t, err)
	equal(t, "schedule", []interface{}{schedule.Destination, schedule.Body, int(schedule.Retries)}, []interface{}{name, "text", 1})
	schedules, err := client.Schedules().List()
	ok(t, err)
	found := false
	for _, each := range schedules {
		found = found || each.Id == id && each.Destination == name
	}
	equal(t, "is listed", found, true)
	for _, r := range []*receiver{one, two} {
		got := r.first(t)
		equal(t, "what arrived", []string{got.body, got.header.Get("My-Header"), got.header.Get("Upstash-Schedule-Id"),
			got.header.Get("Upstash-Topic-Name")}, []string{"text", "v", id, name})
		ok(t, verify(t, got, r.url))
	}
	ok(t, client.Schedules().Delete(id))
	_, err = client.Schedules().Get(id)
	fails(t, err, "not found")
	ok(t, client.UrlGroups().Delete(name))
}

// dead publishes a message that dies, and returns its dead letter.
func dead(t *testing.T, r *receiver) (letter qstash.DlqMessage) {
	sent, err := client.Publish(qstash.PublishOptions{Url: r.url, Body: "text", Retries: qstash.RetryCount(0)})
	ok(t, err)
	until(t, "the dead letter", func() bool {
		letters, cursor, err := client.Dlq().List(qstash.ListDlqOptions{Filter: qstash.DlqFilter{
			MessageId: sent.MessageId, ResponseStatus: 404, FromDate: time.Now().Add(-time.Hour), CallerIP: "127.0.0.1"}})
		ok(t, err)
		equal(t, "cursor", cursor, "")
		if len(letters) == 1 {
			letter = letters[0]
		}
		return len(letters) == 1
	})
	return letter
}

func TestEvents(t *testing.T) {
	r := newReceiver(t, 404)
	letter := dead(t, r)
	var events []qstash.Event
	until(t, "four events", func() bool {
		var err error
		events, _, err = client.Events().List(qstash.ListEventsOptions{Filter: qstash.EventFilter{MessageId: letter.MessageId, Url: r.url}})
		ok(t, err)
		return len(events) == 4
	})
	for i, state := range []qstash.EventState{qstash.Failed, qstash.Error, qstash.Active, qstash.Created} {
		equal(t, "event", []interface{}{events[i].State, events[i].MessageId, events[i].Url}, []interface{}{state, letter.MessageId, r.url})
		if time.Since(time.UnixMilli(events[i].Time)) > time.Minute {
			t.Errorf("time %d", events[i].Time)
		}
	}
	page, cursor, err := client.Events().List(qstash.ListEventsOptions{Count: 3, Filter: qstash.EventFilter{MessageId: letter.MessageId}})
	ok(t, err)
	equal(t, "page", []bool{len(page) == 3, cursor != ""}, []bool{true, true})
	page, cursor, err = client.Events().List(qstash.ListEventsOptions{Cursor: cursor, Count: 3, Filter: qstash.EventFilter{MessageId: letter.MessageId}})
	ok(t, err)
	equal(t, "last page", []interface{}{len(page), cursor}, []interface{}{1, ""})
	failed, _, err := client.Events().List(qstash.ListEventsOptions{Filter: qstash.EventFilter{MessageId: letter.MessageId, State: qstash.Failed}})
	ok(t, err)
	equal(t, "failed", len(failed), 1)
}

func TestDeadLetters(t *testing.T) {
	r := newReceiver(t, 404)
	letter := dead(t, r)
	equal(t, "answer", []interface{}{letter.ResponseStatus, letter.ResponseBody, letter.Body}, []interface{}{404, "answer 404", "text"})
	same, err := client.Dlq().Get(letter.DlqId)
	ok(t, err)
	same.DlqId = letter.DlqId
	equal(t, "the same letter", same, letter)
	ok(t, client.Dlq().Delete(letter.DlqId))
	_, err = client.Dlq().Get(letter.DlqId)
	fails(t, err, "not found")
	count, err := client.Dlq().DeleteMany([]string{dead(t, r).DlqId, dead(t, r).DlqId, letter.DlqId})
	ok(t, err)
	equal(t, "deleted", count, 2)
}
