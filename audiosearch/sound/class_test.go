package sound_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

func TestClassValid(t *testing.T) {
	for _, c := range []sound.Class{"Dog", " ", "Erithacus rubecula_Rotkehlchen", "é"} {
		assert.True(t, c.Valid(), c)
	}
	for _, c := range []sound.Class{"", "a\x00", "\xff", sound.Class(strings.Repeat("n", 256))} {
		assert.False(t, c.Valid(), c)
	}
}

func TestNearest(t *testing.T) {
	all := audioset.Classes()
	for misspelt, want := range map[string]sound.Class{
		"dog": "Dog", "DOG": "Dog", " Dog": "Dog", "dialtone": "Dial tone", "Dail tone": "Dial tone",
		"Dial tones": "Dial tone", "white-noise": "White noise", "wite noise": "White noise",
		"bow wow": "Bow-wow", "Sirene": "Siren", "Speech": "Speech",
		"": "", "x": "", "Submarine race": "", "\x00": "", "\xff\xfe": "",
		strings.Repeat("dog ", 100): "", strings.Repeat("n", 255): "",
	} {
		assert.Equal(t, want, sound.Nearest(misspelt, all), "%.20q", misspelt)
	}
	assert.Empty(t, sound.Nearest("dog", nil))
	assert.Empty(t, sound.Nearest("bat", []sound.Class{"birds", "bats"}), "too short to guess")
	assert.Equal(t, sound.Class("bat"), sound.Nearest("BAT", []sound.Class{"bats", "bat"}), "the nearer one")
	assert.Equal(t, sound.Class("!!"), sound.Nearest(" !!", []sound.Class{"??", "!!"}))
}
