package authmgmt

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// rbacFor is for how long an organization that has role-based access control is taken to
// have it still. It is asked for every change of roles, and hardly ever changes.
const rbacFor = time.Second

// rbacMemo remembers which organizations have role-based access control. That one has
// none is never remembered, so that it counts at once when it gets it.
type rbacMemo struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// maxRBACMemo bounds the memory. Beyond it all is forgotten.
const maxRBACMemo = 10_000

func (m *rbacMemo) has(org string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Before(m.until[org])
}

func (m *rbacMemo) remember(org string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.until == nil || len(m.until) >= maxRBACMemo {
		m.until = make(map[string]time.Time)
	}
	m.until[org] = now.Add(rbacFor)
}

func (m *rbacMemo) forget(org string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.until, org)
}

// roleCheck says whether an organization's credentials can have roles.
type roleCheck func(ctx context.Context, org string, roles []access.Role) error

// anyRoles is the roleCheck of what is imported: the host has decided.
func anyRoles(context.Context, string, []access.Role) error { return nil }

// checkRBAC refuses roles where the organization has no role-based access control.
func (s *Service) checkRBAC(ctx context.Context, org string, roles []access.Role) error {
	if len(roles) == 0 || s.directory == nil {
		return nil
	}
	now := s.opts.Now()
	if s.rbac.has(org, now) {
		return nil
	}
	o, err := s.directory.AccessControl(ctx, org)
	err = failure.FromHook(err, mortise.ErrNotFound)
	if errors.Is(err, mortise.ErrNotFound) || err == nil && !o.RBAC {
		if deleted, err := s.isDeleted(ctx, org); err != nil {
			return err
		} else if deleted {
			return mortise.ErrDeleted
		}
		return ErrRBACDisabled
	}
	if err != nil {
		return unavailable("read organization", err)
	}
	if !s.hosted(ctx) {
		s.rbac.remember(org, now)
	}
	return nil
}
