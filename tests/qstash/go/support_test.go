// Tests with the unmodified client of QStash for Go. tests/qstash/test_go.py builds them, and runs each against a server:
// QSTASH_URL is its address.
package clients

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/upstash/qstash-go"
)

var client = qstash.NewClientWithEnv()

// An arrival is a request that a receiver got.
type arrival struct {
	method, uri, body string
	header            http.Header
}

// A receiver answers each request with the next of its statuses, and repeats the last one.
type receiver struct {
	url      string
	mutex    sync.Mutex
	statuses []int
	arrivals []arrival
}

func newReceiver(t *testing.T, statuses ...int) *receiver {
	r := &receiver{statuses: append([]int{}, statuses...)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.arrivals = append(r.arrivals, arrival{request.Method, request.RequestURI, string(body), request.Header})
	status := http.StatusOK
	if len(r.statuses) > 0 {
		status = r.statuses[0]
	}
	if len(r.statuses) > 1 {
		r.statuses = r.statuses[1:]
	}
	writer.WriteHeader(status)
	io.WriteString(writer, "answer "+strconv.Itoa(status))
}

// wait returns the arrivals as soon as there are this many.
func (r *receiver) wait(t *testing.T, count int) (found []arrival) {
	t.Helper()
	until(t, strconv.Itoa(count)+" arrivals", func() bool {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		found = append([]arrival{}, r.arrivals...)
		return len(found) >= count
	})
	equal(t, "number of arrivals", len(found), count)
	return found
}

// first returns the first arrival, which others may follow.
func (r *receiver) first(t *testing.T) arrival {
	t.Helper()
	until(t, "an arrival", func() bool { r.mutex.Lock(); defer r.mutex.Unlock(); return len(r.arrivals) > 0 })
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.arrivals[0]
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	slowness, err := strconv.ParseFloat(os.Getenv("DUEPOST_TEST_SLOW"), 64)
	if err != nil {
		slowness = 1
	}
	for end := time.Now().Add(time.Duration(20 * slowness * float64(time.Second))); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func equal(t *testing.T, what string, found, expected interface{}) {
	t.Helper()
	if !reflect.DeepEqual(found, expected) {
		t.Fatalf("%s: found %#v, expected %#v", what, found, expected)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails requires an error with this text. The client takes the text of an error from the answer.
func fails(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("found the error %v, expected one with %q", err, text)
	}
}
