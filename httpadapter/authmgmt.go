package httpadapter

import (
	"errors"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// AcceptPath is the path of the acceptance page, without the link's token, which follows it.
const AcceptPath = "/api/v1/auth-management/accept-invitation/"

// AuthMgmtOptions are what the credentials service can be mounted with. The zero value means the defaults: the three operations of the
// document.
type AuthMgmtOptions struct {
	Options

	Clients     bool // adds POST and GET .../clients, GET and DELETE .../clients/{client_id}, POST .../clients/{client_id}/rotate-secret
	Invitations bool // adds POST and GET .../user-invitations, POST .../user-invitations/{invitation_id}/resend
	AcceptPage  bool // adds the page at AcceptPath where a person accepts an invitation
	Login       bool // adds the token endpoint, POST /api/v0/login
}

// NewAuthMgmt mounts a credentials service.
func NewAuthMgmt(s *authmgmt.Service, auth Authenticator, opts *AuthMgmtOptions) (*Handler, error) {
	if s == nil {
		return nil, errors.New("httpadapter: NewAuthMgmt needs a service")
	}
	return nil, errors.New("not written yet")
}
