package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Proof is what shows that a suite finds what it is for. H is the suite's harness.
type Proof[H any] struct {
	Run      func(t *testing.T, h H) // runs the suite with a harness, as a backend's tests do
	Faithful H                       // opens backends without a mistake, which have all parts

	// Lacking are harnesses of backends without a mistake that lack parts: all of them
	// together lack every part.
	Lacking map[string]H

	mutants []mutant[H]
}

// provable is a [Suite].
type provable interface {
	run(t *testing.T, only ...string) (o outcome)
	sentences() map[string]string
	checkRules(t *testing.T) (reasons []string)
}

// asked holds the tests that [Proof.suite] made, each with where the suite goes that is
// run with it.
var asked sync.Map // of *testing.T to *provable

// suite returns what Run would run.
func (p *Proof[H]) suite(h H) (s provable) {
	t := new(testing.T)
	asked.Store(t, &s)
	defer asked.Delete(t)
	p.Run(t, h)
	return s
}

// wanted reports whether a suite is run only to be shown, and shows it.
func wanted(t *testing.T, s provable) bool {
	to, ok := asked.Load(t)
	if ok {
		*to.(*provable) = s
	}
	return ok
}

// mutant is a backend with a mistake.
type mutant[H any] struct {
	name    string
	harness H
	breaks  []string
}

// Add adds a mutant: a name, a harness that opens it, and the ids of the rules that it
// breaks.
func (p *Proof[H]) Add(name string, h H, breaks ...string) {
	p.mutants = append(p.mutants, mutant[H]{name, h, breaks})
}

// mutant returns the mutant of a name.
func (p *Proof[H]) mutant(name string) (m mutant[H], ok bool) {
	i := slices.IndexFunc(p.mutants, func(m mutant[H]) bool { return m.name == name })
	if i < 0 {
		return m, false
	}
	return p.mutants[i], true
}

// Prove fails the test unless
//
//   - the ids of the rules are well formed, and their texts are sentences;
//   - the faithful backend passes every rule, and none is skipped;
//   - a backend that lacks parts passes the rest, and each part's reason is given;
//   - every mutant fails the rules that it breaks, and the failure prints the rule;
//   - every rule is broken by a mutant.
//
// A mutant has to fail, so it runs in another process, which calls the same test: that has
// to be a test of its own, and no subtest. A mutant has one try. Where its mistake shows
// only in a race, [Seam] makes it lose the race always.
func Prove[H any](t *testing.T, p *Proof[H]) {
	if serveTrials(t, p.try) {
		return
	}
	top := t.Name()
	var reasons []string
	t.Run("rules", func(t *testing.T) { reasons = p.suite(p.Faithful).checkRules(t) })
	// Most mutants wait for what does not come. In the meantime others are tried.
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { p.tryFaithful(t) })
	others.Go(func() { p.tryLacking(t, reasons) })
	t.Run("mutants", func(t *testing.T) {
		texts := p.suite(p.Faithful).sentences()
		p.checkMutants(t, texts)
		others := startTrials(t, top, 4*runtime.GOMAXPROCS(0), envImpatient+"=1")
		for _, m := range p.mutants {
			t.Run(m.name, func(t *testing.T) {
				output := make(chan string, 1)
				// So there are more of them at once than -parallel allows: they are started before it
				// counts.
				go func() { output <- others.try(m.name) }()
				t.Parallel()
				m.caught(t, texts, <-output)
			})
		}
	})
}

// try runs the rules that a mutant breaks, and prints those that failed. If it ends the
// process, this or the test prints them.
func (p *Proof[H]) try(t *testing.T, mutant string) {
	m, ok := p.mutant(mutant)
	if !ok {
		t.Fatalf("no mutant %q", mutant)
	}
	for _, id := range p.suite(m.harness).run(t, m.breaks...).failed {
		fmt.Printf("--- FAIL: %s/%s (as it has to)\n", t.Name(), id)
	}
}

