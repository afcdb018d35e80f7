package main

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

const pictureWidth = 320 // pixels

// picture sends the picture of a keyframe.
func (p *searchPage) picture(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) {
	p.sendExtract(w, r, who, extract{"picture", p.pictures, hasPicture, func(ctx context.Context, file string, at, _ time.Duration) ([]byte, error) {
		return p.programs.Picture(ctx, file, at, pictureWidth)
	}})
}

func hasPicture(scoring *audiosearch.Scoring, at, _ time.Duration) bool {
	_, isKeyframe := slices.BinarySearch(scoring.Keyframes, at)
	return scoring.HasVideo && isKeyframe
}
