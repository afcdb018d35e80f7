package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

// homePage is the first page. It names the services and the version. The administrator of
// the demo alone also sees numbers, and the demo's commands, which hold credentials.
type homePage struct {
	*site
	version  string
	docs     bool
	demo     demoCredentials
	tally    *tally
	trigger  *trigger.Service
	audio    *audiosearch.Service
	commands []demoCommand
}

// addHome adds the first page to the site.
func addHome(s *settings, all *services) error {
	h := &homePage{
		site: all.site, version: version(), docs: s.docs, demo: s.demo, tally: s.tally,
		trigger: all.trigger.service, audio: all.audio.service,
	}
	h.routes["/"] = siteRoute{methods: toRead, open: true, answer: h.home}
	if s.demo.code == nil {
		return nil
	}
	h.routes["/sign-in"] = siteRoute{methods: toPost, open: true, form: maxLogin, answer: h.signIn}
	h.routes["/numbers"] = siteRoute{methods: toRead, answer: h.renew}
	text := &demoPage{URL: s.publicURL, Key: s.demo.key, Token: s.demo.token}
	var err error
	h.commands, err = text.commands()
	return err
}

// homeView is the first page.
type homeView struct {
	Version       string
	Docs, Demo    bool
	Since         time.Time
	Counted, Kept []number // nil for all but the demo's administrator
	Commands      []demoCommand
}

// number is one of the first page, under an ID of its element.
type number struct{ ID, Name, Value string }

// home shows the first page.
func (h *homePage) home(w http.ResponseWriter, r *http.Request, _ *visit) error {
	view := &homeView{Version: h.version, Docs: h.docs, Demo: h.demo.code != nil}
	page := siteView{Title: "Mortise example server", Home: view}
	if view.Demo {
		who, err := h.visitor(r)
		if err != nil && !errors.Is(err, httpadapter.ErrUnauthenticated) {
			return err
		}
		if err == nil {
			page.Who = &visit{Principal: who}
		}
		if h.demo.administers(h.sessionToken(r)) {
			if view.Kept, err = h.kept(r.Context(), who.Organization); err != nil {
				return err
			}
			view.Counted, view.Since, view.Commands = h.counted(), h.tally.since.UTC(), h.commands
		}
	}
	h.show(w, r, http.StatusOK, page)
	return nil
}

// signIn takes the code of the demo's link, and begins a session of its administrator.
func (h *homePage) signIn(w http.ResponseWriter, _ *http.Request, v *visit) error {
	if err := h.demo.code.use(v.values.Get("code")); err != nil {
		return err
	}
	h.begin(w, h.demo.token)
	return redirect(w, "./")
}

// renew answers the script of the page with the numbers of now, by their IDs.
func (h *homePage) renew(w http.ResponseWriter, r *http.Request, v *visit) error {
	if !h.demo.administers(h.sessionToken(r)) {
		return &refusal{http.StatusForbidden, "The numbers are for the administrator of the demo."}
	}
	kept, err := h.kept(r.Context(), v.Organization)
	if err != nil {
		return err
	}
	values := make(map[string]string)
	for _, n := range append(kept, h.counted()...) {
		values[n.ID] = n.Value
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(values) // the caller is gone if this fails
	return nil
}

// counted are the numbers of this process.
func (h *homePage) counted() []number {
	count := h.tally.of
	return []number{
		{"submitted", "Triggers submitted", count("trigger", string(mortise.KindSubmitted))},
		{"completed", "Triggers completed", count("trigger", string(mortise.KindCompleted))},
		{"tokenized", "Values tokenized", count("vault", string(mortise.KindTokenized))},
		{"detokenized", "Values detokenized", count("vault", string(mortise.KindDetokenized))},
		{"issued", "Access tokens issued", count("authmgmt", string(mortise.KindTokenIssued))},
		{"accepted", "Invitations accepted", count("authmgmt", string(mortise.KindAccepted))},
		{"searches", "Searches started", count("audiosearch", string(mortise.KindSubmitted))},
		{"scored", "Recordings scored", count("audiosearch", string(mortise.KindIngested))},
	}
}

// kept are the numbers of an organization in the store.
func (h *homePage) kept(ctx context.Context, org string) ([]number, error) {
	triggers, err := h.trigger.Counts(ctx, org)
	searches, err2 := h.audio.Counts(ctx, org)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("count for the first page: %w", err)
	}
	return []number{
		{"triggers-waiting", "Triggers waiting", triggers.Waiting.String()},
		{"triggers-failed", "Triggers failed", triggers.Failed.String()},
		{"triggers-cancelled", "Triggers cancelled", triggers.Cancelled.String()},
		{"searches-waiting", "Searches waiting", searches.Waiting.String()},
		{"searches-failed", "Searches failed", searches.InternalErrors.String()},
	}, nil
}
