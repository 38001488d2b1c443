/**
 * Random work for crash tests of the outbox, the same for the same seed: intents that can be done and some that cannot,
 * blocks in between that are followed or not, orders that close at the wrong moment, broadcasts that get lost, intents
 * that are cancelled.
 */
import assert from "node:assert/strict";
import type { SendRequest } from "../../src/chain/chain.ts";
import type { AbciEvent } from "../../src/chain/comet/events.ts";
import type { TableReads } from "../../src/journal/tables.ts";
import { addressOf } from "../../src/market/address.ts";
import { parseCoins } from "../../src/market/coin.ts";
import type { BidId, OrderId } from "../../src/market/ids.ts";
import type { Random } from "../../src/runtime/random.ts";
import { sendMessage } from "../support/embedded-app.ts";
import { closeBid, closeDeployment, withdrawLease } from "../support/market-messages.ts";
import { type Faults, type Mishap, mishaps, type OutboxRun } from "../support/outbox-run.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { bidIdOn, bidOn, type OutboxStage, providerKey, tenantKey } from "../support/stages/outbox-stage.ts";

/** Each has a message of its own, so the chain shows how often it was executed. */
type Planned =
  | { readonly kind: "gift" }
  /** Closes a bid that was never made. */
  | { readonly kind: "hopeless" }
  | { readonly kind: "late" }
  | { readonly kind: "bid"; readonly order: number }
  /** All leases are of one deployment. */
  | { readonly kind: "withdrawal"; readonly lease: number };

type Act =
  | { readonly kind: "file"; readonly intents: readonly number[] }
  | { readonly kind: "close order"; readonly order: number }
  | { readonly kind: "mishaps"; readonly list: readonly Mishap[] }
  | { readonly kind: "cancel"; readonly intent: number }
  | { readonly kind: "blocks"; readonly are: Faults["blocks"] }
  | { readonly kind: "block"; readonly afterMs: number };

export interface OutboxPlan {
  readonly intents: readonly Planned[];
  readonly orders: number;
  readonly leases: number;
  readonly acts: readonly Act[];
}

export function planOutbox(seed: number, size = 8): OutboxPlan {
  const random = createSeededRandom(seed);
  const orders = 1 + random.int(3);
  const leases = 2;
  const intents = [
    ...Array.from({ length: orders }, (_, order): Planned => ({ kind: "bid", order })),
    ...Array.from({ length: leases }, (_, lease): Planned => ({ kind: "withdrawal", lease })),
    ...Array.from({ length: size }, () => pick(random, oddIntents)),
  ];
  const numbers = intents.map((_, index) => index);
  const acts: Act[] = [];
  while (numbers.length > 0) {
    if (random.next() < 0.3) acts.push({ kind: "mishaps", list: [pick(random, mishaps), pick(random, mishaps)] });
    const some = Array.from({ length: Math.min(numbers.length, 1 + random.int(size)) }, () => take(random, numbers));
    acts.push({ kind: "file", intents: some });
    if (random.next() < 0.3) acts.push({ kind: "close order", order: random.int(orders) });
    if (random.next() < 0.3) acts.push({ kind: "cancel", intent: pick(random, some) });
    if (random.next() < 0.5) acts.push({ kind: "blocks", are: pick(random, ["followed", "lost", "unfollowed"]) });
    acts.push({ kind: "block", afterMs: pick(random, [1_000, 6_000, 40_000]) });
  }
  return { intents, orders, leases, acts };
}

const oddIntents: readonly Planned[] = [
  { kind: "gift" },
  { kind: "gift" },
  { kind: "gift" },
  { kind: "hopeless" },
  { kind: "late" },
];

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.int(items.length)] as T;
}

function take(random: Random, numbers: number[]): number {
  return numbers.splice(random.int(numbers.length), 1)[0] as number;
}

/** What the chain has ready for a plan. */
export interface OutboxFixture {
  readonly orders: readonly OrderId[];
  readonly leases: readonly BidId[];
  /** Of the last block before the plan. */
  readonly height: bigint;
}

export async function prepareOutbox(stage: OutboxStage, plan: OutboxPlan): Promise<OutboxFixture> {
  const [orders, leases] = [await stage.orders(plan.orders), await stage.leases(plan.leases)];
  return { orders, leases, height: stage.chain.store.height };
}

