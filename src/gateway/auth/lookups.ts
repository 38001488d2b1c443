/**
 * Rate-limited look-ups of unknown accounts on the chain. Any client can cause one with a made-up token, so each source has a
 * queue of its own, served round-robin. Equal look-ups share one result.
 */
import { isOfChain } from "../../chain/chain-failure.ts";
import { type Clock, sleep, withDeadline } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** At once in total: nodes serve blocks first. */
export const gatewayLookups = 16;
/** At once per source, so that others get a turn. */
export const gatewayLookupsPerClientAtOnce = 8;
/** Waiting per source; a proxy in front of many tenants is one source. */
export const gatewayLookupsPerClient = 64;
/** Waiting in total, of a kilobyte each. */
export const gatewayLookupsWaiting = 4_096;
/** Including the wait. A node answers in a tenth of this, and clients give up later. */
export const gatewayLookupMs = 5 * second;
/** Each occupies its slot for at least so long: 40 per second and source, 80 in total. */
export const gatewayLookupLeastMs = 200;

export type Lookups = ReturnType<typeof createLookups>;

type Read<T> = (signal: AbortSignal) => Promise<T>;

interface Lookup {
  readonly what: string;
  readonly read: Read<unknown>;
  readonly result: PromiseWithResolvers<unknown>;
  requestedAtMs: number;
  isStarted: boolean;
}

interface Source {
  readonly waiting: Set<Lookup>;
  running: number;
}

export function createLookups(clock: Clock) {
  const lookups = new Map<string, Lookup>();
  /** In round-robin order. */
  const sources = new Map<string, Source>();
  let [running, sent, rejected] = [0, 0, 0];

  function enqueue(lookup: Lookup, key: string): void {
    const source = sources.get(key) ?? { waiting: new Set(), running: 0 };
    // A source with an empty queue may always wait, or a few could fill all; connections bound the number of sources.
    const most = lookups.size >= gatewayLookupsWaiting ? 1 : gatewayLookupsPerClient;
    if (lookup.isStarted || source.waiting.has(lookup)) return;
    if (source.waiting.size < most) {
      source.waiting.add(lookup);
      sources.set(key, source);
    } else if (!lookups.has(lookup.what)) throw unavailable(lookup.what, "too many other look-ups wait");
  }

  function startNext(): void {
    const isReady = (source: Source) => source.waiting.size > 0 && source.running < gatewayLookupsPerClientAtOnce;
    while (running < gatewayLookups) {
      const [key, source] = sources.entries().find(([, each]) => isReady(each)) ?? [];
      const [lookup] = source?.waiting ?? [];
      if (key === undefined || !source || !lookup) return;
      source.waiting.delete(lookup);
      sources.delete(key);
      const isLate = clock.monotonicMs() - lookup.requestedAtMs >= gatewayLookupMs;
      if (!lookup.isStarted && isLate) lookups.delete(lookup.what);
      else if (!lookup.isStarted) void start(lookup, source, key).then(startNext);
      if (source.waiting.size + source.running > 0) sources.set(key, source);
    }
  }

  async function start(lookup: Lookup, source: Source, key: string): Promise<void> {
    [running, sent] = [running + 1, sent + 1];
    source.running += 1;
    lookup.isStarted = true;
    const least = sleep(clock, gatewayLookupLeastMs);
    const late = new AbortController();
    const timer = clock.timer(gatewayLookupMs, () => late.abort(new Error("it took too long")));
    try {
      lookup.result.resolve(await lookup.read(late.signal));
    } catch (thrown) {
      const isSilent = isOfChain(thrown) || late.signal.aborted;
      lookup.result.reject(isSilent ? unavailable(lookup.what, "no node answers", thrown) : thrown);
    }
    timer.cancel();
    lookups.delete(lookup.what);
    await least;
    running -= 1;
    source.running -= 1;
    if (source.waiting.size + source.running === 0) sources.delete(key);
  }

  function unavailable(what: string, reason: string, cause?: unknown): ProviderError {
    rejected += 1;
    return new ProviderError("AKP_CHAIN_SILENT", { what, reason }, { cause });
  }

  return {
    /** `what` names the look-up in the error. Throws AKP_CHAIN_SILENT. */
    async run<T>(what: string, source: string, read: Read<T>): Promise<T> {
      const result = Promise.withResolvers<unknown>();
      const lookup = lookups.get(what) ?? { what, read, result, requestedAtMs: 0, isStarted: false };
      enqueue(lookup, source);
      lookups.set(what, lookup);
      lookup.requestedAtMs = clock.monotonicMs();
      // The client may be gone by then.
      lookup.result.promise.catch(() => undefined);
      startNext();
      return withDeadline(clock, gatewayLookupMs, lookup.result.promise as Promise<T>, () => {
        throw unavailable(what, lookup.isStarted ? "no node answers" : "too many other look-ups wait");
      });
    },
    get counts() {
      return { sent, rejected, waiting: lookups.size };
    },
  };
}
