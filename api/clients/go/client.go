// Package duepost is a client of duepost, a job queue over HTTP. It needs only the standard library.
package duepost

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config generate.yaml ../../openapi.yaml

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"duepost.example/go/generated"
)

type (
	NewJob   = generated.NewJob
	Job      = generated.Job
	Placed   = generated.Placed
	Duration = generated.Duration
)

// Seconds returns a duration as requests have it: Delay: duepost.Seconds(15 * time.Minute).
func Seconds(span time.Duration) *Duration {
	seconds := new(Duration)
	seconds.FromSeconds(span.Seconds())
	return seconds
}

// Ptr returns a pointer, for the optional members of a job: JobId: duepost.Ptr("order-1041").
func Ptr[T any](value T) *T { return &value }

// kind is a class of problems, for errors.Is.
type kind struct {
	name     string
	statuses []int
}

func (k *kind) Error() string { return k.name }

var (
	ErrInvalid      error = &kind{"invalid", []int{400, 413, 415, 422}} // wrong, and stays wrong when it is repeated
	ErrUnauthorized error = &kind{"unauthorized", []int{401}}
	ErrForbidden    error = &kind{"forbidden", []int{403}}
	ErrNotFound     error = &kind{"not found", []int{404}}
	ErrConflict     error = &kind{"conflict", []int{409, 412}} // not in the present state of the job
	ErrTooMany      error = &kind{"too many requests or jobs", []int{429}}
	ErrUnavailable  error = &kind{"unavailable", []int{503}}
	// ErrNoAnswer: no answer came. What the request asked for may have happened.
	ErrNoAnswer = errors.New("no answer")
)

// Problem is an answer of the server that is not a success: errors.As gets it, errors.Is compares its kind.
type Problem struct {
	Status     int                              `json:"status"`
	Title      string                           `json:"title"`
	Detail     string                           `json:"detail"`
	Errors     []struct{ Field, Detail string } `json:"errors"`
	State      string                           `json:"state"`      // of the job, if the status is 409
	DueAt      string                           `json:"dueAt"`      // the same
	MaxPending *int                             `json:"maxPending"` // the quota, if the status is 429 because of one
	RetryAfter float64                          `json:"retryAfter"` // seconds after which the server may accept the request, or 0
}

func (p *Problem) Error() string {
	text := fmt.Sprintf("%d: %s", p.Status, p.Detail)
	for _, each := range p.Errors {
		text += "; " + each.Field + " " + each.Detail
	}
	return text
}

func (p *Problem) Is(target error) bool {
	k, isKind := target.(*kind)
	return isKind && slices.Contains(k.statuses, p.Status)
}

// Options of a client. The zero value of each has a default.
type Options struct {
	URL     string        // the variable DUEPOST_SERVER, else http://127.0.0.1:7700
	Token   string        // the variable DUEPOST_TOKEN, else no token
	Timeout time.Duration // of each answer; 30 s. A request that waits for something may take this much longer
	Tries   int           // of a request; 4
	Client  *http.Client
}

// Client sends requests, and repeats them where that is safe. Goroutines may share one.
type Client struct{ options Options }

