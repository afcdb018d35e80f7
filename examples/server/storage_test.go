package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/trigger"
)

// storages opens each storage anew.
var storages = map[string]func(t *testing.T) *backends{
	"SQLite": func(t *testing.T) *backends {
		return openStorageFor(t, &settings{data: filepath.Join(t.TempDir(), "data")})
	},
	"memory": func(t *testing.T) *backends { return openStorageFor(t, &settings{memory: true}) },
}

func openStorageFor(t *testing.T, s *settings) *backends {
	t.Helper()
	b, err := openStorage(t.Context(), s, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// onEach runs a test on the services of every storage.
func onEach(t *testing.T, test func(t *testing.T, s *services, b *backends)) {
	for name, open := range storages {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			s, err := wire(testSettings(), b, testKey(), discard())
			if err != nil {
				t.Fatal(err)
			}
			test(t, s, b)
		})
	}
}

func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	dangling := filepath.Join(dir, "dangling")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("nowhere", dangling)); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := makeFolder(deep, discard()); err != nil {
			t.Fatal(err)
		}
	}
	for path := deep; path != dir; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeDir|0o700 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	for _, path := range []string{file, filepath.Join(file, "x"), dangling, filepath.Join(dir, "n\x00l")} {
		if err := makeFolder(path, discard()); err == nil {
			t.Errorf("%q was made", path)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("made by way of a link that leads nowhere: %v", err)
	}

	// Several at once all succeed.
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := makeFolder(filepath.Join(dir, "x", "y"), discard()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestCloseStorage(t *testing.T) {
	for name, test := range map[string]struct {
		close func() error
		took  time.Duration
		log   string
	}{
		"well":  {func() error { time.Sleep(time.Second); return nil }, time.Second, ""},
		"badly": {func() error { return errors.New("disk full") }, 0, "disk full"},
		"never": {func() error { time.Sleep(time.Hour); return nil }, leaveAfter, "left as it is"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				begun := time.Now()
				closeStorage(&backends{close: test.close}, slog.New(slog.NewJSONHandler(&log, nil)))
				took := time.Since(begun)
				time.Sleep(2 * time.Hour) // whatever was left behind ends before the test does
				if took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if !strings.Contains(log.String(), test.log) || (test.log == "") != (log.Len() == 0) {
					t.Errorf("logged %s", &log)
				}
			})
		})
	}
}

func TestInTime(t *testing.T) {
	failure := errors.New("no")
	for name, test := range map[string]struct {
		start func() error
		took  time.Duration // after the signal, which comes after an hour
		err   error
		log   string
	}{
		"ended before":  {func() error { return failure }, -time.Hour, failure, ""},
		"ended in time": {func() error { time.Sleep(time.Hour + 9*time.Second); return failure }, 9 * time.Second, failure, ""},
		"hangs":         {func() error { time.Sleep(2 * time.Hour); return failure }, leaveAfter, nil, "not everything has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, signal := context.WithTimeout(t.Context(), time.Hour)
				defer signal()
				var log bytes.Buffer
				begun := time.Now()
				err := inTime(ctx, &log, test.start)
				took := time.Since(begun) - time.Hour
				time.Sleep(2 * time.Hour)
				if took != test.took || !errors.Is(err, test.err) || err != nil && test.err == nil {
					t.Errorf("took %v, want %v; error %v", took, test.took, err)
				}
				if !strings.Contains(log.String(), test.log) || (test.log == "") != (log.Len() == 0) {
					t.Errorf("logged %s", &log)
				}
			})
		})
	}
}

