package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/command"
)

// triggerService is the documentation trigger service.
type triggerService struct {
	member
	service *trigger.Service
	bulk    *httpadapter.Handler // actions on many events, by access tokens
}

func newTriggerService(s *settings, b trigger.Backend, credentials *authmgmt.Service, log *slog.Logger) (*triggerService, error) {
	service, err := trigger.New(b, &trigger.Options{Env: s.env(log)})
	if err != nil {
		return nil, fmt.Errorf("make the trigger service: %w", err)
	}
	options := httpadapter.Options{Observer: s.meters.request, Logger: log}
	keys := httpadapter.Bearer(withDemo(s.demo.key, access.APIKey(), httpadapter.TriggerKeys(service)))
	routes, err := httpadapter.NewTrigger(service, keys, &httpadapter.TriggerOptions{
		Options: options, History: true, Actions: true, NotBefore: true,
	})
	if err != nil {
		return nil, fmt.Errorf("mount the trigger service: %w", err)
	}
	tokens := httpadapter.Bearer(withDemo(s.demo.token, access.Full(), httpadapter.AccessTokens(credentials)))
	bulk, err := httpadapter.NewTriggerBulk(service, tokens, &options)
	if err != nil {
		return nil, fmt.Errorf("mount the actions on many triggers: %w", err)
	}
	// Where the work is nothing, what counts is how many attempts share a transaction. On SQLite so
	// many keep up with what comes meanwhile. On PostgreSQL they share a pool with the requests.
	processor, attempts := logEvent(log), 256
	if s.database != nil {
		attempts = 64
	}
	if s.command != nil {
		// Its program gets the event as one line of JSON, in the fields of the history.
		encode := func(e trigger.Event) ([]byte, error) { return httpadapter.NewTriggerEvent(e).JSON() }
		if processor, err = command.New(s.command, encode, &command.Options{Env: s.commandEnv, Logger: log}); err != nil {
			return nil, err
		}
		attempts = 0 // processes of the operator's: the library's default
	}
	worker, err := trigger.NewWorker(service, processor, &trigger.WorkerOptions{
		Concurrency: attempts, PerOrganization: s.perOrganization, Drain: workDrain, Grace: workGrace,
	})
	if err != nil {
		return nil, fmt.Errorf("make the trigger worker: %w", err)
	}
	return &triggerService{member{httpadapter.Part{Name: "trigger", Ping: service.Ping}, routes, worker.Run}, service, bulk}, nil
}

// logEvent is the Processor without -trigger-exec.
func logEvent(log *slog.Logger) trigger.Processor {
	return func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
		log.InfoContext(ctx, "trigger event", "event", e.ID, "organization", e.Organization)
		return trigger.Outcome{Summary: "Logged. This server was started without -trigger-exec."}, nil
	}
}
