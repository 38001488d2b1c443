/** How much memory `npm start` takes while it runs by itself: the whole market on a laptop. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { realClock, sleep } from "../src/runtime/clock.ts";
import { report, round, size } from "./report.ts";

/** There is no baseline, so the bar is absolute. */
const bars = { rssMb: ["≤", 150] } as const;
/** Long enough for several stories, and for the heap to find its size. */
const warmUpMs = size(20_000, 3_000);
const readings = size(10, 2);
const everyMs = 1_000;

export async function bench(): Promise<void> {
  const root = join(import.meta.dirname, "..");
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  // The very command of `npm start`, without npm in between.
  const [, ...args] = String(scripts.start).split(" ");
  const child = spawn(process.execPath, [...args, "--no-live"], { cwd: root, stdio: "ignore" });
  const closed = once(child, "close");
  const rows: { reading: number; rssMb: number }[] = [];
  try {
    await sleep(realClock, warmUpMs);
    for (let reading = 1; reading <= readings; reading++) {
      rows.push({ reading, rssMb: residentMb(child.pid ?? 0) });
      await sleep(realClock, everyMs);
    }
  } finally {
    child.kill("SIGTERM");
    await closed;
  }
  assert.equal(child.exitCode, 0, "npm start did not end well");
  const rssMb = Math.max(...rows.map((row) => row.rssMb));
  report(`idle: npm start after ${warmUpMs / 1_000} s`, rows, { bench: "idle", rssMb }, bars);
}

function residentMb(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return round(Number(kilobytes) / 1_024, 1);
}
