/**
 * Which addresses leases have, as the IP operator last told. Whoever asks is answered at once with what is known; it is
 * asked aside, so that a slow operator makes no tenant wait.
 */
import type { Clock } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { createRecent } from "../../runtime/recent.ts";
import { createSlots } from "../../runtime/slots.ts";
import type { IpOperator, LeasedPort } from "./ip-operator.ts";

interface KnownAddressesDeps {
  readonly operator: IpOperator;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

interface Known {
  ports: readonly LeasedPort[];
  /** When it is asked for anew, if somebody wants to know; never while it is being asked. */
  staleAtMs: number;
}

export type KnownAddresses = ReturnType<typeof createKnownAddresses>;

export function createKnownAddresses({ operator, signal, clock, log }: KnownAddressesDeps) {
  const known = createRecent<Known>({ most: limits.addressesKnown });
  const slots = createSlots(limits.addressesLeasesAtOnce);

  async function ask(order: string, entry: Known): Promise<void> {
    try {
      const giveBack = await slots.take(signal);
      try {
        entry.ports = await operator.portsOf(order, signal);
      } finally {
        giveBack();
      }
    } catch (thrown) {
      // What was known is told on, and whoever wants to know next asks again.
      if (!signal.aborted) log.debug("addresses of a lease are not known", { order, reason: reasonOf(thrown) });
    }
    entry.staleAtMs = clock.monotonicMs() + limits.addressesPollMs;
  }

  return {
    /** Empty until it is known. */
    of(order: string): readonly LeasedPort[] {
      const entry = known.get(order) ?? remember(order);
      if (clock.monotonicMs() >= entry.staleAtMs && !signal.aborted) {
        entry.staleAtMs = Number.POSITIVE_INFINITY;
        void ask(order, entry);
      }
      return entry.ports;
    },
  };

  function remember(order: string): Known {
    const entry = { ports: [], staleAtMs: 0 };
    known.set(order, entry);
    return entry;
  }
}
