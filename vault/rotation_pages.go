package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/oneline"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// rotationBatch is how many rows one step of a rotation changes in a transaction.
const rotationBatch = 500

// portion is what a page of a scan comes to.
type portion struct {
	unread []error                                          // of rows that cannot be read
	store  func() (changed int, refused []error, err error) // nil if there is nothing to store
	err    error                                            // the scan cannot go on
}

var errExited = fmt.Errorf("%w: the store or the keyring ended the goroutine that reads ahead", mortise.ErrUnavailable)

// eachRow goes through the pages of a scan, and stores what prepare makes of their rows.
// It returns how many were changed, and the rows that could not be.
//
// While one batch is stored, the next one is read and prepared on a goroutine of its own:
// a step takes as long as the longer of the two. Batches are stored in order, one at a
// time, so that the host's own writes come between them.
func (s *Service) eachRow(
	ctx context.Context, t *teller, scan func(ctx context.Context, after mortise.Cursor) (mortise.Page[Row], error),
	prepare func(context.Context, []Row) portion,
) (done int, err error) {
	ahead, stop := context.WithCancel(ctx)
	portions := make(chan portion)
	defer func() {
		stop()
		for range portions { // until the goroutine has ended
		}
	}()
	var panicked any
	returned := false
	go func() {
		defer close(portions)
		defer func() { panicked = recover() }()
		s.prepareRows(ahead, scan, prepare, portions)
		returned = true
	}()
	var broken brokenRows
	for b := range portions {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		if b.err != nil {
			return done, b.err
		}
		broken.add(b.unread)
		if b.store == nil {
			continue
		}
		n, refused, err := b.store()
		done += n
		if err != nil {
			return done, err
		}
		broken.add(refused)
		t.add(n)
	}
	if panicked != nil { // here, where the caller can recover it
		panic(panicked)
	}
	if err := ctx.Err(); err != nil {
		return done, err
	}
	if !returned {
		return done, errExited
	}
	return done, broken.err()
}

// prepareRows goes through the pages of a scan and sends what prepare makes of them, until
// ctx ends, at which nobody receives any more.
func (s *Service) prepareRows(
	ctx context.Context, scan func(ctx context.Context, after mortise.Cursor) (mortise.Page[Row], error),
	prepare func(context.Context, []Row) portion, portions chan<- portion,
) {
	var after mortise.Cursor
	for {
		var b portion
		page, err := scan(ctx, after)
		switch {
		case err != nil:
			b.err = unavailable("look for rows to change", err)
		case page.Next != "" && page.Next == after:
			b.err = pages.ErrNoFurther
		case len(page.Items) > 0:
			b = prepare(ctx, page.Items)
		}
		select {
		case portions <- b:
		case <-ctx.Done():
			return
		}
		if b.err != nil || page.Next == "" {
			return
		}
		after = page.Next
	}
}

// openRows opens a page of rows. It returns those that can be read, with their values,
// and the errors of the others.
func (s *Service) openRows(ctx context.Context, rows []Row) (readable []*Row, values []Value, unread []error, err error) {
	items := make([]keyring.OpenItem, len(rows))
	for i := range rows {
		items[i] = rows[i].open()
	}
	opened, err := s.open(ctx, items)
	if err != nil {
		return nil, nil, nil, err
	}
	readable, values = make([]*Row, 0, len(rows)), make([]Value, 0, len(rows))
	for i := range opened {
		if err := opened[i].Err; err != nil {
			unread = append(unread, err)
			continue
		}
		readable, values = append(readable, &rows[i]), append(values, opened[i].Value)
	}
	return readable, values, unread, nil
}

// brokenRows are rows that cannot be changed, because they cannot be read.
type brokenRows struct {
	errs     *multierror.Error
	unloaded int // their version of the key is not loaded
	corrupt  int
}

// maxNamed bounds how many broken rows an error names.
const maxNamed = 100

// add notes errors of rows.
func (b *brokenRows) add(errs []error) {
	for _, err := range errs {
		if errors.Is(err, keyring.ErrUnknownKey) {
			b.unloaded++
		} else {
			b.corrupt++
		}
		if b.unloaded+b.corrupt <= maxNamed {
			b.errs = multierror.Append(b.errs, err)
		}
	}
}

func (b *brokenRows) err() error {
	var what []string
	if b.unloaded > 0 { // nobody may be led to delete what a key would open
		what = append(what, fmt.Sprintf("%d values need a version of the key that is not loaded; load it", b.unloaded))
	}
	if b.corrupt > 0 {
		what = append(what, fmt.Sprintf("%d values are corrupt; load the right key, restore them from a backup, or delete their tokens", b.corrupt))
	}
	if len(what) == 0 {
		return nil
	}
	b.errs.ErrorFormat = oneline.Join
	return fmt.Errorf("%s: %w", strings.Join(what, "; "), b.errs)
}
