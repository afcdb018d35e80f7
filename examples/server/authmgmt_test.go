package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// TestInvitationLinks: the links begin with the address that the operator gave.
func TestInvitationLinks(t *testing.T) {
	b := storages["memory"](t)
	s, err := wire(&settings{publicURL: "https://example.com/sub"}, b, testKey(), discard())
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.authmgmt.service.Invite(t.Context(), "acme", provisioner, authmgmt.NewInvitation{Email: "a@b", Name: "n", FullAccess: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.authmgmt.service.URL(t.Context(), &i)
	if err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(text.Reveal())
	if err != nil || !strings.HasPrefix(link.String(), "https://example.com/sub"+httpadapter.AcceptPath) {
		t.Errorf("%s, %v", link, err)
	}
}

// TestRefusalsAreLogged: an operator sees who tried what in vain, once, and no secret.
func TestRefusalsAreLogged(t *testing.T) {
	b := storages["memory"](t)
	var log bytes.Buffer
	s, err := wire(testSettings(), b, testKey(), slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, service := t.Context(), s.authmgmt.service
	if err := apply(t, s, orgDocument("acme", true, "[]", "[]")); err != nil {
		t.Fatal(err)
	}
	_, _, loginErr := service.Login(ctx, "c1", docSecret)
	_, tokenErr := service.VerifyToken(ctx, docToken)
	_, updateErr := service.UpdateClient(ctx, "acme", provisioner, "c1", authmgmt.ClientUpdate{})
	if err := errors.Join(loginErr, tokenErr, updateErr); err != nil || log.Len() > 0 {
		t.Errorf("%v; what went well was logged: %s", err, &log)
	}
	if _, err := service.VerifyToken(ctx, "nonsense"); !errors.Is(err, authmgmt.ErrInvalidCredentials) || log.Len() > 0 {
		t.Errorf("%v; logged %s", err, &log)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, _, err := service.Login(ended, "c1", docSecret); !errors.Is(err, authmgmt.ErrUnavailable) || log.Len() > 0 {
		t.Errorf("%v; logged %s", err, &log)
	}
	if _, _, err := service.Login(ctx, "c1-is-no-secret", docSecret); !errors.Is(err, authmgmt.ErrInvalidCredentials) {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `"login refused","count":1}`) || strings.Contains(log.String(), "c1") || strings.Contains(log.String(), docSecret) {
		t.Errorf("logged %s", &log)
	}
	log.Reset()
	none := []access.Role{}
	mallory := authmgmt.Caller{Actor: "mallory", Access: access.DefaultCatalogue().Access(access.Role{ID: "admin"})}
	if _, err := service.UpdateClient(ctx, "acme", mallory, "c1", authmgmt.ClientUpdate{Roles: &none, FullAccess: true}); !errors.Is(err, authmgmt.ErrForbidden) {
		t.Error(err)
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), `"kind":"client_updated","organization":"acme","actor":"mallory","target":"c1"`) {
		t.Errorf("logged %s", &log)
	}
}

// TestRefusedLoginsFillNoLog: strangers get one line a second at most, which says how
// many they were.
func TestRefusedLoginsFillNoLog(t *testing.T) {
	synctest.Test(t, testRefusedLogins)
}

func testRefusedLogins(t *testing.T) {
	var log bytes.Buffer
	begin := time.Now()
	observe := observeRefused(nil, slog.New(slog.NewJSONHandler(&log, nil)))
	for _, step := range []struct {
		at    time.Duration
		times int
		want  []int // the counts that are logged
	}{
		{0, 1, []int{1}},
		{0, 3, nil},
		{time.Second - 1, 2, nil},
		{time.Second, 3, []int{6}},
		{2*time.Second - 1, 1, nil},
		{time.Hour, 1, []int{4}},
		{2 * time.Hour, 1, []int{1}},
	} {
		log.Reset()
		time.Sleep(time.Until(begin.Add(step.at)))
		for range step.times {
			observe(t.Context(), authmgmt.Observation{Kind: authmgmt.KindLoginRefused, Err: authmgmt.ErrInvalidCredentials})
		}
		var want strings.Builder
		for _, count := range step.want {
			fmt.Fprintf(&want, `"level":"WARN","msg":"login refused","count":%d}`+"\n", count)
		}
		if strings.Count(log.String(), "\n") != len(step.want) || !strings.HasSuffix(log.String(), want.String()) {
			t.Errorf("after %v: logged %s, want %s", step.at, &log, &want)
		}
	}
	log.Reset()
	for range 2 { // an insider's attempts are all told
		observe(t.Context(), authmgmt.Observation{Kind: authmgmt.KindClientUpdated, Err: authmgmt.ErrForbidden})
	}
	if strings.Count(log.String(), "\n") != 2 {
		t.Errorf("logged %s", &log)
	}
}

// TestRefusedLoginsAtOnce: none is counted twice or lost.
func TestRefusedLoginsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer // one line is written at a time
		observe := observeRefused(nil, slog.New(slog.NewJSONHandler(&log, nil)))
		refused := authmgmt.Observation{Kind: authmgmt.KindLoginRefused, Err: authmgmt.ErrInvalidCredentials}
		const each = 100
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range each {
					observe(t.Context(), refused)
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		group.Wait()
		time.Sleep(time.Second)
		observe(t.Context(), refused) // which tells what is left
		told, lines := 0, strings.Split(strings.TrimSpace(log.String()), "\n")
		for _, line := range lines {
			var count int
			if _, err := fmt.Sscanf(line[strings.Index(line, `"count":`):], `"count":%d}`, &count); err != nil {
				t.Fatal(err, line)
			}
			told += count
		}
		if told != 4*each+1 || len(lines) != each/10+1 {
			t.Errorf("%d of %d, in %d lines", told, 4*each+1, len(lines))
		}
	})
}
