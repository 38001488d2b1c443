/**
 * The world of the balance checker: a chain on which a tenant has deployments in two denominations, another provider that
 * is paid out of the same accounts, and a provider of ours that lives there once or several times on one journal. It has
 * no cluster: it bids on every order that is not meant for the other, and takes a bid back that nobody wants.
 */
import type { BalanceOptions } from "../src/balance/balance-options.ts";
import { createBalanceService } from "../src/balance/balance-service.ts";
import type { BalanceDocument } from "../src/balance/balance-status.ts";
import { createApp } from "../src/box/chain/app.ts";
import { createMarketplace } from "../src/box/chain/modules/marketplace.ts";
import type { Block } from "../src/box/chain/node/block-store.ts";
import { createNode, type Node } from "../src/box/chain/node/node.ts";
import type { Chain, Queries } from "../src/chain/chain.ts";
import { createPool } from "../src/chain/comet/pool.ts";
import { createQueries } from "../src/chain/comet/queries/queries.ts";
import type { RpcTransport } from "../src/chain/comet/transport.ts";
import { createSigner } from "../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../src/chain/tx/comet-broadcaster.ts";
import type { Journal } from "../src/journal/journal.ts";
import { type Address, parseAddress } from "../src/market/address.ts";
import { type Coin, formatDecCoin, parseCoin, parseCoins, parseDecCoins } from "../src/market/coin.ts";
import { parseDecimal } from "../src/market/decimal.ts";
import { bidOn, type DeploymentId, formatOrderId, type OrderId } from "../src/market/ids.ts";
import { createProvider, type House } from "../src/provider/provider.ts";
import { type Boundary, openBoundary } from "../src/runtime/boundary.ts";
import { type Clock, createVirtualClock, realClock, sleep, type Timer } from "../src/runtime/clock.ts";
import type { Service } from "../src/runtime/lifecycle.ts";
import { silentLog } from "../src/runtime/log.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { signTransaction, type TestKey, testKey } from "./chain-signing.ts";
import { closeBid, createBid, createDeployment, deposit, spec, unit } from "./market-messages.ts";
import type { Message } from "./market-stage.ts";
import { registration } from "./outbox-stage.ts";
import { createOwner } from "./owner.ts";
import { whileTimePasses } from "./while-time-passes.ts";

export const chainId = "money-1";
export const denoms = ["uact", "uakt"] as const;
export const tenantKey = testKey("money tenant");
export const ourKey = testKey("money provider");
export const otherKey = testKey("money other provider");
export const us: Address = parseAddress(ourKey.address);
export const other: Address = parseAddress(otherKey.address);
const tenant: Address = parseAddress(tenantKey.address);

const fees = { gasAdjustment: parseDecimal("1.5"), gasPrices: parseDecCoins("0.025uakt") };
/** More than anybody spends. */
const purse = denoms.map((denom) => ({ denom, amount: 10n ** 16n }));
const patienceMs = 3_600_000;

interface Pace {
  readonly clock: Clock;
  readonly blockMs: number;
  readonly lookMs: number;
  /** Whether others than this process can reach the chain. */
  readonly listens: boolean;
}

export interface MoneyStage {
  readonly clock: Clock;
  readonly node: Node;
  readonly queries: Queries;
  /** What our wallet held before its provider began. */
  readonly purse: readonly Coin[];
  /** All since then. */
  readonly blocks: readonly Block[];
  /** A transaction for the next block; whether it succeeds there is seen there. */
  submit(key: TestKey, ...messages: Message[]): Promise<void>;
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** Until so many more blocks are made. */
  pass(count: number): Promise<void>;
  /** No more blocks. */
  freeze(): void;
  live(parts: LifeParts): Life;
}

export interface LifeParts {
  readonly dir: string;
  readonly boundary?: Boundary;
  readonly options?: Partial<BalanceOptions>;
  /** Dollars per AKT. */
  readonly tokenPrice?: string | undefined;
  /** Blocks until an open bid is taken back. */
  readonly bidBlocks?: number;
}

export interface Life {
  readonly ready: Promise<{ readonly chain: Chain; readonly journal: Journal }>;
  readonly ended: Promise<void>;
  status(): BalanceDocument | undefined;
  stop(): Promise<void>;
}

