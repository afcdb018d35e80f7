package pages

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
)

// ByUUID reads the cursor of a list in the order of a time and a UUID. behind is false for
// "", the start of the list.
func ByUUID(after mortise.Cursor) (at time.Time, id uuid.UUID, behind bool, err error) {
	return by(after, mortise.Position.UUID)
}

// ByNumber reads the cursor of a list in the order of a time and a number.
func ByNumber(after mortise.Cursor) (at time.Time, n int64, behind bool, err error) {
	return by(after, mortise.Position.Number)
}

// ByName reads the cursor of a list in the order of a time and a name.
func ByName(after mortise.Cursor) (at time.Time, id string, behind bool, err error) {
	return by(after, func(p mortise.Position) (string, error) {
		if name.Problem(p.ID) != "" {
			return "", errNoCursor
		}
		return p.ID, nil
	})
}

// ByNameAlone reads the cursor of a list in the order of names alone. A time in it is an error.
func ByNameAlone(after mortise.Cursor) (at time.Time, id string, behind bool, err error) {
	if at, id, behind, err = ByName(after); err == nil && !at.IsZero() {
		err = errNoCursor
	}
	return at, id, behind, err
}

// errNoCursor is the error of a text other than a cursor.
var _, errNoCursor = mortise.Cursor("x").Position()

func by[ID any](after mortise.Cursor, read func(mortise.Position) (ID, error)) (at time.Time, id ID, behind bool, err error) {
	if after == "" {
		return at, id, false, nil
	}
	p, err := after.Position()
	if err != nil {
		return at, id, false, err
	}
	id, err = read(p)
	return p.At, id, err == nil, err
}

// Older reports whether an item of a list that goes newest first is behind a cursor, which
// has been read before.
func Older(after mortise.Cursor, at mortise.Position) bool {
	from, err := after.Position()
	return err != nil || at.Compare(from) < 0 // "" is no position
}

// Numbered returns the cursor of a list in the order of numbers alone, behind n.
func Numbered(n int64) mortise.Cursor {
	return mortise.Position{ID: string(binary.BigEndian.AppendUint64(nil, uint64(n)))}.Cursor()
}
