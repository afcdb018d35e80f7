package authmgmttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

const brokenText = "Any error but the sentinels means \"unavailable\": while the backend fails, every call returns such an error, nothing is lost, " +
	"and afterwards all is as before."

// breakRules say what a failure of the backend looks like from outside.
var breakRules = []rule{
	{Rule{"store/failure", brokenText}, needStore | needBreak,
		func(t *testing.T, s *subject) {
			x := s.addSample(t)
			trail := s.IDs(s.Trail(t, orgA))
			heal := s.breakIt(t)
			conformance.AllFail(t.Context(), t, s.storeCalls(x), isFailure)
			_, err := s.Store.Client(t.Context(), orgB, "unknown")
			isFailure(t, "Client that is not there", err)
			_, err = s.Store.TokenByDigest(t.Context(), newDigest())
			isFailure(t, "TokenByDigest of what is not there", err)
			isFailure(t, "CreateClient that is there", s.Store.CreateClient(t.Context(), x.client, newEvent(orgA, "", "", 0)))
			heal()
			s.hasSample(t, x)
			require.Equal(t, trail, s.IDs(s.Trail(t, orgA)))
			conformance.AllWork(t, s.storeCalls(x))
			s.hasSample(t, x)
		}},

	{Rule{"organizations/failure", brokenText}, needOrganizations | needBreak,
		func(t *testing.T, s *subject) {
			s.setRBAC(t, orgA, true)
			heal := s.breakIt(t)
			conformance.AllFail(t.Context(), t, s.organizationCalls(), isFailure)
			_, err := s.Organizations.AccessControl(t.Context(), orgB)
			isFailure(t, "Organization that is not there", err)
			heal()
			s.hasRBAC(t, orgA, true)
			conformance.AllWork(t, s.organizationCalls())
			s.hasRBAC(t, orgA, true)
		}},
}
