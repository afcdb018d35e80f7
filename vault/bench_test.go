package vault_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
)

// BenchmarkTokenize measures a library call, for one value and for batches of 1000, of
// 100,000 values in memory, beside what the least would be that gives deterministic tokens:
// HMAC-SHA-256 of the value, cut to a UUID, with nothing stored: by one HMAC that is used
// again, and by a new one for each value, as a program without the library would have it.
// They take turns in one run.
//
// The limit of a batch is 500 ns a value and core.
func BenchmarkTokenize(b *testing.B) {
	const stored = 100_000
	r := newRig(b, vault.Options{})
	s := r.with(b, 1) // without an observer
	var values []string
	for i := range stored {
		values = append(values, fmt.Sprintf("person%d@example.com", i))
	}
	items := of("persons", "email", values...)
	for batch := range slices.Chunk(items, 1000) {
		insert(b, s, batch)
	}
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			key := []byte("not random, for benchmarks only.")
			mac := hmac.New(sha256.New, key)
			var library, peer, simple time.Duration
			tokens := make([]string, 1000)
			turn := 0
			for b.Loop() { // a thousand values of either
				batch := items[turn*1000%stored:][:1000]
				turn++
				start := time.Now()
				for some := range slices.Chunk(batch, size) {
					if _, err := s.Tokenize(context.Background(), "acme", "v1", some); err != nil {
						b.Fatal(err)
					}
				}
				library += time.Since(start)

				start = time.Now()
				for i := range batch {
					tokens[i] = hmacUUID(mac, batch[i].Value.Reveal())
				}
				peer += time.Since(start)

				start = time.Now()
				for i := range batch {
					tokens[i] = hmacUUID(hmac.New(sha256.New, key), batch[i].Value.Reveal())
				}
				simple += time.Since(start)
			}
			n := float64(b.N * 1000)
			b.ReportMetric(float64(library.Nanoseconds())/n, "library-ns/value")
			b.ReportMetric(float64(peer.Nanoseconds())/n, "hmac-uuid-ns/value")
			b.ReportMetric(float64(library)/float64(peer), "of-hmac-uuid")
			b.ReportMetric(float64(simple.Nanoseconds())/n, "new-hmac-uuid-ns/value")
			b.ReportMetric(float64(library)/float64(simple), "of-new-hmac-uuid")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func hmacUUID(mac hash.Hash, value string) string {
	mac.Reset()
	_, _ = mac.Write([]byte(value))
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	return uuid.UUID(sum[:16]).String()
}

// BenchmarkCalls measures what each call of a service costs in memory, in batches of one
// value and of a thousand.
func BenchmarkCalls(b *testing.B) {
	show := func(vault.Field) vault.Redaction { return vault.PlainText }
	for _, size := range []int{1, 1000} {
		items := func(n int) []vault.Item {
			values := make([]string, size)
			for i := range values {
				values[i] = fmt.Sprintf("person%d@example.com", n*size+i)
			}
			return of("persons", "email", values...)
		}
		run := func(name string, do func(s *vault.Service, n int, tokens []string)) {
			b.Run(fmt.Sprintf("%s/batch=%d", name, size), func(b *testing.B) {
				s := newRig(b, vault.Options{}).with(b, 1)
				tokens := insert(b, s, items(0))
				b.ReportAllocs()
				for n := 1; b.Loop(); n++ {
					do(s, n, tokens)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/value")
			})
		}
		run("insert", func(s *vault.Service, n int, _ []string) {
			_, err := s.Insert(b.Context(), "acme", "ops", "v1", items(n))
			require.NoError(b, err)
		})
		run("insert-again", func(s *vault.Service, _ int, _ []string) {
			_, err := s.Insert(b.Context(), "acme", "ops", "v1", items(0))
			require.NoError(b, err)
		})
		run("tokenize", func(s *vault.Service, _ int, _ []string) {
			_, err := s.Tokenize(b.Context(), "acme", "v1", items(0))
			require.NoError(b, err)
		})
		run("detokenize", func(s *vault.Service, _ int, tokens []string) {
			_, err := s.Detokenize(b.Context(), "acme", "ops", "v1", asked(tokens...), show)
			require.NoError(b, err)
		})
		run("export", func(s *vault.Service, _ int, _ []string) {
			for _, err := range s.Export(b.Context(), "acme", "ops", "v1", show) {
				require.NoError(b, err)
			}
		})
	}
}
