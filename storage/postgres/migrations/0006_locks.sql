-- How often each of the locks was had alone, by the hash of its name: for transactions of
-- hosts whose snapshot stays. What somebody has stored under a lock that they had alone, such
-- a transaction does not see if it began before, and this tells it. A row is never removed.

-- +goose Up
CREATE TABLE locks (
	id    bigint NOT NULL PRIMARY KEY,
	taken bigint NOT NULL
);

-- +goose Down
DROP TABLE locks;
