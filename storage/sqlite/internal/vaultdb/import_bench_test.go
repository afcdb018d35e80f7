package vaultdb

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault"
)

// BenchmarkVaultImport compares Service.Import of 1000 values that are new with
// Service.Insert of as many into another file, and with the import of the same page
// again.
func BenchmarkVaultImport(b *testing.B) {
	const stored, size = 20_000, 1000
	imports, inserts := newVaultBench(b, stored), newVaultBench(b, stored)
	var took [3][]time.Duration
	measure := func(of int, do func() error) {
		begun := time.Now()
		err := do()
		took[of] = append(took[of], time.Since(begun))
		require.NoError(b, err)
	}
	for n := 0; b.Loop(); n++ {
		items := benchItems(stored+n*size, size, 1)
		page := make([]vault.ImportItem, size)
		for i := range page {
			page[i] = vault.ImportItem{Item: items[i], Token: uuid.NewString()}
		}
		imported := func() error { return imports.service.Import(context.Background(), "acme", "bench", "v1", page) }
		turns := []func(){
			func() { measure(0, imported) },
			func() {
				measure(1, func() error {
					_, err := inserts.service.Insert(context.Background(), "acme", "bench", "v1", items)
					return err
				})
			},
		}
		turns[n%2]()
		turns[1-n%2]()
		measure(2, imported)
	}
	imported, inserted := medianOf(took[0]).Seconds(), medianOf(took[1]).Seconds()
	b.ReportMetric(imported*1e9/size, "import-ns/value")
	b.ReportMetric(inserted*1e9/size, "insert-ns/value")
	b.ReportMetric(medianOf(took[2]).Seconds()*1e9/size, "again-ns/value")
	b.ReportMetric(imported/inserted, "import-of-insert")
	b.ReportMetric(0, "ns/op")
}
