package postgres

import (
	"context"
	"errors"
	"slices"
)

const (
	keyChecks    = "SELECT value FROM @.authmgmt_key_check WHERE one"
	putKeyChecks = "INSERT INTO @.authmgmt_key_check (one, value) VALUES (true, $1) ON CONFLICT (one) DO UPDATE SET value = excluded.value"
)

// UpdateKeyChecks implements [authmgmt.KeyChecker].
func (a *AuthMgmt) UpdateKeyChecks(ctx context.Context, update func(noted [][32]byte) ([][32]byte, error)) error {
	// Every start asks, and few of them have anything to write.
	var noted [][32]byte
	err := a.db.read(ctx, noOrg, func(s *session) (err error) {
		noted, err = s.keyChecks()
		return err
	})
	if err != nil {
		return err
	}
	changed, err := update(slices.Clone(noted))
	if err != nil || slices.Equal(changed, noted) {
		return err
	}
	return a.db.transact(ctx, noOrg, func(s *session) error {
		if err := s.lock("authmgmt keys", "", false); err != nil {
			return err
		}
		noted, err := s.keyChecks()
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
		_, err = s.exec(putKeyChecks, value)
		return err
	})
}

func (s *session) keyChecks() (noted [][32]byte, err error) {
	var value []byte
	if err = s.row(keyChecks, nil, &value); isNoRow(err) {
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
