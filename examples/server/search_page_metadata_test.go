package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// TestShowMetadata: the page shows the beginning of much metadata, and says that there
// is more.
func TestShowMetadata(t *testing.T) {
	m := metadata.Map{"nil": {}, "long": metadata.String(strings.Repeat("é", shownBytes))}
	left := shownInAll
	shown := showMetadata(m, &left)
	if len(shown) != 2 || shown[0].Key != "long" || shown[0].Value != strings.Repeat("é", shownBytes/2)+"…" || shown[1].Value != "–" {
		t.Errorf("shown: %v", shown)
	}
	for i := range 1000 {
		m[fmt.Sprintf("key %03d", i)] = metadata.Int(int64(i))
	}
	shown = showMetadata(m, &left)
	if len(shown) != shownKeys+1 || shown[0] != (metadataView{"key 000", "0"}) || shown[shownKeys].Value != "and 952 more" {
		t.Errorf("shown: %v", shown)
	}

	// A page of a thousand results has no more than one of a few.
	all := 0
	for range 1000 {
		for i := range 50 {
			m[fmt.Sprintf("key %03d", i)] = metadata.String(strings.Repeat("é", shownBytes))
		}
		for _, v := range showMetadata(m, &left) {
			all += len(v.Key) + len(v.Value)
		}
	}
	if all < shownInAll*9/10 || all > shownInAll*11/10 {
		t.Errorf("%d bytes are shown in all", all)
	}
	if last := showMetadata(m, &left); len(last) != 1 || last[0].Value != "and 1002 more" {
		t.Errorf("shown: %v", last)
	}
}
