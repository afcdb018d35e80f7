package sqlite

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt"
)

// knownClients are clients as this process has last changed them. A change of one of
// those need not read it in the writer's transaction, where every other change waits: its
// update function runs before, and the statement that stores what it left does so only if
// the client still has the version that it ran on. So what is known may be out of date;
// then the change is made as any other.
type knownClients struct {
	mu   sync.Mutex
	rows map[clientID]knownClient
}

type clientID struct{ org, id string }

type knownClient struct {
	client  authmgmt.Client
	version int
}

// maxKnownClients bounds the memory. Beyond it all are forgotten: which ones are in use
// shows soon enough.
const maxKnownClients = 4096

func (k *knownClients) get(id clientID) (knownClient, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.rows[id]
	return known, ok
}

func (k *knownClients) put(known knownClient) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rows == nil || len(k.rows) >= maxKnownClients {
		k.rows = make(map[clientID]knownClient)
	}
	k.rows[clientID{known.client.Organization, known.client.ID}] = known
}

func (k *knownClients) forget(id clientID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.rows, id)
}

// forgetAll forgets the clients of an organization.
func (k *knownClients) forgetAll(org string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.rows, func(id clientID, _ knownClient) bool { return id.org == org })
}

// errStale: the client has another version by now.
var errStale = errors.New("sqlite: a client has changed")

// updateKnown is UpdateClient for a change of a known client's name and roles. It returns
// false if that is not what it is, or if the client is not as it was known: then nothing
// has been done.
func (a *AuthMgmt) updateKnown(ctx context.Context, id clientID, update func(*authmgmt.Client) (authmgmt.AuditEvent, error)) (done bool, err error) {
	known, ok := a.db.clients.get(id)
	if !ok {
		return false, nil
	}
	given := known.client.Clone()
	e, err := update(&given)
	if err != nil {
		return false, nil // which may come of what is out of date
	}
	fresh, changes := clientChanges(&known.client, &given)
	if len(fresh) > 0 || len(changes) != 1 || changes[0].statement != updateClient {
		return false, nil
	}
	event, err := auditChange(&e)
	if err != nil {
		return false, nil
	}
	// Name and roles say the same as the version, unless somebody has changed the row by
	// hand.
	args := append(changes[0].args, known.version, known.client.Name, rolesText(known.client.Roles))
	err = a.db.writer.write(ctx, func(tx *tx) error {
		changed, err := tx.exec(updateVersion, args...)
		if err == nil && changed == 0 {
			err = errStale
		}
		if err != nil {
			return err
		}
		return tx.apply(event)
	})
	switch {
	case err == nil:
		known.client.Name, known.client.Roles = given.Name, given.Clone().Roles
		known.client.UpdatedAt = asStored(given.UpdatedAt)
		known.version++
		a.db.clients.put(known)
		return true, nil
	case errors.Is(err, errStale):
		a.db.clients.forget(id)
		return false, nil
	}
	a.db.clients.forget(id)
	return true, err
}

// asStored is a time as it comes back.
func asStored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}
