package conformance

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sum is a harness whose subject says what one and one is.
type sum struct {
	says int
	that bool   // it has that
	does func() // before it says so

	limit time.Duration // of a rule
}

// suiteOfSum has a rule that needs nothing and one that needs that.
func suiteOfSum(h sum) *Suite[sum] {
	s := &Suite[sum]{
		Name:  "sumtest",
		Open:  func(*testing.T) sum { return h },
		Parts: func(s sum, has Has) { has(needThat, s.that, "there is no that") },
		limit: h.limit,
	}
	check := func(t *testing.T, s sum) {
		if s.does != nil {
			s.does()
		}
		require.Equal(t, 2, s.says)
	}
	s.Add("sum/even", "One and one is two.", 0, check)
	s.Add("sum/needy", "With that, too, one and one is two.", needThat, check)
	return s
}

// proofOfSum is right.
func proofOfSum() *Proof[sum] {
	p := &Proof[sum]{
		Run:      func(t *testing.T, h sum) { suiteOfSum(h).Run(t) },
		Faithful: sum{says: 2, that: true},
		Lacking:  map[string]sum{"that": {says: 2, that: false}},
	}
	p.Add("says three", sum{says: 3, that: true}, "sum/even", "sum/needy")
	p.Add("panics", sum{says: 2, does: func() { panic("it is empty") }}, "sum/even")
	p.Add("hangs", sum{says: 2, does: waitForever, limit: 100 * time.Millisecond}, "sum/even")
	return p
}

// wrongProofs are proofs that must fail, with what they say.
var wrongProofs = map[string]struct {
	change func(p *Proof[sum])
	says   []string
}{
	"a mutant without a mistake": {
		func(p *Proof[sum]) { p.Add("says two", sum{says: 2, that: true}, "sum/even") },
		[]string{"--- FAIL: TestProofProcess/mutants/says_two", "it passes [sum/even]"},
	},
	"a mutant with one mistake of two": {
		func(p *Proof[sum]) { p.Add("lacks that", sum{says: 3, that: false}, "sum/even", "sum/needy") },
		[]string{"--- FAIL: TestProofProcess/mutants/lacks_that", "it passes [sum/needy]"},
	},
	"a mutant that ends the process": {
		func(p *Proof[sum]) { p.Add("exits", sum{does: func() { os.Exit(1) }}, "sum/even") },
		[]string{"--- FAIL: TestProofProcess/mutants/exits", "it passes [sum/even]"},
	},
	"a rule without a mutant": {
		func(p *Proof[sum]) { p.mutants[0].breaks = []string{"sum/even"} },
		[]string{"no mutant breaks sum/needy"},
	},
	"a mutant of no rule": {
		func(p *Proof[sum]) { p.Add("is odd", sum{says: 3, that: true}, "sum/odd") },
		[]string{`the mutant "is odd" breaks "sum/odd", which is no rule`},
	},
	"two mutants of one name": {
		func(p *Proof[sum]) { p.Add("says three", sum{says: 3, that: true}, "sum/even") },
		[]string{`the mutant "says three" is there twice`},
	},
	"a faithful backend with a mistake": {
		func(p *Proof[sum]) { p.Faithful.says = 3 },
		[]string{"--- FAIL: TestProofProcess/faithful/sum/even", "rule sum/even: One and one is two."},
	},
	"a faithful backend that lacks something": {
		func(p *Proof[sum]) { p.Faithful.that = false },
		[]string{"the faithful backend lacks what rules need: map[there is no that:[sum/needy]]"},
	},
	"a lacking backend with a mistake": {
		func(p *Proof[sum]) { p.Lacking["that"] = sum{says: 3, that: false} },
		[]string{"--- FAIL: TestProofProcess/lacking/that/sum/even"},
	},
	"nobody lacks something": {
		func(p *Proof[sum]) { p.Lacking = nil },
		[]string{"no rule was skipped because there is no that"},
	},
	"rules that are not well formed": {
		func(p *Proof[sum]) {
			p.Run = func(t *testing.T, h sum) {
				s := suiteOfSum(h)
				s.Add("sum/even", "There twice.", 0, func(*testing.T, sum) {})
				s.Add("sum/Odd", "no sentence", 0, func(*testing.T, sum) {})
				s.Add("sum/unknown", "What it needs is unknown.", needThis, func(*testing.T, sum) {})
				s.Run(t)
			}
		},
		[]string{
			`the id "sum/even" is not well formed, or there twice`, `the id "sum/Odd" is not well formed`,
			"the text of sum/Odd is no sentence", "sum/unknown needs a part that Parts does not tell of",
		},
	},
}

// TestProof: Prove passes where all is right.
func TestProof(t *testing.T) { Prove(t, proofOfSum()) }

// TestProofProcess tries the proof that the environment names, in a process that
// TestWrongProofs starts. Elsewhere it has nothing to do.
func TestProofProcess(t *testing.T) {
	wrong, ok := wrongProofs[os.Getenv(envSuite)]
	if !ok {
		return
	}
	p := proofOfSum()
	wrong.change(p)
	Prove(t, p)
}

// TestWrongProofs: Prove fails where something is wrong, and says what.
func TestWrongProofs(t *testing.T) {
	for name, wrong := range wrongProofs {
		t.Run(name, func(t *testing.T) {
			inOrder(t, runProcess(t, "TestProofProcess", name), wrong.says...)
		})
	}
}
