/**
 * The others in a random history of money: a tenant who opens deployments, takes bids, adds money, closes, and lets
 * accounts run dry; and another provider that bids on them, withdraws and closes when it likes. One seed is one history.
 */
import type { AbciEvent } from "../../src/box/chain/abci.ts";
import { bidOn } from "../../src/market/ids.ts";
import { closeBid, closeDeployment, closeLease, createLease, withdrawLease } from "../support/market-messages.ts";
import {
  bidMessage,
  denoms,
  deploymentOf,
  orderOf,
  other,
  otherKey,
  tenantKey,
  topUpMessage,
  us,
} from "../support/money-chain.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { deploymentMessage, type MoneyStage, type Wish } from "../support/stages/money-stage.ts";

/** At the same time. */
const mostDeployments = 40;
const overdrawnKept = 20;

interface Living extends Wish {
  readonly bornAt: bigint;
  /** When the tenant takes bids. */
  readonly decidesAt: bigint;
  readonly winners: readonly ("us" | "other" | "nobody")[];
}

export function createPeople(stage: MoneyStage, seed: number) {
  const random = createSeededRandom(seed);
  const living = new Map<bigint, Living>();
  const ended: Living[] = [];
  let nextDseq = 1n;

  const chance = (share: number) => random.next() < share;
  const pick = <T>(from: readonly T[]): T | undefined => from[random.int(from.length)];
  const tenantDoes = (...messages: Parameters<typeof stage.submit> extends [unknown, ...infer M] ? M : never) =>
    stage.submit(tenantKey, ...messages);

  /** Evenly over orders of magnitude, with up to six digits after the point. */
  function rate(): string {
    const micro = Math.floor(10 ** (random.next() * 4.3) * 1_000_000);
    const digits = chance(0.3) ? 0 : random.int(7);
    return (micro / 1_000_000).toFixed(digits);
  }

  function wish(): Wish {
    const groups = Array.from({ length: chance(0.5) ? 2 : 1 }, () => ({
      rate: rate(),
      name: (["ours", "theirs", "anybody's"] as const)[random.int(3)] ?? "ours",
    }));
    const perBlock = groups.reduce((sum, group) => sum + Math.ceil(Number(group.rate)), 0);
    // Some are short of money from the beginning.
    const blocks = chance(0.4) ? 5 + random.int(100) : 200 + random.int(1_500);
    const funds = BigInt(1_000 + perBlock * blocks + random.int(1_000));
    return { dseq: nextDseq++, denom: pick(denoms) ?? "uact", funds, groups };
  }

  async function open(): Promise<void> {
    const { height } = stage.node;
    const wanted = wish();
    const winners = wanted.groups.map(({ name }) => {
      if (chance(0.1)) return "nobody";
      return name === "ours" || (name !== "theirs" && chance(0.5)) ? "us" : "other";
    });
    living.set(wanted.dseq, { ...wanted, bornAt: height + 1n, decidesAt: height + BigInt(4 + random.int(5)), winners });
    await tenantDoes(deploymentMessage(wanted));
  }

  /** The other's bids, a block after the order, and the tenant's choice some blocks later, for one group after the other. */
  async function trade(each: Living): Promise<void> {
    const { height } = stage.node;
    for (const [index, { rate: price, name }] of each.groups.entries()) {
      const order = orderOf(each.dseq, index + 1);
      if (height === each.bornAt && name !== "ours") {
        await stage.submit(otherKey, bidMessage(order, other, `${price}${each.denom}`));
      }
      const winner = each.winners[index];
      if (height !== each.decidesAt + BigInt(index * 3) || winner === "nobody") continue;
      await tenantDoes(createLease(bidOn(order, winner === "us" ? us : other)));
    }
  }

  async function otherActs(): Promise<void> {
    const one = pick([...living.values()]);
    const gseq = one ? one.winners.indexOf("other") + 1 : 0;
    if (!one || gseq === 0) return;
    const lease = bidOn(orderOf(one.dseq, gseq), other);
    await stage.submit(otherKey, chance(0.15) ? closeBid(lease) : withdrawLease(lease));
  }

  async function tenantActs(): Promise<void> {
    const one = pick([...living.values()]);
    if (!one) return;
    const act = random.int(10);
    if (act < 3) return tenantDoes(closeDeployment(deploymentOf(one.dseq)));
    if (act < 5) {
      const index = random.int(one.groups.length);
      const provider = one.winners[index] === "us" ? us : other;
      return tenantDoes(closeLease(bidOn(orderOf(one.dseq, index + 1), provider)));
    }
    const denom = chance(0.8) ? one.denom : (pick(denoms) ?? one.denom);
    return tenantDoes(topUpMessage(one.dseq, { denom, amount: BigInt(1 + random.int(2_000_000)) }));
  }

  return {
    /** What they do after a block, for the next one; they pay old debt only where our provider has the time to see it. */
    async act({ payDebt }: { readonly payDebt: boolean }): Promise<void> {
      for (const dseq of closedIn(stage.blocks.at(-1)?.output.txResults.flatMap(({ events }) => events) ?? [])) {
        const one = living.get(dseq);
        if (!one) continue;
        living.delete(dseq);
        ended.push(one);
        ended.splice(0, ended.length - overdrawnKept);
      }
      for (const each of [...living.values()]) {
        // Before our bid on it comes: that fails, and its fee is paid all the same.
        if (stage.node.height === each.bornAt && chance(0.05))
          await tenantDoes(closeDeployment(deploymentOf(each.dseq)));
        await trade(each);
      }
      if (living.size < mostDeployments && chance(0.2)) await open();
      if (chance(0.25)) await tenantActs();
      if (chance(0.08)) await otherActs();
      const debtor = chance(0.03) ? pick(ended) : undefined;
      if (!debtor || !payDebt) return;
      const amount = BigInt(1 + random.int(200_000));
      await tenantDoes(topUpMessage(debtor.dseq, { denom: debtor.denom, amount }));
    },
  };
}

function closedIn(events: readonly AbciEvent[]): bigint[] {
  return events
    .filter(({ type }) => type.endsWith(".EventDeploymentClosed"))
    .map(({ attributes }) => JSON.parse(attributes.find(({ key }) => key === "id")?.value ?? "{}").dseq)
    .map(BigInt);
}
