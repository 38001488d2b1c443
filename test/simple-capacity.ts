/** The smallest capacity that keeps its word: one number of CPUs, and a journal. */
import type { Capacity, Reserved } from "../src/bidengine/capacity.ts";
import type { Journal } from "../src/journal/journal.ts";
import type { Fit } from "../src/market/fit.ts";
import type { GroupSpec } from "../src/market/group-spec.ts";

export interface SimpleCapacity extends Capacity {
  readonly freeMilli: bigint;
  trouble: string | undefined;
}

export function createSimpleCapacity(journal: Pick<Journal, "read" | "durable">, totalMilli: bigint): SimpleCapacity {
  const taken = new Map<string, bigint>(
    journal.read.reservations.all().map(({ orderId, body }) => [orderId, BigInt((body as { milli: string }).milli)]),
  );
  const listeners: (() => void)[] = [];
  const free = () => [...taken.values()].reduce((left, milli) => left - milli, totalMilli);
  const wantedBy = ({ units }: GroupSpec) => units.reduce((sum, { cpu, count }) => sum + cpu.milli * BigInt(count), 0n);
  function fit(group: GroupSpec): Fit {
    if (wantedBy(group) > free()) return { fits: false, reason: `only ${free()} thousandths of a CPU`, shortages: [] };
    const replicas = group.units.map(({ id }) => ({ unit: id, node: "one" }));
    return { fits: true, replicas, offer: group.units };
  }
  return {
    trouble: undefined,
    get freeMilli() {
      return free();
    },
    get picture() {
      return { ageMs: this.trouble === undefined ? 0 : undefined, trouble: this.trouble };
    },
    fit,
    addressesFor: () => ({ yes: true, reason: "it asks for none" }),
    reserve({ orderId, group }) {
      const found = fit(group);
      if (!found.fits) return found;
      const milli = wantedBy(group);
      taken.set(orderId, milli);
      const write: Reserved["write"] = ({ reservations }) => reservations.put({ orderId, body: { milli: `${milli}` } });
      return { ...found, write };
    },
    async release(orderId) {
      if (!taken.delete(orderId)) return;
      await journal.durable("release", ({ reservations }) => reservations.remove(orderId));
      for (const listener of listeners) listener();
    },
    reserved: () => [...taken.keys()],
    onRoom: (listener) => void listeners.push(listener),
  };
}
