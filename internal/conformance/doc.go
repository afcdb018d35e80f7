// Package conformance is the frame of the conformance suites: what a suite of a domain
// (triggertest.Run, authmgmttest.Run) has in common with all others. A suite is a list of
// rules. Each is one sentence of a contract, with an id and a check that tries it on a
// fresh backend. A suite is proved by mutants: backends with one mistake each. Every rule
// must be broken by one, and a mutant that passes the rule that it breaks fails the proof.
//
// The suite of a new domain takes these steps:
//
//  1. suite.go: the public Harness (Open, Reopen, Break, Skip) and Rule; the subject (the
//     backend as rules see it); a need for each part that a backend may lack.
//  2. suite.go: a function that makes the [Suite] of a harness. Run and Rules call it.
//  3. rules_X.go: for each interface, one rule for each sentence of its doc comment that
//     can be tested. checks_X.go: what several rules ask of a backend.
//  4. internal/delegate: a store that calls a function for each method, out of a struct
//     that package mutate fills and changes. The faults of hosts' tests stand there, and so
//     do mutants; mutant_test.go puts storage/memory behind it.
//  5. mutants_X_test.go: for each rule, a mutant that breaks it, by what it puts in the
//     place of a function. Package mutate makes those that lose or change a field.
//  6. suite_test.go: one test that calls [Prove]. It lists the rules that no mutant breaks.
//
// A new backend writes a Harness and calls Run.
package conformance

// A map for those who work on this package. Begin with suite.go (rules, needs,
// [Suite.Run]), then prove.go ([Prove]), trial.go (the processes of mutants) and waits.go
// ([Await], [Until], [Nothing]: no rule sleeps and hopes). races.go has [Together] and
// [Watch], in which a mutant that calls [Seam] between two steps always loses its race;
// leave.go has callers that go away while they wait. values.go has values that backends
// get wrong. deadline.go ends a rule that does not end. model.go runs property tests, and
// model_mutants.go proves them. Packages listtest, audittest, countertest and
// steptest have the rules of lists, of audit trails, of Counts and Backlog, and of bounded
// steps. calls.go calls methods by a table, for the rules that are the same for every
// method: to fail when its context has ended or the store is away.
