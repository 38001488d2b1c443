/** Bid screening before there is an order: rate-limited per account and in total, and behind real orders. */
import type { Address } from "../../market/address.ts";
import type { DecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { createSemaphore } from "../../runtime/semaphore.ts";

/** For a person who tries some variants. */
export const screeningPerAccount = { atOnce: 20, perMinute: 20, remembered: 10_000 };
/** A decision takes a millisecond or two, or a process for a pricing script. */
const screeningInAll = { atOnce: 100, perMinute: 600, remembered: 1 };
/** Pricing scripts of screenings at once; orders have thirty. */
export const screeningsAtOnce = 2;
export const screeningsWaiting = 50;
/** How long a screening waits for pending orders. */
export const screeningMaxWaitMs = 10_000;
export const screeningRetryMs = 50;

/** The bid engine; nothing is reserved or sent. */
export interface BidScreen {
  /** Undefined while an order is pending. */
  screenBetweenOrders(request: ScreenRequest, signal: AbortSignal): Promise<OfferedScreen | undefined>;
  /** Why one of these names is not available to the owner. Throws AKP_CLUSTER_UNKNOWN. */
  hostRejection(hosts: readonly string[], owner: Address): string | undefined;
}

interface ScreenRequest {
  readonly owner: Address;
  readonly group: GroupSpec;
  readonly reclamationWindowNs: undefined;
}

/** A decision of the bid engine, as far as it is shown. */
export interface Screened {
  readonly verdict: "bid" | "no";
  readonly checks: readonly { readonly name: string; readonly verdict: string; readonly reason: string }[];
  readonly price: DecCoin | undefined;
}

export interface OfferedScreen extends Screened {
  readonly offer: Fits["offer"] | undefined;
}

/** Too many requests, or orders are pending: to be retried in so many seconds. */
export class ScreeningBusy extends Error {
  override readonly name = "ScreeningBusy";
  readonly retryAfterS: number;

  constructor(retryAfterS: number) {
    super("too many requests");
    this.retryAfterS = retryAfterS;
  }
}

export type Screener = (owner: Address, group: GroupSpec, signal: AbortSignal) => Promise<OfferedScreen>;

export function createScreener(bids: Pick<BidScreen, "screenBetweenOrders">, clock: Clock): Screener {
  const perAccount = createRateLimiter(screeningPerAccount, clock);
  const inAll = createRateLimiter(screeningInAll, clock);
  const semaphore = createSemaphore(screeningsAtOnce);

  async function betweenOrders(request: ScreenRequest, signal: AbortSignal): Promise<OfferedScreen> {
    const untilMs = clock.monotonicMs() + screeningMaxWaitMs;
    for (;;) {
      const screened = await bids.screenBetweenOrders(request, signal);
      if (screened) return screened;
      if (clock.monotonicMs() >= untilMs) throw new ScreeningBusy(screeningMaxWaitMs / 1_000);
      await sleep(clock, screeningRetryMs, signal);
    }
  }

  return async (owner, group, signal) => {
    // Rejected requests of an account do not count in total.
    const waitS = perAccount(owner) ?? inAll("all");
    if (waitS !== undefined) throw new ScreeningBusy(waitS);
    if (semaphore.waiting >= screeningsWaiting) throw new ScreeningBusy(1);
    const release = await semaphore.acquire(signal);
    try {
      return await betweenOrders({ owner, group, reclamationWindowNs: undefined }, signal);
    } finally {
      // The next one starts in another turn of the event loop: a hard placement takes 50 ms.
      await clock.yield();
      release();
    }
  };
}

/** A token bucket per key, of so many keys. Returns the seconds to wait where there is no token left. */
export function createRateLimiter({ atOnce, perMinute, remembered }: typeof screeningPerAccount, clock: Clock) {
  const perMs = perMinute / 60_000;
  const accounts = createLruCache<{ readonly left: number; readonly atMs: number }>({ most: remembered });
  return (key: string): number | undefined => {
    const nowMs = clock.monotonicMs();
    const before = accounts.get(key);
    const left = before ? Math.min(atOnce, before.left + (nowMs - before.atMs) * perMs) : atOnce;
    const isLeft = left >= 1;
    accounts.set(key, { left: isLeft ? left - 1 : left, atMs: nowMs });
    return isLeft ? undefined : Math.max(1, Math.ceil((1 - left) / perMs / 1_000));
  };
}
