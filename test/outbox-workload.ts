/**
 * Random work for crash tests of the outbox, the same for the same seed: intents that can be done and some that cannot,
 * blocks in between, orders that close at the wrong moment, broadcasts that get lost.
 */
import assert from "node:assert/strict";
import type { Wish } from "../src/chain/outbox/intent.ts";
import type { TableReads } from "../src/journal/tables.ts";
import { addressOf } from "../src/market/address.ts";
import type { OrderId } from "../src/market/ids.ts";
import { createSeededRandom, type Random } from "../src/runtime/random.ts";
import { sendMessage } from "./embedded-app.ts";
import { closeDeployment } from "./market-messages.ts";
import { type Mishap, mishaps, type OutboxRun } from "./outbox-run.ts";
import { bidOn, type OutboxStage, providerKey, tenantKey } from "./outbox-stage.ts";

/** A gift can be counted: whoever receives it twice was sent it twice. A bid can be made once, by the chain's own rule. */
type Planned =
  | { readonly kind: "gift" }
  | { readonly kind: "too much" }
  | { readonly kind: "late" }
  | { readonly kind: "bid"; readonly order: number };

type Act =
  | { readonly kind: "file"; readonly intents: readonly number[] }
  | { readonly kind: "close order"; readonly order: number }
  | { readonly kind: "mishaps"; readonly list: readonly Mishap[] }
  | { readonly kind: "block"; readonly afterMs: number };

export interface OutboxPlan {
  readonly intents: readonly Planned[];
  readonly orders: number;
  readonly acts: readonly Act[];
}

export function planOutbox(seed: number, size = 8): OutboxPlan {
  const random = createSeededRandom(seed);
  const orders = 1 + random.int(3);
  const intents = [
    ...Array.from({ length: orders }, (_, order): Planned => ({ kind: "bid", order })),
    ...Array.from({ length: size }, () => pick(random, oddIntents)),
  ];
  const numbers = intents.map((_, index) => index);
  const acts: Act[] = [];
  while (numbers.length > 0) {
    if (random.next() < 0.3) acts.push({ kind: "mishaps", list: [pick(random, mishaps), pick(random, mishaps)] });
    const some = Array.from({ length: Math.min(numbers.length, 1 + random.int(size)) }, () => take(random, numbers));
    acts.push({ kind: "file", intents: some });
    if (random.next() < 0.3) acts.push({ kind: "close order", order: random.int(orders) });
    acts.push({ kind: "block", afterMs: pick(random, [1_000, 6_000, 40_000]) });
  }
  return { intents, orders, acts };
}

const oddIntents: readonly Planned[] = [
  { kind: "gift" },
  { kind: "gift" },
  { kind: "gift" },
  { kind: "too much" },
  { kind: "late" },
];

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.int(items.length)] as T;
}

function take(random: Random, numbers: number[]): number {
  return numbers.splice(random.int(numbers.length), 1)[0] as number;
}

export function wishOf(plan: OutboxPlan, index: number, orders: readonly OrderId[]): Wish {
  const planned = plan.intents[index] as Planned;
  if (planned.kind === "bid") return { ...bidOn(orders[planned.order] as OrderId), subject: `intent ${index}` };
  const amount = planned.kind === "too much" ? 10n ** 20n : 1n;
  const message = sendMessage(providerKey.address, receiver(index), amount);
  const wish: Wish = { subject: `intent ${index}`, why: "crash test", message, priority: "account" };
  return planned.kind === "late" ? { ...wish, expiresAtMs: 1 } : wish;
}

function receiver(index: number): string {
  return addressOf(Uint8Array.from({ length: 20 }, (_, byte) => (byte === 19 ? index : 200)));
}

/** Does one act. Filing a second time after a crash files only what the journal does not have. */
export async function doAct(
  act: Act,
  plan: OutboxPlan,
  orders: readonly OrderId[],
  to: Pick<OutboxRun, "outbox" | "journal" | "stage" | "block">,
): Promise<void> {
  if (act.kind === "file") {
    const missing = act.intents.filter((index) => to.journal.read.intents.about(`intent ${index}`).length === 0);
    await Promise.all(missing.map((index) => to.outbox.file(wishOf(plan, index, orders))));
  }
  if (act.kind === "block") await to.block(act.afterMs);
  if (act.kind === "close order") {
    // It may be closed already; then the tenant's transaction fails, and nobody minds.
    to.stage.submit(tenantKey, [closeDeployment(orders[act.order] as OrderId)]);
  }
}

/** Every intent has had exactly the effect that the journal says: one when it is done, none when it is not. */
export function checkEffects(read: TableReads, stage: OutboxStage, plan: OutboxPlan, orders: readonly OrderId[]): void {
  const bids = stage.bids();
  for (const [index, planned] of plan.intents.entries()) {
    const filed = read.intents.about(`intent ${index}`);
    assert.equal(filed.length, 1, `intent ${index} was filed once`);
    const state = filed[0]?.state ?? "gone";
    const effects =
      planned.kind === "bid"
        ? bids.filter((dseq) => dseq === orders[planned.order]?.dseq).length
        : Number(stage.balance(receiver(index)));
    assert.equal(
      effects,
      state === "done" ? 1 : 0,
      `intent ${index} (${planned.kind}) is ${state}: ${effects} effects`,
    );
    const possible = planned.kind === "bid" ? ["done", "failed"] : [endOf[planned.kind]];
    assert.ok(possible.includes(state), `intent ${index} (${planned.kind}) is ${state}`);
  }
  assert.deepEqual(read.transactions.all(), [], "no transaction is left behind");
}

const endOf = { gift: "done", "too much": "failed", late: "expired" } as const;
