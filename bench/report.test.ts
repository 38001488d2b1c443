import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { smokeVariable } from "./report.ts";

/** A benchmark that misses two of its bars. */
const program = `
  const { report } = await import(${JSON.stringify(join(import.meta.dirname, "report.ts"))});
  const line = { bench: "sample", ratio: 0.6, ms: 9, flat: false };
  report("sample", [], line, { ratio: ["≥", 0.7], ms: ["≤", 10], flat: ["=", true] });
`;

function runSample(env: object) {
  const options = ["--input-type=module", "--eval", program];
  return spawnSync(process.execPath, options, { encoding: "utf8", env: { ...process.env, ...env } });
}

function lastLineOf(text: string): unknown {
  return JSON.parse(text.trim().split("\n").at(-1) ?? "");
}

test("a benchmark that misses a bar prints its figures, names what it missed and fails", () => {
  const { status, stdout, stderr } = runSample({});
  assert.equal(status, 1);
  assert.match(stdout, /^sample, ratio ≥ 0.7, ms ≤ 10, flat = true$/m);
  assert.deepEqual(lastLineOf(stdout), { bench: "sample", ratio: 0.6, ms: 9, flat: false });
  assert.equal(stderr, "ratio is 0.6, not ≥ 0.7\nflat is false, not = true\n");
});

test("a smoke run checks no bar and says in its JSON line that it is one", () => {
  const { status, stdout, stderr } = runSample({ [smokeVariable]: "1" });
  assert.deepEqual([status, stderr], [0, ""]);
  assert.deepEqual(lastLineOf(stdout), { bench: "sample", ratio: 0.6, ms: 9, flat: false, smoke: true });
});
