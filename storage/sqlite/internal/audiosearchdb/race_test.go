//go:build race

package audiosearchdb

// raceDetector reports whether the tests run with -race.
const raceDetector = true
