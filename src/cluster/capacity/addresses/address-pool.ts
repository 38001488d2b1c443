/** The IP addresses that can be leased, as the IP operator tells of them. */
import type { Address } from "../../../market/address.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { untilAborted } from "../../../runtime/lifecycle.ts";
import type { Log } from "../../../runtime/log.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import type { AddressUsage, IpOperator } from "./ip-operator.ts";

/** Pause after the IP operator has answered: it counts anew as often itself. */
export const addressesPollMs = 5 * second;
/** What was told longer ago promises nothing. */
export const addressesOldMs = 2 * minute;
/** Leases that are asked about at once; each is a question to the API server for the operator. */
const addressesLeasesAtOnce = 4;

export interface AddressPool {
  /** What was told last, whatever happens to the operator; undefined until it has answered. */
  readonly usage: AddressUsage | undefined;
  /** By that answer, before anything that was promised since. */
  readonly free: bigint;
  readonly ageMs: number | undefined;
  /** Why no address may be promised: leasing is off, there is no answer yet, or the last is too old. In words. */
  readonly trouble: string | undefined;
  /** How many addresses the order's lease has; undefined where that was not told yet. Of the orders that are asked for. */
  confirmed(orderId: string): bigint | undefined;
  readonly counts: Readonly<AddressCounts>;
  /** Of the question that all others depend on, since it was last answered. */
  readonly lastError: string | undefined;
  /** Told when more may be known than before. */
  onAnswer(listener: () => void): void;
  /** Asks until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

interface AddressCounts {
  answers: number;
  errors: number;
  /** Leases whose addresses were asked for in vain. */
  leaseErrors: number;
}

interface AddressPoolDeps {
  readonly operator: IpOperator;
  /** The orders whose leases should have their addresses by now. */
  readonly leased: () => Iterable<string>;
  /** Ours, whose leases the operator must serve. */
  readonly provider: Address;
  readonly clock: Clock;
  readonly log: Log;
}

export function createAddressPool({ operator, leased, provider, clock, log }: AddressPoolDeps): AddressPool {
  const listeners: (() => void)[] = [];
  const counts = { answers: 0, errors: 0, leaseErrors: 0 };
  let usage: AddressUsage | undefined;
  let answeredAtMs = 0;
  let lastError: string | undefined;
  let confirmed = new Map<string, bigint>();

  function tell(): void {
    for (const listener of listeners) listener();
  }

  async function askUsage(signal: AbortSignal): Promise<void> {
    try {
      const { provider: served, ...counted } = await operator.usage(signal);
      if (served !== undefined && served !== provider)
        throw new Error(`it serves ${served}, not ${provider}: correct its AP_PROVIDER`);
      usage = counted;
    } catch (thrown) {
      signal.throwIfAborted();
      const reason = reasonOf(thrown);
      counts.errors += 1;
      if (lastError !== reason) log.info("IP operator gave no answer", { reason });
      lastError = reason;
      return;
    }
    counts.answers += 1;
    answeredAtMs = clock.monotonicMs();
    if (lastError !== undefined) log.info("IP operator answers again");
    lastError = undefined;
    tell();
  }

  async function askLeases(signal: AbortSignal): Promise<void> {
    const orders = [...leased()];
    // Nobody asks any more for what is not among them.
    confirmed = new Map(orders.flatMap((order) => entryOf(order)));
    await inParallel(orders, addressesLeasesAtOnce, async (order) => {
      try {
        const ports = await operator.portsOf(order, signal);
        confirmed.set(order, BigInt(new Set(ports.map(({ address }) => address)).size));
      } catch (thrown) {
        signal.throwIfAborted();
        // One that cannot be told keeps none of the others waiting, and is asked for again.
        counts.leaseErrors += 1;
        log.debug("addresses of a lease are not known", { order, reason: reasonOf(thrown) });
      }
    });
    if (orders.length > 0) tell();
  }

  function entryOf(order: string): [string, bigint][] {
    const known = confirmed.get(order);
    return known === undefined ? [] : [[order, known]];
  }

  async function again(ask: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<never> {
    for (;;) {
      await ask(signal);
      await sleep(clock, addressesPollMs, signal);
    }
  }

  const ageMs = () => usage && clock.monotonicMs() - answeredAtMs;

  return {
    get usage() {
      return usage;
    },
    get free() {
      // A pool that was made smaller may have more in use than it has.
      return usage && usage.total > usage.inUse ? usage.total - usage.inUse : 0n;
    },
    get ageMs() {
      return ageMs();
    },
    get trouble() {
      const because = lastError === undefined ? "" : `: ${lastError}`;
      const age = ageMs();
      if (age === undefined) return `the IP operator has not told how many addresses are free yet${because}`;
      if (age <= addressesOldMs) return undefined;
      return `the IP operator has been silent for ${Math.floor(age / 1_000)} s${because}`;
    },
    confirmed: (orderId) => confirmed.get(orderId),
    counts,
    get lastError() {
      return lastError;
    },
    onAnswer: (listener) => void listeners.push(listener),
    async run(signal) {
      // Side by side: a lease that takes its time must not make what is free look old.
      await Promise.all([again(askUsage, signal), again(askLeases, signal)]).catch((thrown) => {
        if (!signal.aborted) throw thrown;
      });
    },
  };
}

/** Where addresses are not leased at all. */
export const noAddresses: AddressPool = {
  usage: undefined,
  free: 0n,
  ageMs: undefined,
  trouble: "IP addresses are not leased here: --ip-operator is off",
  confirmed: () => undefined,
  counts: { answers: 0, errors: 0, leaseErrors: 0 },
  lastError: undefined,
  onAnswer: () => undefined,
  run: untilAborted,
};

// What is measured of the IP addresses that can be leased.

const name = "akash_provider_addresses";

export function measureAddresses(metrics: Metrics, pool: Pick<AddressPool, "usage" | "ageMs" | "counts">): void {
  metrics.readEach("gauge", name, [
    ["available", "IP addresses of the pool", () => Number(pool.usage?.total ?? 0n)],
    ["in_use", "IP addresses in use", () => Number(pool.usage?.inUse ?? 0n)],
    ["age_seconds", "Age of the IP operator's last answer", () => (pool.ageMs === undefined ? [] : pool.ageMs / 1_000)],
  ]);
  metrics.readEach("counter", name, [
    ["answers", "Answers of the IP operator", () => pool.counts.answers],
    ["errors", "Requests to the IP operator that failed", () => pool.counts.errors],
    ["lease_errors", "Leases whose addresses the IP operator did not tell", () => pool.counts.leaseErrors],
  ]);
}
