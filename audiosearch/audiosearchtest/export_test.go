package audiosearchtest

import "time"

// SetPatience changes how long rules wait for what must happen.
func SetPatience(d time.Duration) { patience = d }
