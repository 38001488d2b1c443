/** The schema, as the steps that lead to it. A step that was released is never edited: add the next one. */
import type { Boundary } from "../runtime/boundary.ts";
import type { Connection } from "./connection.ts";

/** "AkPv": distinguishes our file from any other SQLite database. */
export const applicationId = 0x416b5076;

/** The schema version is the number of steps, in user_version. `intents.timeout_ns` is unused: a stamp stands with its transaction. */
export const migrations: readonly string[] = [
  `
  PRAGMA application_id = ${applicationId};

  CREATE TABLE cursor (
    chain_id TEXT PRIMARY KEY,
    height INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE intents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    what TEXT NOT NULL,
    subject TEXT NOT NULL,
    why TEXT NOT NULL,
    body TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('filed', 'sent', 'done', 'failed', 'expired')),
    filed_at INTEGER NOT NULL,
    expires_at INTEGER,
    tx_hash TEXT,
    timeout_ns INTEGER,
    failures INTEGER NOT NULL DEFAULT 0,
    gas_floor INTEGER NOT NULL DEFAULT 0,
    settled_at INTEGER,
    result TEXT,
    CHECK ((settled_at IS NULL) = (state IN ('filed', 'sent')))
  ) STRICT;
  CREATE INDEX intents_unsettled ON intents (priority, id) WHERE settled_at IS NULL;
  CREATE INDEX intents_settled ON intents (settled_at) WHERE settled_at IS NOT NULL;
  CREATE INDEX intents_subject ON intents (subject, id);
  CREATE INDEX intents_tx ON intents (tx_hash) WHERE tx_hash IS NOT NULL;

  CREATE TABLE transactions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,
    chain_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    bytes BLOB NOT NULL,
    first_height INTEGER NOT NULL,
    stamp_ns INTEGER,
    sequence INTEGER,
    timeout_height INTEGER
  ) STRICT;

  CREATE TABLE stamps (
    chain_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    last_ns INTEGER NOT NULL,
    PRIMARY KEY (chain_id, sender)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    checks TEXT NOT NULL,
    inputs TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX decisions_order ON decisions (order_id, id);
  CREATE INDEX decisions_at ON decisions (at);

  CREATE TABLE manifests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    lease_id TEXT NOT NULL UNIQUE,
    version TEXT NOT NULL,
    body TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    closed_at INTEGER
  ) STRICT;
  CREATE INDEX manifests_closed ON manifests (closed_at) WHERE closed_at IS NOT NULL;

  CREATE TABLE deadlines (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX deadlines_due ON deadlines (due_at);

  CREATE TABLE reservations (
    order_id TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    lease_id TEXT NOT NULL,
    amount TEXT NOT NULL,
    denom TEXT NOT NULL,
    height INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX ledger_lease ON ledger (lease_id, id);
  CREATE INDEX ledger_at ON ledger (at);

  CREATE TABLE history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    line TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX history_subject ON history (subject, id);
  CREATE INDEX history_at ON history (at);
  `,
  `
  CREATE TABLE next_intents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    what TEXT NOT NULL,
    subject TEXT NOT NULL,
    why TEXT NOT NULL,
    body TEXT NOT NULL,
    priority INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('filed', 'sent', 'done', 'failed', 'expired', 'cancelled')),
    filed_at INTEGER NOT NULL,
    expires_at INTEGER,
    tx_hash TEXT,
    timeout_ns INTEGER,
    failures INTEGER NOT NULL DEFAULT 0,
    gas_floor INTEGER NOT NULL DEFAULT 0,
    fee TEXT NOT NULL DEFAULT '',
    gas_used INTEGER NOT NULL DEFAULT 0,
    settled_at INTEGER,
    result TEXT,
    CHECK ((settled_at IS NULL) = (state IN ('filed', 'sent')))
  ) STRICT;
  INSERT INTO sqlite_sequence (name, seq) SELECT 'next_intents', seq FROM sqlite_sequence WHERE name = 'intents';
  INSERT INTO next_intents
    SELECT id, what, subject, why, body, priority, state, filed_at, expires_at, tx_hash, timeout_ns, failures, gas_floor,
      '', 0, settled_at, result FROM intents;
  DROP TABLE intents;
  ALTER TABLE next_intents RENAME TO intents;
  CREATE INDEX intents_unsettled ON intents (priority, id) WHERE settled_at IS NULL;
  CREATE INDEX intents_settled ON intents (settled_at) WHERE settled_at IS NOT NULL;
  CREATE INDEX intents_subject ON intents (subject, id);
  CREATE INDEX intents_tx ON intents (tx_hash) WHERE tx_hash IS NOT NULL;

  ALTER TABLE transactions ADD COLUMN gapped INTEGER NOT NULL DEFAULT 0;
  -- The cursor moved past blocks without a look for these in them: only nodes can say what became of them.
  UPDATE transactions SET gapped = 1;
  `,
  `
  CREATE TABLE orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id TEXT NOT NULL UNIQUE,
    spec TEXT NOT NULL,
    most TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    our_price TEXT,
    outcome TEXT,
    how TEXT CHECK (how IN ('leased', 'closed', 'unknown')),
    winner TEXT,
    winner_price TEXT,
    end_height INTEGER,
    ended_at INTEGER,
    CHECK ((how IS NULL) = (ended_at IS NULL))
  ) STRICT;
  CREATE INDEX orders_open ON orders (id) WHERE ended_at IS NULL;
  CREATE INDEX orders_bid ON orders (id) WHERE our_price IS NOT NULL AND outcome IS NULL;
  CREATE INDEX orders_ended ON orders (ended_at) WHERE ended_at IS NOT NULL;

  CREATE TABLE switches (
    name TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    since INTEGER NOT NULL,
    from_at INTEGER
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- A manifest goes with its lease now, so none of them has an end to be kept beyond.
  CREATE TABLE next_manifests (
    lease_id TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    body TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    withdrawn_at INTEGER,
    refusal TEXT,
    deployed_version TEXT,
    deployed_body TEXT,
    CHECK ((deployed_version IS NULL) = (deployed_body IS NULL))
  ) STRICT, WITHOUT ROWID;
  INSERT INTO next_manifests (lease_id, version, body, received_at)
    SELECT lease_id, version, body, received_at FROM manifests WHERE closed_at IS NULL;
  DROP TABLE manifests;
  ALTER TABLE next_manifests RENAME TO manifests;
  `,
  `
  -- Nobody has written to the ledger so far.
  DROP TABLE ledger;
  CREATE TABLE ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('accrued', 'withdrawn', 'fee', 'deposit', 'refund')),
    subject TEXT NOT NULL,
    denom TEXT NOT NULL,
    amount TEXT NOT NULL,
    height INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX ledger_subject ON ledger (subject, id);
  CREATE INDEX ledger_at ON ledger (at);
  CREATE INDEX ledger_accrued ON ledger (subject, at) WHERE kind = 'accrued';

  CREATE TABLE ledger_totals (
    kind TEXT NOT NULL,
    denom TEXT NOT NULL,
    amount TEXT NOT NULL,
    PRIMARY KEY (kind, denom)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE payments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    lease_id TEXT NOT NULL UNIQUE,
    denom TEXT NOT NULL,
    rate TEXT NOT NULL,
    accrued TEXT NOT NULL,
    withdrawn TEXT NOT NULL,
    height INTEGER NOT NULL,
    at INTEGER NOT NULL,
    since INTEGER NOT NULL,
    spent_at INTEGER,
    withdrawn_at INTEGER,
    ended TEXT CHECK (ended IN ('closed', 'overdrawn', 'open')),
    ended_at INTEGER,
    CHECK ((ended IS NULL) = (ended_at IS NULL))
  ) STRICT;
  CREATE INDEX payments_running ON payments (id) WHERE ended_at IS NULL;
  CREATE INDEX payments_may_grow ON payments (id) WHERE ended IN ('overdrawn', 'open');
  CREATE INDEX payments_may_grow_since ON payments (height) WHERE ended IN ('overdrawn', 'open');
  CREATE INDEX payments_ended ON payments (ended_at) WHERE ended_at IS NOT NULL;

  CREATE TABLE deposits (
    bid_id TEXT PRIMARY KEY,
    denom TEXT NOT NULL,
    amount TEXT NOT NULL,
    height INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE unhealth (
    lease_id TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    observed_ms INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE occurrences (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    lease_id TEXT NOT NULL,
    key TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('cluster', 'ours')),
    type TEXT NOT NULL CHECK (type IN ('Normal', 'Warning')),
    reason TEXT NOT NULL,
    object TEXT NOT NULL,
    note TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    counted TEXT NOT NULL,
    UNIQUE (lease_id, key)
  ) STRICT;
  CREATE INDEX occurrences_lease ON occurrences (lease_id, last_at);
  CREATE INDEX occurrences_at ON occurrences (last_at);
  `,
  `
  CREATE TABLE tenants (
    owner TEXT PRIMARY KEY,
    key BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE certificates (
    owner TEXT NOT NULL,
    serial TEXT NOT NULL,
    der BLOB NOT NULL,
    PRIMARY KEY (owner, serial)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE occurrences ADD COLUMN reporting_controller TEXT NOT NULL DEFAULT '';
  ALTER TABLE occurrences ADD COLUMN reporting_instance TEXT NOT NULL DEFAULT '';
  `,
  `
  CREATE TABLE conditions (
    type TEXT NOT NULL,
    subject TEXT NOT NULL,
    message TEXT NOT NULL,
    since INTEGER NOT NULL,
    told INTEGER NOT NULL,
    PRIMARY KEY (type, subject)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE files (
    path TEXT PRIMARY KEY,
    text TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
];

/** Takes the steps that are missing, each whole or not at all. */
export function migrate(connection: Connection, from: number, boundary: Boundary, steps = migrations): void {
  for (const [index, step] of [...steps.entries()].slice(from)) {
    const version = index + 1;
    connection.exec("BEGIN IMMEDIATE");
    try {
      connection.exec(`${step}; PRAGMA user_version = ${version}`);
      boundary.cross("journal", `migration ${version} commit:before`);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
    boundary.cross("journal", `migration ${version} commit:after`);
  }
}
