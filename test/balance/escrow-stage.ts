/**
 * The chain of money-chain.ts on the virtual clock, with a provider of ours that has no more than the balance checker:
 * leases are made by hand, and a test makes the blocks itself.
 */
import type { BalanceOptions } from "../../src/balance/balance-status.ts";
import type { MarketplaceSettings } from "../../src/box/chain/modules/marketplace.ts";
import type { RpcTransport } from "../../src/chain/comet/transport.ts";
import { packMessage } from "../../src/chain/tx/messages.ts";
import type { Intent } from "../../src/journal/intents.ts";
import { amountOf, parseCoin, parseDecCoin } from "../../src/market/coin.ts";
import { bidOn, type LeaseId } from "../../src/market/ids.ts";
import { advanceUntilSettled } from "../support/advance-until-settled.ts";
import type { TestKey } from "../support/chain-signing.ts";
import { faultTransport } from "../support/fault-transport.ts";
import { memoryFolder } from "../support/folder.ts";
import { closeDeployment, createDeployment, createLease, deposit, spec, unit } from "../support/market-messages.ts";
import {
  bidMessage,
  deploymentOf,
  type MoneyChain,
  messageGas,
  openMoneyChain,
  orderOf,
  other,
  otherKey,
  ourKey,
  tenantKey,
  topUpMessage,
  us,
} from "../support/money-chain.ts";
import { type LifeParts, type Opened, startLife } from "../support/money-life.ts";
import type { Owner } from "../support/owner.ts";
import type { Message } from "../support/stages/market-stage.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";

const providers = { us: { key: ourKey, address: us }, other: { key: otherKey, address: other } };

/** Whose lease, at which price per block; the tenant may take the bid later. */
type Wanted = readonly [who: keyof typeof providers, price: string, when?: "later"];

export interface EscrowStage extends Pick<MoneyChain, "node" | "queries"> {
  readonly clock: VirtualClock;
  /** Whether our provider reaches the chain. */
  isAway: boolean;
  /** Called with every question of our provider; what it throws is the answer. */
  onQuery: (question: string) => void;
  /** A deployment with one lease per price, of whom it names, in this order. */
  lease(dseq: bigint, funds: string, ...prices: readonly Wanted[]): Promise<LeaseId[]>;
  /** Those that were left for later. */
  leaseLater(dseq: bigint): Promise<void>;
  /** A transaction in a block of its own; throws when the chain rejects it. */
  act(key: TestKey, ...messages: Message[]): Promise<void>;
  topUp(dseq: bigint, funds: string): Promise<void>;
  close(dseq: bigint): Promise<void>;
  /** Our wallet's uakt go to the tenant, all but so much. */
  drain(left: bigint): Promise<void>;
  /** Some blocks, with so much time before each. */
  blocks(count: number, everyMs?: number): Promise<void>;
  state(lease: LeaseId): Promise<string | undefined>;
  withdrawn(lease: LeaseId): Promise<bigint | undefined>;
  start(parts?: Pick<LifeParts, "options" | "tokenPrice">): Promise<EscrowLife>;
}

/** One run of our provider. */
export interface EscrowLife extends Opened {
  /** Every withdrawal that was ever filed, the oldest first. */
  withdrawals(): Intent[];
  stop(): Promise<void>;
}

const blockMs = 6_000;
/** Earnings are refunded when they are worth it, whatever time has passed. */
const noPeriod: Partial<BalanceOptions> = { periodMs: 0 };

export async function setUpEscrows(t: Owner, settings: MarketplaceSettings = {}): Promise<EscrowStage> {
  const clock = createVirtualClock();
  const dir = memoryFolder(t);
  const { node, queries, submit } = await openMoneyChain(t, { clock, listens: false, settings });
  const laterLeases: LeaseId[] = [];

  /** Not all of the time before the block: who hears of it has some until the next. */
  async function block(everyMs = blockMs) {
    await clock.advance(everyMs - 1_000);
    const { output } = node.step();
    await clock.advance(1_000);
    return output;
  }

  async function act(key: TestKey, ...messages: Message[]): Promise<void> {
    await submit(key, ...messages);
    const failed = (await block()).txResults.find(({ code }) => code !== 0);
    if (failed) throw new Error(failed.log);
  }

  function wayOfOurs(): RpcTransport {
    const inner = node.transport("ours");
    const observed: RpcTransport = {
      ...inner,
      async send(request, bounds) {
        stage.onQuery(request.text);
        return inner.send(request, bounds);
      },
    };
    return Object.assign(faultTransport(observed), { hangs: () => stage.isAway });
  }

  const leaseOf = async (lease: LeaseId) => (await queries.lease(lease)).value;

  const stage: EscrowStage = {
    clock,
    node,
    queries,
    isAway: false,
    onQuery: () => undefined,
    act,
    async lease(dseq, funds, ...prices) {
      const { amount, denom } = parseCoin(funds);
      const groups = prices.map(([, price], index) =>
        spec({ name: `group${index}`, resources: [unit(1, "100000", parseDecCoin(price).denom)] }),
      );
      await act(tenantKey, createDeployment({ id: deploymentOf(dseq), groups, deposit: deposit(amount, denom) }));
      const leases: LeaseId[] = [];
      const now: LeaseId[] = [];
      for (const [index, [who, price, when]] of prices.entries()) {
        const { key, address } = providers[who];
        const lease = bidOn(orderOf(dseq, index + 1), address);
        await act(key, bidMessage(lease, address, price));
        leases.push(lease);
        (when === "later" ? laterLeases : now).push(lease);
      }
      await act(tenantKey, ...now.map((lease) => createLease(lease)));
      return leases;
    },
    leaseLater: (dseq) =>
      act(tenantKey, ...laterLeases.filter((lease) => lease.dseq === dseq).map((lease) => createLease(lease))),
    topUp: (dseq, funds) => act(tenantKey, topUpMessage(dseq, parseCoin(funds))),
    async drain(left) {
      const amount = amountOf((await queries.balances(us)).items, "uakt") - left - messageGas;
      const coin = { denom: "uakt", amount: `${amount}` };
      await act(ourKey, packMessage("send", { fromAddress: us, toAddress: tenantKey.address, amount: [coin] }));
    },
    close: (dseq) => act(tenantKey, closeDeployment(deploymentOf(dseq))),
    async blocks(count, everyMs) {
      for (let made = 0; made < count; made++) await block(everyMs);
    },
    state: async (lease) => (await leaseOf(lease))?.state,
    withdrawn: async (lease) => (await leaseOf(lease))?.payment?.withdrawn.amount,
    async start({ options, ...parts } = {}) {
      const life = startLife({ clock, transport: wayOfOurs, dir, ...parts, options: { ...noPeriod, ...options } });
      const stop = () => advanceUntilSettled(clock, life.stop());
      t.after(() => stop().catch(() => undefined));
      const opened = await advanceUntilSettled(clock, life.ready);
      await clock.advance(1_000);
      return {
        ...opened,
        stop,
        withdrawals: () =>
          [...Array(500).keys()].flatMap((id) => {
            const intent = opened.journal.read.intents.get(id);
            return intent?.what === "withdrawLease" ? intent : [];
          }),
      };
    },
  };
  return stage;
}
