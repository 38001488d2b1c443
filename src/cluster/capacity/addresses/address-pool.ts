/** The IP addresses that can be leased, as the IP operator tells of them. */
import type { Address } from "../../../market/address.ts";
import { type Clock, sleep } from "../../../runtime/clock.ts";
import { minute, second } from "../../../runtime/durations.ts";
import { reasonOf } from "../../../runtime/errors.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { untilAborted } from "../../../runtime/lifecycle.ts";
import type { Log } from "../../../runtime/log.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import type { IpOperatorClient, PoolUsage } from "./ip-operator.ts";

/** Pause after the IP operator has answered: it counts anew as often itself. */
export const addressesPollMs = 5 * second;
/** What was told longer ago promises nothing. */
export const addressesOldMs = 2 * minute;
/** Leases that are asked about at once; each is a question to the API server for the operator. */
const addressesLeasesAtOnce = 4;

interface AddressPoolDeps {
  /** Undefined where addresses are not leased. */
  readonly operator: IpOperatorClient | undefined;
  /** The orders whose leases should have their addresses by now. */
  readonly leased: () => Iterable<string>;
  /** Ours, whose leases the operator must serve. */
  readonly provider: Address;
  readonly clock: Clock;
  readonly log: Log;
}

export type AddressPool = ReturnType<typeof createAddressPool>;

export function createAddressPool({ operator, leased, provider, clock, log }: AddressPoolDeps) {
  const listeners: (() => void)[] = [];
  const counts = { answers: 0, errors: 0, leaseErrors: 0 };
  let usage: PoolUsage | undefined;
  let answeredAtMs = 0;
  let lastError: string | undefined;
  let confirmed = new Map<string, bigint>();

  function tell(): void {
    for (const listener of listeners) listener();
  }

  async function askUsage(from: IpOperatorClient, signal: AbortSignal): Promise<void> {
    try {
      const { provider: served, ...counted } = await from.usage(signal);
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

  async function askLeases(from: IpOperatorClient, signal: AbortSignal): Promise<void> {
    const orders = new Set(leased());
    // What is no longer leased is forgotten.
    confirmed = new Map([...confirmed].filter(([order]) => orders.has(order)));
    await inParallel([...orders], addressesLeasesAtOnce, async (order) => {
      try {
        const ports = await from.portsOf(order, signal);
        confirmed.set(order, BigInt(new Set(ports.map(({ address }) => address)).size));
      } catch (thrown) {
        signal.throwIfAborted();
        // One lease that fails delays none of the others, and is asked for again.
        counts.leaseErrors += 1;
        log.debug("addresses of a lease are not known", { order, reason: reasonOf(thrown) });
      }
    });
    if (orders.size > 0) tell();
  }

  async function again(ask: typeof askUsage, from: IpOperatorClient, signal: AbortSignal): Promise<never> {
    for (;;) {
      await ask(from, signal);
      await sleep(clock, addressesPollMs, signal);
    }
  }

  return {
    /** The last answer, whatever happens to the operator; undefined until there is one. */
    get usage() {
      return usage;
    },
    /** By that answer, before anything that was promised since; a pool that was made smaller may have more in use than it has. */
    get free(): bigint {
      return usage && usage.total > usage.inUse ? usage.total - usage.inUse : 0n;
    },
    get ageMs() {
      return usage && clock.monotonicMs() - answeredAtMs;
    },
    /** Why no address may be promised: leasing is off, there is no answer yet, or the last is too old. */
    get trouble(): string | undefined {
      if (!operator) return "IP addresses are not leased here: --ip-operator is off";
      const because = lastError === undefined ? "" : `: ${lastError}`;
      if (!usage) return `the IP operator has not told how many addresses are free yet${because}`;
      const ageMs = clock.monotonicMs() - answeredAtMs;
      if (ageMs <= addressesOldMs) return undefined;
      return `the IP operator has been silent for ${Math.floor(ageMs / 1_000)} s${because}`;
    },
    /** How many addresses the order's lease has; undefined where that is not known. */
    confirmed: (order: string): bigint | undefined => confirmed.get(order),
    counts: counts as Readonly<typeof counts>,
    get lastError() {
      return lastError;
    },
    /** When more may be known than before. */
    onAnswer: (listener: () => void) => void listeners.push(listener),
    /** Asks until the signal is aborted. */
    async run(signal: AbortSignal): Promise<void> {
      if (!operator) return untilAborted(signal);
      // Side by side: a lease that takes its time must not make what is free look old.
      await Promise.all([again(askUsage, operator, signal), again(askLeases, operator, signal)]).catch((thrown) => {
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
    ["lease_errors", "Leases whose addresses the IP operator did not tell", () => pool.counts.leaseErrors],
  ]);
}
