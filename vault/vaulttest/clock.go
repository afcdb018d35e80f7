package vaulttest

import "github.com/seed-6363c74e/mortise"

// Clock is what a [Fake] goes by. The fakes of all domains have the same type, so that a
// test can give one clock to several: see [Options].
type Clock = mortise.ManualClock
