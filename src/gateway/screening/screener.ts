/** Would we bid on this? Asked by tenants before they have an order: a few at a time, each its share, and never before a real one. */
import type { Address } from "../../market/address.ts";
import type { DecCoin } from "../../market/coin.ts";
import type { Fits } from "../../market/fit.ts";
import type { GroupSpec } from "../../market/group-spec.ts";
import { type Clock, sleep } from "../../runtime/clock.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { createSemaphore } from "../../runtime/semaphore.ts";

/** A person tries a few variants, a console asks for each of its users: a minute's worth at once. */
export const screeningPerAccount = { atOnce: 20, perMinute: 20, remembered: 10_000 };
/** A decision takes a millisecond or two, or a process where a script has the prices: this leaves the rest for orders. */
const screeningInAll = { atOnce: 100, perMinute: 600, remembered: 1 };
/** Pricing scripts of screenings that run at a time; orders have thirty. */
export const screeningsAtOnce = 2;
export const screeningsWaiting = 50;
/** Orders come first for so long; then who asked is sent away. */
export const screeningMaxWaitMs = 10_000;
export const screeningRetryMs = 50;

/** What decides on orders. Takes nothing and sends nothing. */
export interface BidScreen {
  /** Undefined while an order waits, or where one came before the answer. */
  screenBetweenOrders(asked: AskedScreen, signal: AbortSignal): Promise<OfferedScreen | undefined>;
  /** Why one of these names cannot be had by him. Throws AKP_CLUSTER_UNKNOWN where nobody knows. */
  hostRefusal(hosts: readonly string[], owner: Address): string | undefined;
}

interface AskedScreen {
  readonly owner: Address;
  readonly group: GroupSpec;
  readonly reclamationWindowNs: undefined;
}

/** A decision of the bid engine, as far as it is told. */
export interface Screened {
  readonly verdict: "bid" | "no";
  readonly checks: readonly { readonly name: string; readonly verdict: string; readonly reason: string }[];
  readonly price: DecCoin | undefined;
}

export interface OfferedScreen extends Screened {
  readonly offer: Fits["offer"] | undefined;
}

/** Too many ask, or too much else is to be done: to be asked again in so many seconds. */
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
  const slots = createSemaphore(screeningsAtOnce);

  async function betweenOrders(asked: AskedScreen, signal: AbortSignal): Promise<OfferedScreen> {
    const untilMs = clock.monotonicMs() + screeningMaxWaitMs;
    for (;;) {
      const screened = await bids.screenBetweenOrders(asked, signal);
      if (screened) return screened;
      if (clock.monotonicMs() >= untilMs) throw new ScreeningBusy(screeningMaxWaitMs / 1_000);
      await sleep(clock, screeningRetryMs, signal);
    }
  }

  return async (owner, group, signal) => {
    // One who asks without end takes nothing of what others have.
    const waitS = perAccount(owner) ?? inAll("all");
    if (waitS !== undefined) throw new ScreeningBusy(waitS);
    if (slots.waiting >= screeningsWaiting) throw new ScreeningBusy(1);
    const giveBack = await slots.acquire(signal);
    try {
      return await betweenOrders({ owner, group, reclamationWindowNs: undefined }, signal);
    } finally {
      // The next one begins in another turn of the event loop: a hard placement takes 50 ms.
      await clock.yield();
      giveBack();
    }
  };
}

interface Rate {
  readonly atOnce: number;
  readonly perMinute: number;
  /** Of so many it is remembered; of more, those are forgotten who asked longest ago. */
  readonly remembered: number;
}

/** Takes one for this key. How many seconds to wait instead, where there is none left. */
type Allowance = (key: string) => number | undefined;

export function createRateLimiter({ atOnce, perMinute, remembered }: Rate, clock: Clock): Allowance {
  const perMs = perMinute / 60_000;
  const accounts = createLruCache<{ readonly left: number; readonly atMs: number }>({ most: remembered });
  return (key) => {
    const nowMs = clock.monotonicMs();
    const before = accounts.get(key);
    const left = before ? Math.min(atOnce, before.left + (nowMs - before.atMs) * perMs) : atOnce;
    const isLeft = left >= 1;
    accounts.set(key, { left: isLeft ? left - 1 : left, atMs: nowMs });
    return isLeft ? undefined : Math.max(1, Math.ceil((1 - left) / perMs / 1_000));
  };
}
