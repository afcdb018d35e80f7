package sqlite_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// These are the contenders of BenchmarkWrites: what one would write by hand.

func bareSubmit(f *bareFile, _ writing) call { return newBareSubmissions(f).submit }

const (
	bareAudit    = "INSERT INTO authmgmt_audit (id, organization, at, kind, actor, target, before, after) VALUES (?,?,?,?,?,?,?,?)"
	bareRoles    = "viewer/dataset/d1"
	bareUpdate   = "UPDATE authmgmt_clients SET name = ?, roles = ?, updated_at = ? WHERE organization = ? AND id = ?"
	bareClient   = "SELECT c.name, c.roles, s.id FROM authmgmt_clients c" + bareSecrets + " WHERE c.organization = ? AND c.id = ?"
	bareSecrets  = " LEFT JOIN authmgmt_secrets s ON s.organization = c.organization AND s.client = c.id"
	bareBySecret = "SELECT c.organization, c.id, c.roles, s.expires_at FROM authmgmt_secrets s JOIN authmgmt_clients c" +
		" ON c.organization = s.organization AND c.id = s.client WHERE s.digest = ? AND c.deleted_at IS NULL"
	bareToken = "INSERT INTO authmgmt_tokens (organization, digest, id, subject, client, secret, roles, created_at, expires_at, revoked_at)" +
		" VALUES (?,?,?,?,?,?,?,?,?,?)"
	bareInvitation = "SELECT email, name, roles, generation, expires_at FROM authmgmt_invitations WHERE organization = ? AND id = ?" +
		" AND accepted_at IS NULL AND cancelled_at IS NULL"
	bareAcceptance = "UPDATE authmgmt_invitations SET accepted_at = ?1, accepted_by = ?2, granted_at = ?1, ended_at = ?1" +
		" WHERE organization = ?3 AND id = ?4 AND generation = ?5 AND accepted_at IS NULL AND cancelled_at IS NULL AND expires_at > ?1"
)

func bareSnapshot(s *authmgmt.Snapshot) string {
	text, _ := json.Marshal(s) // which has no fields that fail
	return string(text)
}

func barePutClient(f *bareFile, _ writing) call      { return barePut(f, true) }
func barePutClientBlind(f *bareFile, _ writing) call { return barePut(f, false) }

// barePut reads what it changes and writes that into the event, as the audit trail asks
// for; or it reads nothing, and writes a text that it had before.
func barePut(f *bareFile, reads bool) call {
	update, audit, read := f.writing(bareUpdate), f.writing(bareAudit), f.writing(bareClient)
	snapshot := func(name string, secret uuid.UUID) string {
		return bareSnapshot(&authmgmt.Snapshot{Name: name, Roles: benchRoles(), Secrets: []uuid.UUID{secret}})
	}
	given := snapshot("Robot 1", uuid.Nil)
	var calls atomic.Int64
	return func(context.Context) error {
		n := calls.Add(1)
		client, name, at := fmt.Sprint("robot", n%benchClients), fmt.Sprint("Robot ", n), time.Now().UnixMicro()
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		return f.write(func() error {
			ctx, before, after := context.Background(), given, given
			if reads {
				var old, roles string
				var secret uuid.UUID
				if err := read.QueryRowContext(ctx, "acme", client).Scan(&old, &roles, &secret); err != nil {
					return err
				}
				before, after = snapshot(old, secret), snapshot(name, secret)
			}
			if _, err := update.ExecContext(ctx, name, bareRoles, at, "acme", client); err != nil {
				return err
			}
			_, err := audit.ExecContext(ctx, id[:], "acme", at, "client_updated", "root", client, before, after)
			return err
		})
	}
}

// bareLogin lets the foreign key find out whether the secret has gone meanwhile.
func bareLogin(f *bareFile, w writing) call {
	read, token, audit := f.reading(bareBySecret), f.writing(bareToken), f.writing(bareAudit)
	var calls atomic.Int64
	return func(ctx context.Context) error {
		n := calls.Add(1) % benchClients
		client := fmt.Sprint("robot", n)
		secret := sha256.Sum256([]byte(w.secrets[n]))
		var org, stored, roles string
		var expires *int64
		if err := read.QueryRowContext(ctx, secret[:]).Scan(&org, &stored, &roles, &expires); err != nil {
			return err
		}
		if subtle.ConstantTimeCompare([]byte(stored), []byte(client)) != 1 || expires != nil {
			return errors.New("not this client's")
		}
		var random [32]byte
		_, _ = rand.Read(random[:]) // which does not fail
		digest := sha256.Sum256([]byte("at-" + hex.EncodeToString(random[:])))
		id, err := uuid.NewV7()
		event, eventErr := uuid.NewV7()
		if err := errors.Join(err, eventErr); err != nil {
			return err
		}
		now := time.Now().UTC()
		end := now.Add(time.Hour)
		subject := "client:" + client
		after := bareSnapshot(&authmgmt.Snapshot{Subject: subject, Client: client, ExpiresAt: &end})
		return f.write(func() error {
			ctx := context.Background()
			if _, err := token.ExecContext(ctx, org, digest[:], id[:], subject, client, secret[:], nil, now.UnixMicro(), end.UnixMicro(), nil); err != nil {
				return err
			}
			_, err := audit.ExecContext(ctx, event[:], org, now.UnixMicro(), "token_issued", subject, id.String(), nil, after)
			return err
		})
	}
}

