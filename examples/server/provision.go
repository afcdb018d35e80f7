package main

import (
	"context"
	"log/slog"
)

// provision makes the services hold what the document says; nil says nothing. What is missing is created. What exists is neither
// changed nor revived, but for setup_complete, the readiness of collections and "revoked": true, which always follow the document. What is
// not in the document stays. Applying it again changes nothing.
//
// Each service first checks the document against what it holds, so that a contradiction changes nothing anywhere.
func provision(ctx context.Context, s *services, doc *document, log *slog.Logger) error {
	if doc == nil {
		return nil
	}
	if err := s.trigger.checkDocument(ctx, doc); err != nil {
		return err
	}
	if err := s.trigger.applyDocument(ctx, doc); err != nil {
		return err
	}
	log.Info("provisioning document applied", "organizations", len(doc.organizations))
	return nil
}
