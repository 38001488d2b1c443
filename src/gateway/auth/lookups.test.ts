import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../../test/support/virtual-clock.ts";
import { sleep } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import {
  createLookups,
  gatewayLookupLeastMs,
  gatewayLookupMs,
  gatewayLookups,
  gatewayLookupsPerClient,
  gatewayLookupsPerClientAtOnce,
  gatewayLookupsWaiting,
} from "./lookups.ts";

const answerMs = 30;
const silent = { code: "AKP_CHAIN_SILENT" };

function onStage() {
  const clock = createVirtualClock();
  const lookups = createLookups(clock);
  const ends: { readonly what: string; readonly how: string; readonly afterMs: number }[] = [];
  /** As a node answers. */
  const answer = async () => {
    await sleep(clock, answerMs);
    return "answer";
  };
  const never = async (signal: AbortSignal) => {
    await untilAborted(signal);
    throw signal.reason;
  };
  function ask(what: string, source: string, look: (signal: AbortSignal) => Promise<unknown> = answer): void {
    const fromMs = clock.monotonicMs();
    const note = (how: string) => ends.push({ what, how, afterMs: clock.monotonicMs() - fromMs });
    const end = lookups.run(what, source, look).then(String, (thrown) => ProviderError.from(thrown).code);
    void end.then(note);
  }
  return { clock, lookups, ends, ask, answer, never };
}

test("look-up flood from one source → another source is served, the flood is answered or rejected in time", async () => {
  const { clock, lookups, ends, ask } = onStage();
  for (let number = 0; number < 600; number += 1) ask(`flood ${number}`, "192.0.2.1");
  ask("honest", "192.0.2.2");
  await clock.advance(answerMs);
  assert.deepEqual(
    ends.find(({ what }) => what === "honest"),
    { what: "honest", how: "answer", afterMs: answerMs },
  );
  await clock.advance(gatewayLookupMs);
  assert.equal(ends.length, 601);
  assert.ok(ends.every(({ afterMs }) => afterMs <= gatewayLookupMs));
  const rejectedAtOnce = ends.filter(({ how, afterMs }) => how === "AKP_CHAIN_SILENT" && afterMs === 0).length;
  assert.equal(rejectedAtOnce, 600 - gatewayLookupsPerClient - gatewayLookupsPerClientAtOnce);
  assert.equal(lookups.counts.waiting, 0);
});

test("look-up rate per source is limited, however fast nodes answer", async () => {
  const { clock, lookups, ask } = onStage();
  for (let number = 0; number < 50; number += 1) ask(`flood ${number}`, "192.0.2.1", async () => "answer");
  await clock.advance(gatewayLookupLeastMs - 1);
  assert.equal(lookups.counts.sent, gatewayLookupsPerClientAtOnce);
  await clock.advance(1);
  assert.equal(lookups.counts.sent, 2 * gatewayLookupsPerClientAtOnce);
});

test("flood from hundreds of sources → one more is served before its timeout", async () => {
  const { clock, lookups, ends, ask } = onStage();
  for (let number = 0; number < 3_000; number += 1)
    ask(`flood ${number}`, `10.0.${(number % 300) >> 8}.${(number % 300) & 255}`);
  ask("honest", "192.0.2.2");
  assert.equal(lookups.counts.sent, gatewayLookups);
  await clock.advance(gatewayLookupMs);
  assert.equal(ends.find(({ what }) => what === "honest")?.how, "answer");
});

test("full queue → a new source may queue one look-up, not two", async () => {
  const { clock, lookups, ends, ask } = onStage();
  const places = 100;
  for (let number = 0; number < places * gatewayLookupsPerClient; number += 1)
    ask(`flood ${number}`, `10.0.0.${number % places}`);
  ask("honest", "192.0.2.2");
  ask("honest too", "192.0.2.2");
  assert.ok(lookups.counts.waiting <= gatewayLookupsWaiting + places);
  await clock.advance(gatewayLookupMs);
  assert.equal(ends.find(({ what }) => what === "honest")?.how, "answer");
  assert.deepEqual(ends.find(({ what }) => what === "honest too")?.how, silent.code);
});

test("equal look-ups share one result", async () => {
  const { clock, lookups, ends, ask } = onStage();
  for (const source of ["192.0.2.1", "192.0.2.1", "192.0.2.2"]) ask("the same", source);
  await clock.advance(answerMs);
  assert.deepEqual([lookups.counts.sent, ends.map(({ how }) => how)], [1, ["answer", "answer", "answer"]]);
});

test("look-up flood does not delay a lease owner", async () => {
  const { clock, ends, ask } = onStage();
  for (let number = 0; number < 40; number += 1) ask(`flood ${number}`, "192.0.2.1");
  ask("victim", "192.0.2.1");
  ask("victim", "192.0.2.2");
  await clock.advance(answerMs);
  assert.deepEqual(
    ends.filter(({ what }) => what === "victim").map(({ how }) => how),
    ["answer", "answer"],
  );
});

test("chain does not answer → each caller fails after its own timeout", async () => {
  const { clock, lookups, ends, ask, never } = onStage();
  for (let number = 0; number < 100; number += 1) ask(`${number}`, `192.0.2.${number}`, never);
  await clock.advance(1_000);
  ask("0", "192.0.2.200", never);
  await clock.advance(2 * gatewayLookupMs);
  assert.equal(ends.length, 101);
  assert.ok(ends.every(({ how, afterMs }) => how === "AKP_CHAIN_SILENT" && afterMs <= gatewayLookupMs));
  await clock.advance(gatewayLookupMs);
  assert.deepEqual([lookups.counts.waiting, clock.pendingTimers], [0, 0]);
});

test("chain errors → AKP_CHAIN_SILENT without node names; other errors are rethrown", async () => {
  const { lookups } = onStage();
  const unreachable = new ProviderError("AKP_CHAIN_UNREACHABLE", { node: "http://10.0.0.7", reason: "gone" });
  await assert.rejects(
    lookups.run("a", "", () => Promise.reject(unreachable)),
    (error: ProviderError) => {
      assert.equal(error.code, silent.code);
      assert.doesNotMatch(error.message, /10\.0\.0\.7/);
      return true;
    },
  );
  await assert.rejects(
    lookups.run("b", "", () => Promise.reject(new TypeError("ours"))),
    /ours/,
  );
});
