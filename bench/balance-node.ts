/**
 * The world of the balance benchmark in a process of its own: a node on which our provider has many leases, each on a
 * deployment of its own and some of these shared with another provider. Once all are there and have earned something, it
 * makes a block a second. Arguments: how many leases, how many of them pay well, how many are shared.
 */
import { type BidId, bidOn } from "../src/market/ids.ts";
import { realClock } from "../src/runtime/clock.ts";
import type { TestKey } from "../test/support/chain-signing.ts";
import { createLease } from "../test/support/market-messages.ts";
import {
  bidMessage,
  denoms,
  openMoneyChain,
  orderOf,
  other,
  otherKey,
  ourKey,
  tenantKey,
  us,
} from "../test/support/money-chain.ts";
import { createOwner } from "../test/support/owner.ts";
import type { Message } from "../test/support/stages/market-stage.ts";
import { deploymentMessage } from "../test/support/stages/money-stage.ts";
import { serveParent } from "./processes.ts";
import { size } from "./report.ts";

export interface Report {
  readonly what: "ready";
  readonly rpcUrl: string;
}

const [leases = 0, wellPaid = 0, shared = 0] = process.argv.slice(2).map(Number);
const blockMs = size(1_000, 200);
const perTransaction = 100;
/** Blocks in which the leases earn before the first balance check: the well paid ones enough for a withdrawal, the others not. */
const earningBlocks = 150;
const [highRate, lowRate] = ["5000.5", "10.25"];

const { node, submit } = await openMoneyChain(createOwner(), { clock: realClock, listens: true });

const wishes = Array.from({ length: leases }, (_, index) => ({
  dseq: BigInt(index + 1),
  denom: denoms[index % 2] ?? "uact",
  funds: 10n ** 12n,
  groups: [
    { rate: index < wellPaid ? highRate : lowRate, name: "ours" as const },
    ...(index % Math.floor(leases / shared) === 0 ? [{ rate: "3.75", name: "theirs" as const }] : []),
  ],
}));
const bids = wishes.flatMap(({ dseq, denom, groups }) =>
  groups.map(({ rate }, index) => {
    const provider = index === 0 ? us : other;
    const order = orderOf(dseq, index + 1);
    return { id: bidOn(order, provider), message: bidMessage(order, provider, `${rate}${denom}`) };
  }),
);
await deliver(tenantKey, wishes.map(deploymentMessage));
await deliver(
  ourKey,
  messagesOf(({ provider }) => provider === us),
);
await deliver(
  otherKey,
  messagesOf(({ provider }) => provider === other),
);
await deliver(
  tenantKey,
  bids.map(({ id }) => createLease(id)),
);
for (let made = 0; made < earningBlocks; made++) node.step();

setInterval(() => void node.step(), blockMs);
serveParent<never, Report>()({ what: "ready", rpcUrl: node.rpcUrl });

function messagesOf(isWanted: (bid: BidId) => boolean): Message[] {
  return bids.filter(({ id }) => isWanted(id)).map(({ message }) => message);
}

/** As few transactions as will do, all in the next block. */
async function deliver(key: TestKey, messages: readonly Message[]): Promise<void> {
  for (let from = 0; from < messages.length; from += perTransaction) {
    await submit(key, ...messages.slice(from, from + perTransaction));
  }
  const failed = node.step().output.txResults.find(({ code }) => code !== 0);
  if (failed) throw new Error(failed.log);
}