export const moneyOptions: BalanceOptions = {
  minimumBalance: [],
  warnBalance: [],
  intervalMs: 600_000,
  periodMs: 900_000,
  threshold: parseCoins("100000uact,100000uakt"),
  fee: parseCoin("5000uakt"),
};

export async function onMoneyStage(blockMs: number, play: (stage: MoneyStage) => Promise<void>): Promise<void> {
  const clock = createVirtualClock();
  const pace = { clock, blockMs, lookMs: blockMs, listens: false };
  await whileTimePasses(clock, setUp(pace, play), 365 * 86_400_000);
}

/** In real time, for providers that are processes of their own. */
export async function onRealMoneyStage(blockMs: number, play: (stage: MoneyStage) => Promise<void>): Promise<void> {
  await setUp({ clock: realClock, blockMs, lookMs: 20, listens: true }, play);
}

async function setUp(pace: Pace, play: (stage: MoneyStage) => Promise<void>): Promise<void> {
  await using owner = createOwner();
  const { clock, blockMs, lookMs, listens } = pace;
  const log = silentLog;
  const accounts = [tenantKey, ourKey, otherKey].map(({ address }) => ({ address, coins: purse }));
  const minDeposits = denoms.map((denom) => ({ denom, amount: 1_000n }));
  const app = createApp(
    { chainId, timeNs: BigInt(clock.now()) * 1_000_000n, accounts },
    createMarketplace({ deploymentParams: { minDeposits, priceDenoms: denoms } }),
  );
  const node = createNode({ app, clock, log, listens });
  await node.start();
  owner.after(() => node.stop());
  node.step();
  let blockTimer: Timer | undefined;
  const makeBlocks = () => {
    blockTimer = clock.timer(blockMs, () => {
      makeBlocks();
      node.step();
    });
  };
  makeBlocks();
  owner.after(() => blockTimer?.cancel());
  const pool = createPool({ nodes: [node.transport("spectator")], clock, random: createSeededRandom(1), log });
  await pool.open();
  owner.after(() => pool.close());
  const [broadcaster, queries] = [createCometBroadcaster(pool), createQueries(pool)];
  const blocks: Block[] = [];
  let stamps = 0n;

  async function submit(key: TestKey, ...messages: Message[]): Promise<void> {
    const account = await broadcaster.account(key.address, 0n);
    const gas = 1_500_000 * messages.length;
    const receipt = await broadcaster.broadcast(
      signTransaction({
        messages,
        signers: [{ key, accountNumber: account?.number ?? 0n }],
        chainId,
        gas,
        fee: [{ denom: "uakt", amount: `${gas}` }],
        unorderedNs: BigInt(clock.now()) * 1_000_000n + 300_000_000_000n + stamps++,
      }),
    );
    if (receipt.kind === "refused") throw new Error(receipt.log);
  }

  async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const limitMs = clock.now() + patienceMs;
    while (!(await isSo())) {
      if (clock.now() > limitMs) throw new Error(`waited in vain: ${what}`);
      await sleep(clock, lookMs);
    }
  }

  for (const key of [ourKey, otherKey]) await submit(key, registration(key.address));
  await until("registration", async () => (await queries.provider(other)).value !== undefined);
  const lives: Life[] = [];
  owner.after(async () => {
    for (const life of lives) await life.stop().catch(() => undefined);
  });
  node.onBlock((block) => void blocks.push(block));
  await play({
    clock,
    node,
    queries,
    purse: (await queries.balances(us)).items,
    blocks,
    submit,
    until,
    async pass(count) {
      for (let made = 0; made < count; made++) await nextBlock(node);
    },
    freeze: () => blockTimer?.cancel(),
    live(parts) {
      const life = startLife({ clock, transport: () => node.transport(), ...parts });
      lives.push(life);
      return life;
    },
  });
}

/** Whoever waits for it comes before our provider, which has to ask for the block first. */
function nextBlock(node: Node): Promise<void> {
  return new Promise((resolve) => {
    const end = node.onBlock(() => {
      end();
      resolve();
    });
  });
}

interface Starting extends LifeParts {
  readonly clock: Clock;
  readonly transport: () => RpcTransport;
}

