package vault

import (
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/setting"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Options are the optional parts and settings of a Service. The zero value means the
// defaults, and a number below 0 is an error.
//
// A panic of a [keyring.Keyring], a [format.Tokenizer] or a [RedactionPolicy] goes on to the
// caller; in a request, net/http recovers it and logs it with its value. A panic of an
// Observer is logged with its stack at ERROR and changes nothing. Stores must not panic.
type Options struct {
	mortise.Env

	Tokenizer format.Tokenizer // &format.Standard{}
	MaxItems  int              // of one batch: 1000
	MaxValue  int              // bytes of one value: 64 KiB, at most 1 MiB
	MaxShown  int              // bytes of all values that one detokenization shows: 4 MiB

	// Retention is how long audit events are kept: [Service.Run] forgets older ones. 0 keeps
	// them for ever.
	Retention time.Duration
}

// maxMaxValue leaves a keyring room for a ciphertext of twice the length of the value.
const maxMaxValue = keyring.MaxCiphertext / 2

// validate says which settings make no sense.
func (o *Options) validate() error {
	if o == nil {
		return nil
	}
	if o.MaxValue > maxMaxValue {
		return fmt.Errorf("vault: Options.MaxValue is %d; it can be %d at most", o.MaxValue, maxMaxValue)
	}
	return setting.Check("vault: Options",
		setting.Of("MaxItems", o.MaxItems), setting.Of("MaxValue", o.MaxValue), setting.Of("MaxShown", o.MaxShown),
		setting.Of("Retention", o.Retention))
}

// withDefaults returns a copy with the defaults filled in.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Tokenizer == nil {
		c.Tokenizer = &format.Standard{}
	}
	setting.Default(&c.MaxItems, 1000)
	setting.Default(&c.MaxValue, 64<<10)
	setting.Default(&c.MaxShown, 4<<20)
	setting.Env(&c.Env)
	return c
}
