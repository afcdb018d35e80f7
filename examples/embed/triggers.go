package embed

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// addTriggers adds POST /triggers and the history to the host. The host runs the worker
// beside its HTTP server, as in group.Go(func() error { return worker.Run(ctx) }).
func addTriggers(ctx context.Context, r chi.Router, p trigger.Processor) (worker *trigger.Worker, err error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	service, err := trigger.New(db.Trigger(), nil)
	if err != nil {
		return nil, err
	}
	handler, err := httpadapter.NewTrigger(service, httpadapter.AuthenticatorFunc(tenant), &httpadapter.TriggerOptions{History: true})
	if err != nil {
		return nil, err
	}
	r.Handle("/triggers", handler)
	r.Handle("/triggers/*", handler)
	return trigger.NewWorker(service, p, nil)
}

// tenant says who is asking, from what the host's middleware has verified.
func tenant(r *http.Request) (httpadapter.Principal, error) {
	c, ok := claimsFrom(r.Context())
	if !ok || c.Tenant == "" {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	return httpadapter.Principal{Organization: c.Tenant, Subject: c.Subject, Access: access.Full()}, nil
}
