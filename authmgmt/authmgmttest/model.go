package authmgmttest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// ModelOptions are the settings of [RunModel]. The zero value means the defaults.
type ModelOptions struct {
	Sequences int    // how many: 20, or 1000 if the environment has MORTISE_SOAK=1
	Steps     int    // of each sequence: 200
	Seed      uint64 // of the first sequence, the next one has the next: MORTISE_SEED, 1, or a random one if MORTISE_SOAK=1
}

// RunModel makes random calls to an [authmgmt.Service] on the backend, and the same ones
// to a plain model of it. After every step it compares what both return, and now and then
// everything that can be seen: lists, what every token, secret and link that there ever
// was is good for, and the audit trail. A failure prints the seed and the steps. Options
// may be nil. The backend needs Organizations.
func RunModel(t *testing.T, h Harness, opts *ModelOptions) {
	t.Helper()
	var o ModelOptions
	if opts != nil {
		o = *opts
	}
	sequences := conformance.Sequences{Count: o.Sequences, Steps: o.Steps, Seed: o.Seed}
	sequences.Run(t, func(t *testing.T, seed uint64, steps int) { newRun(t, h, seed).steps(steps) })
}

// run is one sequence: the service, its model, and what was done to both.
type run struct {
	t       *testing.T
	rand    *rand.Rand
	backend authmgmt.Backend
	service *authmgmt.Service
	clock   *Clock
	model   *model
	done    []string // the steps, in words
}

// The settings of the service, which the model has its own idea of.
const (
	tokenLifetime      = time.Hour
	secretOverlap      = 3 * time.Hour
	invitationLifetime = 10 * time.Hour
	grantTimeout       = 30 * time.Second
	grantRetry         = time.Minute
)

func newRun(t *testing.T, h Harness, seed uint64) *run {
	t.Helper()
	var bytes [32]byte
	for i := range 8 {
		bytes[i] = byte(seed >> (8 * i))
	}
	r := &run{t: t, rand: rand.New(rand.NewPCG(seed, 1)), backend: h.Open(t), clock: new(Clock)}
	if r.backend.Directory.(authmgmt.Organizations) == nil {
		t.Skip("the backend has no Organizations")
	}
	r.model = &model{now: r.clock.Now(), rbac: make(map[string]bool)}
	key, err := testKey()
	if err != nil {
		t.Fatal(err)
	}
	r.service, err = authmgmt.New(r.backend, &authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: key, InvitationLifetime: invitationLifetime,
		Grant: func(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.Secret{}, scripted(&a.Invitation, a.Attempt)
		},
		GrantTimeout: grantTimeout, GrantRetry: grantRetry, TokenLifetime: tokenLifetime, SecretOverlap: secretOverlap,
		Now: r.clock.Now, Rand: rand.NewChaCha8(bytes), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var errScripted = errors.New("the script says so")

// scripted is what becomes of an attempt to grant. It depends on nothing but the
// invitation and the attempt.
func scripted(i *authmgmt.Invitation, attempt int) error {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, i.Organization, i.ID, attempt)
	switch h.Sum32() % 5 {
	case 0:
		return errScripted
	case 1, 2:
		return authmgmt.ErrUnattended
	}
	return nil
}

// steps does so many steps.
func (r *run) steps(n int) {
	ops := r.ops()
	total := 0
	for _, op := range ops {
		total += op.weight
	}
	for i := range n {
		pick := r.rand.IntN(total)
		for _, op := range ops {
			if pick -= op.weight; pick < 0 {
				op.do()
				break
			}
		}
		if i%25 == 24 || i == n-1 {
			r.compareAll()
		}
		if r.rand.IntN(2) > 0 { // often two things happen at one time
			r.advance(time.Duration(1+r.rand.IntN(1_000_000)) * time.Microsecond)
		}
	}
}

func (r *run) advance(d time.Duration) {
	r.clock.Advance(d)
	r.model.now = r.model.now.Add(d)
}

// say notes what is done next.
func (r *run) say(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf("%4d  %s  ", len(r.done)+1, r.model.now.Format("02 15:04:05.000000"))+fmt.Sprintf(format, args...))
}

// fail ends the test with what was done.
func (r *run) fail(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s\nThe steps of %s (MORTISE_SEED=n begins with it):\n%s", fmt.Sprintf(format, args...), r.t.Name(), strings.Join(r.done, "\n"))
}

// same fails unless both are printed alike.
func (r *run) same(what string, want, got any) {
	r.t.Helper()
	if w, g := fmt.Sprintf("%v", want), fmt.Sprintf("%v", got); w != g {
		r.fail("%s:\nthe model has   %s\nthe service has %s", what, w, g)
	}
}

// sameError fails unless the service's error is the model's, which is a sentinel,
// errInvalid, or nil. It reports whether both succeeded.
func (r *run) sameError(want, got error) bool {
	r.t.Helper()
	var invalid *authmgmt.ValidationError
	switch {
	case want == nil && got == nil:
		return true
	case want == nil || got == nil:
	case want == errInvalid && errors.As(got, &invalid):
		return false
	case want == errEither && (errors.Is(got, authmgmt.ErrExists) || errors.Is(got, authmgmt.ErrPendingInvitation)):
		return false
	case errors.Is(got, want):
		return false
	}
	r.fail("the model's error is %v, the service's is %v", want, got)
	return false
}
