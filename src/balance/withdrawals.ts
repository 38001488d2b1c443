/** Our withdrawals: those that are under way, and what became of those that landed. */
import type { Bus } from "../bus/bus.ts";
import type { Chain, Settled, SettledResult } from "../chain/chain.ts";
import { isWithdrawal, priorities } from "../chain/outbox/intent.ts";
import { runs } from "../chain/records.ts";
import type { Journal } from "../journal/journal.ts";
import { amountOf, type Coin, parseCoins } from "../market/coin.ts";
import { divide } from "../market/decimal.ts";
import { type LeaseId, parseLeaseId } from "../market/ids.ts";
import { largest } from "../runtime/bigint.ts";
import { withdrawalGas } from "../runtime/limits.ts";
import type { Log } from "../runtime/log.ts";

interface WithdrawalsDeps {
  /** About what one costs; undefined where somebody else pays. */
  readonly fee: Coin | undefined;
  readonly chain: Pick<Chain, "mirror" | "outbox">;
  readonly journal: Pick<Journal, "read">;
  readonly bus: Pick<Bus, "publish">;
  readonly log: Log;
}

interface Waiting {
  readonly lease: LeaseId;
  /** How many the same escrow pays, ours or not. */
  readonly leases: number;
}

export function createWithdrawals({ fee, chain, journal, bus, log }: WithdrawalsDeps) {
  const { mirror, outbox } = chain;
  const { intents } = journal.read;
  const fees = createWithdrawalFees(fee);
  const waiting = new Map<number, Waiting>();
  const counts = { done: 0, failed: 0 };
  let landedAt = 0n;

  function announce(
    lease: string,
    state: "done" | "failed",
    { received, fee, height, log: reason }: SettledResult,
  ): void {
    const told = { received, fee, height, ...(state === "failed" && { reason }) };
    const known = Object.fromEntries(Object.entries(told).flatMap(([name, value]) => (value ? [[name, value]] : [])));
    bus.publish("akash.provider.balance.withdrawal", { lease, state, ...known });
    log.info("withdrawal settled", { lease, state, ...known });
  }

  return {
    /** Those that were filed before the start. */
    resume(): void {
      for (const intent of intents.unsettled(intents.owed())) {
        if (isWithdrawal(intent)) waiting.set(intent.id, { lease: parseLeaseId(intent.subject), leases: 1 });
      }
    },
    filed(id: number, one: Waiting): void {
      if (intents.get(id)?.settledAtMs === undefined) waiting.set(id, one);
    },
    /** The lease that it was about; undefined where it is no withdrawal that was settled. */
    settled({ id, state, result }: Settled): LeaseId | undefined {
      const intent = intents.get(id);
      if (!intent || !isWithdrawal(intent)) return undefined;
      const { leases = 1 } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (state === "done" || state === "failed") {
        counts[state] += 1;
        // One that ends leases has the chain do more, and costs what it costs.
        if (intent.priority !== priorities.close) fees.note(result, leases);
        announce(intent.subject, state, result);
      }
      if (result.height !== undefined) landedAt = largest(landedAt, BigInt(result.height));
      return parseLeaseId(intent.subject);
    },
    /** The chain pays out what it closes, and refuses to pay it a second time. */
    async cancelEnded(): Promise<void> {
      for (const [id, { lease }] of [...waiting]) {
        if (runs(mirror.lease(lease)) || intents.get(id)?.state !== "filed") continue;
        await outbox.cancel(id, "the lease is over, and the chain has paid it out");
      }
    },
    feeFor: fees.feeFor,
    /** The height of the last that landed. */
    get landedAt() {
      return landedAt;
    },
    get state() {
      return { waiting: waiting.size, ...counts };
    },
  };
}

// What a withdrawal is taken to cost: what was reckoned before any had landed, or more where one of the last cost more.
// It settles its whole escrow, so it costs the more gas the more leases that pays, ours or not.

/** And of each further lease that the same escrow pays: all of them are written anew. */
const withdrawalGasEach = 30_000n;
/** Settled withdrawals whose cost says what the next one may cost. */
const withdrawalFeesKept = 16;

/** What is reckoned is for an escrow that pays one lease. */
function createWithdrawalFees(reckoned: Coin | undefined) {
  /** As if their escrows had paid one lease. */
  const paid: bigint[] = [];
  return {
    /** Of an escrow that paid so many. */
    note({ fee = "" }: SettledResult, leases: number): void {
      if (!reckoned || fee === "") return;
      paid.push(divide(amountOf(parseCoins(fee), reckoned.denom) * gasFor(1), gasFor(leases), "up"));
      if (paid.length > withdrawalFeesKept) paid.shift();
    },
    /** Undefined where somebody else pays. */
    feeFor(leases: number): Coin | undefined {
      if (!reckoned) return undefined;
      const amount = divide(largest(reckoned.amount, ...paid) * gasFor(leases), gasFor(1), "up");
      return { ...reckoned, amount };
    },
  };
}

function gasFor(leases: number): bigint {
  return withdrawalGas + withdrawalGasEach * BigInt(Math.max(0, leases - 1));
}
