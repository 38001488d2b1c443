/** Bytes that are held for clients, bounded for each of them and in total. */

interface Bounds {
  readonly perClient: number;
  readonly total: number;
  /** A client that holds no more than this is served also while others have used up the total. */
  readonly assured: number;
}

/** What one request or stream of a client holds. */
export interface ByteHolding {
  readonly bytes: number;
  /** False, and nothing changes, where it exceeds a bound. Zero releases all. */
  resize(bytes: number): boolean;
}

/** For requests that are not answered yet: what is held before the caller is authenticated leaves the rest to accounts. */
export interface RequestBudget {
  /** By the place that a request comes from. */
  readonly anonymous: ByteBudget;
  /** By the account of the caller. */
  readonly accounts: ByteBudget;
}

export class ByteBudget {
  readonly #bounds: Bounds;
  readonly #clients = createCounts();
  #used = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get used(): number {
    return this.#used;
  }

  /** False if it exceeds a bound. No client may hold more than is free then, so that a few leave room for others. */
  reserve(client: string, bytes: number): boolean {
    const { perClient, total, assured } = this.#bounds;
    const held = this.#clients.of(client) + bytes;
    if (bytes > 0 && (held > perClient || (held > assured && held > total - this.#used - bytes))) return false;
    this.#add(client, bytes);
    return true;
  }

  release(client: string, bytes: number): void {
    this.#add(client, -bytes);
  }

  open(client: string): ByteHolding {
    const reserve = (bytes: number) => this.reserve(client, bytes);
    let held = 0;
    return {
      get bytes() {
        return held;
      },
      resize(bytes) {
        if (!reserve(bytes - held)) return false;
        held = bytes;
        return true;
      },
    };
  }

  #add(client: string, bytes: number): void {
    this.#used += bytes;
    this.#clients.add(client, bytes);
  }
}

/** What Node's objects for one request take, without its headers. */
const objectBytes = 4 * 1024;
/** A short string on V8's heap, and its place in the list of headers. */
const stringBytes = 32;

/** What a request holds until it is answered, without its body; `rawHeaders` are names and values in turn. */
export function requestBytes(rawHeaders: readonly string[]): number {
  let bytes = objectBytes + rawHeaders.length * stringBytes;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}

/** How much there is of each, for as long as there is any. */
export function createCounts() {
  const counts = new Map<string, number>();
  const of = (key: string) => counts.get(key) ?? 0;
  return {
    of,
    /** Less than nothing takes away. */
    add(key: string, amount: number): void {
      const now = of(key) + amount;
      if (now === 0) counts.delete(key);
      else counts.set(key, now);
    },
  };
}
