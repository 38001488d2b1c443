/** What one AKT is worth in dollars; read in the background, never for an order. */

import type { Chain } from "../../chain/chain.ts";
import { compareDecimals, type Decimal, decimalOf, parseDecimal, showDecimal, zero } from "../../market/decimal.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { type Clock, formatTime, nsToMs, parseTime } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { fetchText, showUrl } from "../../runtime/fetch-text.ts";
import { readText } from "../../runtime/followed-file.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import { followedFileMs } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { createWakeSignal } from "../../runtime/wake-signal.ts";
import type { TokenPriceSettings } from "./pricing.ts";
import { priceOutputChars } from "./script.ts";

/** First pause after it could not be read; it grows up to the period. */
const tokenPriceRetryFirstMs = 10 * second;
/** How far its time may lie ahead of our clock: clocks that are looked after differ by less. */
const tokenPriceAheadMs = 5 * minute;

export type TokenPriceAnswer =
  | { readonly price: Decimal; readonly ageMs: number }
  | { readonly price: undefined; readonly why: string };

export type TokenPrice = ReturnType<typeof createTokenPrice>;

export function createTokenPrice(settings: TokenPriceSettings, deps: TokenPriceDeps & { log: Log }) {
  const { clock, log } = deps;
  const { tokenPriceMaxAgeMs: maxAgeMs } = settings;
  const source = tokenPriceSource(settings, deps);
  const pause = createWakeSignal(clock);
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
    /** Why there is none, or why the next one is not there yet. */
    get trouble(): string | undefined {
      const now = answer();
      return now.price ? failure : `no bids on orders in uakt: ${now.why}`;
    },
    onChange: (listener: () => void) => void listeners.push(listener),
    async run(signal: AbortSignal): Promise<void> {
      if (!source) return untilAborted(signal);
      while (!signal.aborted) {
        await look(source, signal);
        await pause.wait(pauseMs(source), signal);
      }
    },
  };
}

// Where the price of AKT comes from: a file or a URL of the operator's, or the chain's own oracle.

/** The price of a token: a number, or a page of JSON with those of many tokens. */
export const tokenPriceBytes = 1024 * 1024;
export const tokenPriceAnswerMs = 10 * second;

export interface TokenPriceSource {
  /** For people, without keys that may stand in an address. */
  readonly where: string;
  readonly periodMs: number;
  /** Throws why there is none, in words. `nowMs` is the present by the clock that gave the price its time. */
  read(signal: AbortSignal): Promise<{ readonly price: Decimal; readonly atMs: number; readonly nowMs: number }>;
}

/** What the sources stand on; the chain is there by the time that one is read. */
export interface TokenPriceDeps {
  readonly clock: Clock;
  readonly chain: Promise<Pick<Chain, "queries" | "mirror">>;
}

/** Beyond this it is no price of a token but a mistake; the network's script draws the same line. */
const most = decimalOf(1_000_000n);
const fractionDigits = 18;

/** Undefined where the settings name none. */
export function tokenPriceSource(settings: TokenPriceSettings, deps: TokenPriceDeps): TokenPriceSource | undefined {
  if (settings.tokenPriceFile !== undefined) return fromFile(settings.tokenPriceFile, settings, deps);
  if (settings.tokenPriceUrl !== undefined) return fromUrl(new URL(settings.tokenPriceUrl), settings, deps);
  return settings.tokenPriceOracle ? fromOracle(settings, deps) : undefined;
}

function fromFile(path: string, settings: TokenPriceSettings, { clock }: TokenPriceDeps): TokenPriceSource {
  return {
    where: path,
    periodMs: followedFileMs,
    async read() {
      const { text, changedAtMs } = readText(path);
      return { ...inText(text, changedAtMs, settings), nowMs: clock.now() };
    },
  };
}

function fromUrl(url: URL, settings: TokenPriceSettings, { clock }: TokenPriceDeps): TokenPriceSource {
  return {
    where: showUrl(url),
    periodMs: settings.tokenPricePeriodMs,
    async read(signal) {
      const { text } = await fetchText(url, { limitMs: tokenPriceAnswerMs, mostBytes: tokenPriceBytes, clock, signal });
      const nowMs = clock.now();
      return { ...inText(text, nowMs, settings), nowMs };
    },
  };
}

function fromOracle({ tokenPricePeriodMs }: TokenPriceSettings, { chain }: TokenPriceDeps): TokenPriceSource {
  return {
    where: "the chain's oracle",
    periodMs: tokenPricePeriodMs,
    async read(signal) {
      const { queries, mirror } = await chain;
      const { value } = await queries.oraclePrice("akt", { signal });
      return { price: plausible(value.dollars), atMs: nsToMs(value.timeNs), nowMs: nsToMs(mirror.timeNs) };
    },
  };
}

function inText(
  text: string,
  atMs: number,
  { tokenPriceField: field, tokenPriceTimeField: timeField }: TokenPriceSettings,
) {
  return {
    price: readTokenPrice(text, field),
    atMs: timeField === undefined ? atMs : readTokenTime(text, timeField),
  };
}

export function readTokenPrice(text: string, field: string | undefined): Decimal {
  const given = field === undefined ? text.trim() : inJson(text, field);
  const [, whole = "", fraction = ""] = /^(\d{1,20})(?:\.(\d{1,100}))?$/.exec(given) ?? [];
  if (whole === "") throw new Error(`${JSON.stringify(given.slice(0, priceOutputChars))} is no price`);
  // Some servers write floats with more digits than the chain keeps; nobody means those.
  return plausible(parseDecimal(`${whole}.${fraction.slice(0, fractionDigits) || "0"}`));
}

function plausible(price: Decimal): Decimal {
  if (compareDecimals(price, zero) > 0 && compareDecimals(price, most) <= 0) return price;
  throw new Error(`${showDecimal(price)} is not between 0 and 1000000 dollars`);
}

/** A time as people write it, or in seconds since 1970. */
export function readTokenTime(text: string, field: string): number {
  const given = inJson(text, field);
  const ms = /^\d{1,12}(\.\d+)?$/.test(given) ? Number(given) * 1_000 : parseTime(given);
  if (Number.isNaN(ms)) throw new Error(`${JSON.stringify(given.slice(0, priceOutputChars))} is no time`);
  return ms;
}

function inJson(text: string, field: string): string {
  const json = parseJson(text);
  if (json === undefined) throw new Error("it is no JSON");
  const found = field.split(".").reduce<unknown>((part, name) => {
    return part instanceof Object && Object.hasOwn(part, name) ? Reflect.get(part, name) : undefined;
  }, json);
  if (typeof found !== "number" && typeof found !== "string") throw new Error(`it has nothing to read at ${field}`);
  return String(found);
}
