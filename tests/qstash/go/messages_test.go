package clients

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/upstash/qstash-go"
)

// verify verifies a delivery as an application does.
func verify(t *testing.T, got arrival, url string) error {
	t.Helper()
	keys, err := client.Keys().Get()
	ok(t, err)
	return qstash.NewReceiver(keys.Current, keys.Next).Verify(
		qstash.VerifyOptions{Signature: got.header.Get("Upstash-Signature"), Url: url, Body: got.body, Tolerance: time.Second})
}

func TestPublish(t *testing.T) {
	r := newReceiver(t)
	url := r.url + "/hook?x=%20y"
	sent, err := client.Publish(qstash.PublishOptions{Url: url, Body: "some text", Method: http.MethodPut, ContentType: "text/plain",
		Headers: map[string]string{"My-Header": "abc"}, Retries: qstash.RetryCount(0), Timeout: "10s"})
	ok(t, err)
	got := r.wait(t, 1)[0]
	equal(t, "request", []string{got.method, got.uri, got.body}, []string{"PUT", "/hook?x=%20y", "some text"})
	equal(t, "type", got.header.Get("Content-Type"), "text/plain")
	equal(t, "header", got.header.Get("My-Header"), "abc")
	equal(t, "id", got.header.Get("Upstash-Message-Id"), sent.MessageId)
	ok(t, verify(t, got, url))
	got.body = "another text"
	if verify(t, got, url) != qstash.ErrInvalidSignature {
		t.Error("the signature of another text is verified")
	}
}

func TestPublishJSON(t *testing.T) {
	r := newReceiver(t)
	_, err := client.PublishJSON(qstash.PublishJSONOptions{Url: r.url, Body: map[string]interface{}{"hello": "wörld"}})
	ok(t, err)
	got := r.wait(t, 1)[0]
	equal(t, "body", got.body, `{"hello":"wörld"}`)
	equal(t, "type", got.header.Get("Content-Type"), "application/json")
	ok(t, verify(t, got, r.url))
}

func TestDeduplication(t *testing.T) {
	message := qstash.PublishOptions{Url: "https://example.com", Body: t.Name(), Delay: "1h", DeduplicationId: t.Name()}
	first, err := client.Publish(message)
	ok(t, err)
	second, err := client.Publish(message)
	ok(t, err)
	equal(t, "second", second, qstash.PublishOrEnqueueResponse{MessageId: first.MessageId, Deduplicated: true})
	message.DeduplicationId, message.ContentBasedDeduplication = "", true
	third, err := client.Publish(message)
	ok(t, err)
	fourth, err := client.Publish(message)
	ok(t, err)
	equal(t, "fourth", []bool{third.Deduplicated, fourth.Deduplicated, third.MessageId == fourth.MessageId}, []bool{false, true, true})
}

func TestErrorsAreReadable(t *testing.T) {
	_, err := client.Publish(qstash.PublishOptions{Url: "no-url"})
	fails(t, err, "no-url")
	_, err = client.Publish(qstash.PublishOptions{Url: "https://example.com", Delay: "soon"})
	fails(t, err, "soon")
	_, err = client.PublishJSON(qstash.PublishJSONOptions{Api: "llm", Body: map[string]interface{}{}})
	fails(t, err, "the destination must be a url")
}

func TestGetAndCancel(t *testing.T) {
	before := time.Now().UnixMilli()
	sent, err := client.Publish(qstash.PublishOptions{Url: "https://example.com/a", Body: "text", Delay: "1h", Retries: qstash.RetryCount(7),
		Headers: map[string]string{"test-header": "v"}, Callback: "https://example.com/cb", FailureCallback: "https://example.com/fail"})
	ok(t, err)
	message, err := client.Messages().Get(sent.MessageId)
	ok(t, err)
	if message.NotBefore < before+3_600_000 || message.CreatedAt < before-1000 {
		t.Errorf("times %d and %d", message.NotBefore, message.CreatedAt)
	}
	message.NotBefore, message.CreatedAt = 0, 0
	equal(t, "message", message, qstash.Message{MessageId: sent.MessageId, Url: "https://example.com/a", Method: "POST", Body: "text",
		Header: http.Header{"Test-Header": {"v"}}, MaxRetries: 7, Callback: "https://example.com/cb",
		FailureCallback: "https://example.com/fail", CallerIP: "127.0.0.1"})
	ok(t, client.Messages().Cancel(sent.MessageId))
	_, err = client.Messages().Get(sent.MessageId)
	fails(t, err, "not found")
}

func TestCancelOfMany(t *testing.T) {
	ids := []string{}
	for i := 0; i < 5; i++ {
		sent, err := client.Publish(qstash.PublishOptions{Url: "https://example.com", NotBefore: strconv.FormatInt(time.Now().Unix()+3600, 10)})
		ok(t, err)
		ids = append(ids, sent.MessageId)
	}
	count, err := client.Messages().CancelMany(ids[:3])
	ok(t, err)
	equal(t, "cancelled", count, 3)
	_, err = client.Messages().Get(ids[3])
	ok(t, err)
	count, err = client.Messages().CancelAll()
	ok(t, err)
	if count < 2 {
		t.Errorf("cancelled %d, expected at least 2", count)
	}
	count, err = client.Messages().CancelAll()
	ok(t, err)
	equal(t, "cancelled again", count, 0)
}

func TestBatch(t *testing.T) {
	r := newReceiver(t)
	sent, err := client.Batch([]qstash.BatchOptions{
		{Url: r.url, Body: "text", Retries: qstash.RetryCount(0), Headers: map[string]string{"N": "1", "Content-Type": "text/plain"}}})
	ok(t, err)
	got := r.wait(t, 1)[0]
	equal(t, "id", got.header.Get("Upstash-Message-Id"), sent[0][0].MessageId)
	equal(t, "what arrived", []string{got.body, got.header.Get("N"), got.header.Get("Content-Type")}, []string{"text", "1", "text/plain"})
}

func TestBatchJSON(t *testing.T) {
	r := newReceiver(t)
	sent, err := client.BatchJSON([]qstash.BatchJSONOptions{
		{Url: r.url, Body: map[string]interface{}{"n": 1}, Method: "PATCH"},
		{Url: r.url, Body: map[string]interface{}{"n": 2}, Queue: t.Name()}})
	ok(t, err)
	equal(t, "answers", []int{len(sent), len(sent[0]), len(sent[1])}, []int{2, 1, 1})
	for _, got := range r.wait(t, 2) {
		expected := map[string]string{"PATCH": `{"n":1}`, "POST": `{"n":2}`}[got.method]
		equal(t, "body", got.body, expected)
		equal(t, "type", got.header.Get("Content-Type"), "application/json")
	}
}

func TestKeys(t *testing.T) {
	before, err := client.Keys().Get()
	ok(t, err)
	after, err := client.Keys().Rotate()
	ok(t, err)
	equal(t, "current key", after.Current, before.Next)
	if after.Next == before.Next || after.Next == before.Current {
		t.Error("the next key is an old one")
	}
}
