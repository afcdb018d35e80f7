package columnar_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

func ExampleColumns() {
	var columns columnar.Columns
	columns.Set(0, metadata.Map{"city": metadata.String("Bern"), "year": metadata.Int(2019)})
	columns.Set(1, metadata.Map{"city": metadata.String("Basel"), "year": metadata.Int(2023)})
	columns.Set(2, metadata.Map{"city": metadata.String("Bern"), "year": metadata.String("2024")})

	selected, err := columns.Select(context.Background(), []metadata.Filter{
		{Key: "city", Value: "Bern"},
		{Key: "year", Op: metadata.OpGreater, Value: "2020"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for row := range selected.Rows() {
		fmt.Println(row)
	}
	// Output: 2
}

func ExampleScores() {
	const dog sound.Class = "Dog"
	var scores columnar.Scores
	scores.Put(0, []sound.Class{dog}, [][]uint16{{100, 60000, 300}})
	scores.Put(1, []sound.Class{dog}, [][]uint16{{60000, 200}})

	ids := []string{"yard", "attic"} // by row
	ranking := columnar.NewRanking(columnar.Page{Limit: 3}, func(a, b uint32) int { return strings.Compare(ids[a], ids[b]) })
	hits, err := scores.Rank(context.Background(), dog, nil, ranking)
	if err != nil {
		panic(err)
	}
	for _, hit := range hits {
		fmt.Println(ids[hit.Row], hit.Window, hit.Score)
	}
	// Output:
	// attic 0 60000
	// yard 1 60000
	// yard 2 300
}

// A backend with chunks of its own offers them in each pass.
func ExampleRanking_OfferChunk() {
	type chunk struct {
		scores []byte
		best   uint16
		pieces []columnar.Piece
	}
	chunks := []chunk{
		{columnar.Pack(nil, []uint16{10, 20, 30, 40}), 40, []columnar.Piece{{Start: 0, Count: 3, Row: 0}, {Start: 3, Count: 1, Row: 1}}},
		{columnar.Pack(nil, []uint16{50, 60}), 60, []columnar.Piece{{Start: 0, Count: 2, Row: 1, Window: 1}}},
	}
	ids := []string{"a", "b"}
	ranking := columnar.NewRanking(columnar.Page{Offset: 1, Limit: 2}, func(a, b uint32) int { return strings.Compare(ids[a], ids[b]) })
	for ranking.Next() {
		for _, c := range chunks {
			if c.best >= ranking.Floor() {
				ranking.OfferChunk(c.scores, c.pieces, nil)
			}
		}
	}
	for _, hit := range ranking.Hits() {
		fmt.Println(ids[hit.Row], hit.Window, hit.Score)
	}
	// Output:
	// b 1 50
	// b 0 40
}
