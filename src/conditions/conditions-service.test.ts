import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { advanceUntilSettled } from "../../test/support/advance-until-settled.ts";
import { eventually } from "../../test/support/eventually.ts";
import { memoryFolder } from "../../test/support/folder.ts";
import { createSeededRandom } from "../../test/support/seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../../test/support/virtual-clock.ts";
import { openJournal } from "../journal/open.ts";
import { type Condition, condition } from "../runtime/condition.ts";
import { createLifecycle } from "../runtime/lifecycle.ts";
import { silentLog } from "../runtime/log.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { queueBackoffMostMs } from "../runtime/queue.ts";
import { createRedactor } from "../runtime/redact.ts";
import { conditionsLookMs, createConditionsService } from "./conditions-service.ts";
import { conditionSettleMs, conditionsHeld, notifyAnswerMs } from "./held-conditions.ts";

const low = condition("WalletLow", "3uakt below warn-balance", { subject: "uakt" });
const old = condition("InventoryOld", "silent for 125 s", { reason: "Silent" });

type Received = { readonly type: string; readonly condition: string; readonly message: string; readonly since: string };

/** Somebody who is notified; how it answers can be changed. */
async function startReceiver(t: TestContext) {
  const received: Received[] = [];
  const paths: string[] = [];
  const here = {
    received,
    paths,
    answer: (response: ServerResponse): unknown => response.writeHead(204).end(),
    url: "",
  };
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    paths.push(request.url ?? "");
    try {
      received.push(JSON.parse(text));
      here.answer(response);
    } catch {
      response.writeHead(400).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  here.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=hidden-word`;
  return here;
}

interface Stage {
  readonly clock: VirtualClock;
  readonly said: Condition[];
  readonly receiver?: string;
  readonly dir: ReturnType<typeof memoryFolder>;
}

async function startLife(t: TestContext, { clock, said, receiver, dir }: Stage) {
  const { journal } = await openJournal({ dir, clock, log: silentLog });
  const redactor = createRedactor();
  redactor.register("a-secret-word");
  const world = { running: new Set(["balance"]), isComplete: true };
  const service = createConditionsService({
    gather: () => ({ conditions: said.map((each) => ({ ...each, service: "balance" })), ...world }),
    provider: "akash1provider",
    receiver: receiver === undefined ? undefined : { url: receiver, redact: redactor.text },
    journal: Promise.resolve(journal),
    ...{ clock, random: createSeededRandom(1), log: silentLog },
  });
  const stopping = new AbortController();
  const running = createLifecycle({ services: [service], clock, log: silentLog }).run(stopping.signal);
  let isOver = false;
  async function stop(): Promise<void> {
    if (isOver) return;
    isOver = true;
    stopping.abort();
    await advanceUntilSettled(clock, running);
    await journal.close();
  }
  t.after(stop);
  await clock.settle();
  return { service, world, stop };
}

async function pass(clock: VirtualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += conditionsLookMs) await clock.advance(conditionsLookMs);
}

const settledMs = conditionSettleMs + 2 * conditionsLookMs;

test("a condition is posted once when it has settled, and once when it is over", async (t) => {
  const receiver = await startReceiver(t);
  const [clock, said] = [createVirtualClock(), [low]];
  await startLife(t, { clock, said, receiver: receiver.url, dir: memoryFolder(t) });
  await pass(clock, settledMs);
  await eventually("it is raised", () => receiver.received.length === 1);
  said.splice(0, 1, { ...low, message: "4uakt below warn-balance" });
  await pass(clock, settledMs);
  said.splice(0);
  await pass(clock, settledMs);
  await eventually("it is cleared", () => receiver.received.length === 2);
  assert.deepEqual(receiver.received, [
    {
      ...{ type: "raised", condition: "WalletLow", subject: "uakt", message: "3uakt below warn-balance" },
      ...{ status: "True", reason: "WalletLow" },
      ...{ since: "2026-01-01T00:00:05.000Z", provider: "akash1provider" },
    },
    {
      ...{ type: "cleared", condition: "WalletLow", subject: "uakt", message: "4uakt below warn-balance" },
      ...{ status: "False", reason: "WalletLow" },
      ...{ since: "2026-01-01T00:00:05.000Z", provider: "akash1provider" },
    },
  ]);
});

test("what comes and goes within a moment is told to nobody", async (t) => {
  const receiver = await startReceiver(t);
  const [clock, said] = [createVirtualClock(), [] as Condition[]];
  const { service } = await startLife(t, { clock, said, receiver: receiver.url, dir: memoryFolder(t) });
  for (let round = 0; round < 5; round++) {
    said.push(old);
    await pass(clock, conditionsLookMs);
    said.splice(0);
    await pass(clock, conditionsLookMs);
  }
  assert.deepEqual([service.status?.(), receiver.received], [[], []]);
});

test("a receiver that rejects, sends us elsewhere or hangs is asked again until it has taken what holds then", async (t) => {
  const receiver = await startReceiver(t);
  const [clock, said] = [createVirtualClock(), [low, old]];
  let asked = 0;
  const elsewhere = (response: ServerResponse) => response.writeHead(302, { location: `${receiver.url}2` }).end();
  const answers = [
    (response: ServerResponse) => response.writeHead(500).end(),
    elsewhere,
    // It takes the request and never says a word.
    () => undefined,
  ];
  receiver.answer = (response) => answers[asked++ % answers.length]?.(response);
  const { service } = await startLife(t, { clock, said, receiver: receiver.url, dir: memoryFolder(t) });
  await pass(clock, settledMs);
  await eventually("each was tried", async () => {
    await clock.advance(notifyAnswerMs);
    return asked >= 6;
  });
  assert.match(service.detail?.() ?? "", /2 condition\(s\); notifications fail: /);
  assert.ok(receiver.paths.every((path) => path === "/hook?key=hidden-word"));
  // One of them is over before anybody heard of it, so nobody ever does.
  said.splice(said.indexOf(low), 1);
  await pass(clock, settledMs);
  receiver.received.splice(0);
  receiver.answer = (response) => response.writeHead(200).end("thank you");
  await eventually("the other is taken", async () => {
    await clock.advance(queueBackoffMostMs);
    return receiver.received.length > 0;
  });
  assert.deepEqual(
    receiver.received.map(({ type, condition }) => `${type} ${condition}`),
    ["raised InventoryOld"],
  );
  assert.equal(service.detail?.(), "1 condition(s)");
});

test("what comes again while it is being cleared is raised again", async (t) => {
  const receiver = await startReceiver(t);
  const [clock, said] = [createVirtualClock(), [low]];
  await startLife(t, { clock, said, receiver: receiver.url, dir: memoryFolder(t) });
  await pass(clock, settledMs);
  await eventually("it is raised", () => receiver.received.length === 1);
  // The answer comes late.
  let take = (): unknown => undefined;
  receiver.answer = (response) => {
    take = () => response.writeHead(204).end();
  };
  said.splice(0);
  await pass(clock, conditionSettleMs);
  await eventually("it is being cleared", () => receiver.received.length === 2);
  said.push(low);
  await clock.advance(conditionsLookMs);
  receiver.answer = (response) => response.writeHead(204).end();
  take();
  await eventually("it is raised again", async () => {
    await clock.advance(conditionsLookMs);
    return receiver.received.length === 3;
  });
  assert.deepEqual(
    receiver.received.map(({ type }) => type),
    ["raised", "cleared", "raised"],
  );
});

test("no secret is posted or told, neither one of ours nor the receiver's own", async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(403).end();
  const [clock, said] = [createVirtualClock(), [{ ...old, message: "refused: a-secret-word" }]];
  const { service } = await startLife(t, { clock, said, receiver: receiver.url, dir: memoryFolder(t) });
  await pass(clock, settledMs);
  await eventually("it is asked", () => receiver.received.length > 0);
  assert.equal(receiver.received[0]?.message, "refused: [redacted]");
  await eventually("it failed", () => /the receiver answered 403$/.test(service.detail?.() ?? ""));
  assert.doesNotMatch(service.detail?.() ?? "", /hidden-word/);
});

test("what is posted is JSON whatever is taken out of it", async (t) => {
  const receiver = await startReceiver(t);
  const key = '-----BEGIN EC PRIVATE KEY-----\nMHcC"AQ';
  const [clock, said] = [createVirtualClock(), [{ ...low, message: `cannot read: ${key}` }]];
  await startLife(t, { clock, said, receiver: receiver.url, dir: memoryFolder(t) });
  await pass(clock, settledMs);
  await eventually("it is raised", () => receiver.received.length === 1);
  const { message, since } = receiver.received[0] ?? {};
  assert.deepEqual([message, since], ["cannot read: [redacted]", "2026-01-01T00:00:05.000Z"]);
});

test("what held before a restart is not raised again, keeps its time, and is cleared once everything runs and does not say it", async (t) => {
  const receiver = await startReceiver(t);
  const [clock, said, dir] = [createVirtualClock(), [low], memoryFolder(t)];
  const first = await startLife(t, { clock, said, receiver: receiver.url, dir });
  await pass(clock, settledMs);
  await eventually("it is raised", () => receiver.received.length === 1);
  await clock.settle();
  const before = first.service.status?.();
  await first.stop();
  said.splice(0);

  const second = await startLife(t, { clock, said, receiver: receiver.url, dir });
  second.world.isComplete = false;
  await pass(clock, 10 * settledMs);
  const unseen = { status: "Unknown", reason: "NotSeenSinceRestart" };
  assert.deepEqual(
    second.service.status?.(),
    before?.map((each) => ({ ...each, ...unseen })),
  );
  second.world.isComplete = true;
  await pass(clock, settledMs);
  await eventually("it is cleared", () => receiver.received.length === 2);
  assert.deepEqual(
    receiver.received.map(({ type, since }) => [type, since]),
    [
      ["raised", "2026-01-01T00:00:05.000Z"],
      ["cleared", "2026-01-01T00:00:05.000Z"],
    ],
  );
  assert.deepEqual(second.service.status?.(), []);
});

test("what began in this life is over when its own service runs and does not say it, whatever else has not started", async (t) => {
  const receiver = await startReceiver(t);
  const [clock, said] = [createVirtualClock(), [low]];
  const { service, world } = await startLife(t, { clock, said, receiver: receiver.url, dir: memoryFolder(t) });
  Object.assign(world, { running: new Set(), isComplete: false });
  await pass(clock, settledMs);
  await eventually("it is raised", () => receiver.received.length === 1);
  said.splice(0);
  await pass(clock, 10 * settledMs);
  assert.equal(service.status?.()?.length, 1, "a service that does not run says nothing by its silence");
  world.running.add("balance");
  await pass(clock, settledMs);
  await eventually("it is cleared", () => receiver.received.length === 2);
  assert.deepEqual(service.status?.(), []);
});

test("what nobody was told of before a restart is told when it is said again, and never where it is not", async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(500).end();
  const [clock, said, dir] = [createVirtualClock(), [low, old], memoryFolder(t)];
  const first = await startLife(t, { clock, said, receiver: receiver.url, dir });
  await pass(clock, settledMs);
  await eventually("it is asked", () => receiver.received.length > 0);
  await first.stop();
  receiver.received.splice(0);
  receiver.answer = (response) => response.writeHead(204).end();
  said.splice(0, 1);

  const second = await startLife(t, { clock, said, receiver: receiver.url, dir });
  await pass(clock, 4 * settledMs);
  await eventually("the other is told", () => receiver.received.length > 0);
  await clock.settle();
  assert.deepEqual(
    receiver.received.map(({ type, condition, since }) => [type, condition, since]),
    [["raised", "InventoryOld", "2026-01-01T00:00:05.000Z"]],
  );
  assert.deepEqual(
    second.service.status?.()?.map(({ type }) => type),
    ["InventoryOld"],
  );
});

test("without a receiver conditions are held, measured and answered all the same, and never more than a bound", async (t) => {
  const clock = createVirtualClock();
  const said = Array.from({ length: 2 * conditionsHeld }, (_, at) => ({ ...low, subject: `${at}` }));
  const { service } = await startLife(t, { clock, said, dir: memoryFolder(t) });
  await pass(clock, settledMs);
  const metrics = createMetrics();
  service.measure?.(metrics);
  assert.match(
    await metrics.text(),
    new RegExp(`^akash_provider_conditions\\{type="WalletLow"\\} ${conditionsHeld}$`, "m"),
  );
  const answer = service.controlHandlers?.["conditions"]?.({}, new AbortController().signal) as Condition[];
  assert.equal(answer.length, conditionsHeld);
  said.splice(0);
  await pass(clock, settledMs);
  assert.deepEqual(service.status?.(), []);
});
