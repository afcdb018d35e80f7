package authmgmtdb

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

const (
	keyChecks    = "SELECT value FROM @.authmgmt_key_check WHERE one"
	putKeyChecks = "INSERT INTO @.authmgmt_key_check (one, value) VALUES (true, $1) ON CONFLICT (one) DO UPDATE SET value = excluded.value"
)

// UpdateKeyChecks implements [authmgmt.KeyChecker].
func (a *Store) UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error {
	// Every start asks, and few of them have anything to write.
	var noted [][32]byte
	err := a.db.Read(ctx, engine.NoOrg, func(s *engine.Session) (err error) {
		noted, err = readKeyChecks(s)
		return err
	})
	if err != nil {
		return err
	}
	changed, err := update(slices.Clone(noted))
	if err != nil || slices.Equal(changed, noted) {
		return err
	}
	return a.db.Transact(ctx, engine.NoOrg, func(s *engine.Session) error {
		if err := s.Lock("authmgmt keys", "", false); err != nil {
			return err
		}
		noted, err := readKeyChecks(s)
		if err != nil {
			return err
		}
		changed, err := update(noted)
		if err != nil {
			return err
		}
		value := []byte{}
		for _, check := range changed {
			value = append(value, check[:]...)
		}
		_, err = s.Exec(putKeyChecks, value)
		return err
	})
}

func readKeyChecks(s *engine.Session) (noted [][32]byte, err error) {
	var value []byte
	if err = s.Row(keyChecks, nil, &value); engine.IsNoRow(err) {
		return nil, nil
	}
	if err == nil && len(value)%32 != 0 {
		err = errors.New("postgres: a row is damaged: the checks of keys cannot be read")
	}
	if err != nil {
		return nil, err
	}
	for check := range slices.Chunk(value, 32) {
		noted = append(noted, [32]byte(check))
	}
	return noted, nil
}
