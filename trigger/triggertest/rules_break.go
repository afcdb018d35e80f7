package triggertest

import (
	"testing"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

const brokenText = "Any error but the sentinels means \"unavailable\": while the backend fails, every call returns such an error, nothing is lost, and afterwards all is as before."

// breakRules say what a failure of the backend looks like from outside.
var breakRules = []rule{
	{Rule{"store/failure", brokenText}, needStore | needBreak,
		func(t *testing.T, s *subject) {
			e := s.create(t, filledEvent(orgA))
			heal := s.breakIt(t)
			conformance.AllFail(t.Context(), t, s.storeCalls(e), isFailure)
			_, err := s.Store.Event(t.Context(), orgB, e.ID)
			isFailure(t, "Get of what is not there", err)
			heal()
			sameEvent(t, e, s.get(t, e))
			conformance.AllWork(t, s.storeCalls(e))
			sameEvent(t, e, s.get(t, e))
		}},

	{Rule{"organizations/failure", brokenText}, needOrganizations | needBreak,
		func(t *testing.T, s *subject) {
			want := s.setup(t, orgA, 2)
			heal := s.breakIt(t)
			conformance.AllFail(t.Context(), t, s.organizationCalls(), isFailure)
			_, err := s.Organizations.Setup(t.Context(), orgB)
			isFailure(t, "Organization that is not there", err)
			heal()
			s.hasOrganization(t, want, "after the backend healed")
			conformance.AllWork(t, s.organizationCalls())
			s.hasOrganization(t, want, "after the backend healed")
		}},

	{Rule{"keys/failure", brokenText}, needKeys | needBreak,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			heal := s.breakIt(t)
			conformance.AllFail(t.Context(), t, s.keyCalls(k), isFailure)
			_, err := s.Keys.KeyByDigest(t.Context(), newKey(orgA, 0).Digest)
			isFailure(t, "KeyByDigest of what is not there", err)
			isFailure(t, "CreateKey of what is there", s.Keys.CreateKey(t.Context(), k))
			heal()
			s.hasKey(t, k)
			conformance.AllWork(t, s.keyCalls(k))
			s.hasKey(t, k)
		}},
}
