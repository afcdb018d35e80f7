package audiosearch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// slowDatasets is a store during whose first answer about a dataset something else
// happens, and of which a method may fail.
type slowDatasets struct {
	audiosearch.Store
	happens func()
	read    error
	make    error
}

func (s *slowDatasets) Dataset(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
	if s.read != nil {
		return audiosearch.Dataset{}, s.read
	}
	d, err := s.Store.Dataset(ctx, org, id)
	if happens := s.happens; happens != nil {
		s.happens = nil
		happens()
	}
	return d, err
}

func (s *slowDatasets) CreateDataset(ctx context.Context, d audiosearch.Dataset) error {
	if s.make != nil {
		return s.make
	}
	return s.Store.CreateDataset(ctx, d)
}

func TestEnsureDataset(t *testing.T) {
	r := newRig(t, nil)
	made, err := r.EnsureDataset(t.Context(), org, "ada", "calls")
	require.NoError(t, err)
	require.NoError(t, r.PutVideos(t.Context(), org, "", "calls", audiosearch.Video{ID: "v", Path: "v.wav"}))
	again, err := r.EnsureDataset(t.Context(), org, "", "calls")
	require.NoError(t, err)
	require.Equal(t, made, again)
	_, err = r.Video(t.Context(), org, "calls", "v")
	require.NoError(t, err, "it is as it was")
	_, err = r.Dataset(t.Context(), "rival", "calls")
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	var invalid *mortise.ValidationError
	for _, id := range []string{"", "a\x00b", "\xff"} {
		_, err = r.EnsureDataset(t.Context(), org, "", id)
		require.ErrorAs(t, err, &invalid)
	}
	// Nobody hears that it was there already.
	require.NoError(t, r.DeleteDataset(t.Context(), org, "bob", "calls"))
	require.ErrorIs(t, r.DeleteDataset(t.Context(), org, "eve", "calls"), audiosearch.ErrDatasetNotFound)
	require.Equal(t, []mortise.Observation{
		{Service: "audiosearch", Kind: mortise.KindDatasetCreated, Organization: org, Object: "calls", Actor: "ada", Detail: audiosearch.Detail{Dataset: "calls"}},
		{Service: "audiosearch", Kind: mortise.KindDatasetDeleted, Organization: org, Object: "calls", Actor: "bob", Detail: audiosearch.Detail{Dataset: "calls"}},
	}, r.events[1:])
}

// Two servers start at once, and neither sees the other's dataset at first.
func TestEnsureDatasetTwiceAtOnce(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	store := &slowDatasets{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, nil)
	var first audiosearch.Dataset
	store.happens = func() {
		first, err = r.EnsureDataset(t.Context(), org, "", "calls")
		require.NoError(t, err)
	}
	second, err := r.EnsureDataset(t.Context(), org, "", "calls")
	require.NoError(t, err)
	require.Nil(t, store.happens)
	require.Equal(t, "calls", first.ID)
	require.Equal(t, first, second)
}

func TestEnsureDatasetWithoutAStore(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	store := &slowDatasets{Store: db.AudioSearch().Store}
	r := newRigOn(t, db, store, nil)
	store.make = errors.New("the disk is full")
	_, err = r.EnsureDataset(t.Context(), org, "", "calls")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	_, err = r.EnsureDataset(t.Context(), org, "", "d")
	require.NoError(t, err, "it is there, and nothing is written")
	store.read, store.make = errors.New("the disk is gone"), nil
	_, err = r.EnsureDataset(t.Context(), org, "", "calls")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	var invalid *mortise.ValidationError
	_, err = r.EnsureDataset(t.Context(), org, "", "a\x00b")
	require.ErrorAs(t, err, &invalid, "the store is not asked")
	store.read = nil
	_, err = r.Dataset(t.Context(), org, "calls")
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound, "nothing was made blindly")
}
