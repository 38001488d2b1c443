/** What one AKT is worth in dollars; read in the background, never for an order. */
import { type Decimal, showDecimal } from "../../market/decimal.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { formatTime } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import type { Log } from "../../runtime/log.ts";
import { createPause } from "../../runtime/pause.ts";
import type { TokenPriceSettings } from "./price-settings.ts";
import { type TokenPriceGround, type TokenPriceSource, tokenPriceSource } from "./token-price-source.ts";

/** First pause after it could not be read; it grows up to the period. */
const tokenPriceRetryFirstMs = 10 * second;
/** How far its time may lie ahead of our clock: clocks that are looked after differ by less. */
const tokenPriceAheadMs = 5 * minute;

export type TokenPriceAnswer =
  | { readonly price: Decimal; readonly ageMs: number }
  | { readonly price: undefined; readonly why: string };

export interface TokenPrice {
  answer(): TokenPriceAnswer;
  /** Why there is none, or why the next one is not there yet. */
  readonly trouble: string | undefined;
  onChange(listener: () => void): void;
  /** Keeps it up to date until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export function createTokenPrice(settings: TokenPriceSettings, ground: TokenPriceGround & { log: Log }): TokenPrice {
  const { clock, log } = ground;
  const { tokenPriceMaxAgeMs: maxAgeMs } = settings;
  const source = tokenPriceSource(settings, ground);
  const pause = createPause(clock);
  const listeners: (() => void)[] = [];
  /** With its age when it was read. */
  let known:
    | { readonly price: Decimal; readonly atMs: number; readonly ageMs: number; readonly readMs: number }
    | undefined;
  let failure: string | undefined;
  let failuresInARow = 0;

  function answer(): TokenPriceAnswer {
    if (!source) {
      const why = "there is no price of AKT; set token-price-file, token-price-url or token-price-oracle";
      return { price: undefined, why };
    }
    if (!known) return { price: undefined, why: failure ?? `the price of AKT was not read from ${source.where} yet` };
    const ageMs = known.ageMs + Math.round(clock.monotonicMs() - known.readMs);
    if (ageMs <= maxAgeMs) return { price: known.price, ageMs };
    const told = `the price of AKT is of ${formatTime(known.atMs)}, and may be ${maxAgeMs} ms old at most`;
    return { price: undefined, why: failure ? `${told}; ${failure}` : told };
  }

  async function look({ where, read }: TokenPriceSource, signal: AbortSignal): Promise<void> {
    const before = answer().price;
    try {
      const { price, atMs, nowMs } = await read(signal);
      // It would never become old. Blocks that were missed are read after the newest price.
      if (atMs > Math.max(nowMs, clock.now()) + tokenPriceAheadMs)
        throw new Error(`it is of ${formatTime(atMs)}, which is yet to come`);
      known = { price, atMs, ageMs: Math.max(0, nowMs - atMs), readMs: clock.monotonicMs() };
      failure = undefined;
      failuresInARow = 0;
    } catch (thrown) {
      if (signal.aborted) return;
      let told = `the price of AKT cannot be read from ${where}: ${reasonOf(thrown)}`;
      if (ProviderError.is(thrown, "AKP_CHAIN_NO_ORACLE_PRICE")) {
        // The oracle takes back what it said before, as it does for the chain itself.
        known = undefined;
        told = `${thrown.message}. ${thrown.advice}`;
      }
      if (told !== failure) log.warn("failed to read the price of AKT", { from: where, reason: reasonOf(thrown) });
      failure = told;
      failuresInARow += 1;
    }
    const { price } = answer();
    if (price?.atto === before?.atto) return;
    if (price) log.info("read the price of AKT", { from: where, dollars: showDecimal(price) });
    for (const listener of listeners) listener();
  }

  function pauseMs({ periodMs }: TokenPriceSource): number {
    if (failuresInARow === 0) return periodMs;
    return growingPauseMs(Math.min(tokenPriceRetryFirstMs, periodMs), periodMs, failuresInARow);
  }

  return {
    answer,
    get trouble() {
      const now = answer();
      return now.price ? failure : `no bids on orders in uakt: ${now.why}`;
    },
    onChange: (listener) => void listeners.push(listener),
    async run(signal) {
      if (!source) return untilAborted(signal);
      while (!signal.aborted) {
        await look(source, signal);
        await pause.wait(pauseMs(source), signal);
      }
    },
  };
}