export function requestOf(plan: OutboxPlan, index: number, { orders, leases }: OutboxFixture): SendRequest {
  const planned = plan.intents[index] as Planned;
  const about = { subject: `intent ${index}`, why: "crash test" };
  switch (planned.kind) {
    case "bid":
      return { ...bidOn(orders[planned.order] as OrderId), ...about };
    case "withdrawal":
      return { ...about, message: withdrawLease(leases[planned.lease] as BidId), priority: "withdraw" };
    case "hopeless": {
      const never = bidIdOn({ ...(orders[0] as OrderId), dseq: 1_000n + BigInt(index) });
      return { ...about, message: closeBid(never), priority: "close" };
    }
    default: {
      const message = sendMessage(providerKey.address, receiver(index), 1n);
      const request: SendRequest = { ...about, message, priority: "account" };
      return planned.kind === "late" ? { ...request, expiresAtMs: 1 } : request;
    }
  }
}

function receiver(index: number): string {
  return addressOf(Uint8Array.from({ length: 20 }, (_, byte) => (byte === 19 ? index : 200)));
}

/** Does one act. Filing a second time after a crash files only what the journal does not have. */
export async function doAct(
  act: Act,
  plan: OutboxPlan,
  fixture: OutboxFixture,
  to: Pick<OutboxRun, "outbox" | "journal" | "stage" | "block" | "faults">,
): Promise<void> {
  const { outbox, journal } = to;
  if (act.kind === "file") {
    const missing = act.intents.filter((index) => journal.read.intents.about(`intent ${index}`).length === 0);
    await Promise.all(missing.map((index) => outbox.file(requestOf(plan, index, fixture))));
  }
  if (act.kind === "block") await to.block(act.afterMs);
  if (act.kind === "blocks") to.faults.blocks = act.are;
  if (act.kind === "cancel") {
    const [intent] = journal.read.intents.about(`intent ${act.intent}`);
    // Too late, most of the time.
    if (intent) await outbox.cancel(intent.id, "crash test");
  }
  if (act.kind === "close order") {
    // It may be closed already; then the tenant's transaction fails, which is fine.
    to.stage.submit(tenantKey, [closeDeployment(fixture.orders[act.order] as OrderId)]);
  }
}

/** Every intent has had exactly the effect that the journal says: one when it is done, none when it is not. */
export function checkEffects(read: TableReads, stage: OutboxStage, plan: OutboxPlan, fixture: OutboxFixture): void {
  for (const [index, planned] of plan.intents.entries()) {
    const filed = read.intents.about(`intent ${index}`);
    assert.equal(filed.length, 1, `intent ${index} was filed once`);
    const state = filed[0]?.state ?? "gone";
    const effects = stage.times(requestOf(plan, index, fixture).message);
    assert.equal(
      effects,
      state === "done" ? 1 : 0,
      `intent ${index} (${planned.kind}) is ${state}: ${effects} effects`,
    );
    const isCancelled = plan.acts.some((act) => act.kind === "cancel" && act.intent === index);
    const possible: string[] = [...endsOf[planned.kind], ...(isCancelled ? ["cancelled"] : [])];
    assert.ok(possible.includes(state), `intent ${index} (${planned.kind}) is ${state}`);
  }
  assert.deepEqual(read.transactions.all(), [], "no transaction is left behind");
  checkFees(read, stage, fixture);
}

/** What the wallet paid in fees, block by block, is in the ledger: no line twice, none missing. */
function checkFees({ ledger }: TableReads, { chain }: OutboxStage, { height: before }: OutboxFixture): void {
  const lines = ledger.after(0, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }, 10_000);
  const booked = new Map<bigint, bigint>();
  for (const { kind, denom, height, amount } of lines) {
    assert.deepEqual([kind, denom], ["fee", "uakt"]);
    booked.set(height, (booked.get(height) ?? 0n) + amount);
  }
  const paid = new Map<bigint, bigint>();
  for (const { header, output } of chain.store.all()) {
    const events = header.height > before ? output.txResults.flatMap((result) => result.events) : [];
    const fee = events.reduce((sum, event) => sum + feeIn(event), 0n);
    if (fee > 0n) paid.set(header.height, fee);
  }
  assert.deepEqual(booked, paid);
  const total = lines.reduce((sum, { amount }) => sum + amount, 0n);
  assert.deepEqual(ledger.totals(), total > 0n ? [{ kind: "fee", denom: "uakt", amount: total }] : []);
}

/** What the checks before the messages take from the provider bears no number of a message. */
function feeIn({ type, attributes }: AbciEvent): bigint {
  const at = (name: string) => attributes?.find(({ key }) => key === name)?.value;
  const isFee = type === "coin_spent" && at("spender") === providerKey.address && at("msg_index") === undefined;
  return isFee ? parseCoins(at("amount") ?? "").reduce((sum, { amount }) => sum + amount, 0n) : 0n;
}

const endsOf = {
  gift: ["done"],
  hopeless: ["failed"],
  late: ["expired"],
  bid: ["done", "failed"],
  withdrawal: ["done"],
} as const;
