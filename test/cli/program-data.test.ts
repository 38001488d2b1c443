/** The provider's data directory from outside: in use, damaged, full or left by a killed process. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../support/folder.ts";
import { startProgram, startProvider } from "../support/program.ts";
import { cannotMount, fillUp, mountDisk } from "../support/small-disk.ts";

test("a data directory that cannot be made is rejected with its path and exit code 3", async (t) => {
  const file = join(temporaryFolder(t), "file");
  writeFileSync(file, "in the way");
  const program = startProvider(t, ["--data-dir", join(file, "data")]);
  assert.equal(await program.ended(), 3, program.said);
  assert.match(program.said, /data directory .*file\/data cannot be written[\s\S]*--data-dir/);
  assert.equal(readFileSync(file, "utf8"), "in the way");
});

test("a second provider on the same data directory is rejected and told who holds it", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  const first = startProvider(t, ["--data-dir", dataDir]);
  await first.says(/service=bus state=running/);
  const second = startProvider(t, ["--data-dir", dataDir]);
  assert.equal(await second.ended(), 3, second.said);
  assert.match(second.said, /another akash-provider already uses .*process \d+ on/);
  first.signal("SIGTERM");
  assert.equal(await first.ended(), 0);
});

test("a provider that was killed leaves its socket, and the next one takes its place", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  const socket = join(dataDir, "control.sock");
  const first = startProvider(t, ["--data-dir", dataDir]);
  await first.says(/service=control state=running/);
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  first.signal("SIGKILL");
  assert.equal(await first.ended(), "SIGKILL");
  assert.ok(statSync(socket).isSocket());
  const second = startProvider(t, ["--data-dir", dataDir]);
  await second.says(/service=control state=running/);
  // It has no cluster and bids on nothing; the journal can be read all the same.
  const asked = startProgram(t, ["orders", "--data-dir", dataDir]);
  assert.equal(await asked.ended(), 0, asked.said);
  assert.match(asked.said, /has no answer to orders.*; this is from its journal\nno order has been seen yet/);
  second.signal("SIGTERM");
  assert.equal(await second.ended(), 0);
  assert.ok(!existsSync(socket));
});

test("a damaged journal is set aside and reported, and the start goes on", async (t) => {
  const dataDir = join(temporaryFolder(t), "data");
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, "journal.db"), "this is no database");
  const program = startProvider(t, ["--data-dir", dataDir]);
  await program.says(/service=bus state=running/);
  assert.match(program.said, /was damaged .* set aside as .*journal\.damaged-/);
  const kept = readdirSync(dataDir).find((name) => name.startsWith("journal.damaged-")) ?? "";
  assert.equal(readFileSync(join(dataDir, kept), "utf8"), "this is no database");
  program.signal("SIGINT");
  assert.equal(await program.ended(), 0);
});

test("a full disk ends the start with what to do and exit code 3, and loses nothing", {
  skip: cannotMount,
}, async (t) => {
  const disk = mountDisk(t);
  fillUp(disk);
  const program = startProvider(t, ["--data-dir", join(disk, "data")]);
  assert.equal(await program.ended(), 3, program.said);
  assert.match(program.said, /the disk that holds .* is full\n {2}→ Free some room/);
});
