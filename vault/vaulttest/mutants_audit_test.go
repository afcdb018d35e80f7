package vaulttest_test

import (
	"time"

	"github.com/seed-6363c74e/mortise/internal/conformance/audittest"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
)

// sharedAuditMutants are wrong about what every audit trail does.
func sharedAuditMutants() []broken {
	return made(audittest.Mutants("vault", func(q *vault.AuditQuery) audittest.Asked {
		return audittest.Asked{
			Kind: (*string)(&q.Kind), Actor: (*string)(&q.Actor), About: &q.Vault, From: &q.From, To: &q.To,
		}
	})...)
}

// auditMutants are wrong about the audit trail of the vault.
var auditMutants = []broken{
	{name: "prunes what is at the time", breaks: "audit/prune", mutate: arg(
		func(before *time.Time) { *before = before.Add(time.Microsecond) }, "PruneAudit")},
	{name: "prunes nothing and counts", breaks: "audit/prune store/durable-absence", mutate: around(
		func(_ *mutant, c *mutate.Call) {
			if mutate.Get[time.Time](c.In).Year() >= 2020 {
				*mutate.Get[int](c.Out) = min(*mutate.Get[int](c.In), 3)
			}
		}, "PruneAudit")},
}
