/**
 * A chain on the virtual clock with a tenant and two providers, one of which is ours and has no more than the balance
 * checker: leases are made by hand, and a test makes the blocks itself.
 */
import type { BalanceOptions } from "../src/balance/balance-options.ts";
import { createBalanceService } from "../src/balance/balance-service.ts";
import { createApp } from "../src/box/chain/app.ts";
import { createMarketplace, type MarketplaceSettings } from "../src/box/chain/modules/marketplace.ts";
import { createNode, type Node } from "../src/box/chain/node/node.ts";
import type { Bus } from "../src/bus/bus.ts";
import type { Chain, Queries } from "../src/chain/chain.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { createQueries } from "../src/chain/comet/queries/queries.ts";
import type { RpcTransport } from "../src/chain/comet/transport.ts";
import { createSigner } from "../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../src/chain/tx/comet-broadcaster.ts";
import { packMessage } from "../src/chain/tx/messages.ts";
import type { Intent } from "../src/journal/intents.ts";
import type { Journal } from "../src/journal/journal.ts";
import { parseAddress } from "../src/market/address.ts";
import { amountOf, parseCoin, parseCoins, parseDecCoin, parseDecCoins } from "../src/market/coin.ts";
import { type Decimal, parseDecimal, showDecimal } from "../src/market/decimal.ts";
import type { DeploymentId, LeaseId } from "../src/market/ids.ts";
import { createProvider } from "../src/provider/provider.ts";
import { createVirtualClock, type VirtualClock } from "../src/runtime/clock.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { signTransaction, type TestKey, testKey } from "./chain-signing.ts";
import { faultTransport } from "./fault-transport.ts";
import { memoryFolder } from "./folder.ts";
import {
  accountDeposit,
  closeDeployment,
  createBid,
  createDeployment,
  createLease,
  deposit,
  spec,
  unit,
} from "./market-messages.ts";
import type { Message } from "./market-stage.ts";
import { registration } from "./outbox-stage.ts";
import type { Owner } from "./owner.ts";

const chainId = "escrow-1";
const denoms = ["uact", "uakt"];
const tenantKey = testKey("escrow tenant");
const keys = { us: testKey("escrow provider"), other: testKey("escrow other provider") };
type Who = keyof typeof keys;
const tenant = parseAddress(tenantKey.address);
const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };

/** Whose lease, at which price per block; the tenant may take the bid later. */
type Wanted = readonly [who: Who, price: string, when?: "later"];

export interface EscrowStage {
  readonly clock: VirtualClock;
  readonly node: Node;
  readonly queries: Queries;
  /** Whether our provider reaches the chain. */
  isAway: boolean;
  /** Called with every question of our provider; what it throws is the answer. */
  asked: (question: string) => void;
  /** A deployment with one lease per price, of whom it names, in this order. */
  lease(dseq: bigint, funds: string, ...prices: readonly Wanted[]): Promise<LeaseId[]>;
  /** Those that were left for later. */
  leaseLater(dseq: bigint): Promise<void>;
  /** A transaction in a block of its own; throws when the chain refuses it. */
  act(key: TestKey, ...messages: Message[]): Promise<void>;
  topUp(dseq: bigint, funds: string): Promise<void>;
  close(dseq: bigint): Promise<void>;
  /** Our wallet's uakt go to the tenant, all but so much. */
  drain(left: bigint): Promise<void>;
  /** Some blocks, with so much time before each. */
  blocks(count: number, everyMs?: number): Promise<void>;
  state(lease: LeaseId): Promise<string | undefined>;
  withdrawn(lease: LeaseId): Promise<bigint | undefined>;
  start(parts?: LifeParts): Promise<EscrowLife>;
}

interface LifeParts {
  readonly options?: Partial<BalanceOptions>;
  readonly tokenPrice?: () => Decimal | undefined;
}

/** One run of our provider. */
export interface EscrowLife {
  readonly chain: Chain;
  readonly journal: Journal;
  readonly bus: Bus;
  /** Every withdrawal that was ever filed, the oldest first. */
  withdrawals(): Intent[];
  stop(): Promise<void>;
}

export const blockMs = 6_000;