func (p *Proof[H]) tryFaithful(t *testing.T) {
	t.Run("faithful", func(t *testing.T) {
		if skipped := p.suite(p.Faithful).run(t).skipped; len(skipped) > 0 {
			t.Errorf("the faithful backend lacks what rules need: %v", skipped)
		}
	})
}

// tryLacking fails the test unless each of the reasons is given.
func (p *Proof[H]) tryLacking(t *testing.T, reasons []string) {
	t.Run("lacking", func(t *testing.T) {
		given := make(map[string]bool)
		for _, name := range slices.Sorted(maps.Keys(p.Lacking)) {
			t.Run(name, func(t *testing.T) {
				for reason := range p.suite(p.Lacking[name]).run(t).skipped {
					given[reason] = true
				}
			})
		}
		for _, reason := range reasons {
			if !given[reason] {
				t.Errorf("no rule was skipped because %s", reason)
			}
		}
	})
}

// checkMutants fails the test if a mutant cannot be told from another one, if it breaks
// what is no rule, or if a rule is broken by none.
func (p *Proof[H]) checkMutants(t *testing.T, texts map[string]string) {
	t.Helper()
	names, broken := make(map[string]bool), make(map[string]bool)
	for _, m := range p.mutants {
		if names[m.name] || len(m.breaks) == 0 {
			t.Errorf("the mutant %q is there twice, or breaks nothing", m.name)
		}
		names[m.name] = true
		for _, id := range m.breaks {
			if texts[id] == "" {
				t.Errorf("the mutant %q breaks %q, which is no rule", m.name, id)
			}
			broken[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		if !broken[id] {
			t.Errorf("no mutant breaks %s", id)
		}
	}
}

// caught fails the test unless the mutant fails the rules that it breaks.
func (m *mutant[H]) caught(t *testing.T, texts map[string]string, output string) {
	t.Helper()
	for _, not := range []string{"DATA RACE", seamMissed} {
		if strings.Contains(output, not) {
			t.Fatalf("the mutant is broken in another way than it should be: %s\n%s", not, output)
		}
	}
	passed := slices.DeleteFunc(slices.Clone(m.breaks), func(id string) bool {
		r := Rule{id, texts[id]}
		return regexp.MustCompile(`--- FAIL: \S*/`+id+` \(`).MatchString(output) && strings.Contains(output, r.sentence())
	})
	if len(passed) > 0 {
		t.Fatalf("it passes %v:\n%s", passed, output)
	}
}

// sentences returns the texts of the rules, by their ids.
func (s *Suite[S]) sentences() map[string]string {
	texts := make(map[string]string, len(s.rules))
	for i := range s.rules {
		texts[s.rules[i].ID] = s.rules[i].Text
	}
	return texts
}

var idForm = regexp.MustCompile(`^[a-z]+/[a-z]+(-[a-z]+)*$`)

// checkRules fails the test if an id is there twice or not well formed, if a text is no
// sentence, or if a rule needs a part that Parts does not tell of. It returns the reasons
// that rules can be skipped for.
func (s *Suite[S]) checkRules(t *testing.T) (reasons []string) {
	t.Helper()
	var known Need
	s.parts(s.Open(t))(func(part Need, _ bool, without string) {
		known |= part
		reasons = append(reasons, without)
	})
	seen := make(map[string]bool)
	for i := range s.rules {
		r := &s.rules[i]
		if !idForm.MatchString(r.ID) || seen[r.ID] {
			t.Errorf("the id %q is not well formed, or there twice", r.ID)
		}
		seen[r.ID] = true
		if !strings.HasSuffix(r.Text, ".") {
			t.Errorf("the text of %s is no sentence: %q", r.ID, r.Text)
		}
		if r.needs&^known != 0 {
			t.Errorf("%s needs a part that Parts does not tell of", r.ID)
		}
	}
	return reasons
}
