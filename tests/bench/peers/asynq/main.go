// asynq: PROGRAM produce|work SOCKET [name=value ...], with the names of settings.mjs. The server has its default settings, but for
// the concurrency.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
)

var given = map[string]string{}

func number(name string, otherwise int64) int64 {
	if text, ok := given[name]; ok {
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			log.Fatal(err)
		}
		return value
	}
	return otherwise
}

func nextJob(n int64) ([]byte, time.Time) {
	now := time.Now().UnixMilli()
	due, least, most := number("due", 0), number("delay_min_ms", 0), number("delay_max_ms", 0)
	switch {
	case due != 0:
	case most != 0:
		due = now + least + rand.Int63n(most-least)
	default:
		due = now + 365*86400_000
	}
	head := fmt.Sprintf(`{"n":%d,"due":%d,"pad":"`, n, due)
	return []byte(head + strings.Repeat("x", max(0, int(number("body", 200))-len(head)-2)) + `"}`), time.UnixMilli(due)
}

func produce(client *asynq.Client) {
	began, next := time.Now(), atomic.Int64{}
	var lanes sync.WaitGroup
	for range number("connections", 64) {
		lanes.Add(1)
		go func() {
			defer lanes.Done()
			for n := next.Add(1) - 1; n < number("jobs", 0); n = next.Add(1) - 1 {
				if rate := number("rate", 0); rate != 0 {
					time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate))))
				}
				body, due := nextJob(number("first", 0) + n)
				if _, err := client.Enqueue(asynq.NewTask("job", body), asynq.ProcessAt(due)); err != nil {
					log.Fatal(err)
				}
			}
		}()
	}
	lanes.Wait()
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	cpu := float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
	json.NewEncoder(os.Stdout).Encode(map[string]float64{"seconds": time.Since(began).Seconds(), "cpu": cpu})
}

func work(redis asynq.RedisClientOpt) {
	lanes := int(number("connections", 64))
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: lanes, MaxIdleConnsPerHost: lanes}}
	server := asynq.NewServer(redis, asynq.Config{Concurrency: lanes, LogLevel: asynq.FatalLevel})
	fmt.Println("ready")
	err := server.Run(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		answer, err := client.Post(given["url"], "application/json", bytes.NewReader(task.Payload()))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		io.Copy(io.Discard, answer.Body)
		if answer.StatusCode >= 300 {
			return fmt.Errorf("status %d", answer.StatusCode)
		}
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	for _, word := range os.Args[3:] {
		name, value, _ := strings.Cut(word, "=")
		given[name] = value
	}
	redis := asynq.RedisClientOpt{Network: "unix", Addr: os.Args[2]}
	if os.Args[1] == "produce" {
		client := asynq.NewClient(redis)
		defer client.Close()
		produce(client)
	} else {
		work(redis)
	}
}
