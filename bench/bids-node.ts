/**
 * The world of the bids benchmark in a process of its own: a node that makes a block a second, and a tenant that posts any
 * number of orders in one block. It reports to its parent the number of orders and bids in every block.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { SimulateRequest, TxBody, TxRaw } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import type { AbciEvent, App } from "../src/box/chain/abci.ts";
import { createApp } from "../src/box/chain/app.ts";
import type { Block } from "../src/box/chain/node/block-store.ts";
import { createNode } from "../src/box/chain/node/node.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { createCometBroadcaster } from "../src/chain/tx/comet-broadcaster.ts";
import { parseAddress } from "../src/market/address.ts";
import type { DeploymentId } from "../src/market/ids.ts";
import { realClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { realRandom } from "../src/runtime/random.ts";
import { signTransaction, type TestKey } from "../test/support/chain-signing.ts";
import { closeDeployment, createDeployment } from "../test/support/market-messages.ts";
import type { Message } from "../test/support/stages/market-stage.ts";
import { chainId, providerKey, registration, tenantKey } from "../test/support/stages/outbox-stage.ts";
import { serveParent } from "./processes.ts";
import { size } from "./report.ts";

export type Command =
  /** Every so many, an order is closed again as soon as the first bids have come, and before the others are in a block. */
  | { readonly what: "post"; readonly orders: number; readonly badEvery?: number }
  /** All that are open. */
  | { readonly what: "close" }
  /** From now on an estimate of gas takes so long for each message of its transaction. */
  | { readonly what: "estimate"; readonly msPerMessage: number };

export type Report = { readonly what: "ready"; readonly rpcUrl: string } | ({ readonly what: "block" } & BlockCounts);

export interface BlockCounts {
  readonly height: number;
  readonly orders: number;
  readonly closed: number;
  /** On orders that stay open. */
  readonly bids: number;
  readonly failedTxs: number;
  /** How long the application took to make it. */
  readonly madeInMs: number;
  /** Messages estimated since the block before. */
  readonly estimated: number;
}

const blockMs = size(1_000, 200);
const perTransaction = 50;
const coins = ["uact", "uakt"].map((denom) => ({ denom, amount: 10n ** 16n }));
const accounts = [providerKey, tenantKey].map(({ address }) => ({ address, coins }));
const owner = parseAddress(tenantKey.address);

const sendReport = serveParent<Command, Report>(answer);
let msPerMessage = 0;
let estimated = 0;
let madeInMs = 0;
let firstBidsCame: () => void = () => undefined;
const app = slowed(createApp({ chainId, timeNs: BigInt(Date.now()) * 1_000_000n, accounts }));
const node = createNode({ app, clock: realClock, log: silentLog, keepBlocks: 100 });
await node.start();
node.step();
const pool = createPool({ nodes: [node.transport()], clock: realClock, random: realRandom, log: silentLog });
await pool.open();
const chain = createCometBroadcaster(pool);
node.onBlock((block) => {
  sendReport({ what: "block", ...countsOf(block), madeInMs: Math.round(madeInMs), estimated });
  estimated = 0;
});

/** While the tenant hands over what must be in one block, there is none. */
let isHeld = false;
let dueMs = performance.now();
setInterval(() => {
  if (isHeld || performance.now() < dueMs) return;
  dueMs = Math.max(dueMs + blockMs, performance.now());
  node.step();
}, 5);

let nextDseq = 1n;
let open: DeploymentId[] = [];
let badOrders: ReadonlySet<string> = new Set();
await submit(await sign(providerKey, [[registration(providerKey.address)]]));
sendReport({ what: "ready", rpcUrl: node.rpcUrl });

async function answer(command: Command): Promise<void> {
  if (command.what === "post") await post(command.orders, command.badEvery);
  if (command.what === "close") {
    const closing = open.splice(0);
    await submit(await sign(tenantKey, inGroups(closing.map((id) => closeDeployment(id)))));
  }
  if (command.what === "estimate") msPerMessage = command.msPerMessage;
}

