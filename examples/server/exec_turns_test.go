//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/trigger"
)

// TestCommandsOfOneOrganization: the commands of one organization, though they fill all
// places and more wait, do not hold up another one's.
func TestCommandsOfOneOrganization(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	settings := testSettings()
	settings.command = []string{"/bin/sh", "-c", `case "$(cat)" in *slow*) until [ -e "$0" ]; do sleep 0.02; done;; esac`, end}
	settings.commandEnv = os.Environ()
	s, err := wire(settings, storages["memory"](t), testKey(), discard())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, org := range organizations {
		texts = append(texts, `{"id":"`+org+`","setup_complete":true,"doc_collections":[{"id":"7f1f3c1e-5a0e-4a52-9f0e-0c9a4a3f2b11","ready":true}]}`)
	}
	if err := apply(t, s, `{"organizations":[`+strings.Join(texts, ",")+`]}`); err != nil {
		t.Fatal(err)
	}
	service := s.trigger.service
	submit := func(org, instructions string) trigger.Event {
		t.Helper()
		e, err := service.Submit(t.Context(), org, "", trigger.Submission{Instructions: instructions})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	await := func(org string, status trigger.Status, count int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			page, err := service.ListEvents(t.Context(), org, trigger.EventQuery{Status: status})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Items) == count {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d events are %s, want %d", org, len(page.Items), status, count)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.trigger.run(ctx) }()
	const places, slow = 4, 6
	for range slow {
		submit("acme", "slow")
	}
	await("acme", trigger.StatusProcessing, places)
	for n := range 3 {
		submit("rival", "quick")
		await("rival", trigger.StatusCompleted, n+1)
	}
	await("acme", trigger.StatusProcessing, places)
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await("acme", trigger.StatusCompleted, slow)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
