package audit

import (
	"context"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// The kinds of subjects.
const (
	Letter   = "letter"   // by its id
	Consumer = "consumer" // by its name
	Group    = "group"    // by its error fingerprint; the detail has consumer and handler
	Request  = "request"  // by its id
	Redrive  = "redrive"  // by its id
	Message  = "message"  // by its key; the detail says which one, and what of it
	Suspect  = "suspect"  // suspect mode, which has no name
	System   = "system"   // by its name
	Outbox   = "outbox"   // by its name
	Schedule = "schedule" // by its name
	Database = "database" // by its id, the new one
)

// Row is one thing that was done. By, Reason and Detail are cut to a few kilobytes.
type Row struct {
	// ID counts up.
	ID int64 `json:"id"`
	// Kind and Subject say to what it was done.
	Kind    string `json:"subject_kind"`
	Subject string `json:"subject"`
	// Action is one word.
	Action string `json:"action"`
	// By says who did it, Reason why, in that person's words.
	By     string `json:"by"`
	Reason string `json:"reason"`
	// DBUser is the login; "" on SQLite. Stores set it.
	DBUser string `json:"db_user,omitempty"`
	// RedriveID is the redrive that it belongs to; 0 for none.
	RedriveID int64 `json:"redrive_id,omitempty"`
	// Detail says more.
	Detail string `json:"detail,omitempty"`
	// At is when, by the database's clock. Stores set it.
	At time.Time `json:"at"`
}

// Filter chooses rows. The zero Filter chooses all.
type Filter struct {
	// Kind and Subject name one subject; all subjects if Kind is "".
	Kind, Subject string
}

// Store keeps the audit. Drivers implement it.
type Store interface {
	// Record writes a row in t.
	Record(ctx context.Context, t *txn.Txn, r Row) error
	// List returns at most limit rows of f with an id below before (0: from the newest),
	// newest first.
	List(ctx context.Context, f Filter, before int64, limit int) ([]Row, error)
}
