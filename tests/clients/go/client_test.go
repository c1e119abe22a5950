package tests

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	duepost "duepost.example/go"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const nowhere = "http://127.0.0.1:9/"

var ctx = context.Background()

// start starts a server, which ends with the test.
func start(t *testing.T) *duepost.Client {
	t.Helper()
	command := exec.Command(os.Getenv("DUEPOST_BINARY"), "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--allow-target", "127.0.0.0/8")
	command.Env = slices.DeleteFunc(os.Environ(), func(each string) bool { return strings.HasPrefix(each, "DUEPOST_") })
	output, err := command.StdoutPipe()
	check(t, err)
	check(t, command.Start())
	t.Cleanup(func() {
		command.Process.Signal(os.Interrupt)
		command.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	check(t, err)
	address := line[strings.Index(line, "http://") : len(line)-1]
	until(t, "ready", func() bool {
		answer, err := http.Get(address + "/readyz")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == 200
	})
	t.Setenv("DUEPOST_SERVER", address)
	return duepost.New(duepost.Options{})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, found, wanted T) {
	t.Helper()
	if found != wanted {
		t.Fatalf("found %v, not %v", found, wanted)
	}
}

func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// settings sends the settings of a topic.
func settings(t *testing.T, topic, text string) {
	t.Helper()
	request, _ := http.NewRequest("PUT", os.Getenv("DUEPOST_SERVER")+"/topics/"+topic, strings.NewReader(text))
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	check(t, err)
	body, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != 200 {
		t.Fatal(string(body))
	}
}

// swallowing returns the url of a proxy that cuts the connection of an answer as long as swallows is above 0.
func swallowing(t *testing.T, swallows *atomic.Int32) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(os.Getenv("DUEPOST_SERVER"), "http://"))
			if err != nil {
				client.Close()
				continue
			}
			go io.Copy(server, client)
			go func() {
				defer client.Close()
				defer server.Close()
				piece := make([]byte, 65536)
				for {
					count, err := server.Read(piece)
					if err != nil || swallows.Add(-1) >= 0 {
						return
					}
					client.Write(piece[:count])
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

func count(t *testing.T, client *duepost.Client, topic string) (jobs int) {
	t.Helper()
	client.List(ctx, url.Values{"topic": {topic}, "limit": {"1000"}})(func(_ duepost.Job, err error) bool {
		check(t, err)
		jobs++
		return true
	})
	return jobs
}

func TestAJobIsScheduledOnceThoughTwoAnswersAreLost(t *testing.T) {
	client := start(t)
	var swallows atomic.Int32
	swallows.Store(2)
	behind := duepost.New(duepost.Options{URL: swallowing(t, &swallows)})
	placed, err := behind.Schedule(ctx, duepost.NewJob{Topic: "mail", Url: duepost.Ptr(nowhere), Delay: duepost.Seconds(time.Hour), Body: map[string]int{"order": 1041}})
	check(t, err)
	if swallows.Load() >= 0 {
		t.Fatal("no answer was lost")
	}
	equal(t, count(t, client, "mail"), 1)
	own := duepost.NewJob{Topic: "own", Url: duepost.Ptr(nowhere), Delay: duepost.Seconds(time.Hour), IdempotencyKey: duepost.Ptr("a key")}
	for range 2 {
		_, err = behind.Schedule(ctx, own)
		check(t, err)
	}
	equal(t, count(t, client, "own"), 1)
	job, err := client.Get(ctx, "mail", placed.JobId, 0)
	check(t, err)
	equal(t, string(job.State), "delayed")
	_, err = client.Cancel(ctx, "mail", placed.JobId)
	check(t, err)
}

func TestProblemsHaveKinds(t *testing.T) {
	client := start(t)
	_, err := client.Get(ctx, "mail", "none", 0)
	equal(t, errors.Is(err, duepost.ErrNotFound), true)
	_, err = client.Schedule(ctx, duepost.NewJob{Topic: "mail"})
	var problem *duepost.Problem
	equal(t, errors.Is(err, duepost.ErrInvalid) && errors.As(err, &problem), true)
	equal(t, problem.Errors[0].Field, "url")
	one := duepost.NewJob{Topic: "mail", JobId: duepost.Ptr("a/b"), Url: duepost.Ptr(nowhere), Delay: duepost.Seconds(time.Hour)}
	_, err = client.Schedule(ctx, one)
	check(t, err)
	one.Priority = duepost.Ptr(1)
	_, err = client.Schedule(ctx, one)
	equal(t, errors.Is(err, duepost.ErrConflict) && errors.As(err, &problem), true)
	equal(t, problem.State, "delayed")
	_, err = client.Cancel(ctx, "mail", "a/b")
	check(t, err)
	_, err = client.Get(ctx, "mail", "..", 0)
	equal(t, err != nil && !errors.Is(err, duepost.ErrNoAnswer), true)
	_, err = duepost.New(duepost.Options{URL: nowhere, Tries: 2}).Get(ctx, "mail", "one", 0)
	equal(t, errors.Is(err, duepost.ErrNoAnswer), true)
}

func TestARequestThatIsRefusedForNowIsRepeated(t *testing.T) {
	client := start(t)
	settings(t, "small", `{"maxPending": 1}`)
	first, err := client.Schedule(ctx, duepost.NewJob{Topic: "small", Url: duepost.Ptr(nowhere), Delay: duepost.Seconds(2 * time.Second)})
	check(t, err)
	_, err = duepost.New(duepost.Options{Tries: 1}).Schedule(ctx, duepost.NewJob{Topic: "small", Url: duepost.Ptr(nowhere)})
	equal(t, errors.Is(err, duepost.ErrTooMany), true)
	time.AfterFunc(300*time.Millisecond, func() { client.Cancel(ctx, "small", first.JobId) })
	_, err = client.Schedule(ctx, duepost.NewJob{Topic: "small", Url: duepost.Ptr(nowhere), Delay: duepost.Seconds(time.Hour)})
	check(t, err)
}

func TestManyJobsAndOneBadOne(t *testing.T) {
	client := start(t)
	var swallows atomic.Int32
	swallows.Store(1)
	behind := duepost.New(duepost.Options{URL: swallowing(t, &swallows)})
	at := 0
	behind.ScheduleMany(ctx, func(yield func(duepost.NewJob) bool) {
		for i := 0; i < 2500; i++ {
			job := duepost.NewJob{Topic: "many", Url: duepost.Ptr(nowhere), Delay: duepost.Seconds(time.Hour), Body: strings.Repeat("x", 500)}
			if i == 1234 {
				job.Delay = duepost.Seconds(-time.Hour)
			}
			if i == 1235 {
				job.Body = strings.Repeat("x", 2<<20)
			}
			if !yield(job) {
				return
			}
		}
	})(func(result duepost.Result, err error) bool {
		check(t, err)
		equal(t, result.Placed == nil, at == 1234 || at == 1235)
		switch at {
		case 1234:
			equal(t, errors.Is(result.Problem, duepost.ErrInvalid) && result.Problem.Errors[0].Field == "delay", true)
		case 1235:
			equal(t, result.Problem.Status, 413)
		default:
			equal(t, string(result.Placed.State), "delayed")
		}
		at++
		return true
	})
	equal(t, at, 2500)
	equal(t, count(t, client, "many"), 2498)
}

func TestVerify(t *testing.T) {
	header := http.Header{}
	header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	body := []byte(`{"test": 2432232314}`)
	at := func(seconds int64) func() time.Time { return func() time.Time { return time.Unix(seconds, 0) } }
	verifier := duepost.Verifier{Secrets: []string{"whsec_plJ3nmyCDGBKInavdOK15jsl", secret}, Now: at(1614265330 + 299)}
	delivery, err := verifier.Verify(body, header)
	check(t, err)
	equal(t, delivery.ID, "msg_p5jXN8AQM9LWM0D4loKWxJek")
	refused := func(reason string, verifier duepost.Verifier, body string, header http.Header) {
		t.Helper()
		_, err := verifier.Verify([]byte(body), header)
		var fault *duepost.SignatureError
		equal(t, errors.As(err, &fault) && fault.Reason == reason, true)
	}
	refused("signature", verifier, `{"test": 2432232315}`, header)
	refused("signature", duepost.Verifier{Secrets: verifier.Secrets[:1], Now: verifier.Now}, string(body), header)
	refused("timestamp", duepost.Verifier{Secrets: verifier.Secrets, Now: at(1614265330 + 301)}, string(body), header)
	refused("timestamp", duepost.Verifier{Secrets: verifier.Secrets, Now: at(1614265330 - 301)}, string(body), header)
	refused("missing", verifier, string(body), http.Header{})
	public := header.Clone()
	public.Set("webhook-signature", "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==")
	_, err = duepost.Verifier{Secrets: []string{"whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="}, Now: verifier.Now}.Verify(body, public)
	check(t, err)
	_, err = duepost.Verifier{Secrets: []string{""}, Now: verifier.Now}.Verify(body, header)
	equal(t, err != nil, true)
}

type memory struct{ sync.Map }

func (m *memory) Has(_ context.Context, id string) (bool, error) {
	_, isThere := m.Load(id)
	return isThere, nil
}

func (m *memory) Add(_ context.Context, id string) error {
	m.Store(id, true)
	return nil
}

func TestAReceiverAnswers(t *testing.T) {
	client := start(t)
	var faults atomic.Int32
	var lastDone atomic.Pointer[duepost.Delivery]
	receiver := &duepost.Receiver{Verifier: duepost.Verifier{Secrets: []string{secret}}, Seen: &memory{}, OnError: func(error, *duepost.Delivery) { faults.Add(1) }}
	receiver.Handle = func(_ context.Context, d *duepost.Delivery) error {
		if d.Jobs != nil {
			var results []duepost.BatchResult
			for _, job := range d.Jobs {
				result := duepost.BatchResult{JobID: job.JobID, OK: string(job.Body) != `"bad"`}
				if !result.OK {
					result.Bury = "bad"
				}
				results = append(results, result)
			}
			return duepost.Results(results...)
		}
		switch {
		case d.JobID == "not yet" && d.Round < 3:
			return duepost.NotYet(time.Second)
		case d.JobID == "retry" && d.Attempt == 1:
			return fmt.Errorf("the database: %w", duepost.Retry(time.Second, "locked"))
		case d.JobID == "fault" && d.Attempt == 1:
			return errors.New("a fault")
		case d.JobID == "bury":
			return duepost.Bury("no such order")
		case d.JobID == "defer":
			later := duepost.Deferred{JobID: d.JobID, Token: d.Token, EndURL: d.EndURL}
			time.AfterFunc(50*time.Millisecond, func() {
				later.Extend(ctx, time.Minute, 0.5)
				later.Complete(ctx, map[string]int{"pages": 3})
			})
			return duepost.Defer(time.Minute)
		}
		lastDone.Store(d)
		return duepost.Done(map[string]int{"round": d.Round})
	}
	server := httptest.NewServer(receiver)
	t.Cleanup(server.Close)
	settings(t, "orders", fmt.Sprintf(`{"url": %q, "secrets": [%q], "defer": true, "results": true, "retention": 3600}`, server.URL, secret))
	settings(t, "forged", fmt.Sprintf(`{"url": %q, "secrets": ["whsec_%s"], "retention": 3600}`, server.URL, base64.StdEncoding.EncodeToString(make([]byte, 32))))
	settings(t, "batches", fmt.Sprintf(`{"url": %q, "secrets": [%q], "batch": {"size": 2, "wait": 2}, "retention": 3600}`, server.URL, secret))
	schedule := func(topic, jobID string, body any) {
		t.Helper()
		_, err := client.Schedule(ctx, duepost.NewJob{Topic: topic, JobId: &jobID, Body: body, RetrySchedule: &[]duepost.Duration{*duepost.Seconds(0)}})
		check(t, err)
	}
	for _, jobID := range []string{"done", "not yet", "retry", "fault", "bury", "defer"} {
		schedule("orders", jobID, map[string]int{"order": 1041})
	}
	schedule("forged", "one", nil)
	schedule("batches", "good", "good")
	schedule("batches", "bad", "bad")
	ended := func(topic, jobID, state string) *duepost.Job {
		t.Helper()
		job, err := client.Get(ctx, topic, jobID, 55*time.Second)
		check(t, err)
		equal(t, jobID+" "+string(job.State), jobID+" "+state)
		return job
	}
	equal(t, fmt.Sprint(ended("orders", "done", "delivered").Result), "map[round:1]")
	equal(t, fmt.Sprint(ended("orders", "not yet", "delivered").Result), "map[round:3]")
	ended("orders", "retry", "delivered")
	ended("orders", "fault", "delivered")
	ended("orders", "bury", "dead")
	equal(t, fmt.Sprint(ended("orders", "defer", "delivered").Result), "map[pages:3]")
	equal(t, *ended("forged", "one", "dead").LastAttempt.Status, 401)
	ended("batches", "good", "delivered")
	ended("batches", "bad", "dead")
	equal(t, faults.Load(), 1)
	repeat := lastDone.Load()
	request, _ := http.NewRequest("POST", server.URL, strings.NewReader(string(repeat.Body)))
	request.Header = repeat.Header.Clone()
	lastDone.Store(nil)
	answer, err := http.DefaultClient.Do(request)
	check(t, err)
	equal(t, answer.StatusCode, 200)
	equal(t, lastDone.Load() == nil, true)
}