export async function setUpEscrows(t: Owner, settings: MarketplaceSettings = {}): Promise<EscrowStage> {
  const clock = createVirtualClock();
  const log = silentLog;
  const dir = memoryFolder(t);
  const coins = denoms.map((denom) => ({ denom, amount: 10n ** 13n }));
  const accounts = [tenantKey, ...Object.values(keys)].map(({ address }) => ({ address, coins }));
  const minDeposits = denoms.map((denom) => ({ denom, amount: 1_000n }));
  const app = createApp(
    { chainId, timeNs: BigInt(clock.now()) * 1_000_000n, accounts },
    createMarketplace({ deploymentParams: { minDeposits, priceDenoms: denoms }, ...settings }),
  );
  const node = createNode({ app, clock, log, listens: false });
  await node.start();
  t.after(() => node.stop());
  node.step();
  const pool = createPool({ nodes: [node.transport("tenant's")], clock, random: createSeededRandom(1), log });
  await pool.open();
  t.after(() => pool.close());
  const broadcaster = createCometBroadcaster(pool);
  const queries = createQueries(pool);
  const laterLeases: LeaseId[] = [];
  let stamps = 0n;

  async function blocks(count: number, everyMs = blockMs): Promise<void> {
    for (let made = 0; made < count; made++) {
      // Not all of it before the block: who hears of it has some time until the next.
      await clock.advance(everyMs - 1_000);
      node.step();
      await clock.advance(1_000);
    }
  }

  async function act(key: TestKey, ...messages: Message[]): Promise<void> {
    const account = await broadcaster.account(key.address, 0n);
    const gas = 2_000_000 * messages.length;
    const tx = signTransaction({
      messages,
      signers: [{ key, accountNumber: account?.number ?? 0n }],
      chainId,
      gas,
      fee: [{ denom: "uakt", amount: `${gas}` }],
      unorderedNs: BigInt(clock.now()) * 1_000_000n + 300_000_000_000n + stamps++,
    });
    const receipt = await broadcaster.broadcast(tx);
    if (receipt.kind === "refused") throw new Error(receipt.log);
    await clock.advance(blockMs - 1_000);
    const refused = node.step().output.txResults.find(({ code }) => code !== 0);
    if (refused) throw new Error(refused.log);
    await clock.advance(1_000);
  }

  const idOf = (dseq: bigint): DeploymentId => ({ owner: tenant, dseq });
  for (const key of Object.values(keys)) await act(key, registration(key.address));
  function wayOfOurs(): RpcTransport {
    const inner = node.transport("ours");
    const asked: RpcTransport = {
      ...inner,
      async send(request, bounds) {
        stage.asked(request.text);
        return inner.send(request, bounds);
      },
    };
    return Object.assign(faultTransport(asked), { hangs: () => stage.isAway });
  }
  const paymentOf = async (lease: LeaseId) => (await queries.lease(lease)).value?.payment;

  const stage: EscrowStage = {
    clock,
    node,
    queries,
    isAway: false,
    asked: () => undefined,
    act,
    async lease(dseq, funds, ...prices) {
      const { amount, denom } = parseCoin(funds);
      const leases = prices.map(([who], index): LeaseId => {
        const provider = parseAddress(keys[who].address);
        return { ...idOf(dseq), gseq: index + 1, oseq: 1, provider, bseq: 0 };
      });
      const groups = prices.map(([, price], index) => {
        const most = parseDecCoin(price);
        return spec({ name: `group${index}`, resources: [unit(1, "100000", most.denom)] });
      });
      await act(tenantKey, createDeployment({ id: idOf(dseq), groups, deposit: deposit(amount, denom) }));
      for (const [index, [who, price]] of prices.entries()) {
        const { amount: rate, denom: asked } = parseDecCoin(price);
        const bid = createBid(leases[index], { price: { denom: asked, amount: showDecimal(rate) } });
        await act(keys[who], bid);
      }
      const [now, later] = [
        leases.filter((_, index) => !prices[index]?.[2]),
        leases.filter((_, index) => prices[index]?.[2]),
      ];
      laterLeases.push(...later);
      await act(tenantKey, ...now.map((lease) => createLease(lease)));
      return leases;
    },
    leaseLater: (dseq) =>
      act(tenantKey, ...laterLeases.filter((lease) => lease.dseq === dseq).map((lease) => createLease(lease))),
    async topUp(dseq, funds) {
      const { amount, denom } = parseCoin(funds);
      const message = { signer: tenant, xid: `${tenant}/${dseq}`, deposit: deposit(amount, denom) };
      await act(tenantKey, accountDeposit(message));
    },
    async drain(left) {
      const { items } = await queries.balances(parseAddress(keys.us.address));
      const amount = amountOf(items, "uakt") - left - 2_000_000n;
      const coin = { denom: "uakt", amount: `${amount}` };
      await act(keys.us, packMessage("send", { fromAddress: keys.us.address, toAddress: tenant, amount: [coin] }));
    },
    close: (dseq) => act(tenantKey, closeDeployment(idOf(dseq))),
    blocks,
    state: async (lease) => (await queries.lease(lease)).value?.state,
    withdrawn: async (lease) => (await paymentOf(lease))?.withdrawn.amount,
    async start(parts = {}) {
      const stopping = new AbortController();
      const opened = Promise.withResolvers<Pick<EscrowLife, "chain" | "journal" | "bus">>();
      const options = { ...escrowOptions, ...parts.options };
      const provider = createProvider({
        dataDir: dir,
        chain: { nodes: () => [wayOfOurs()], signer: createSigner(keys.us.secret), settings: fees },
        ...{ clock, log, random: createSeededRandom(2) },
        after(house) {
          void Promise.all([house.chain, house.journal, house.bus]).then(([chain, journal, bus]) =>
            opened.resolve({ chain, journal, bus }),
          );
          return [createBalanceService(options, { ...house, tokenPrice: parts.tokenPrice ?? (() => undefined) })];
        },
      });
      const ended = provider.run(stopping.signal);
      ended.catch(opened.reject);
      let isOpen = false;
      void opened.promise.then(() => {
        isOpen = true;
      });
      await clock.advanceUntil(() => isOpen);
      await clock.advance(1_000);
      const life = await opened.promise;
      const stop = async () => {
        stopping.abort();
        let isOver = false;
        void ended.finally(() => {
          isOver = true;
        });
        await clock.advanceUntil(() => isOver);
        await ended;
      };
      t.after(() => stop().catch(() => undefined));
      return {
        ...life,
        stop,
        withdrawals: () =>
          [...Array(500).keys()].flatMap((id) => {
            const intent = life.journal.read.intents.get(id);
            return intent?.what === "withdrawLease" ? intent : [];
          }),
      };
    },
  };
  return stage;
}

const escrowOptions: BalanceOptions = {
  minimumBalance: [],
  warnBalance: [],
  intervalMs: 600_000,
  periodMs: 0,
  threshold: parseCoins("100000uact,100000uakt"),
  fee: parseCoin("5000uakt"),
};
