/** A chain in this process with a provider, a tenant and orders to bid on, and everything that can go wrong on the way there. */
import { MsgCreateProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { QueryBidsRequest } from "@akashnetwork/chain-sdk/private-types/akash.v1beta5";
import {
  BaseAccount,
  BasicAllowance,
  MsgGrantAllowance,
  MsgRevokeAllowance,
  QueryAccountRequest,
  QueryAccountResponse,
  QueryBalanceRequest,
  QueryBalanceResponse,
  SimulateRequest,
  SimulateResponse,
  TxBody,
  TxRaw,
} from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { createApp } from "../../../src/box/chain/app.ts";
import type { Genesis } from "../../../src/box/chain/genesis.ts";
import type { Block } from "../../../src/box/chain/node/block-store.ts";
import { type BoxChain, createChain } from "../../../src/box/chain/node/chain.ts";
import { NodeError } from "../../../src/box/chain/node/node-error.ts";
import type { ChainBlock } from "../../../src/chain/block.ts";
import type { SendRequest } from "../../../src/chain/chain.ts";
import { queryBidsResponse } from "../../../src/chain/codec/wire-messages.ts";
import { createSigner } from "../../../src/chain/keys/signer.ts";
import { type Broadcaster, includedAt, type SenderAccount } from "../../../src/chain/tx/broadcaster.ts";
import { transactionHash } from "../../../src/chain/tx/transaction.ts";
import { parseAddress } from "../../../src/market/address.ts";
import type { BidId, OrderId } from "../../../src/market/ids.ts";
import { signTransaction, type TestKey, testKey } from "../chain-signing.ts";
import { createBid, createDeployment, createLease, deposit, spec } from "../market-messages.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { Message } from "./market-stage.ts";

export const chainId = "outbox-1";
export const providerKey = testKey("outbox provider");
export const tenantKey = testKey("outbox tenant");
export const providerSigner = createSigner(providerKey.secret);

export interface OutboxStage {
  readonly chain: BoxChain;
  readonly broadcaster: Broadcaster;
  /** Keeps a transaction from the pool for so many blocks, as a slow peer would. */
  delay(tx: Uint8Array, blocks: number): void;
  /** The next block, so much later. */
  step(afterMs?: number): Promise<Block>;
  /** Orders of the tenant, created in one block. */
  orders(count: number): Promise<OrderId[]>;
  /** Leases of the provider, all of one deployment. */
  leases(count: number): Promise<BidId[]>;
  /** A transaction of somebody else, taken into the pool. */
  submit(key: TestKey, messages: readonly Message[]): void;
  balance(address: string): bigint;
  /** Every bid of the provider on chain, by sequence number of its deployment. */
  bids(): bigint[];
  /** How often the chain has done this very message. */
  times(message: Message): number;
}

export interface StageOptions {
  readonly clock: VirtualClock;
  readonly genesis?: Partial<Genesis>;
  readonly providerCoins?: Genesis["accounts"][number]["coins"];
  /** The chain has never heard of the provider's address. */
  readonly unknownProvider?: boolean;
}

/** What one message of `submit` pays. */
export const stageFee = 1_300_000n;

const richCoins = ["uact", "uakt"].map((denom) => ({ denom, amount: 10_000_000_000_000n }));

export async function createOutboxStage(options: StageOptions): Promise<OutboxStage> {
  const { clock, genesis, providerCoins = richCoins, unknownProvider = false } = options;
  const timeNs = BigInt(clock.now()) * 1_000_000n;
  const accounts = [
    ...(unknownProvider ? [] : [{ address: providerKey.address, coins: providerCoins }]),
    { address: tenantKey.address, coins: richCoins },
  ];
  const app = createApp({ chainId, timeNs, accounts, ...genesis });
  const chain = createChain({ app, clock });
  const { mempool } = chain;
  let nextDseq = 1n;

  let delayed: { readonly tx: Uint8Array; readonly untilHeight: bigint }[] = [];

  async function step(afterMs = 6_000): Promise<Block> {
    await clock.advance(afterMs);
    const due = delayed.filter(({ untilHeight }) => chain.store.height >= untilHeight);
    delayed = delayed.filter((each) => !due.includes(each));
    // Too late for some of them; the pool says so to nobody.
    for (const { tx } of due) await broadcasterOf(chain).broadcast(tx);
    return chain.step();
  }

  function submit(key: TestKey, messages: readonly Message[]): void {
    const { number, sequence } = accountOf(chain, key.address) ?? { number: 0n, sequence: 0n };
    const signers = [{ key, accountNumber: number, sequence }];
    const gas = Number(stageFee) * messages.length;
    const fee = [{ denom: "uakt", amount: `${gas}` }];
    const { code, log } = mempool.take(signTransaction({ messages, signers, chainId, gas, fee }));
    if (code !== 0) throw new Error(log);
  }

  await chain.open();
  chain.step();
  if (!unknownProvider) submit(providerKey, [registration(providerKey.address)]);
  await step();

  return {
    chain,
    broadcaster: broadcasterOf(chain),
    delay: (tx, blocks) => void delayed.push({ tx, untilHeight: chain.store.height + BigInt(blocks) }),
    step,
    submit,
    async orders(count) {
      const ids = Array.from({ length: count }, () => ({
        owner: parseAddress(tenantKey.address),
        dseq: nextDseq++,
        gseq: 1,
        oseq: 1,
      }));
      submit(
        tenantKey,
        ids.map((id) => createDeployment({ id })),
      );
      const block = await step();
      if (block.output.txResults.some(({ code }) => code !== 0)) throw new Error(block.output.txResults[0]?.log);
      return ids;
    },
    async leases(count) {
      const id = { owner: parseAddress(tenantKey.address), dseq: nextDseq++ };
      const groups = Array.from({ length: count }, (_, index) => spec({ name: `group-${index}` }));
      const bids = groups.map((_, index) => bidIdOn({ ...id, gseq: index + 1, oseq: 1 }));
      submit(tenantKey, [createDeployment({ id, groups })]);
      await step();
      submit(
        providerKey,
        bids.map((bid) => createBid(bid)),
      );
      await step();
      submit(
        tenantKey,
        bids.map((bid) => createLease(bid)),
      );
      const block = await step();
      if (block.output.txResults.some(({ code }) => code !== 0)) throw new Error(block.output.txResults[0]?.log);
      return bids;
    },
    times({ typeUrl, value }) {
      const done = [...chain.store.all()].flatMap(({ txs, output }) =>
        txs.filter((_, index) => output.txResults[index]?.code === 0),
      );
      const messages = done.flatMap(messagesIn);
      return messages.filter((each) => each.typeUrl === typeUrl && Buffer.from(each.value).equals(value)).length;
    },
    balance(address) {
      const request = QueryBalanceRequest.encode({ address, denom: "uakt" }).finish();
      const { value } = app.query("/cosmos.bank.v1beta1.Query/Balance", request);
      return BigInt(QueryBalanceResponse.decode(value).balance?.amount ?? 0);
    },
    bids() {
      const bids: bigint[] = [];
      for (let key = new Uint8Array(); ; ) {
        const request = QueryBidsRequest.encode(
          QueryBidsRequest.fromPartial({ pagination: { key, limit: 1000 } }),
        ).finish();
        const { code, log, value } = app.query("/akash.market.v1beta5.Query/Bids", request);
        if (code !== 0) throw new Error(log);
        const page = queryBidsResponse.decode(value);
        bids.push(...page.bids.map(({ bid }) => bid?.id?.dseq.toBigInt() ?? 0n));
        key = Uint8Array.from(page.pagination?.nextKey ?? []);
        if (key.length === 0) return bids.sort((a, b) => Number(a - b));
      }
    },
  };
}

export function registration(owner: string): Message {
  const attributes = [{ key: "region", value: "lab" }];
  const message = MsgCreateProvider.fromPartial({ owner, hostUri: "https://provider.test:8443", attributes });
  return { typeUrl: "/akash.provider.v1beta4.MsgCreateProvider", value: MsgCreateProvider.encode(message).finish() };
}

/** Without a limit, or of so many uakt. */
export function allowFees(granter: string, grantee: string, limit?: bigint): Message {
  const spendLimit = limit === undefined ? [] : [{ denom: "uakt", amount: `${limit}` }];
  const basic = BasicAllowance.encode(BasicAllowance.fromPartial({ spendLimit })).finish();
  const allowance = { typeUrl: "/cosmos.feegrant.v1beta1.BasicAllowance", value: basic };
  const value = MsgGrantAllowance.encode({ granter, grantee, allowance }).finish();
  return { typeUrl: "/cosmos.feegrant.v1beta1.MsgGrantAllowance", value };
}

export function revokeFees(granter: string, grantee: string): Message {
  const value = MsgRevokeAllowance.encode({ granter, grantee }).finish();
  return { typeUrl: "/cosmos.feegrant.v1beta1.MsgRevokeAllowance", value };
}

export function bidIdOn(order: OrderId): BidId {
  return { ...order, provider: parseAddress(providerKey.address), bseq: 0 };
}

export function bidOn(order: OrderId, amount = 500_000n): SendRequest {
  const message = createBid(bidIdOn(order), { deposit: deposit(amount, "uakt") });
  return { subject: `order ${order.dseq}`, why: "it fits", message, priority: "bid" };
}

/** Rejected by the chain before it looks at any order: for nothing at all nobody may offer. */
export function malformedBidOn(order: OrderId): SendRequest {
  return { ...bidOn(order), message: createBid(bidIdOn(order), { price: { denom: "uact", amount: "0" } }) };
}

/** What a client of the node's wire would see, without the wire. */
function broadcasterOf(chain: BoxChain): Broadcaster {
  const { app, store, mempool } = chain;
  return {
    async head() {
      const { height, timeNs } = store.latest?.header ?? { height: 0n, timeNs: 0n };
      return { height, timeNs };
    },
    account: async (address) => accountOf(chain, address),
    async simulate(txBytes) {
      const request = SimulateRequest.encode(SimulateRequest.fromPartial({ txBytes })).finish();
      const { code, log, value } = app.query("/cosmos.tx.v1beta1.Service/Simulate", request);
      if (code !== 0) return { kind: "refused", log };
      return { kind: "ran", gasUsed: SimulateResponse.decode(value).gasInfo?.gasUsed.toBigInt() ?? 0n };
    },
    async broadcast(tx) {
      try {
        const { code, codespace, log } = mempool.take(tx);
        return code === 0 ? { kind: "taken" } : { kind: "refused", code, codespace, log };
      } catch (error) {
        if (error instanceof NodeError && error.message === "tx already exists in cache") return { kind: "taken" };
        throw error;
      }
    },
    async findTx(hash) {
      const place = store.tx(hash);
      const result = place?.block.output.txResults[place.index];
      return place && result && includedAt(place.block.header.height, result);
    },
  };
}

export function messagesIn(tx: Uint8Array): Message[] {
  return TxBody.decode(TxRaw.decode(tx).bodyBytes).messages;
}

/** A block of the chain as a follower hands it over. */
export function followedBlock({ header, txs, output }: Block): ChainBlock {
  const { height, timeNs } = header;
  const results = output.txResults.map(({ code, codespace, log, gasWanted, gasUsed, events }, index) => {
    const hash = transactionHash(txs[index] ?? new Uint8Array());
    return { hash, code, codespace, log, gasWanted, gasUsed, events };
  });
  const nobodys = { coinsMovedOf: new Set<string>(), certificatesOf: new Set<string>() };
  return { height, timeNs, txs: results, events: [], ...nobodys, otherEvents: 0, malformed: [] };
}

function accountOf({ app, store }: BoxChain, address: string): SenderAccount | undefined {
  const request = QueryAccountRequest.encode({ address }).finish();
  const { code, value } = app.query("/cosmos.auth.v1beta1.Query/Account", request);
  if (code !== 0) return undefined;
  const account = BaseAccount.decode(QueryAccountResponse.decode(value).account?.value ?? new Uint8Array());
  const [number, sequence] = [account.accountNumber.toBigInt(), account.sequence.toBigInt()];
  return { number, sequence, height: store.height };
}
