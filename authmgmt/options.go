package authmgmt

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/setting"
)

// Options are the optional parts and settings of a Service. The zero value means the
// defaults, and a number below 0 is an error, unless the setting says that it means none.
//
// A panic of Deliver is a failed delivery, and one of Grant in [Service.Run] a failed
// attempt, of which an Observer does not hear. A panic of an Observer changes nothing. All
// of these are logged with their stack at ERROR, without their value. A panic of a
// Directory, of Admit, of HasDataset, or of Grant in [Service.Accept] goes on to the caller;
// in a request, net/http recovers and logs it. After one of Grant, Run makes another attempt
// when the time of this one is over. Stores must not panic.
type Options struct {
	mortise.Env

	Catalogue *access.Catalogue // access.DefaultCatalogue()

	// AcceptURL is what an invitation's link begins with; the link's token is put behind
	// it. It must be an absolute http or https URL that ends in /, = or #:
	// "https://app.example.com/join/". It never comes from a request. Without it there
	// are no invitations.
	AcceptURL string

	// InvitationKey is what the links are computed from: the same one at every start and
	// on every machine, until it is changed. It is needed with AcceptURL. See
	// [ParseInvitationKey].
	InvitationKey InvitationKey

	// OtherInvitationKeys open links and make none: earlier keys, while some of their
	// links have not expired, and the next key, while not every server has it. There are
	// at most 8. The key is changed in three steps. Finish each on every server before
	// the next:
	//
	//  1. Put the new key here. (If there is one server only, leave this step out.)
	//  2. Make it the InvitationKey, and put the old one here.
	//  3. Leave the old one out once its links have expired: after the longest lifetime of
	//     an invitation, 30 days at most.
	//
	// If a key was stolen, its links have to end at once. Call [Service.CheckKey] of a
	// Service that has the new key as InvitationKey and the stolen one here, and serves
	// nobody: then the store knows the new key. Start every server with the new key
	// alone, and resend the invitations.
	OtherInvitationKeys []InvitationKey
	InvitationLifetime  time.Duration // of an invitation that asks for no other: 7 days; at most 30

	// Admit says whether a person may accept an invitation. It is asked at every Accept,
	// with the person that Accept got, which may be "". An error keeps the invitation as
	// it is and goes back to the caller of Accept. An invitation outlives its inviter's
	// access: i.InvitedBy is the actor who made it. Nil admits every person with the link.
	Admit func(ctx context.Context, i Invitation, person mortise.Actor) error

	// HasDataset says whether an organization has a dataset, for an update of a client's
	// roles of that dataset: if it has none, [Service.UpdateClient] refuses the context.
	// With nil every context is taken.
	HasDataset func(ctx context.Context, org, id string) (bool, error)

	// Deliver sends an invitation's link, after it was made or resent. The invitation
	// stands even if that fails; then resend it. In a transaction of the host's
	// ([mortise.HostTx]) it is called once that is committed, for 30 s at most. Nil sends
	// nothing: pass on the link that [Service.URL] returns.
	Deliver func(ctx context.Context, i Invitation, url mortise.Secret) error

	// Grant hands out what an accepted invitation gives: a membership, an account, a
	// token. It runs at least once for each accepted invitation, until it returns without
	// error: first while the person waits, later by Service.Run, never twice at the same
	// time unless it overstays GrantTimeout: 5 s after the first failure, then after twice
	// as long each time, up to an hour. So it must be idempotent. The reply is for
	// the person alone, and may be an access token; zero is none. One that can do its
	// work only while the person waits returns [ErrUnattended]. Nil gives nothing.
	Grant        func(ctx context.Context, a Acceptance) (reply mortise.Secret, err error)
	GrantTimeout time.Duration // of one attempt: 30 s; at most 1 h

	// GrantToken, in place of Grant, gives whoever accepts an invitation an access token
	// of that lifetime, for their email address and with the invitation's roles. It is the
	// reply, and made while the person waits. If an attempt is repeated, the token of the
	// one before is revoked, so that one works at the end.
	GrantToken time.Duration

	// TokenLifetime is that of an access token that asks for no other: 1 h. One from
	// Login ends with its secret at the latest.
	TokenLifetime time.Duration

	// TokenCache is how long VerifyToken may take another process's change of a token,
	// its client or its organization for not made, at most 1 min: that it was revoked, or
	// deleted, say. What this Service changes counts at once. With 0 each call reads the
	// token, so that everything counts at once, on every server; else those that are
	// remembered are verified without the store.
	TokenCache time.Duration

	// SecretOverlap is how long the previous secret keeps working after a RotateSecret that
	// names no overlap: 24 h; at most 90 days. Below 0 such a rotation ends all earlier
	// secrets.
	SecretOverlap time.Duration

	Retention Retention     // what Run forgets; the default keeps everything
	RunEvery  time.Duration // how often Run looks for work: 15 s
}

