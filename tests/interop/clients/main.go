// Schedules, reads and cancels a job with the client that oapi-codegen made: trip BASE_URL.
package main

import (
	"context"
	"log"
	"os"
)

func pointer[T any](value T) *T { return &value }

func main() {
	client, err := NewClientWithResponses(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	background := context.Background()
	var delay Duration // a union: seconds, or a text such as "15m"
	if err := delay.FromSeconds(3600.5); err != nil {
		log.Fatal(err)
	}
	job := NewJob{Topic: "made", JobId: pointer("go"), Url: pointer("http://127.0.0.1:9/"), Delay: &delay}
	scheduled, err := client.ScheduleJobWithResponse(background, nil, job)
	if err != nil || scheduled.JSON201 == nil {
		log.Fatal(err, string(scheduled.Body))
	}
	found, err := client.ReadJobWithResponse(background, "made", "go", nil)
	if err != nil || found.JSON200 == nil || *found.JSON200.Delay != 3600.5 || *found.JSON200.DueAt != scheduled.JSON201.DueAt {
		log.Fatal(err, string(found.Body))
	}
	cancelled, err := client.CancelJobWithResponse(background, "made", "go", nil)
	if err != nil || cancelled.JSON200 == nil || cancelled.JSON200.AttemptInFlight {
		log.Fatal(err, string(cancelled.Body))
	}
}
