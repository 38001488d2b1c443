/** The IP addresses that can be leased, polled from the IP operator. */
import type { Address } from "../../../market/address.ts";
import { sleep } from "../../../runtime/clock.ts";
import type { RuntimeDeps } from "../../../runtime/deps.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { untilAborted } from "../../../runtime/lifecycle.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import type { IpOperatorClient, PoolUsage } from "./ip-operator.ts";

/** The IP operator counts as often itself. */
export const addressesPollMs = 5 * second;
/** An older answer promises nothing. */
export const addressesOldMs = 2 * minute;
/** Leases queried at once; each is a request of the operator to the API server. */
const addressesLeasesAtOnce = 4;

interface AddressPoolDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  /** Undefined where addresses are not leased. */
  readonly operator: IpOperatorClient | undefined;
  /** The orders whose leases should have their addresses by now. */
  readonly leased: () => Iterable<string>;
  /** Ours, whose leases the operator must serve. */
  readonly provider: Address;
}

export type AddressPool = ReturnType<typeof createAddressPool>;

export function createAddressPool({ operator, leased, provider, clock, log }: AddressPoolDeps) {
  const listeners: (() => void)[] = [];
  const counts = { answers: 0, errors: 0, leaseErrors: 0 };
  let usage: Omit<PoolUsage, "provider"> | undefined;
  let answeredAtMs = 0;
  let lastError: string | undefined;
  let confirmed = new Map<string, bigint>();

  function notify(): void {
    for (const listener of listeners) listener();
  }

  async function pollUsage(from: IpOperatorClient, signal: AbortSignal): Promise<void> {
    try {
      const { provider: served, ...counted } = await from.usage(signal);
      if (served !== undefined && served !== provider)
        throw new Error(`it serves ${served}, not ${provider}: correct its AP_PROVIDER`);
      usage = counted;
    } catch (thrown) {
      signal.throwIfAborted();
      const reason = reasonOf(thrown);
      counts.errors += 1;
      if (lastError !== reason) log.info("IP operator request failed", { reason });
      lastError = reason;
      return;
    }
    counts.answers += 1;
    answeredAtMs = clock.monotonicMs();
    if (lastError !== undefined) log.info("IP operator request succeeded again");
    lastError = undefined;
    notify();
  }

  async function pollLeases(from: IpOperatorClient, signal: AbortSignal): Promise<void> {
    const orders = new Set(leased());
    confirmed = new Map([...confirmed].filter(([order]) => orders.has(order)));
    await inParallel([...orders], addressesLeasesAtOnce, async (order) => {
      try {
        const ports = await from.portsOf(order, signal);
        confirmed.set(order, BigInt(new Set(ports.map(({ address }) => address)).size));
      } catch (thrown) {
        signal.throwIfAborted();
        counts.leaseErrors += 1;
        log.debug("failed to read the addresses of a lease", { order, reason: reasonOf(thrown) });
      }
    });
    if (orders.size > 0) notify();
  }

  async function repeat(poll: typeof pollUsage, from: IpOperatorClient, signal: AbortSignal): Promise<never> {
    for (;;) {
      await poll(from, signal);
      await sleep(clock, addressesPollMs, signal);
    }
  }

  const ageMs = () => usage && clock.monotonicMs() - answeredAtMs;
  return {
    /** The last answer, however old. */
    get usage() {
      return usage;
    },
    /** By that answer; a pool that was made smaller may have more in use than it has. */
    get free(): bigint {
      return usage && usage.total > usage.inUse ? usage.total - usage.inUse : 0n;
    },
    get ageMs() {
      return ageMs();
    },
    /** Why no address may be promised: leasing is off, there is no answer yet, or the last is too old. */
    get error(): string | undefined {
      if (!operator) return "IP addresses are not leased here: --ip-operator is off";
      const because = lastError === undefined ? "" : `: ${lastError}`;
      const age = ageMs();
      if (age === undefined) return `the IP operator has not reported how many addresses are free yet${because}`;
      if (age <= addressesOldMs) return undefined;
      return `the IP operator has been silent for ${Math.floor(age / 1_000)} s${because}`;
    },
    /** How many addresses the order's lease has; undefined where that is not known. */
    confirmed: (order: string): bigint | undefined => confirmed.get(order),
    counts: counts as Readonly<typeof counts>,
    get lastError() {
      return lastError;
    },
    /** Notified after every answer. */
    onAnswer: (listener: () => void) => void listeners.push(listener),
    /** Polls until the signal is aborted. */
    async run(signal: AbortSignal): Promise<void> {
      if (!operator) return untilAborted(signal);
      // In parallel: a slow lease must not make what is free look old.
      const polling = [repeat(pollUsage, operator, signal), repeat(pollLeases, operator, signal)];
      await Promise.all(polling).catch((thrown) => {
        if (!signal.aborted) throw thrown;
      });
    },
  };
}

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
    ["lease_errors", "Requests for the addresses of a lease that failed", () => pool.counts.leaseErrors],
  ]);
}
