/**
 * An outbox in a process of its own, which files the work of a plan and is killed at a boundary. The chain lives in the
 * parent and is queried over the channel between the two. Arguments: the data directory, the seed, the kind of boundary
 * to die at and which of its crossings.
 */
import { createOutbox } from "../../src/chain/outbox/outbox.ts";
import type { Broadcaster } from "../../src/chain/tx/broadcaster.ts";
import { openJournal } from "../../src/journal/open.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createKillingBoundary } from "../support/boundary-kinds.ts";
import { sendSettings } from "../support/outbox-run.ts";
import { chainId, providerSigner } from "../support/stages/outbox-stage.ts";
import { type OutboxFixture, planOutbox, requestOf } from "./outbox-workload.ts";

export interface ChildQuestion {
  readonly id: number;
  readonly method: keyof Broadcaster | "fixture";
  readonly args: readonly unknown[];
}

export interface ChildEnd {
  readonly crossings: readonly string[];
}

export interface ParentAnswer {
  readonly id: number;
  readonly value: unknown;
}

const [dir = "", seed = "0", kind, nth] = process.argv.slice(2);
const waiting = new Map<number, (value: never) => void>();
let questions = 0;

process.on("message", ({ id, value }: ParentAnswer) => {
  waiting.get(id)?.(value as never);
  waiting.delete(id);
});

function askParent<T>(method: ChildQuestion["method"], ...args: unknown[]): Promise<T> {
  const id = questions++;
  return new Promise<T>((resolve) => {
    waiting.set(id, resolve);
    process.send?.({ id, method, args } satisfies ChildQuestion);
  });
}

const chain: Broadcaster = {
  head: () => askParent("head"),
  account: (address, atOrAbove) => askParent("account", address, atOrAbove),
  simulate: (tx, atOrAbove) => askParent("simulate", tx, atOrAbove),
  broadcast: (tx, reach) => askParent("broadcast", tx, reach),
  findTx: (hash, atOrAbove, firstHeight) => askParent("findTx", hash, atOrAbove, firstHeight),
};

const boundary = createKillingBoundary(kind === undefined ? undefined : { kind, nth: Number(nth) });
const deps = { clock: realClock, log: silentLog, boundary };
const { journal } = await openJournal({ dir, ...deps });
const outbox = createOutbox({ chainId, signer: providerSigner, chain, journal, settings: sendSettings, ...deps });
const abort = new AbortController();
const running = outbox.run(abort.signal);
const fixture = await askParent<OutboxFixture>("fixture");
const plan = planOutbox(Number(seed));
const ids = await Promise.all(plan.intents.map((_, index) => outbox.file(requestOf(plan, index, fixture))));
// The parent makes a block at every look; look more often than by oneself.
const looking = setInterval(outbox.wake, 20);
await Promise.all(ids.map(outbox.wait));
clearInterval(looking);
abort.abort();
await running;
await journal.close();
process.send?.({ crossings: boundary.crossings } satisfies ChildEnd);
process.disconnect();
