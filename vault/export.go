package vault

import (
	"context"
	"errors"
	"iter"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Export iterates over all tokens of a vault, by token. Each shows as much as allow says;
// see [Service.Detokenize]. The audit trail has an event for every page of tokens, before
// they are seen. Tokens that come or go meanwhile may be there or not.
//
// A token whose value is corrupt comes with a [*TokenError], and the iteration goes on.
// It ends after any other error.
func (s *Service) Export(ctx context.Context, org string, by mortise.Actor, vault string, allow RedactionPolicy) iter.Seq2[Revealed, error] {
	return func(yield func(Revealed, error) bool) {
		for after := mortise.Cursor(""); ; {
			start := s.start()
			var page []exported
			var next mortise.Cursor
			err := s.withKeys(ctx, func(*keyring.Versions) (err error) {
				page, next, err = s.exportPage(ctx, org, by, vault, after, allow)
				return err
			})
			s.observe(ctx, start, mortise.Observation{Kind: mortise.KindExported, Organization: org, Object: vault, Actor: by, Items: len(page), Err: err})
			if err != nil {
				yield(Revealed{}, err)
				return
			}
			for _, e := range page {
				if !yield(e.Revealed, e.err) {
					return
				}
			}
			switch next {
			case "":
				return
			case after:
				yield(Revealed{}, pages.ErrNoFurther)
				return
			}
			after = next
		}
	}
}

const exportPage = 500

// exported is a token of a page, and that its value is corrupt if it is.
type exported struct {
	Revealed
	err error
}

func (s *Service) exportPage(ctx context.Context, org string, by mortise.Actor, vault string, after mortise.Cursor, allow RedactionPolicy) (page []exported, next mortise.Cursor, err error) {
	k, err := s.readVault(ctx, org, vault)
	if err != nil {
		return nil, "", err
	}
	list, err := s.store.ListRows(ctx, org, vault, after, exportPage)
	rows := list.Items
	if err != nil || len(rows) == 0 {
		return nil, list.Next, unavailable("list tokens", ofVault(vault, err))
	}
	e, err := s.event(org, vault, mortise.KindExported, by)
	if err != nil {
		return nil, "", err
	}
	redactions := make([]Redaction, len(rows))
	for i := range rows {
		if redactions[i], err = mostShown(k, &rows[i], allow); err != nil {
			return nil, "", err
		}
	}
	e.Tokens = make([]AuditToken, 0, len(rows))
	page = make([]exported, len(rows))
	err = s.show(ctx, k, rows, redactions, func(i int, value Value, err error) error {
		r := &rows[i]
		if err != nil && !errors.Is(err, keyring.ErrCorrupt) {
			return err
		}
		page[i] = exported{Revealed{r.Token, r.Scope, redactions[i], value}, err}
		if err == nil {
			e.Tokens = append(e.Tokens, AuditToken{Token: r.Token, Scope: r.Scope, Redaction: redactions[i]})
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if len(e.Tokens) > 0 {
		if err := s.store.AddAuditEvent(ctx, e); err != nil {
			return nil, "", unavailable("store the audit event", ofVault(vault, err))
		}
	}
	return page, list.Next, nil
}