/** One run of our provider. */
export function startLife({ clock, transport, dir, boundary = openBoundary, ...parts }: Starting): Life {
  const stopping = new AbortController();
  const opened = Promise.withResolvers<{ readonly chain: Chain; readonly journal: Journal }>();
  const price = parts.tokenPrice === undefined ? undefined : parseDecimal(parts.tokenPrice);
  const provider = createProvider({
    dataDir: dir,
    chain: { nodes: () => [transport()], signer: createSigner(ourKey.secret), settings: fees },
    boundary,
    clock,
    random: createSeededRandom(2),
    log: silentLog,
    after: (house) => [
      createBalanceService({ ...moneyOptions, ...parts.options }, { ...house, tokenPrice: () => price }),
      bidder(house, parts.bidBlocks ?? 40, opened.resolve),
    ],
  });
  const ended = provider.run(stopping.signal);
  ended.catch(opened.reject);
  opened.promise.catch(() => undefined);
  return {
    ready: opened.promise,
    ended,
    status: () => (provider.status().documents as { readonly balance?: BalanceDocument }).balance,
    stop() {
      stopping.abort();
      return ended;
    },
  };
}

/** Stands for the bid engine: one bid on each order, known by the journal alone, whatever becomes of this process. */
function bidder(
  house: House,
  bidBlocks: number,
  ready: (running: { readonly chain: Chain; readonly journal: Journal }) => void,
): Service {
  return {
    name: "bidder",
    async start() {
      const [chain, journal] = await Promise.all([house.chain, house.journal]);
      const { mirror, outbox } = chain;
      const look = async () => {
        const isFiled = (subject: string, wanted: string) =>
          journal.read.intents.about(subject).some(({ what }) => what === wanted);
        for (const { id, spec: group } of [...mirror.orders()]) {
          const subject = formatOrderId(id);
          const [asked] = group.units;
          if (group.name.startsWith(notOurs) || !asked || isFiled(subject, "createBid")) continue;
          const message = bidMessage(id, us, formatDecCoin(asked.price));
          await outbox.file({ subject, why: "it is an order", message, priority: "bid" });
        }
        for (const { id, state, createdAt } of [...mirror.bids()]) {
          const subject = formatOrderId(id);
          if (state !== "open" || mirror.height < createdAt + BigInt(bidBlocks) || isFiled(subject, "closeBid"))
            continue;
          await outbox.file({ subject, why: "nobody wants it", message: closeBid(id), priority: "close" });
        }
      };
      chain.onStep(look);
      await look();
      ready({ chain, journal });
    },
  };
}

/** In what we deposit for a bid. */
export function bidDeposit({ dseq }: OrderId): Coin {
  return { denom: dseq % 2n === 0n ? "uact" : "uakt", amount: 500_000n + dseq };
}

export function bidMessage(order: OrderId, provider: Address, price: string): Message {
  const { denom, amount } = bidDeposit(order);
  const [, rate = "", priceDenom = ""] = /^([\d.]+)(.+)$/.exec(price) ?? [];
  return createBid(bidOn(order, provider), {
    price: { denom: priceDenom, amount: rate },
    deposit: deposit(amount, denom),
  });
}

/** Orders of groups with such a name are left to the other provider. */
const notOurs = "theirs";

export interface Wish {
  readonly dseq: bigint;
  readonly denom: string;
  readonly funds: bigint;
  /** Of each group what it pays per block, and who may bid on it. */
  readonly groups: readonly { readonly rate: string; readonly name: "ours" | "theirs" | "anybody's" }[];
}

export function deploymentOf(dseq: bigint): DeploymentId {
  return { owner: tenant, dseq };
}

export function orderOf(dseq: bigint, gseq = 1): OrderId {
  return { ...deploymentOf(dseq), gseq, oseq: 1 };
}

export function deploymentMessage({ dseq, denom, funds, groups }: Wish): Message {
  return createDeployment({
    id: deploymentOf(dseq),
    groups: groups.map(({ rate, name }, index) =>
      spec({ name: `${name}-${index + 1}`, resources: [unit(1, rate, denom)] }),
    ),
    deposit: deposit(funds, denom),
  });
}
