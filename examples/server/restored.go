package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// seen is the file beside the root key with the largest number of revocations that this server
// has seen in its database (authmgmt.Service.Revocations). A smaller one in the database means
// that a backup was put back, or that a standby was promoted which had not heard everything.
//
// The file has a line for each database that the key was used with: its name and the number. Two
// servers that share the file may write the smaller number last, and then the latest change alone
// is not noticed.
type seen struct {
	path    string
	service *authmgmt.Service
	log     *slog.Logger

	asked atomic.Int64 // calls of note

	mu       sync.Mutex
	noted    int64 // calls of note that the latest look at the database answers
	database string
	n        int64
	restored bool // under the running server
}

// note writes the number before the caller that took something away is answered.
func (s *seen) note(ctx context.Context) {
	if s == nil {
		return
	}
	if err := s.catchUp(ctx); err != nil {
		s.log.ErrorContext(ctx, "a revocation is not noted: a backup that is put back now will not be noticed", "file", s.path, "error", err)
	}
}

// catchUp writes the number that the database has now. Callers that wait while another one looks
// at the database share the next look.
func (s *seen) catchUp(ctx context.Context) error {
	call := s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noted >= call {
		return nil
	}
	s.noted = s.asked.Load()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	now, err := s.service.Revocations(ctx)
	n := now.N
	if err == nil && n < s.n && !s.restored {
		s.restored = true
		s.log.ErrorContext(ctx, "the database was restored, or failed over, under this server, and has lost something: start again with -restored",
			"in_the_database", n, "seen", s.n)
	}
	if s.restored {
		n++ // so that the next start does not take it for this database's own work
	}
	if err == nil && n > s.n {
		err = s.write(n)
	}
	return err
}

// watch writes the work of other servers, and changes whose callers hung up, until ctx ends. An
// error is told by the next note.
func (s *seen) watch(ctx context.Context) {
	for s != nil && ctx.Err() == nil {
		select {
		case <-ctx.Done(): // at the end of the server, too
		case <-time.After(5 * time.Second):
		}
		_ = s.catchUp(ctx)
	}
}

// write has the file on the disk under its name, or leaves the one that was there.
func (s *seen) write(n int64) error {
	all, err := s.read()
	if err != nil {
		return err
	}
	all[s.database] = max(n, all[s.database])
	path := s.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, ".revocations-*")
	if err != nil {
		return err
	}
	for _, database := range slices.Sorted(maps.Keys(all)) {
		if err == nil {
			_, err = fmt.Fprintln(f, database, all[database])
		}
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if d, err := os.Open(folder); err == nil { // some systems open no folder
		_ = d.Sync()
		_ = d.Close()
	}
	s.n = n
	return nil
}

// read returns the numbers in the file, by database. A server that starts for the first time has
// no file.
func (s *seen) read() (map[string]int64, error) {
	all := map[string]int64{}
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err == nil && (len(lines) < 2 || lines[len(lines)-1] != "") {
		err = errors.New("its end is missing")
	}
	for _, line := range lines[:len(lines)-1] {
		database, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, wrong := strconv.ParseUint(number, 10, 62) // so that it can grow
		if err == nil {
			err = wrong
		}
		all[database] = int64(n)
	}
	if err != nil {
		return nil, usagef("-vault-key: the file %s beside it says whether the database was restored, and cannot be read: %w. "+
			"Put it back, or remove it and start with -restored", s.path, err)
	}
	return all, nil
}

// look returns the file beside the key, and the number in the database. Known is false if the file
// has no line of the database.
func look(ctx context.Context, services *services, keyPath string, log *slog.Logger) (at *seen, now mortise.Revocations, known bool, err error) {
	at = &seen{path: keyPath + ".revocations", service: services.authmgmt.service, log: log}
	all, err := at.read()
	if err != nil {
		return nil, now, false, err
	}
	now, err = at.service.Revocations(ctx)
	if err != nil {
		return nil, now, false, fmt.Errorf("look whether the database was restored: %w", err)
	}
	at.database = now.Database
	at.n, known = all[now.Database]
	return at, now, known, nil
}

// checkRestored refuses a database that has lost something, unless the operator says so: then it
// ends every access token and session.
func checkRestored(ctx context.Context, s *settings, services *services, keyPath string, log *slog.Logger) error {
	if keyPath == "" { // in memory nothing is restored
		return nil
	}
	at, now, known, err := look(ctx, services, keyPath, log)
	if err != nil {
		return err
	}
	switch {
	case s.restored && known && now.N >= at.n:
		log.Warn("-restored: no access was ended, because the database has everything that this server has seen. "+
			"Start without the flag. To end every access token and session all the same, remove the file first", "file", at.path)
	case s.restored:
		tokens, err := at.service.EndAccess(ctx, at.n)
		if err != nil {
			return fmt.Errorf("-restored: %w; the same command goes on with it", err)
		}
		log.Warn("the database was restored: all access tokens and sessions were ended, and programs log in again, and people need a new invitation. "+
			"Clients, secrets, API keys, roles, invitations, vault tokens and organizations that were taken away after the backup are there again, "+
			"and so is each access token that the document of -config has without \"revoked\". "+
			"End them once more: PUT and DELETE /api/v1/auth-management/clients/{id}, POST .../clients/{id}/rotate-secret, "+
			"DELETE and resend of .../user-invitations/{id}, DELETE /v1/vaults/{id}/tokens/{token}, or the document of -config. Start without -restored next time",
			"tokens", tokens, "in_the_backup", now.N, "seen", at.n, "taken_away_last_in_the_backup", now.Last)
		if now, err = at.service.Revocations(ctx); err != nil {
			return fmt.Errorf("-restored: %w; the same command goes on with it", err)
		}
	case now.N < at.n:
		return usagef("the database was restored from a backup: revocations and deletions in it: %d (the last one %s), seen by this server: %d. "+
			"Everything that was taken away since is there again, so deleted clients can log in. Read docs/restore.md. "+
			"Start with -restored, which ends every access token and session, on an address that no other program reaches (-addr 127.0.0.1:8099)",
			now.N, stamp(now.Last), at.n)
	case !known && now.N > 0:
		log.Warn("the file has no number of revocations for this database: if it was restored from a backup, start again with -restored", "file", at.path)
	}
	if now.N > at.n || !known {
		if err := at.write(now.N); err != nil { // a key is often in a folder that cannot be written
			log.Warn("the file beside the root key cannot be written: this server will not notice if its database is restored from a backup", "file", at.path, "error", err)
			return nil
		}
	}
	s.seen = at
	return nil
}

// stamp is a time, for an operator.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "at no known time"
	}
	return "of " + t.Format(time.RFC3339)
}
