package authmgmttest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math/rand/v2"
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
	model := conformance.Model{Sequences: 20, Soak: 1000, Steps: 200}
	model.Run(t, (*conformance.ModelOptions)(opts), func(s *conformance.Sequence) {
		r := newRun(s, h)
		r.Play(conformance.Steps{
			{6, r.createClient}, {4, r.importClient}, {10, r.updateClient}, {5, r.rotateSecret}, {3, r.revokeSecret}, {2, r.deleteClient},
			{14, r.login}, {10, r.verify}, {5, r.issueToken}, {4, r.importToken}, {5, r.revokeToken},
			{12, r.invite}, {4, r.importInvitation}, {9, r.resend}, {4, r.cancel}, {10, r.accept}, {10, r.runOnce},
			{4, r.setRBAC}, {1, r.prune}, {6, r.waitLong}, {8, r.waitForEnd},
		}, 25, r.compareAll)
	})
}

// run is one sequence: the service, its model, and what was done to both.
type run struct {
	*conformance.Sequence
	backend authmgmt.Backend
	service *authmgmt.Service
	model   *model
}

// The settings of the service, which the model has its own idea of.
const (
	tokenLifetime      = time.Hour
	secretOverlap      = 3 * time.Hour
	invitationLifetime = 10 * time.Hour
	grantTimeout       = 30 * time.Second
	grantRetry         = 5 * time.Second
)

func newRun(s *conformance.Sequence, h Harness) *run {
	s.Helper()
	var bytes [32]byte
	binary.LittleEndian.PutUint64(bytes[:], s.Seed)
	r := &run{Sequence: s, backend: h.Open(s.T)}
	if _, ok := r.backend.Directory.(authmgmt.Organizations); !ok {
		s.Skip("the backend has no Organizations")
	}
	r.model = &model{clock: s.Clock, rbac: make(map[string]bool)}
	key, err := testKey()
	if err != nil {
		s.Fatal(err)
	}
	r.service, err = authmgmt.New(r.backend, &authmgmt.Options{
		AcceptURL: "https://app.example.com/join/", InvitationKey: key, InvitationLifetime: invitationLifetime,
		Grant: func(_ context.Context, a authmgmt.Acceptance) (mortise.Secret, error) {
			return mortise.Secret{}, scripted(&a.Invitation, a.Attempt)
		},
		GrantTimeout: grantTimeout, TokenLifetime: tokenLifetime, SecretOverlap: secretOverlap,
		Env: mortise.Env{Now: r.Clock.Now, Rand: rand.NewChaCha8(bytes), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))},
	})
	if err != nil {
		s.Fatal(err)
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

// sameError is SameError, where the model's error may be errInvalid or errEither, too.
func (r *run) sameError(want, got error) bool {
	r.Helper()
	var invalid *mortise.ValidationError
	switch {
	case want == errInvalid && errors.As(got, &invalid):
		return false
	case want == errEither && (errors.Is(got, mortise.ErrExists) || errors.Is(got, authmgmt.ErrPendingInvitation)):
		return false
	}
	return r.SameError(want, got)
}
