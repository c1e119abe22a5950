package duepost

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// SignatureError says why a request is not accepted: Reason is "missing", "timestamp" or "signature".
type SignatureError struct{ Reason string }

func (e *SignatureError) Error() string { return "duepost: the signature of the request: " + e.Reason }

// JobOfBatch is one job of a batch. The signature covers it.
type JobOfBatch struct {
	JobID      string          `json:"jobId"`
	Topic      string          `json:"topic"`
	Key        string          `json:"key"`
	Attempt    int             `json:"attempt"`
	Labels     []string        `json:"labels"`
	Body       json.RawMessage `json:"body"`
	BodyBase64 []byte          `json:"bodyBase64"`
}

// Delivery is a request of duepost. The signature covers ID, At and Body. The other members are from headers that it does not cover: a client
// that replays a request within the tolerance can change them.
type Delivery struct {
	ID             string // the webhook-id: the same in all attempts of a job; empty if the request has no signature
	At             time.Time
	Body           []byte
	Jobs           []JobOfBatch // of a batch: its body
	Topic, JobID   string       // JobID is empty for a batch
	Attempt, Round int          // each NotYet ends a round
	Token, EndURL  string       // what Deferred needs, in a topic with defer
	Header         http.Header
}

// Verifier checks signatures.
type Verifier struct {
	Secrets   []string         // whsec_..., or whpk_... for ed25519; several while keys are being rotated
	Tolerance time.Duration    // how far the timestamp may be from the clock; 5 minutes
	Now       func() time.Time // time.Now
}

// Verify checks the signature of a request, as Standard Webhooks describes it. body: the bytes as they came.
func (v Verifier) Verify(body []byte, header http.Header) (*Delivery, error) {
	if v.Tolerance == 0 {
		v.Tolerance = 5 * time.Minute
	}
	if v.Now == nil {
		v.Now = time.Now
	}
	id, at, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || at == "" || signatures == "" {
		return nil, &SignatureError{"missing"}
	}
	seconds, err := strconv.ParseInt(at, 10, 48)
	if err != nil || v.Now().Sub(time.Unix(seconds, 0)).Abs() > v.Tolerance {
		return nil, &SignatureError{"timestamp"}
	}
	signed := append([]byte(id+"."+at+"."), body...)
	for _, secret := range v.Secrets {
		_, text, _ := strings.Cut(secret, "_")
		key, err := base64.StdEncoding.DecodeString(text)
		isPublic := strings.HasPrefix(secret, "whpk_")
		if err != nil || len(key) == 0 || (isPublic && len(key) != ed25519.PublicKeySize) { // an empty key would let anyone sign
			return nil, errors.New("duepost: a secret is not whsec_ or whpk_ with base64")
		}
		for _, signature := range strings.Split(signatures, " ") {
			version, text, _ := strings.Cut(signature, ",")
			given, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				continue
			}
			mac := hmac.New(sha256.New, key)
			mac.Write(signed)
			if (version == "v1" && !isPublic && hmac.Equal(given, mac.Sum(nil))) || (version == "v1a" && isPublic && ed25519.Verify(key, signed, given)) {
				return deliveryOf(body, header)
			}
		}
	}
	return nil, &SignatureError{"signature"}
}

func deliveryOf(body []byte, header http.Header) (*Delivery, error) {
	number := func(name string) int { return max(1, atoi(header.Get(name))) }
	jobID, err := url.PathUnescape(header.Get("Duepost-Job-Id"))
	d := &Delivery{ID: header.Get("webhook-id"), At: time.Unix(int64(atoi(header.Get("webhook-timestamp"))), 0), Body: body, Topic: header.Get("Duepost-Topic"),
		JobID: jobID, Attempt: number("Duepost-Attempt"), Round: number("Duepost-Round"), Token: header.Get("Duepost-Token"), EndURL: header.Get("Duepost-End-Url"), Header: header}
	if header.Get("Duepost-Batch") != "" {
		err = errors.Join(err, json.Unmarshal(body, &d.Jobs))
	}
	return d, err
}

func atoi(text string) int {
	number, _ := strconv.Atoi(text)
	return number
}

// reply is what becomes of a job, other than "delivered": handlers return it as an error.
type reply struct {
	status       int
	header, span string
	body         string
	isJSON, ends bool // ends: the job does not come again
}

func (r *reply) Error() string { return fmt.Sprintf("duepost: answer %d %s", r.status, r.body) }

func seconds(span time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(span.Seconds()))))
}

func document(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return &reply{status: 200, body: string(text), isJSON: true, ends: true}
}

// NotYet: the job is neither delivered nor failed, and is sent again after this time, 1 s to 365 days.
func NotYet(delay time.Duration) error {
	return &reply{status: 200, header: "Duepost-Again", span: seconds(delay)}
}

// Defer, in topics with defer: the attempt stays open for this time, 1 s to 12 h, until Deferred ends it.
func Defer(span time.Duration) error {
	return &reply{status: 202, header: "Duepost-Defer", span: seconds(span)}
}

