package audiosearchtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// revocationRules are the rules of mortise.RevocationCounter.
var revocationRules = []rule{
	{Rule{"revocations/grow", conformance.RevocationsText}, needDeletion | needRevocations,
		func(t *testing.T, s *subject) {
			ctx := t.Context()
			create := func(id string) func() error {
				return func() error {
					return s.Datasets.CreateDataset(ctx, audiosearch.Dataset{Organization: orgA, ID: id, CreatedAt: moment(0)})
				}
			}
			require.NoError(t, create("d")())
			mark := func(at time.Duration) func() error {
				return func() error {
					_, err := s.Deletion.MarkDeleted(ctx, orgB, moment(at))
					return err
				}
			}
			conformance.TakesAway(t, s.Datasets,
				conformance.Taken{Method: "CreateDataset", Call: create("e")},
				conformance.Taken{Method: "DeleteDataset of none", Call: func() error { return s.Datasets.DeleteDataset(ctx, orgA, "f") }},
				conformance.Taken{Method: "DeleteDataset", Takes: true, Call: func() error { return s.Datasets.DeleteDataset(ctx, orgA, "d") }},
				conformance.Taken{Method: "MarkDeleted", Takes: true, At: moment(2 * time.Hour), Call: mark(2 * time.Hour)},
				conformance.Taken{Method: "MarkDeleted again", Call: mark(3 * time.Hour)},
			)
		}},
}