const (
	maxInvitationLifetime = 30 * 24 * time.Hour
	maxSecretOverlap      = 90 * 24 * time.Hour
	maxGrantTimeout       = time.Hour
	maxTokenCache         = time.Minute
)

// validate says which settings make no sense.
func (o *Options) validate() error {
	if o == nil {
		return nil
	}
	if o.InvitationLifetime > maxInvitationLifetime {
		return fmt.Errorf("authmgmt: Options.InvitationLifetime is over %v", maxInvitationLifetime)
	}
	if o.GrantTimeout > maxGrantTimeout {
		return fmt.Errorf("authmgmt: Options.GrantTimeout is over %v", maxGrantTimeout)
	}
	if o.Grant != nil && o.GrantToken > 0 {
		return errors.New("authmgmt: Options.Grant and Options.GrantToken: an invitation gives one or the other")
	}
	if o.TokenCache > maxTokenCache {
		return fmt.Errorf("authmgmt: Options.TokenCache is over %v", maxTokenCache)
	}
	if o.SecretOverlap > maxSecretOverlap {
		return fmt.Errorf("authmgmt: Options.SecretOverlap is over %v", maxSecretOverlap)
	}
	if err := o.Retention.validate("authmgmt: Options.Retention"); err != nil {
		return err
	}
	if _, err := o.linkKeys(); err != nil {
		return err
	}
	if o.AcceptURL != "" {
		if o.InvitationKey.IsZero() {
			return errors.New("authmgmt: Options.AcceptURL needs Options.InvitationKey, 32 random bytes: see ParseInvitationKey")
		}
		u, err := url.Parse(o.AcceptURL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return errors.New("authmgmt: Options.AcceptURL must be an absolute http or https URL without a user")
		}
		if !strings.ContainsAny(o.AcceptURL[len(o.AcceptURL)-1:], "/=#") {
			return errors.New("authmgmt: Options.AcceptURL must end in /, = or #: the link's token is put behind it")
		}
	}
	return setting.Check("authmgmt: Options",
		setting.Of("InvitationLifetime", o.InvitationLifetime), setting.Of("GrantTimeout", o.GrantTimeout),
		setting.Of("GrantToken", o.GrantToken), setting.Of("TokenLifetime", o.TokenLifetime), setting.Of("TokenCache", o.TokenCache),
		setting.Of("RunEvery", o.RunEvery))
}

// withDefaults returns a copy with the defaults filled in.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Catalogue == nil {
		c.Catalogue = access.DefaultCatalogue()
	}
	setting.Default(&c.InvitationLifetime, 7*24*time.Hour)
	setting.Default(&c.GrantTimeout, 30*time.Second)
	setting.Default(&c.TokenLifetime, time.Hour)
	setting.DefaultOrNone(&c.SecretOverlap, 24*time.Hour)
	setting.Default(&c.RunEvery, 15*time.Second)
	setting.Env(&c.Env)
	return c
}
