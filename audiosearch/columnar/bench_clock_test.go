//go:build !linux

package columnar

import "time"

var benchBegan = time.Now()

// processorTime is the time that has passed, where nobody tells that of a thread.
func processorTime() time.Duration { return time.Since(benchBegan) }

func lockThread() func() { return func() {} }
