//go:build race

package sqlite

// RaceDetector reports whether the tests run with -race.
const RaceDetector = true
