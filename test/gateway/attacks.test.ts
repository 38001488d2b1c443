/**
 * The gateway of `akash-provider run` under one attack after the other: the process stays small, and a tenant is answered while
 * each of them is open. `npm run test:long` sends small ones; `npm run soak` large ones, and then the answers are quick too.
 */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { realClock } from "../../src/runtime/clock.ts";
import { grpcCodes } from "../../src/runtime/grpc/grpc-status.ts";
import { createOwner } from "../support/owner.ts";
import { runs, soaking } from "../support/runs.ts";
import { openStream } from "../support/stages/stream-stage.ts";
import { thorough } from "../support/thorough.ts";
import { type AttackStage, leaseDseq, startAttackStage } from "./attack-stage.ts";
import type { AttackName, Order, Target } from "./attacker.ts";

/** How many connections, streams or calls. */
const attacks: readonly [attack: AttackName, quick: number, many: number][] = [
  ["headersWithoutBody", 8, 300],
  ["longPaths", 8, 256],
  ["upgradesWithBody", 8, 128],
  ["unmetExpectations", 8, 64],
  ["largeGrpcHeaders", 64, 512],
  ["compressedMessages", 64, 2_048],
  ["compressedOfUnknown", 64, 1_024],
  ["cancelledCalls", 8, 128],
  ["unfinishedMessages", 8, 256],
  ["oneByteRecords", 1, 32],
  ["oneByteFragments", 2, 128],
  ["unfinishedFrames", 8, 128],
  ["pings", 2, 32],
  ["emptyFrames", 2, 32],
  ["http2Pings", 2, 32],
  ["http2Streams", 2, 256],
  ["streamsToNoLease", 128, 512],
  ["idleHttp2", 16, 2_048],
  ["unansweredRequests", 16, 1_280],
  ["halfOpen", 100, 600],
];

/** What the process takes in all, and how late an answer may be. */
const most = { peakMb: 300, answerMs: 1_000 };
/** Answers while each attack is open. */
const answers = runs(2, 50);

const owner = createOwner();
let stage: AttackStage;
let order: (order: Order) => Promise<void>;

before(async () => {
  if (!thorough) return;
  stage = await startAttackStage(owner);
  const { restPort, grpcPort, attacker } = stage;
  const leasePath = `/lease/${leaseDseq}/1/1`;
  const target: Target = { restPort, grpcPort, leasePath, authorization: attacker.bearer() };
  const child = fork(join(import.meta.dirname, "attacker.ts"), [JSON.stringify(target)]);
  owner.after(() => void child.kill("SIGKILL"));
  order = async (sent) => {
    child.send(sent);
    let done: Order;
    do [done] = (await once(child, "message")) as [Order];
    while (done.attack !== sent.attack);
  };
});
after(() => owner[Symbol.asyncDispose]());

async function checkAnswer(t: TestContext): Promise<void> {
  const took = async (answer: () => Promise<unknown>) => {
    const sentMs = realClock.monotonicMs();
    await answer();
    return realClock.monotonicMs() - sentMs;
  };
  const tookMs = await took(async () => {
    const { status, body } = await stage.leaseStatus();
    assert.equal(status, 200, body);
  });
  const grpcMs = await took(async () => assert.equal(await stage.grpcLeaseStatus(), grpcCodes.OK));
  const peakMb = stage.peakMb();
  assert.ok(peakMb !== undefined, "the provider has ended");
  const answerMs = Math.max(tookMs, grpcMs);
  t.diagnostic(`${peakMb.toFixed(0)} MB, ${answerMs.toFixed(0)} ms`);
  assert.ok(peakMb < most.peakMb, `the process took ${peakMb} MB`);
  // Others use the machine of a small run.
  if (soaking) assert.ok(answerMs < most.answerMs, `answered after ${tookMs} ms, over gRPC after ${grpcMs} ms`);
}

for (const [attack, quick, many] of thorough ? attacks : [])
  test(`attack ${attack} → a tenant is still answered`, async (t) => {
    let isSent = false;
    const sent = order({ attack, size: runs(quick, many) }).then(() => {
      isSent = true;
    });
    try {
      for (let left = answers; left > 0 || !isSent; left -= 1) await checkAnswer(t);
      await sent;
      if (attack === "streamsToNoLease") await checkSlots();
    } finally {
      await order({});
    }
    await checkAnswer(t);
  });

/** The account whose streams they were has slots left. */
async function checkSlots(): Promise<void> {
  const path = `/lease/${leaseDseq}/1/1/logs`;
  const { answer, socket } = await openStream(stage.restPort, { path, authorization: stage.attacker.bearer() });
  assert.equal(answer?.status, 101, answer?.body);
  socket.destroy();
}