// TestProvisioningAgain: the same document changes nothing in the storage.
func TestProvisioningAgain(t *testing.T) {
	document, err := os.ReadFile("testdata/acme.json")
	if err != nil {
		t.Fatal(err)
	}
	type state struct {
		Organization trigger.Organization
		Keys         []trigger.APIKey
	}
	onEach(t, func(t *testing.T, s *services, b *backends) {
		var states [3]state
		for i := range states {
			if err := apply(t, s, string(document)); err != nil {
				t.Fatal(err)
			}
			var orgErr error
			states[i].Organization, orgErr = b.trigger.Directory.Setup(t.Context(), "acme")
			page, keysErr := b.trigger.Keys.ListKeys(t.Context(), "acme", trigger.KeyQuery{Limit: 10})
			states[i].Keys = page.Items
			if err := errors.Join(orgErr, keysErr); err != nil {
				t.Fatal(err)
			}
			if len(states[i].Keys) != 1 || len(states[i].Organization.Collections) != 1 || !reflect.DeepEqual(states[i], states[0]) {
				t.Errorf("time %d: %+v, first %+v", i, states[i], states[0])
			}
		}
	})
}

// TestProvisioningAtOnce: several servers on the same data start with the same document.
func TestProvisioningAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		for round := range 10 {
			key := fmt.Sprint(docKey, "-", round)
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					if err := apply(t, s, `{"organizations":[{"id":"acme","api_keys":[{"key":"`+key+`","revoked":true}]}]}`); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if k, err := s.trigger.service.FindKey(t.Context(), key); err != nil || k.Organization != "acme" || k.RevokedAt.IsZero() {
				t.Errorf("%+v, %v", k, err)
			}
		}
		page, err := b.trigger.Keys.ListKeys(t.Context(), "acme", trigger.KeyQuery{Limit: 100})
		if err != nil || len(page.Items) != 10 {
			t.Errorf("%d keys, %v", len(page.Items), err)
		}
	})
}

// TestDemoKeys: the demo's key works beside those of the storage, and is not in it.
func TestDemoKeys(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, `{"organizations":[{"id":"demo","api_keys":[{"key":"`+docKey+`"}]}]}`); err != nil {
			t.Fatal(err)
		}
		stored := b.trigger.Keys
		if err := addDemoCredentials(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		demo, err := wire(testSettings(), b, testKey(), discard())
		if err != nil {
			t.Fatal(err)
		}
		service := demo.trigger.service
		record, key, err := service.IssueKey(t.Context(), demoOrganization, "", "demo")
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{key.Reveal(), docKey} {
			if _, err := service.VerifyKey(t.Context(), k); err != nil {
				t.Error(err)
			}
		}
		if err := service.FlushKeyUse(t.Context()); err != nil {
			t.Error(err)
		}
		page, err := service.ListKeys(t.Context(), demoOrganization, trigger.KeyQuery{})
		all := page.Items
		if err != nil || len(all) != 2 || all[1].ID != record.ID || all[0].LastUsedAt.IsZero() || all[1].LastUsedAt.IsZero() {
			t.Errorf("%+v, %v", all, err)
		}
		kept, err := stored.ListKeys(t.Context(), demoOrganization, trigger.KeyQuery{Limit: 10})
		if err != nil || len(kept.Items) != 1 || kept.Items[0].ID != all[0].ID {
			t.Errorf("stored: %+v, %v", kept, err)
		}
		var each []uuid.UUID
		for q := (trigger.KeyQuery{Limit: 1}); ; {
			page, err := service.ListKeys(t.Context(), demoOrganization, q)
			if err != nil || len(page.Items) != 1 {
				t.Fatalf("%+v, %v", page, err)
			}
			each = append(each, page.Items[0].ID)
			if q.After = page.Next; q.After.IsZero() {
				break
			}
		}
		if !slices.Equal(each, []uuid.UUID{all[0].ID, record.ID}) {
			t.Errorf("one by one: %v of %v", each, all)
		}
		for _, k := range all {
			if err := service.RevokeKey(t.Context(), demoOrganization, "", k.ID); err != nil {
				t.Error(err)
			}
		}
		for _, k := range []string{key.Reveal(), docKey} {
			if _, err := service.VerifyKey(t.Context(), k); !errors.Is(err, trigger.ErrInvalidKey) {
				t.Errorf("after it was revoked: %v", err)
			}
		}
	})
}
