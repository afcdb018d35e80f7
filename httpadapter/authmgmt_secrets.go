package httpadapter

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// clientSecret is a client's secret as it goes over the wire: all but its text, which is in
// the answer that made it, and its digest.
type clientSecret struct {
	ID         uuid.UUID `json:"secret_id"`
	CreatedAt  Timestamp `json:"created_at"`
	LastUsedAt Timestamp `json:"last_used_at"` // of a login, to within a minute; null: never
	ExpiresAt  Timestamp `json:"expires_at"`   // null: never
}

// clientSecrets are all of a client's. They are few, and need no pages.
type clientSecrets struct {
	Data []clientSecret `json:"data"`
}

// listSecrets serves the operation listClientSecrets. A secret that has ended is listed until
// the next rotation.
func (a *authMgmtAdapter) listSecrets(c *call) response { return a.ofClient(c, secretsOf) }

func secretsOf(c authmgmt.Client) response {
	list := make([]clientSecret, len(c.Secrets))
	for i, s := range c.Secrets {
		list[i] = clientSecret{
			ID: s.ID, CreatedAt: Timestamp(s.CreatedAt), LastUsedAt: Timestamp(s.LastUsedAt), ExpiresAt: Timestamp(s.ExpiresAt),
		}
	}
	return response{status: http.StatusOK, body: mustJSON(clientSecrets{list})}
}

// revokeSecret serves the operation revokeClientSecret. The last secret may go, too.
func (a *authMgmtAdapter) revokeSecret(c *call) response {
	var d decoder
	id := pathID(&d, c.r, "client_id")
	secretID := newParams(&d, c.r).pathUUID(c.r, "secret_id")
	if failed := a.checked(c, &d, id); failed != nil {
		return *failed
	}
	if err := a.service.RevokeSecret(c.r.Context(), c.principal.Organization, c.caller(), id, secretID); err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusOK}
}
