package authmgmt_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// An organization is deleted: its token is refused at once, what it has is removed in
// steps, and its ID is not given again.
func ExampleService_DeleteOrganization() {
	ctx := context.Background()
	s, _ := newExample(nil)
	_, token, err := s.IssueToken(ctx, "acme", operator, authmgmt.NewToken{Subject: "ada", FullAccess: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for more := true; more; {
		if more, err = s.DeleteOrganization(ctx, "acme", operator); err != nil {
			fmt.Println(err) // call it again later: it goes on
			return
		}
	}
	_, err = s.VerifyToken(ctx, token.Reveal())
	fmt.Println(err)
	_, _, err = s.IssueToken(ctx, "acme", operator, authmgmt.NewToken{Subject: "ada", FullAccess: true})
	fmt.Println(errors.Is(err, mortise.ErrDeleted))
	for e := range s.AuditEvents(ctx, "acme", authmgmt.AuditQuery{}) {
		fmt.Println(e.Kind, "by", e.Actor)
	}
	// Output:
	// authmgmt: invalid credentials
	// true
	// organization_deleted by operator
}

// What a store promises of an organization that is deleted. A host calls the service.
func ExampleDeletion() {
	ctx := context.Background()
	_, store := newExample(nil)
	var d authmgmt.Deletion = store
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	for _, at := range []time.Time{day, day.AddDate(0, 1, 0)} {
		since, err := d.MarkDeleted(ctx, "acme", at, authmgmt.AuditEvent{})
		fmt.Println(since.Format(time.DateOnly), err)
	}
	_, more, err := d.RemoveDeleted(ctx, "acme", 1000)
	fmt.Println(more, err)
	_, _, err = d.RemoveDeleted(ctx, "globex", 1000)
	fmt.Println(errors.Is(err, mortise.ErrNotFound))
	// Output:
	// 2026-03-14 <nil>
	// 2026-03-14 <nil>
	// false <nil>
	// true
}
