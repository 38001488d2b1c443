import assert from "node:assert/strict";
import { test } from "node:test";
import type { Owner } from "../../../test/owner.ts";
import { box, simulateBox } from "../../../test/simulated-kube.ts";
import { createVirtualClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** A container that says "line 0", "line 1" and so on, three times a second, for ten seconds. */
async function stage(owner: Owner) {
  const clock = createVirtualClock();
  const lines = Array.from({ length: 30 }, (_, n) => `line ${n}`);
  const cluster = await simulateBox(owner, { clock, lines, lineEveryMs: 333, exitAfterMs: 10_000 });
  const kube = cluster.connect("akash-provider");
  const seen: string[] = [];
  async function follow(signal?: AbortSignal): Promise<void> {
    for await (const { text } of kube.logs(box, { follow: true, ...(signal && { signal }) })) seen.push(text);
  }
  return { clock, cluster, kube, lines, seen, follow };
}

test("a log that is followed goes on after every kind of interruption, with no line left out and none twice", async (t) => {
  const { clock, cluster, lines, seen, follow } = await stage(t);
  const reading = follow();
  await clock.advance(1_500);
  assert.deepEqual(seen, lines.slice(0, seen.length));
  cluster.faults.cutLogs();
  await clock.advance(2_000);
  // A server that stops ends the stream as politely as a container does.
  cluster.faults.endLogs();
  await clock.advance(2_000);
  cluster.faults.refuse({ status: 500, path: "/log" });
  cluster.faults.endLogs();
  await clock.advance(10_000);
  await reading;
  assert.deepEqual(seen, lines);
});

test("following ends with its signal", async (t) => {
  const { clock, seen, follow } = await stage(t);
  const stop = new AbortController();
  const reading = follow(stop.signal);
  await clock.advance(1_000);
  stop.abort();
  await reading;
  const { length } = seen;
  assert.ok(length > 0);
  await clock.advance(5_000);
  assert.equal(seen.length, length);
});

test("a pod that is not there has no log, and that is told", async (t) => {
  const { kube } = await stage(t);
  const lines = kube.logs({ namespace: "lease", name: "nobody" }, { follow: true })[Symbol.asyncIterator]();
  await assert.rejects(lines.next(), (thrown) => ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND"));
});
