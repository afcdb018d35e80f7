package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// someKey has bytes whose base64 is another in each alphabet.
func someKey() rootKey {
	var k rootKey
	for i := range k {
		k[i] = byte(0xf8 + 3*i)
	}
	return k
}

func TestParseRootKey(t *testing.T) {
	key := someKey()
	written := []string{hex.EncodeToString(key[:]), strings.ToUpper(hex.EncodeToString(key[:]))}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		written = append(written, encoding.EncodeToString(key[:]))
	}
	for _, text := range written {
		for _, around := range []string{"%s", "%s\n", "%s\r\n", " \t\n%s \n\n"} {
			if got, err := parseRootKey(fmt.Sprintf(around, text)); err != nil || got != key {
				t.Errorf("%q in %q: %v", text, around, err)
			}
		}
	}
}

func TestParseRootKeyRefuses(t *testing.T) {
	key := someKey()
	digits, base := hex.EncodeToString(key[:]), base64.StdEncoding.EncodeToString(key[:])
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"nothing":             {"", errKeyText},
		"white space":         {" \n", errKeyText},
		"31 bytes":            {digits[2:], errKeyText},
		"33 bytes":            {digits + "00", errKeyText},
		"half a byte":         {digits + "0", errKeyText},
		"two keys":            {digits + "\n" + digits, errKeyText},
		"space within":        {digits[:32] + " " + digits[32:], errKeyText},
		"line break within":   {base[:20] + "\n" + base[20:], errKeyText},
		"carriage return":     {base[:20] + "\r" + base[20:], errKeyText},
		"31 bytes, base64":    {base64.StdEncoding.EncodeToString(key[1:]), errKeyText},
		"33 bytes, base64":    {base64.StdEncoding.EncodeToString(append(key[:], 1)), errKeyText},
		"a wrong letter":      {"g" + digits[1:], errKeyText},
		"both alphabets":      {strings.Replace(base, "+", "-", 1), errKeyText},
		"bits left over":      {base[:42] + "9=", errKeyText},
		"padding in the way":  {"=" + base, errKeyText},
		"raw":                 {string(key[:]), errKeyText},
		"0x":                  {"0x" + digits, errKeyText},
		"zeros":               {strings.Repeat("0", 64), errKeyZero},
		"zeros in base64":     {strings.Repeat("A", 43) + "=", errKeyZero},
		"zeros, not as a key": {strings.Repeat("0", 62), errKeyText},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseRootKey(test.text)
			if !errors.Is(err, test.want) || got != (rootKey{}) {
				t.Fatalf("got %v", err)
			}
			if text := strings.TrimSpace(test.text); len(text) > 2 && strings.Contains(err.Error(), text) {
				t.Errorf("the error repeats what it refuses: %v", err)
			}
		})
	}
}

func TestRootKeyIsNotPrinted(t *testing.T) {
	key := someKey()
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", key, "pointer", &key)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key, "pointer", &key)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&log, verb+verb, key, &key)
	}
	for _, form := range []string{hex.EncodeToString(key[:4]), strings.Trim(fmt.Sprint(key[:4]), "[]"), base64.StdEncoding.EncodeToString(key[:3]), string(key[:4])} {
		if strings.Contains(strings.ToLower(log.String()), strings.ToLower(form)) {
			t.Errorf("printed: %s", &log)
		}
	}
}

// TestDerivedKey: what is derived depends on the key and the purpose. Another result at
// another version would end every invitation.
func TestDerivedKey(t *testing.T) {
	key, other := someKey(), newRootKey()
	derive := func(k rootKey, purpose string) string {
		derived, err := k.derive(purpose)
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(derived[:])
	}
	// By openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt hexkey:... -kdfopt
	// info:'mortise invitation key v1' HKDF.
	if got := derive(key, purposeInvitations); got != "94dda651e59c9e5a1138fe03e09b870d978486d11f72c5067752609cb636bf97" {
		t.Errorf("got %s", got)
	}
	// And with info:'mortise vault key v1'. Another one would leave every value of the
	// vault unreadable.
	if got := derive(key, purposeVault); got != "51ca2ba0c94afeec9875c5bfb6bce3d2af3d8c5dbf8b2c14395469b4c4e9e14a" {
		t.Errorf("got %s", got)
	}
	if derive(key, "x") == derive(key, purposeInvitations) || derive(other, "x") == derive(key, "x") {
		t.Error("two keys are the same")
	}
}