func New(options Options) *Client {
	if options.URL == "" {
		options.URL = "http://127.0.0.1:7700"
		if variable := os.Getenv("DUEPOST_SERVER"); variable != "" {
			options.URL = variable
		}
	}
	options.URL = strings.TrimRight(options.URL, "/")
	if options.Token == "" {
		options.Token = os.Getenv("DUEPOST_TOKEN")
	}
	if options.Timeout == 0 {
		options.Timeout = 30 * time.Second
	}
	if options.Tries == 0 {
		options.Tries = 4
	}
	if options.Client == nil {
		options.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return &Client{options}
}

// Schedule schedules a job. A repeated request cannot schedule it twice.
func (c *Client) Schedule(ctx context.Context, job NewJob) (*Placed, error) {
	return c.ScheduleWithKey(ctx, job, randomKey())
}

// ScheduleWithKey is Schedule with an Idempotency-Key of your choice: a later call with the same one finds the first job.
func (c *Client) ScheduleWithKey(ctx context.Context, job NewJob, key string) (*Placed, error) {
	if job.IdempotencyKey != nil {
		key = "" // the header cannot be combined with it
	}
	placed := new(Placed)
	return placed, c.send(ctx, request{method: "POST", path: "/jobs", body: job, key: key, isSafe: true}, placed)
}

// Result is what became of one job of ScheduleMany: Placed or Problem.
type Result struct {
	Input   NewJob
	Placed  *Placed
	Problem *Problem
}

const mostJobs, mostBytes = 1000, 900_000 // of an array; below --max-body, because duepost takes few larger ones at once

// ScheduleMany schedules any number of jobs, many in a request, and yields the result of each in their order. Each job gets
// an IdempotencyKey, so that a repeated request schedules it once. An error means that the server was not reached, or refused a whole request; it is the last that
// is yielded. jobs: slices.Values(list), for example.
func (c *Client) ScheduleMany(ctx context.Context, jobs func(yield func(NewJob) bool)) func(yield func(Result, error) bool) {
	return func(yield func(Result, error) bool) {
		var batch []NewJob
		size, isOver := 0, false
		flush := func() bool {
			results, err := c.scheduleBatch(ctx, batch)
			for _, result := range results {
				if isOver = !yield(result, nil); isOver {
					return false
				}
			}
			if err != nil {
				isOver = true
				yield(Result{}, err)
			}
			batch, size = nil, 0
			return !isOver
		}
		jobs(func(job NewJob) bool {
			text, err := json.Marshal(job)
			if err != nil {
				isOver = true
				yield(Result{Input: job}, err)
				return false
			}
			if len(batch) == mostJobs || (len(batch) > 0 && size+len(text) > mostBytes) {
				if !flush() {
					return false
				}
			}
			batch, size = append(batch, job), size+len(text)
			return true
		})
		if !isOver && len(batch) > 0 {
			flush()
		}
	}
}

// outcome is one result of an array of jobs: a Problem, or the text of a Placed.
type outcome struct {
	Problem
	raw json.RawMessage
}

func (o *outcome) UnmarshalJSON(text []byte) error {
	o.raw = append(json.RawMessage{}, text...)
	return json.Unmarshal(text, &o.Problem)
}

func (c *Client) scheduleBatch(ctx context.Context, inputs []NewJob) ([]Result, error) {
	bodies, found, open := slices.Clone(inputs), make([]outcome, len(inputs)), make([]int, len(inputs))
	for i := range bodies {
		open[i] = i
		if bodies[i].IdempotencyKey == nil && bodies[i].Debounce == nil {
			bodies[i].IdempotencyKey = Ptr(randomKey())
		}
	}
	for attempt := 1; ; attempt++ {
		part := make([]NewJob, len(open))
		for at, i := range open {
			part[at] = bodies[i]
		}
		outcomes, err := c.scheduleTogether(ctx, part)
		if err != nil {
			return nil, err
		}
		var wait float64
		var again []int
		for at, i := range open {
			found[i] = outcomes[at]
			// 409 without a state: the first request with this key is still being answered.
			if status := found[i].Status; status == 429 || status == 503 || (status == 409 && found[i].State == "") {
				again, wait = append(again, i), max(wait, found[i].RetryAfter, 1)
			}
		}
		if open = again; len(open) == 0 || wait > maxWait || attempt >= c.options.Tries {
			break
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
	results := make([]Result, len(inputs))
	for i := range found {
		results[i].Input = inputs[i]
		if found[i].Status >= 300 {
			results[i].Problem = &found[i].Problem
		} else if err := json.Unmarshal(found[i].raw, &results[i].Placed); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// scheduleTogether splits a request that is refused as a whole, for example because it is too large, so that one job does not stop the others.
func (c *Client) scheduleTogether(ctx context.Context, jobs []NewJob) ([]outcome, error) {
	var answer struct{ Results []outcome }
	err := c.send(ctx, request{method: "POST", path: "/jobs", body: jobs, isSafe: true}, &answer)
	var problem *Problem
	if !errors.Is(err, ErrInvalid) || !errors.As(err, &problem) {
		return answer.Results, err
	}
	if len(jobs) == 1 {
		return []outcome{{Problem: *problem}}, nil
	}
	first, err := c.scheduleTogether(ctx, jobs[:len(jobs)/2])
	if err != nil {
		return nil, err
	}
	second, err := c.scheduleTogether(ctx, jobs[len(jobs)/2:])
	return append(first, second...), err
}

// Get reads a job. With a wait above 0 it returns when the job has ended, or after this time, at most a minute, with the job as it is then.
func (c *Client) Get(ctx context.Context, topic, jobID string, wait time.Duration) (*Job, error) {
	query := url.Values{}
	if wait > 0 {
		query.Set("wait", strconv.FormatInt(wait.Milliseconds(), 10)+"ms")
	}
	job := new(Job)
	return job, c.send(ctx, request{method: "GET", path: jobPath(topic, jobID), query: query, isSafe: true, wait: wait}, job)
}

// Cancel cancels a job. After it has returned, no attempt begins; true if one is under way.
func (c *Client) Cancel(ctx context.Context, topic, jobID string) (attemptInFlight bool, err error) {
	var answer struct{ AttemptInFlight bool }
	err = c.send(ctx, request{method: "DELETE", path: jobPath(topic, jobID), isSafe: true}, &answer)
	return answer.AttemptInFlight, err
}

// List yields all jobs that match the query, such as url.Values{"topic": {"orders"}, "state": {"dead"}}. An error is the last that is yielded.
func (c *Client) List(ctx context.Context, query url.Values) func(yield func(Job, error) bool) {
	return func(yield func(Job, error) bool) {
		parameters := url.Values{}
		for name, values := range query {
			parameters[name] = values
		}
		for {
			var page generated.JobList
			if err := c.send(ctx, request{method: "GET", path: "/jobs", query: parameters, isSafe: true}, &page); err != nil {
				yield(Job{}, err)
				return
			}
			for _, job := range page.Jobs {
				if !yield(job, nil) {
					return
				}
			}
			if page.Cursor == nil {
				return
			}
			parameters.Set("cursor", *page.Cursor)
		}
	}
}

func jobPath(topic, jobID string) string {
	return "/jobs/" + url.PathEscape(topic) + "/" + url.PathEscape(jobID)
}

func randomKey() string {
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		panic(err) // the operating system has no random numbers
	}
	return hex.EncodeToString(key)
}

// ---- requests ----

type request struct {
	method, path string
	query        url.Values
	body         any
	key          string        // Idempotency-Key
	isSafe       bool          // to repeat after a lost answer
	wait         time.Duration // that the answer may take longer
}

const maxWait = 60 // seconds of one Retry-After; a longer one is the caller's decision

// send sends a request, decodes its answer into result, and repeats it where that is safe.
func (c *Client) send(ctx context.Context, r request, result any) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return err
		}
	}
	if strings.HasSuffix(r.path, "/") || strings.Contains(r.path, "//") || slices.ContainsFunc(strings.Split(r.path, "/"), func(part string) bool { return part == "." || part == ".." }) {
		return fmt.Errorf("duepost: %s: a topic or jobId is empty, . or ..", r.path) // it would name another path
	}
	for attempt := 1; ; attempt++ {
		err := c.sendOnce(ctx, r, body, result)
		var problem *Problem
		isProblem, retryAfter := errors.As(err, &problem), 0.0
		if isProblem {
			retryAfter = problem.RetryAfter
		}
		// 409 after a lost answer: the first request with this key is still being answered.
		isBusy := isProblem && problem.Status == 409 && problem.State == "" && r.method == "POST" && attempt > 1
		mayRepeat := errors.Is(err, ErrTooMany) || (r.isSafe && (!isProblem || isBusy || slices.Contains([]int{502, 503, 504}, problem.Status)))
		if err == nil || !mayRepeat || retryAfter > maxWait || attempt >= c.options.Tries || ctx.Err() != nil {
			return err
		}
		if sleep(ctx, max(retryAfter, 0.25*float64(int(1)<<attempt)*(0.5+mathrand.Float64()))) != nil {
			return err
		}
	}
}

func (c *Client) sendOnce(ctx context.Context, r request, body []byte, result any) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout+r.wait)
	defer cancel()
	target := c.options.URL + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		sent.Header.Set("Idempotency-Key", r.key)
	}
	if c.options.Token != "" {
		sent.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	answer, err := c.options.Client.Do(sent)
	if err != nil {
		return fmt.Errorf("duepost: %w: %w", ErrNoAnswer, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("duepost: %w: %w", ErrNoAnswer, err)
	}
	if answer.StatusCode < 300 {
		return json.Unmarshal(text, result)
	}
	problem := Problem{Status: answer.StatusCode, Title: answer.Status, Detail: string(text[:min(len(text), 500)])} // from a proxy
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "application/problem+json") {
		if err := json.Unmarshal(text, &problem); err != nil {
			return err
		}
	}
	if after := answer.Header.Get("Retry-After"); after != "" {
		if seconds, err := strconv.ParseFloat(after, 64); err == nil {
			problem.RetryAfter = seconds
		} else if at, err := http.ParseTime(after); err == nil {
			problem.RetryAfter = max(0, time.Until(at).Seconds())
		}
	}
	return &problem
}

func sleep(ctx context.Context, seconds float64) error {
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