/** Signed in advance, and the next block waits for them all. */
async function post(count: number, badEvery: number | undefined): Promise<void> {
  const ids = Array.from({ length: count }, (): DeploymentId => ({ owner, dseq: nextDseq++ }));
  open.push(...ids);
  const creating = await sign(tenantKey, inGroups(ids.map((id) => createDeployment({ id }))));
  const bad = badEvery === undefined ? [] : ids.filter((_, index) => index % badEvery === badEvery - 1);
  const closing = await sign(tenantKey, inGroups(bad.map((id) => closeDeployment(id))));
  open = open.filter((id) => !bad.includes(id));
  badOrders = new Set(bad.map(({ dseq }) => `${dseq}`));
  await nextBlock();
  isHeld = true;
  await submit(creating);
  isHeld = false;
  await nextBlock();
  if (bad.length === 0) return;
  await new Promise<void>((resolve) => {
    firstBidsCame = resolve;
  });
  await submit(closing);
}

function inGroups(messages: readonly Message[]): Message[][] {
  const count = Math.ceil(messages.length / perTransaction);
  return Array.from({ length: count }, (_, n) => messages.slice(n * perTransaction, (n + 1) * perTransaction));
}

async function sign(key: TestKey, transactions: readonly (readonly Message[])[]): Promise<Uint8Array[]> {
  const head = await chain.head();
  const account = await chain.account(key.address, head.height);
  const signed: Uint8Array[] = [];
  for (const messages of transactions) {
    const gas = 1_500_000 * messages.length;
    const unorderedNs = head.timeNs + 300_000_000_000n + BigInt(realRandom.int(1_000_000_000));
    const signers = [{ key, accountNumber: account?.number ?? 0n }];
    const fee = [{ denom: "uakt", amount: `${gas}` }];
    signed.push(signTransaction({ messages, signers, chainId, gas, fee, unorderedNs }));
    // Blocks are not late because of the tenant.
    await nextTurn();
  }
  return signed;
}

async function submit(transactions: readonly Uint8Array[]): Promise<void> {
  for (const tx of transactions) {
    const receipt = await chain.broadcast(tx);
    if (receipt.kind === "refused") throw new Error(receipt.log);
  }
}

function nextBlock(): Promise<void> {
  return new Promise((resolve) => {
    const end = node.onBlock(() => {
      end();
      resolve();
    });
  });
}

function countsOf({ header, output }: Block) {
  const events = output.txResults.flatMap((result) => (result.code === 0 ? result.events : []));
  const named = (name: string) => events.filter(({ type }) => type.endsWith(`.${name}`));
  const count = (name: string) => named(name).length;
  const isGood = ({ attributes }: AbciEvent) => {
    const id = attributes.find(({ key }) => key === "id")?.value ?? "{}";
    return !badOrders.has(JSON.parse(id).dseq);
  };
  return {
    height: Number(header.height),
    orders: count("EventOrderCreated"),
    closed: count("EventDeploymentClosed"),
    bids: named("EventBidCreated").filter(isGood).length,
    failedTxs: output.txResults.filter(({ code }) => code !== 0).length,
  };
}

/** The same application, with estimates as slow as wanted: all that the node does stands still meanwhile. */
function slowed(of: App): App {
  const still = new Int32Array(new SharedArrayBuffer(4));
  const query: App["query"] = (path, request, height) => {
    if (path === "/cosmos.tx.v1beta1.Service/Simulate") {
      const { txBytes } = SimulateRequest.decode(request);
      const messages = TxBody.decode(TxRaw.decode(txBytes).bodyBytes).messages.length;
      estimated += messages;
      if (msPerMessage > 0) Atomics.wait(still, 0, 0, msPerMessage * messages);
    }
    return of.query(path, request, height);
  };
  const finalizeBlock: App["finalizeBlock"] = (block) => {
    const startedMs = performance.now();
    const output = of.finalizeBlock(block);
    madeInMs = performance.now() - startedMs;
    return output;
  };
  const checkTx: App["checkTx"] = (tx) => {
    // Whatever comes while the tenant has nothing to send is the provider's.
    setImmediate(firstBidsCame);
    return of.checkTx(tx);
  };
  const changed = { query: { value: query }, finalizeBlock: { value: finalizeBlock }, checkTx: { value: checkTx } };
  return Object.create(of, changed) as App;
}
