package authmgmt

import (
	"context"

	"github.com/seed-6363c74e/mortise"
)

// Attempt makes an attempt of Options.GrantToken, whatever is stored of the invitation.
func (s *Service) Attempt(ctx context.Context, a Acceptance) (mortise.Secret, error) {
	return s.opts.Grant(ctx, a)
}

var GrantedToken = grantedToken
