/**
 * Rate-limited look-ups of unknown accounts on the chain. Anybody can cause one with a made-up token, so each place has a queue
 * and places take turns; equal look-ups share one answer, by whichever place's turn comes first.
 */
import { isOfChain } from "../../chain/chain-failure.ts";
import { type Clock, sleep, withDeadline } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";

/** At once, of all places: nodes are there for the blocks first. */
export const gatewayLookups = 16;
/** At once, of one place, so that there is always a turn for another. */
export const gatewayLookupsPerClientAtOnce = 8;
/** Waiting, of one place; a proxy in front of many tenants is one place too. */
export const gatewayLookupsPerClient = 64;
/** Waiting, of all places: a kilobyte each. */
export const gatewayLookupsWaiting = 4_096;
/** Waiting included. A node answers in a tenth of this, and clients give up later. */
export const gatewayLookupMs = 5 * second;
/** Each takes its turn for at least so long: 40 per second of one place, 80 of all. */
export const gatewayLookupLeastMs = 200;

export type Lookups = ReturnType<typeof createLookups>;

export interface LookupCounts {
  /** Sent to the chain. */
  readonly sent: number;
  readonly rejected: number;
  readonly waiting: number;
}

type Look<T> = (signal: AbortSignal) => Promise<T>;

interface Lookup {
  readonly what: string;
  readonly look: Look<unknown>;
  readonly answer: PromiseWithResolvers<unknown>;
  askedAtMs: number;
  isStarted: boolean;
}

interface Place {
  readonly source: string;
  readonly waiting: Set<Lookup>;
  running: number;
}

export function createLookups(clock: Clock) {
  const lookups = new Map<string, Lookup>();
  /** The one whose last turn is longest ago first. */
  const places = new Map<string, Place>();
  let [running, asked, refused] = [0, 0, 0];

  function enqueue(lookup: Lookup, source: string): void {
    const place = places.get(source) ?? { source, waiting: new Set(), running: 0 };
    // One with nothing waiting may always wait, or some places could take the whole queue; connections bound their number.
    const most = lookups.size >= gatewayLookupsWaiting ? 1 : gatewayLookupsPerClient;
    if (lookup.isStarted || place.waiting.has(lookup)) return;
    if (place.waiting.size < most) {
      place.waiting.add(lookup);
      places.set(source, place);
    } else if (!lookups.has(lookup.what)) throw silent(lookup.what, "too many others are asked for");
  }

  function startNext(): void {
    while (running < gatewayLookups) {
      const place = nextPlace();
      const [lookup] = place?.waiting ?? [];
      if (!place || !lookup) return;
      place.waiting.delete(lookup);
      const isLate = clock.monotonicMs() - lookup.askedAtMs >= gatewayLookupMs;
      if (isLate && !lookup.isStarted) lookups.delete(lookup.what);
      if (!isLate && !lookup.isStarted) void run(lookup, place).then(startNext);
      else forgetIdle(place);
    }
  }

  function nextPlace(): Place | undefined {
    for (const place of places.values()) {
      if (place.waiting.size === 0 || place.running >= gatewayLookupsPerClientAtOnce) continue;
      places.delete(place.source);
      places.set(place.source, place);
      return place;
    }
    return undefined;
  }

  function forgetIdle({ source, waiting, running: ofPlace }: Place): void {
    if (waiting.size + ofPlace === 0) places.delete(source);
  }

  async function run(lookup: Lookup, place: Place): Promise<void> {
    [running, asked] = [running + 1, asked + 1];
    place.running += 1;
    lookup.isStarted = true;
    const turn = sleep(clock, gatewayLookupLeastMs);
    const late = new AbortController();
    const timer = clock.timer(gatewayLookupMs, () => late.abort(new Error("it took too long")));
    try {
      lookup.answer.resolve(await lookup.look(late.signal));
    } catch (thrown) {
      const isSilent = isOfChain(thrown) || late.signal.aborted;
      lookup.answer.reject(isSilent ? silent(lookup.what, "no node answers", thrown) : thrown);
    }
    timer.cancel();
    lookups.delete(lookup.what);
    await turn;
    running -= 1;
    place.running -= 1;
    forgetIdle(place);
  }

  function silent(what: string, reason: string, cause?: unknown): ProviderError {
    refused += 1;
    return new ProviderError("AKP_CHAIN_SILENT", { what, reason }, { cause });
  }

  return {
    /** `what` names the thing in the error. Throws AKP_CHAIN_SILENT. */
    async ask<T>(what: string, source: string, look: Look<T>): Promise<T> {
      const answer = Promise.withResolvers<unknown>();
      const lookup = lookups.get(what) ?? { what, look, answer, askedAtMs: 0, isStarted: false };
      enqueue(lookup, source);
      lookups.set(what, lookup);
      lookup.askedAtMs = clock.monotonicMs();
      // Whoever waited for it may have left.
      lookup.answer.promise.catch(() => undefined);
      startNext();
      return withDeadline(clock, gatewayLookupMs, lookup.answer.promise as Promise<T>, () => {
        throw silent(what, lookup.isStarted ? "no node answers" : "too many others are asked for");
      });
    },
    get counts(): LookupCounts {
      return { sent: asked, rejected: refused, waiting: lookups.size };
    },
  };
}
