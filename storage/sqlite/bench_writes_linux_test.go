package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// writes are what BenchmarkWrites measures, each with the same thing written by hand.
var writes = []struct {
	name string
	ours func(b *testing.B, path string) writing
	bare func(f *bareFile, w writing) call
}{
	{"submit", submitting, bareSubmit},
	{"put-client", puttingClients, barePutClient},
	{"put-client-blind", puttingClients, barePutClientBlind},
	{"login", loggingIn, bareLogin},
	{"accept", accepting, bareAccept},
	{"insert", inserting, bareInsert},
}

// writing is a file, the calls that write to it, and what these are made of.
type writing struct {
	call
	prepare func(calls int) // makes what so many calls use up; nil: nothing
	secrets []string        // of the clients
	links   chan link       // that were not followed
}

// BenchmarkWrites compares the writes of the services, the reads that they need included,
// with a bare group commit of the same rows, and with a bare transaction for each call. The
// bare ones compute the same digests, fingerprints, ciphertexts and audit events, and read
// what is needed for that; that of put-client-blind does not, and writes an audit event
// which is none. The processor time is that of the whole process. With the file in RAM, it
// is nearly all there is:
//
//	TMPDIR=/dev/shm go test ./storage/sqlite -run '^$' -bench Writes -benchtime 20x
func BenchmarkWrites(b *testing.B) {
	for _, w := range writes {
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", w.name, callers), func(b *testing.B) {
				var contenders [3]writing
				for i, name := range []string{"ours", "group", "single"} {
					path := filepath.Join(b.TempDir(), name+".db")
					contenders[i] = w.ours(b, path)
					if name != "ours" {
						contenders[i].call = w.bare(newBareFile(b, path, name == "group"), contenders[i])
					}
				}
				total := max(200, 20*callers)
				var took, cpu [3]time.Duration
				for n := 0; b.Loop(); n++ {
					for i := range contenders {
						i = (i + n) % len(contenders)
						c := &contenders[i]
						if c.prepare != nil {
							c.prepare(total / callers * callers)
						}
						used := processorUse(b)
						took[i] += turn(b, callers, total, c.call)
						cpu[i] += processorUse(b) - used
					}
				}
				calls := float64(b.N * (total / callers) * callers)
				b.ReportMetric(calls/took[0].Seconds(), "calls/s")
				b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-group")
				b.ReportMetric(took[2].Seconds()/took[0].Seconds(), "of-single")
				b.ReportMetric(float64(cpu[0].Nanoseconds())/1000/calls, "us-cpu")
				b.ReportMetric(cpu[1].Seconds()/cpu[0].Seconds(), "cpu-of-group")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