// bareAccept reads the invitation once: that it is still pending is a condition of the
// update.
func bareAccept(f *bareFile, w writing) call {
	read, update, audit := f.reading(bareInvitation), f.writing(bareAcceptance), f.writing(bareAudit)
	return func(ctx context.Context) error {
		l := <-w.links
		var email, name, roles string
		var generation, expires int64
		if err := read.QueryRowContext(ctx, "acme", l.id).Scan(&email, &name, &roles, &generation, &expires); err != nil {
			return err
		}
		mac := hmac.New(sha256.New, []byte(invitationKeyText))
		for _, part := range []string{"mortise invitation link v1", "acme", l.id} {
			_, _ = mac.Write([]byte{0, 0, 0, 0, 0, 0, 0, byte(len(part))})
			_, _ = mac.Write([]byte(part))
		}
		var number [8]byte
		for i := range number {
			number[i] = byte(generation >> (56 - 8*i))
		}
		_, _ = mac.Write(number[:])
		_, secret, _ := strings.Cut(l.token, ".")
		if subtle.ConstantTimeCompare([]byte(secret), []byte(base64.RawURLEncoding.EncodeToString(mac.Sum(nil)))) != 1 {
			return errors.New("not the invitation's link")
		}
		event, err := uuid.NewV7()
		if err != nil {
			return err
		}
		now, end := time.Now().UnixMicro(), time.UnixMicro(expires).UTC()
		s := authmgmt.Snapshot{Name: name, Email: email, Roles: benchRoles(), State: authmgmt.InvitationPending, Generation: generation, ExpiresAt: &end}
		before := bareSnapshot(&s)
		s.State = authmgmt.InvitationAccepted
		after := bareSnapshot(&s)
		return f.write(func() error {
			ctx := context.Background()
			result, err := update.ExecContext(ctx, now, "person", "acme", l.id, generation)
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n != 1 {
				return errors.Join(err, errors.New("not pending"))
			}
			_, err = audit.ExecContext(ctx, event[:], "acme", now, "accepted", "person", l.id, before, after)
			return err
		})
	}
}

// bareInsert does not look whether the value is there: the key of its fingerprint is
// unique.
func bareInsert(f *bareFile, _ writing) call {
	row := f.writing("INSERT INTO vault_tokens (vault, token, scope, deterministic, created_at, sealed, ciphertext) VALUES (?,?,?,?,?,?,?)")
	print := f.writing("INSERT INTO vault_fingerprints (fingerprint, scope, version, row, token) VALUES (?,?,?,?,?)")
	count := f.writing("UPDATE vault_counts SET n = n + 1 WHERE scope = ? AND deterministic = ? AND sealed = ?")
	keys := benchKeys(f.b)
	scope := keyring.Scope{Organization: "acme", Vault: "v1", Name: "persons.email"}
	var calls atomic.Int64
	calls.Store(1) // the first value is there
	return func(ctx context.Context) error {
		value := keyring.NewValue(fmt.Sprint("person", calls.Add(1), "@example.com"))
		var of [1]keyring.Fingerprint
		if err := keys.Fingerprint(ctx, 1, []keyring.FingerprintItem{{Scope: scope, Value: value}}, of[:]); err != nil {
			return err
		}
		token := uuid.NewString()
		sealed, err := keys.Seal(ctx, []keyring.SealItem{{Scope: scope, Token: token, Value: value}})
		if err != nil {
			return err
		}
		require.NoError(f.b, sealed[0].Err)
		at, s := time.Now().UnixMicro(), sealed[0].Sealed
		return f.write(func() error {
			ctx := context.Background()
			result, err := row.ExecContext(ctx, 1, token, 1, 1, at, s.Version, s.Ciphertext)
			if err != nil {
				return err
			}
			seq, err := result.LastInsertId()
			if err != nil {
				return err
			}
			if _, err := print.ExecContext(ctx, of[0][:], 1, 1, seq, token); err != nil {
				return err
			}
			_, err = count.ExecContext(ctx, 1, 1, s.Version)
			return err
		})
	}
}
