/**
 * A chain with a tenant and two providers, of which one is ours: all three have money in two denominations, and sign by
 * hand. Whoever sets it up makes its blocks.
 */
import { createApp } from "../../src/box/chain/app.ts";
import { createMarketplace, type MarketplaceSettings } from "../../src/box/chain/modules/marketplace.ts";
import { createNode, type Node } from "../../src/box/chain/node/node.ts";
import type { Queries } from "../../src/chain/chain.ts";
import { createPool } from "../../src/chain/comet/pool.ts";
import { createQueries } from "../../src/chain/comet/queries/queries.ts";
import { createCometBroadcaster } from "../../src/chain/tx/comet-broadcaster.ts";
import { type Address, parseAddress } from "../../src/market/address.ts";
import { type Coin, parseDecCoin } from "../../src/market/coin.ts";
import { showDecimal } from "../../src/market/decimal.ts";
import { bidOn, type DeploymentId, type OrderId } from "../../src/market/ids.ts";
import { type Clock, msToNs } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { signTransaction, type TestKey, testKey } from "./chain-signing.ts";
import { accountDeposit, createBid, deposit } from "./market-messages.ts";
import type { Owner } from "./owner.ts";
import { createSeededRandom } from "./seeded-random.ts";
import type { Message } from "./stages/market-stage.ts";
import { registration } from "./stages/outbox-stage.ts";

const chainId = "money-1";
export const denoms = ["uact", "uakt"] as const;
export const tenantKey = testKey("money tenant");
export const ourKey = testKey("money provider");
export const otherKey = testKey("money other provider");
export const us: Address = parseAddress(ourKey.address);
export const other: Address = parseAddress(otherKey.address);
const tenant: Address = parseAddress(tenantKey.address);

/** More than anybody spends. */
const coins = denoms.map((denom) => ({ denom, amount: 10n ** 16n }));
/** What every message may use, and costs in uakt. */
export const messageGas = 1_500_000n;

export interface MoneyChain {
  readonly node: Node;
  readonly queries: Queries;
  /** A transaction for the next block; whether it succeeds there is seen there. */
  submit(key: TestKey, ...messages: Message[]): Promise<void>;
}

interface ChainParts {
  readonly clock: Clock;
  /** Whether others than this process can reach it. */
  readonly listens: boolean;
  readonly settings?: MarketplaceSettings;
}

export async function openMoneyChain(owner: Owner, { clock, listens, settings }: ChainParts): Promise<MoneyChain> {
  const log = silentLog;
  const accounts = [tenantKey, ourKey, otherKey].map(({ address }) => ({ address, coins }));
  const minDeposits = denoms.map((denom) => ({ denom, amount: 1_000n }));
  const app = createApp(
    { chainId, timeNs: msToNs(clock.now()), accounts },
    createMarketplace({ deploymentParams: { minDeposits, priceDenoms: denoms }, ...settings }),
  );
  const node = createNode({ app, clock, log, listens });
  await node.start();
  owner.after(() => node.stop());
  node.step();
  const pool = createPool({ nodes: [node.transport("spectator")], clock, random: createSeededRandom(1), log });
  await pool.open();
  owner.after(() => pool.close());
  const broadcaster = createCometBroadcaster(pool);
  let stamps = 0n;

  async function submit(key: TestKey, ...messages: Message[]): Promise<void> {
    const account = await broadcaster.account(key.address, 0n);
    const gas = messageGas * BigInt(messages.length);
    const tx = signTransaction({
      messages,
      signers: [{ key, accountNumber: account?.number ?? 0n }],
      chainId,
      gas,
      fee: [{ denom: "uakt", amount: `${gas}` }],
      unorderedNs: msToNs(clock.now()) + 300_000_000_000n + stamps++,
    });
    const receipt = await broadcaster.broadcast(tx);
    if (receipt.kind === "refused") throw new Error(receipt.log);
  }

  for (const key of [ourKey, otherKey]) await submit(key, registration(key.address));
  node.step();
  return { node, queries: createQueries(pool), submit };
}

export function deploymentOf(dseq: bigint): DeploymentId {
  return { owner: tenant, dseq };
}

export function orderOf(dseq: bigint, gseq = 1): OrderId {
  return { ...deploymentOf(dseq), gseq, oseq: 1 };
}

/** "3.5uact" a block, with a deposit that tells which bid it is of. */
export function bidMessage(order: OrderId, provider: Address, price: string): Message {
  const { denom, amount } = parseDecCoin(price);
  const [locked, lockedDenom] = [500_000n + order.dseq, order.dseq % 2n === 0n ? "uact" : "uakt"];
  return createBid(bidOn(order, provider), {
    price: { denom, amount: showDecimal(amount) },
    deposit: deposit(locked, lockedDenom),
  });
}

export function topUpMessage(dseq: bigint, { amount, denom }: Coin): Message {
  return accountDeposit({ signer: tenant, xid: `${tenant}/${dseq}`, deposit: deposit(amount, denom) });
}
