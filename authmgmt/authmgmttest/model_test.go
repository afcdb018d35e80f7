package authmgmttest_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

func TestModel(t *testing.T) { authmgmttest.RunModel(t, faithful.harness(), nil) }

// TestModelMutants: the model finds backends that are wrong about what a service makes
// use of.
func TestModelMutants(t *testing.T) {
	model := func(t *testing.T, h authmgmttest.Harness) { authmgmttest.RunModel(t, h, nil) }
	conformance.ProveModel(t, proof(), model,
		"cuts to milliseconds CreatedAt of each token", "sorts roles", "knows clients by their ID alone",
		"knows invitations by their ID alone", "forgets the event of a change", "stores events of what it refuses", "says nothing about what is there",
		"revives deleted clients", "looks for digests within the organization", "keeps digests that were removed", "shows deleted clients",
		"keeps the roles of a client's token", "lists tokens without roles", "leaves the tokens of removed secrets",
		"removes all tokens of a client that changes", "takes every address", "compares addresses as they are written",
		"lets expired invitations block", "lets cancelled invitations block", "lets accepted invitations block",
		"asks all organizations", "lists invitations in whatever state", "counts invitations that have expired", "grants too early",
		"grants what waits for the person", "lists the other way round in ListClients", "lists one organization in ListTokens", "counts one organization",
		"ignores the kind", "skips the first item of the next page in ListAuditEvents",
	)
}
