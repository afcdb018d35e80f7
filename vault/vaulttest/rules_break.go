package vaulttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// breakRules say what a failure of the backend looks like from outside.
var breakRules = []rule{
	{Rule{"store/failure", "Any error but the sentinels means \"unavailable\": while the backend fails, every call returns such an error, nothing is lost, and afterwards all is as before."}, needBreak,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			trail := s.IDs(s.Trail(t, orgA))
			heal := s.breakIt(t)
			conformance.AllFail(t.Context(), t, s.storeCalls(x), isFailure)
			conformance.AllFail(t.Context(), t, s.failingCalls(x), isFailure)
			heal()
			s.hasSample(t, x)
			require.Equal(t, trail, s.IDs(s.Trail(t, orgA)))
			require.Empty(t, s.dump(t, newVault(orgB, "b")))
			conformance.AllWork(t, s.storeCalls(x))
			s.hasSample(t, x)
		}},
}
