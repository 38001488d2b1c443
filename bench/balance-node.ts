/**
 * The world of the balance benchmark in a process of its own: a node on which our provider has many leases, each on a
 * deployment of its own and some of these shared with another provider. Once all are there and have earned something, it
 * makes a block a second. Arguments: how many leases, how many of them pay well, how many are shared.
 */
import { createApp } from "../src/box/chain/app.ts";
import { createMarketplace } from "../src/box/chain/modules/marketplace.ts";
import { createNode } from "../src/box/chain/node/node.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { createCometBroadcaster } from "../src/chain/tx/comet-broadcaster.ts";
import { type BidId, bidOn } from "../src/market/ids.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { signTransaction, type TestKey } from "../test/chain-signing.ts";
import { createLease } from "../test/market-messages.ts";
import type { Message } from "../test/market-stage.ts";
import {
  bidMessage,
  chainId,
  denoms,
  deploymentMessage,
  orderOf,
  other,
  otherKey,
  ourKey,
  tenantKey,
  us,
} from "../test/money-stage.ts";
import { registration } from "../test/outbox-stage.ts";

export interface Told {
  readonly what: "ready";
  readonly rpcUrl: string;
}

const [leases = 0, wellPaid = 0, shared = 0] = process.argv.slice(2).map(Number);
const blockMs = 1_000;
const perTransaction = 100;
/** Blocks in which the leases earn before anybody looks: the well paid ones enough to be withdrawn, the others not. */
const earningBlocks = 150;
const [highRate, lowRate] = ["5000.5", "10.25"];

const coins = denoms.map((denom) => ({ denom, amount: 10n ** 16n }));
const accounts = [tenantKey, ourKey, otherKey].map(({ address }) => ({ address, coins }));
const minDeposits = denoms.map((denom) => ({ denom, amount: 1_000n }));
const timeNs = BigInt(Date.now()) * 1_000_000n;
const app = createApp(
  { chainId, timeNs, accounts },
  createMarketplace({ deploymentParams: { minDeposits, priceDenoms: denoms } }),
);
const node = createNode({ app, clock: realClock, log: silentLog });
await node.start();
node.step();
const pool = createPool({ nodes: [node.transport()], clock: realClock, random: realRandom, log: silentLog });
await pool.open();
const chain = createCometBroadcaster(pool);
let stamps = 0n;

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
for (const key of [ourKey, otherKey]) await deliver(key, [registration(key.address)]);
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

const blocks = setInterval(() => void node.step(), blockMs);
process.once("message", async () => {
  clearInterval(blocks);
  pool.close();
  await node.stop();
  process.disconnect();
});
process.send?.({ what: "ready", rpcUrl: node.rpcUrl } satisfies Told);

function messagesOf(isWanted: (bid: BidId) => boolean): Message[] {
  return bids.filter(({ id }) => isWanted(id)).map(({ message }) => message);
}

/** As few transactions as will do, all in the next block. */
async function deliver(key: TestKey, messages: readonly Message[]): Promise<void> {
  const { number = 0n } = (await chain.account(key.address, 0n)) ?? {};
  for (let from = 0; from < messages.length; from += perTransaction) {
    const some = messages.slice(from, from + perTransaction);
    const gas = 1_000_000 * some.length;
    const receipt = await chain.broadcast(
      signTransaction({
        messages: some,
        signers: [{ key, accountNumber: number }],
        chainId,
        gas,
        fee: [{ denom: "uakt", amount: `${gas}` }],
        unorderedNs: BigInt(Date.now()) * 1_000_000n + 300_000_000_000n + stamps++,
      }),
    );
    if (receipt.kind === "refused") throw new Error(receipt.log);
  }
  const failed = node.step().output.txResults.find(({ code }) => code !== 0);
  if (failed) throw new Error(failed.log);
}
