package audiosearch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
)

func TestClassValid(t *testing.T) {
	for _, c := range []audiosearch.Class{"Dog", " ", "Erithacus rubecula_Rotkehlchen", "é"} {
		assert.True(t, c.Valid(), c)
	}
	for _, c := range []audiosearch.Class{"", "a\x00", "\xff", audiosearch.Class(strings.Repeat("n", 256))} {
		assert.False(t, c.Valid(), c)
	}
}

func TestNearest(t *testing.T) {
	all := audioset.Classes()
	for misspelt, want := range map[string]audiosearch.Class{
		"dog": "Dog", "DOG": "Dog", " Dog": "Dog", "dialtone": "Dial tone", "Dail tone": "Dial tone",
		"Dial tones": "Dial tone", "white-noise": "White noise", "wite noise": "White noise",
		"bow wow": "Bow-wow", "Sirene": "Siren", "Speech": "Speech",
		"": "", "x": "", "Submarine race": "", "\x00": "", "\xff\xfe": "",
		strings.Repeat("dog ", 100): "", strings.Repeat("n", 255): "",
	} {
		assert.Equal(t, want, audiosearch.Nearest(misspelt, all), "%.20q", misspelt)
	}
	assert.Empty(t, audiosearch.Nearest("dog", nil))
	assert.Empty(t, audiosearch.Nearest("bat", []audiosearch.Class{"birds", "bats"}), "too short to guess")
	assert.Equal(t, audiosearch.Class("bat"), audiosearch.Nearest("BAT", []audiosearch.Class{"bats", "bat"}), "the nearer one")
	assert.Equal(t, audiosearch.Class("!!"), audiosearch.Nearest(" !!", []audiosearch.Class{"??", "!!"}))
}

func ExampleNearest() {
	fmt.Println(audiosearch.Nearest("dial-tone", []audiosearch.Class{"Busy signal", "Dial tone"}))
	// Output: Dial tone
}
