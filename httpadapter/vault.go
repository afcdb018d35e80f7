package httpadapter

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/vault"
)

const (
	vaultPath      = "/v1/vaults/{vaultID}"
	tokenizePath   = vaultPath + "/tokenize"
	recordsPath    = vaultPath + "/{table}"
	detokenizePath = vaultPath + "/detokenize"
	tokenPath      = vaultPath + "/tokens/{token}"
)

// vaultMaxBody is what a body may have by default, in bytes: a batch of a thousand values
// is more than a mebibyte if they are long.
const vaultMaxBody = 8 << 20

// VaultOptions are what the vault service can be mounted with. The zero value means the
// defaults: the one operation of the document.
type VaultOptions struct {
	Options // MaxBody is 8 MiB by default

	Insert     bool // adds POST /v1/vaults/{vaultID}/{table}
	Detokenize bool // adds POST /v1/vaults/{vaultID}/detokenize
	Delete     bool // adds DELETE /v1/vaults/{vaultID}/tokens/{token}

	// Redaction bounds how much of a field's values a caller sees, below what they are
	// authorized to. Nil does not. The answer "" shows nothing; another one that is no
	// redaction is logged and answered with 503.
	Redaction func(ctx context.Context, p Principal, f vault.Field) vault.Redaction

	// Base addresses of this service and of its sandbox, which is a second service with a
	// store and a keyring of its own. Both stand beside the vault's paths in the OpenAPI
	// document, if ProductionURL is set; if not, the vault is under the document's own
	// servers. They include the prefix that the services are mounted under.
	ProductionURL string
	SandboxURL    string
}

// NewVault mounts a vault service: POST /v1/vaults/{vaultID}/tokenize, and what the
// options add.
//
// All operations are governed by roles (see [Options]), on the vault as the resource. Who
// may detokenize sees masked values at most; plain ones take [access.Reveal],
// too, for which Options.Authorize is asked by itself: there ErrForbidden means that
// masked values are the most.
//
// Where values can be guessed, they can be tried by tokenize: [CallerLimit] bounds how often.
func NewVault(s *vault.Service, auth Authenticator, opts *VaultOptions) (*Handler, error) {
	if s == nil {
		return nil, errors.New("httpadapter: NewVault needs a service")
	}
	var o VaultOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxBody <= 0 {
		o.MaxBody = vaultMaxBody
	}
	servers, err := vaultServers(o.ProductionURL, o.SandboxURL)
	if err != nil {
		return nil, err
	}
	a := &vaultAdapter{service: s, redaction: o.Redaction}
	const vaults = access.Vault
	ops := []*operation{governed(access.Tokenize, vaults, http.MethodPost, tokenizePath, a.tokenize)}
	if o.Insert {
		ops = append(ops, governed(access.InsertRecords, vaults, http.MethodPost, recordsPath, a.insertRecords).withoutKey())
	}
	if o.Detokenize {
		ops = append(ops, governed(access.Detokenize, vaults, http.MethodPost, detokenizePath, a.detokenize))
	}
	if o.Delete {
		ops = append(ops, governed(access.DeleteToken, vaults, http.MethodDelete, tokenPath, a.deleteToken))
	}
	h, err := newHandler("vault", auth, vaultErrors, o.Options, ops)
	if err != nil {
		return nil, err
	}
	h.servers = servers
	a.h = h
	return h, nil
}

type vaultAdapter struct {
	h         *Handler
	service   *vault.Service
	redaction func(context.Context, Principal, vault.Field) vault.Redaction
}

// checked answers what is wrong with a request, and asks for authorization if nothing is.
// It returns nil if the operation may go on. What can be no vault's ID is refused here,
// so that every backend answers alike.
func (a *vaultAdapter) checked(c *call, wrong *problem) *response {
	if wrong != nil {
		return c.refuse(*wrong)
	}
	id := c.vaultID()
	if name.Problem(id) != "" {
		p, _ := vaultFailures.find(mortise.ErrNotFound)
		return c.refuse(p)
	}
	return a.h.authorize(c, id)
}

func (c *call) vaultID() string { return c.r.PathValue("vaultID") }
