package vault

import (
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// partEnd returns where the part of items ends that begins at from and fits into one
// call. It has one item at least.
func partEnd[I any](l keyring.Limits, items []I, from int, size func(*I) int) int {
	end := len(items)
	if l.Items > 0 {
		end = min(end, from+l.Items)
	}
	if l.Bytes <= 0 {
		return end
	}
	bytes := size(&items[from])
	for i := from + 1; i < end; i++ {
		if bytes += size(&items[i]); bytes > l.Bytes {
			return i
		}
	}
	return end
}

// inParts calls a hook for parts of items that fit into one call, one after the other,
// and returns the results of all.
func inParts[I, R any](
	who string, l keyring.Limits, items []I, size func(*I) int, call func([]I) ([]R, error),
) (all []R, err error) {
	for from := 0; from < len(items); {
		to := partEnd(l, items, from, size)
		results, err := call(items[from:to])
		if err != nil {
			return nil, err
		}
		if err := answered(who, len(results), to-from); err != nil {
			return nil, err
		}
		if to-from == len(items) {
			return results, nil
		}
		if all == nil {
			all = make([]R, 0, len(items))
		}
		all = append(all, results...)
		from = to
	}
	return all, nil
}

// The sizes of items are those that [keyring.Limits] count.
func fingerprintSize(it *keyring.FingerprintItem) int { return len(it.Value.Reveal()) }
func sealSize(it *keyring.SealItem) int               { return len(it.Value.Reveal()) }
func openSize(it *keyring.OpenItem) int               { return len(it.Sealed.Ciphertext) }
func requestSize(r *format.Request) int               { return len(r.Value.Reveal()) }
func pairSize(p *format.Pair) int                     { return len(p.Value.Reveal()) }

// errNoAnswer is what a keyring's result is that is neither a result nor an error. So is
// a fingerprint of zeros: those of several values would make them one.
var errNoAnswer = errors.New("the keyring left an item without an answer")

// errLongSealed is for a keyring that makes far more of a value than it has.
var errLongSealed = fmt.Errorf("the keyring has sealed a value into more than %d bytes", keyring.MaxCiphertext)

// answered returns an error if a dependency has not answered for everything that it was
// asked.
func answered(who string, got, asked int) error {
	if got != asked {
		return fmt.Errorf("%w: %s answered for %d of %d", mortise.ErrUnavailable, who, got, asked)
	}
	return nil
}
