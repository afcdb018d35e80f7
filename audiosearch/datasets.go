package audiosearch

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// Dataset is a collection of videos.
type Dataset struct {
	Organization string
	ID           string // 1 to 255 bytes, chosen by the organization
	CreatedAt    time.Time
}

// Video is an entry of the catalog.
type Video struct {
	ID       string // unique in its dataset, 1 to 255 bytes
	Path     string // what [sound.Files] finds the bytes by
	Metadata metadata.Map
}

// CreateDataset makes an empty dataset. If the organization has one of this ID, the error
// is [mortise.ErrExists]. For a dataset that a program needs at every start there is
// [Service.EnsureDataset].
func (s *Service) CreateDataset(ctx context.Context, org string, by mortise.Actor, id string) (Dataset, error) {
	if err := checkDatasetID(id); err != nil {
		return Dataset{}, err
	}
	d := Dataset{Organization: org, ID: id, CreatedAt: s.now()}
	err := s.store.CreateDataset(ctx, d)
	if err == nil {
		s.observe(ctx, mortise.Observation{Kind: mortise.KindDatasetCreated, Organization: org, Object: id, Actor: by, Detail: Detail{Dataset: id}})
	}
	return d, ofDataset(id, unavailable("create a dataset", err))
}

// EnsureDataset makes an empty dataset unless it is there, for a program to call at
// every start. One that is there is returned as it is, with its videos. If several call
// it at once, one makes the dataset, and all succeed. The errors are
// [*mortise.ValidationError] and [mortise.ErrUnavailable].
func (s *Service) EnsureDataset(ctx context.Context, org string, by mortise.Actor, id string) (Dataset, error) {
	if err := checkDatasetID(id); err != nil {
		return Dataset{}, err
	}
	d, err := s.Dataset(ctx, org, id)
	if !errors.Is(err, ErrDatasetNotFound) {
		return d, err
	}
	d, err = s.CreateDataset(ctx, org, by, id)
	if errors.Is(err, mortise.ErrExists) { // somebody else has made it since
		return s.Dataset(ctx, org, id)
	}
	return d, err
}

func checkDatasetID(id string) error {
	var p problems
	checkName(&p, "id", id)
	return p.Err()
}

// Dataset returns a dataset, or [ErrDatasetNotFound].
func (s *Service) Dataset(ctx context.Context, org, id string) (Dataset, error) {
	d, err := s.store.Dataset(ctx, org, id)
	return d, ofDataset(id, unavailable("read a dataset", err))
}

// DeleteDataset removes a dataset with its videos and their scores. Runs over it end by
// themselves.
func (s *Service) DeleteDataset(ctx context.Context, org string, by mortise.Actor, id string) error {
	err := s.store.DeleteDataset(ctx, org, id)
	if err == nil {
		s.observe(ctx, mortise.Observation{Kind: mortise.KindDatasetDeleted, Organization: org, Object: id, Actor: by, Detail: Detail{Dataset: id}})
	}
	return ofDataset(id, unavailable("delete a dataset", err))
}

// PutVideos adds videos to a dataset, or replaces those of the same IDs, all or none, at
// most [mortise.MaxPageSize]. A
// video whose path changes loses its scores; one whose path stays keeps them, until
// [Service.Ingest] sees that the file has changed. Nothing is opened: a video is scored
// by Ingest, or by the first run that needs it.
func (s *Service) PutVideos(ctx context.Context, org string, by mortise.Actor, dataset string, videos ...Video) error {
	var p problems
	if len(videos) > mortise.MaxPageSize {
		p.add("videos", "", "must be at most %d at a time", mortise.MaxPageSize)
		return p.Err()
	}
	seen := make(map[string]bool, len(videos))
	stored := make([]Video, len(videos))
	for i, v := range videos {
		item := p.item("videos", i)
		checkName(item, "id", v.ID)
		if seen[v.ID] {
			item.add("id", "", "must not come twice")
		}
		seen[v.ID] = true
		checkPath(item, "path", v.Path)
		checkMetadata(item, "metadata", v.Metadata)
		stored[i] = v
		stored[i].Metadata = maps.Clone(v.Metadata)
	}
	if err := p.Err(); err != nil {
		return err
	}
	return ofDataset(dataset, unavailable("store videos", s.store.PutVideos(ctx, org, dataset, stored)))
}

// maxPath bounds a video's path, in bytes.
const maxPath = 4096

func checkPath(p *problems, field, path string) {
	if len(path) > maxPath {
		p.add(field, "", "must be at most %d bytes", maxPath)
		return
	}
	// What a path may be, Files says. What cannot be a name of anything, it need not be
	// asked.
	if problem := name.Problem(path[:min(len(path), name.Max)]); problem != "" && len(path) <= name.Max {
		p.add(field, "", "%s", problem)
	} else if !validText(path) {
		p.add(field, "", "must be valid UTF-8 without U+0000")
	}
}

// Video returns a video, or [ErrVideoNotFound].
func (s *Service) Video(ctx context.Context, org, dataset, id string) (Video, error) {
	found, _, err := s.store.Videos(ctx, org, dataset, []string{id})
	if err == nil && len(found) == 0 {
		err = ErrVideoNotFound
	}
	if err != nil {
		return Video{}, ofDataset(dataset, ofVideo(id, unavailable("read a video", err)))
	}
	return found[0], nil
}

// DeleteVideo removes a video with its scores.
func (s *Service) DeleteVideo(ctx context.Context, org string, by mortise.Actor, dataset, id string) error {
	return ofDataset(dataset, ofVideo(id, unavailable("delete a video", s.store.DeleteVideo(ctx, org, dataset, id))))
}