// Retry: the attempt has failed; the next one begins after this time, or at that of the retry schedule if it is later.
func Retry(delay time.Duration, text string) error {
	return &reply{status: 503, header: "Retry-After", span: seconds(delay), body: text}
}

// Bury: the job is dead at once, with the reason gone.
func Bury(text string) error { return &reply{status: 410, body: text, ends: true} }

// Done: the job is delivered; in a topic with results, the value is kept as its result.
func Done(value any) error { return document(value) }

// BatchResult is the outcome of one job of a batch. Jobs without one have failed.
type BatchResult struct {
	JobID string  `json:"jobId"`
	OK    bool    `json:"ok,omitempty"`
	Retry float64 `json:"retry,omitempty"` // seconds
	Bury  string  `json:"bury,omitempty"`
}

// Results is the outcome of each job of a batch.
func Results(results ...BatchResult) error {
	return document(map[string]any{"results": results})
}

// Seen keeps the ids of deliveries whose handler has succeeded: a table of your database.
type Seen interface {
	Has(ctx context.Context, id string) (bool, error)
	Add(ctx context.Context, id string) error
}

// Receiver is an http.Handler for the url of jobs. Handle gets deliveries whose signature is valid. It returns nil, or an error: that of NotYet, Defer,
// Retry, Bury, Done or Results, or any other one, after which the job comes again.
type Receiver struct {
	Verifier
	Handle   func(context.Context, *Delivery) error
	Unsigned bool                   // accepts requests without a signature: only for topics that do not sign, behind a wall
	Seen     Seen                   // a delivery that it has is answered 200 without Handle
	MaxBytes int64                  // larger bodies are answered 413; 5 MiB
	OnError  func(error, *Delivery) // gets the errors of Handle and of Seen
}

func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	limit := r.MaxBytes
	if limit == 0 {
		limit = 5 << 20
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, limit))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	check := r.Verify
	if r.Unsigned {
		check = deliveryOf
	}
	delivery, err := check(body, request.Header)
	var fault *SignatureError
	if errors.As(err, &fault) {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	if err == nil {
		err = r.handle(request.Context(), delivery)
	}
	answer := &reply{status: 200}
	if err != nil && !errors.As(err, &answer) {
		answer = &reply{status: 500, body: err.Error()}
		if r.OnError != nil {
			r.OnError(err, delivery)
		}
	}
	if answer.header != "" {
		w.Header().Set(answer.header, answer.span)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if answer.isJSON {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(answer.status)
	io.WriteString(w, answer.body)
}

func (r *Receiver) handle(ctx context.Context, delivery *Delivery) error {
	id := delivery.ID
	if delivery.Round > 1 { // each round of a job has the same webhook-id
		id += ":" + strconv.Itoa(delivery.Round)
	}
	if id == "" || r.Seen == nil {
		return r.Handle(ctx, delivery)
	}
	if isRepeat, err := r.Seen.Has(ctx, id); isRepeat || err != nil {
		return err
	}
	err := r.Handle(ctx, delivery)
	var answer *reply
	if err == nil || (errors.As(err, &answer) && answer.ends) { // an attempt that is open, or comes again, has to be handled again
		if failure := r.Seen.Add(ctx, id); failure != nil && r.OnError != nil {
			r.OnError(failure, delivery)
		}
	}
	return err
}

// Deferred ends an attempt that a receiver answered with Defer, from any process.
type Deferred struct {
	JobID, Token string
	EndURL       string // of the delivery; it is not signed. Where the server's url is known: https://jobs.example.com/topics/<topic>/
	Client       *http.Client
}

func (d Deferred) Complete(ctx context.Context, result any) error {
	return d.tell(ctx, "complete", map[string]any{"result": result})
}

// Retry: the attempt has failed. A delay below 0 stands for the retry schedule.
func (d Deferred) Retry(ctx context.Context, delay time.Duration, text string) error {
	more := map[string]any{"error": text}
	if delay >= 0 {
		more["delay"] = delay.Seconds()
	}
	return d.tell(ctx, "retry", more)
}

func (d Deferred) Bury(ctx context.Context, text string) error {
	return d.tell(ctx, "bury", map[string]any{"error": text})
}

// Extend: the attempt stays open for this time from now. progress may be nil.
func (d Deferred) Extend(ctx context.Context, span time.Duration, progress any) error {
	more := map[string]any{"lease": span.Seconds()}
	if progress != nil {
		more["progress"] = progress
	}
	return d.tell(ctx, "extend", more)
}

func (d Deferred) tell(ctx context.Context, word string, members map[string]any) error {
	if d.Token == "" || d.EndURL == "" {
		return errors.New("duepost: the delivery has no Token or no EndURL: set defer in its topic, and --public-url")
	}
	if text, isText := members["error"].(string); isText {
		members["error"] = strings.ToValidUTF8(text[:min(len(text), 256)], "") // the contract allows 256 bytes
	}
	members["jobId"], members["token"] = d.JobID, d.Token
	client := New(Options{URL: d.EndURL, Client: d.Client})
	client.options.Token = "" // the token of the attempt is enough
	return client.send(ctx, request{method: "POST", path: "/" + word, body: members, isSafe: true}, new(struct{}))
}
