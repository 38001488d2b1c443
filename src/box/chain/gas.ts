/** What work costs. The prices are the SDK's, so that a client's estimate here is worth something on the real chain. */
import { sdkError } from "./errors.ts";
import { ChainError, type Context } from "./module.ts";
import type { Store, Table } from "./store.ts";

export interface GasMeter {
  readonly limit: bigint;
  readonly used: bigint;
  use(amount: number, what: string): void;
}

/** Ends a transaction wherever it happens to be; the chain names the place and leaves out the message. */
export class OutOfGas extends ChainError {
  constructor(what: string, limit: bigint, used: number) {
    const detail = `out of gas in location: ${what}; gasWanted: ${limit}, gasUsed: ${used}`;
    const { codespace, code, message } = sdkError("outOfGas", detail);
    super(codespace, code, message);
  }
}

/** While simulating nothing runs out; the SDK calls this the limit then. */
export const unlimitedGas = 2n ** 64n - 1n;

export function createGasMeter(limit: bigint): GasMeter {
  const most = Number(limit);
  let used = 0;
  return {
    limit,
    get used() {
      return BigInt(used);
    },
    use(amount, what) {
      used += amount;
      if (used > most) throw new OutOfGas(what, limit, used);
    },
  };
}

/** For writing a key that lists a record, and deleting the old one: 3,000 flat, and 30 for each of some 70 bytes. */
const gasPerIndex = 5_000n;

/**
 * By state, by group, by provider. Our tables have no such keys, but a client that learns here what its transaction
 * costs should not be misled.
 */
export function payForIndexes(context: Context, count: bigint): void {
  context.useGas(count * gasPerIndex, "WriteFlat");
}

/** The SDK's prices for its key-value store. */
const prices = { has: 1000, delete: 1000, read: 1000, readByte: 3, write: 2000, writeByte: 30, next: 30 };

/** The same store, where every access is paid for. */
export function meteredStore(store: Store, meter: GasMeter): Store {
  const tables = new Map<string, Table<unknown>>();
  return {
    table<T>(name: string): Table<T> {
      const known = tables.get(name);
      if (known) return known as Table<T>;
      const metered = meteredTable(store.table<T>(name), meter);
      tables.set(name, metered as Table<unknown>);
      return metered;
    },
    transaction: (work) => store.transaction(work),
  };
}

function meteredTable<T>(table: Table<T>, meter: GasMeter): Table<T> {
  return {
    get(key) {
      meter.use(prices.read, "ReadFlat");
      const value = table.get(key);
      meter.use(prices.readByte * (key.length + storedBytes(value)), "ReadPerByte");
      return value;
    },
    has(key) {
      meter.use(prices.has, "Has");
      return table.has(key);
    },
    set(key, value) {
      meter.use(prices.write, "WriteFlat");
      meter.use(prices.writeByte * (key.length + storedBytes(value)), "WritePerByte");
      table.set(key, value);
    },
    delete(key) {
      meter.use(prices.delete, "Delete");
      table.delete(key);
    },
    *entries(prefix, from) {
      for (const entry of table.entries(prefix, from)) {
        meter.use(prices.readByte * (entry[0].length + storedBytes(entry[1])), "ValuePerByte");
        meter.use(prices.next, "IterNextFlat");
        yield entry;
      }
    },
  };
}

/** About what protobuf would take: two bytes of tag and length per field, a small number in one of them. */
function storedBytes(value: unknown): number {
  if (value === undefined || value === null || value === false || value === "") return 0;
  if (typeof value === "string") return value.length + 2;
  if (typeof value === "bigint") return value.toString().length + 2;
  if (typeof value !== "object") return 2;
  if (value instanceof Uint8Array) return value.length + 2;
  let bytes = 2;
  for (const inner of Object.values(value)) bytes += storedBytes(inner);
  return bytes;
}
