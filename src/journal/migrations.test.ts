import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createCountingBoundary } from "../../test/support/counting-boundary.ts";
import { temporaryFolder } from "../../test/support/folder.ts";
import { openBoundary } from "../runtime/boundary.ts";
import { type Connection, connect } from "./connection.ts";
import { examine } from "./examine.ts";
import { applicationId, migrate, migrations } from "./migrations.ts";

const steps = [
  `PRAGMA application_id = ${applicationId}; CREATE TABLE first (a INTEGER) STRICT`,
  "CREATE TABLE second (a INTEGER) STRICT; INSERT INTO first VALUES (1), (2)",
  "INSERT INTO second SELECT a * 10 FROM first; DROP TABLE first",
];

test("every older version ends up the same as a new file", (t) => {
  const folder = temporaryFolder(t);
  const schemas = steps.map((_, older) => {
    const path = join(folder, `${older}.db`);
    withConnection(path, (connection) => migrate(connection, 0, openBoundary, steps.slice(0, older)));
    assert.equal(examine(path, steps.length), older);
    withConnection(path, (connection) => migrate(connection, older, openBoundary, steps));
    assert.equal(examine(path, steps.length), steps.length);
    return withConnection(path, (connection) => connection.all("SELECT sql FROM sqlite_schema")());
  });
  for (const schema of schemas) assert.deepEqual(schema, schemas[0]);
});

test("a step that fails or is cut short leaves the version before it whole", (t) => {
  const path = join(temporaryFolder(t), "journal.db");
  withConnection(path, (connection) => {
    const broken = [...steps.slice(0, 1), "CREATE TABLE second (a INTEGER); INSERT INTO nowhere VALUES (1)"];
    assert.throws(() => migrate(connection, 0, openBoundary, broken), /no such table: nowhere/);
    assert.throws(() => migrate(connection, 1, createCountingBoundary(1), steps), { name: "SimulatedCrash" });
  });
  assert.equal(examine(path, steps.length), 1);
  withConnection(path, (connection) => {
    assert.equal(connection.one("SELECT 1 FROM sqlite_schema WHERE name = 'second'")(), undefined);
    migrate(connection, 1, openBoundary, steps);
    assert.deepEqual(
      connection
        .all<{ a: number }>("SELECT a FROM second")()
        .map((row) => row.a),
      [10, 20],
    );
  });
});

test("the steps of the journal itself make the newest version", (t) => {
  const path = join(temporaryFolder(t), "journal.db");
  withConnection(path, (connection) => migrate(connection, 0, openBoundary));
  assert.equal(examine(path, migrations.length), migrations.length);
});

function withConnection<T>(path: string, use: (connection: Connection) => T): T {
  const connection = connect(path);
  try {
    return use(connection);
  } finally {
    connection.close();
  }
}

test("intents of the first version keep their numbers, and none of these is given again", (t) => {
  const path = join(temporaryFolder(t), "journal.db");
  const file =
    "INSERT INTO intents (what, subject, why, body, priority, state, filed_at) VALUES ('w', 's', 'w', '{}', 0, 'filed', 1)";
  withConnection(path, (connection) => {
    migrate(connection, 0, openBoundary, migrations.slice(0, 1));
    for (let count = 0; count < 3; count++) connection.exec(file);
    connection.exec("DELETE FROM intents WHERE id > 1");
    migrate(connection, 1, openBoundary);
    connection.exec(file);
    assert.deepEqual(
      connection
        .all<{ id: number; fee: string }>("SELECT id, fee FROM intents ORDER BY id")()
        .map((row) => ({ ...row })),
      [
        { id: 1, fee: "" },
        { id: 4, fee: "" },
      ],
    );
  });
});

test("blocks prove nothing about a transaction of the first version, which did not search blocks for it", (t) => {
  const path = join(temporaryFolder(t), "journal.db");
  withConnection(path, (connection) => {
    migrate(connection, 0, openBoundary, migrations.slice(0, 1));
    connection.exec(
      "INSERT INTO transactions (hash, chain_id, sender, bytes, first_height) VALUES ('AB', 'c-1', 'akash1a', x'00', 7)",
    );
    migrate(connection, 1, openBoundary);
    assert.equal(connection.one<{ gapped: number }>("SELECT gapped FROM transactions")()?.gapped, 1);
  });
});
