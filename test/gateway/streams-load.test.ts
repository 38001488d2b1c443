import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import type { SlowReading } from "../../bench/slow-readers.ts";
import { thorough } from "../support/thorough.ts";

const [logs, shells] = [500, 200];
/** Some 190 are usual, and an allocator keeps ten more or less from run to run; without bounds of ours it was over 400. */
const mostMb = 250;

/**
 * A network of its own, with packets and buffers of an ordinary line. On loopback the kernel takes up to 4 MB for each reader,
 * until its memory for sockets is used up.
 */
const line = [
  "ip link set lo up mtu 1500",
  "echo 4096 16384 262144 >/proc/sys/net/ipv4/tcp_wmem",
  "echo 4096 65536 262144 >/proc/sys/net/ipv4/tcp_rmem",
].join(" && ");
const ownNetwork = ["unshare", "--net", "sh", "-c"] as const;

async function hold(t: TestContext): Promise<void> {
  const reading = await readOnce(t);
  assert.deepEqual([reading.open, reading.failure], [logs + shells, undefined]);
  assert(reading.addedMb <= mostMb, `${reading.addedMb} MB more`);
}

async function readOnce(t: TestContext): Promise<SlowReading> {
  const program = [process.execPath, join(import.meta.dirname, "../../bench/slow-load.ts"), `${logs}`, `${shells}`];
  const [unshare, ...how] = ownNetwork;
  const mayHaveOne = spawnSync(unshare, [...how, line]).status === 0;
  const [command = "", ...args] = mayHaveOne ? [unshare, ...how, `${line} && exec "$@"`, "sh", ...program] : program;
  const { stdout } = await promisify(execFile)(command, args);
  t.diagnostic(`${mayHaveOne ? "on an ordinary line" : "on loopback"}: ${stdout.trim()}`);
  return JSON.parse(stdout);
}

// It starts four processes and holds the streams for two pings.
if (thorough) test("hundreds of slow readers → little memory, and others are answered meanwhile", hold);
