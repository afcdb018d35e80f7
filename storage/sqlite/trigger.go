package sqlite

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Trigger implements [trigger.Store], [trigger.TxStore], [trigger.Pruner],
// [trigger.Organizations], [trigger.APIKeys] and [mortise.HostTx].
type Trigger struct{ db *DB }

var (
	_ trigger.Store         = (*Trigger)(nil)
	_ trigger.TxStore       = (*Trigger)(nil)
	_ trigger.Pruner        = (*Trigger)(nil)
	_ trigger.Organizations = (*Trigger)(nil)
	_ trigger.APIKeys       = (*Trigger)(nil)
	_ mortise.HostTx        = (*Trigger)(nil)
)

// AfterCommit implements [mortise.HostTx].
func (t *Trigger) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	return t.db.afterCommit(ctx, f)
}

// micros is a time as it is stored: NULL for the zero time.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// blob returns an ID or a digest as it is stored, if is says that there is one.
func blob(b []byte, is bool) any {
	if !is {
		return nil
	}
	return b
}

// text returns a string as it is stored, if is says that there is one. What it is given
// is copied.
func text[S ~string | ~[]byte](s S, is bool) any {
	if !is {
		return nil
	}
	return string(s)
}
