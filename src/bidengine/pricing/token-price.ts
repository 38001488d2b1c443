/** The price of AKT in dollars, polled in the background: from a file or a URL of the operator, or the chain's oracle. */

import type { Chain } from "../../chain/chain.ts";
import { compareDecimals, type Decimal, decimalOf, parseDecimal, showDecimal, zero } from "../../market/decimal.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { formatTime, nsToMs, parseTime } from "../../runtime/clock.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute, second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { fetchText, showUrl } from "../../runtime/fetch-text.ts";
import { readText } from "../../runtime/followed-file.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import { followedFileMs } from "../../runtime/limits.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { createWakeSignal } from "../../runtime/wake-signal.ts";
import type { PriceSettings } from "./pricing.ts";
import { priceOutputChars } from "./script.ts";

/** First pause after a failure; it grows up to the period. */
const tokenPriceRetryFirstMs = 10 * second;
/** How far its time may be ahead of our clock. */
const tokenPriceAheadMs = 5 * minute;
/** The price of a token: a number, or a page of JSON with those of many tokens. */
export const tokenPriceBytes = 1024 * 1024;
export const tokenPriceAnswerMs = 10 * second;

export type TokenPriceAnswer =
  | { readonly price: Decimal; readonly ageMs: number }
  | { readonly price: undefined; readonly why: string };

type TokenPriceSettings = Pick<PriceSettings, keyof PriceSettings & `tokenPrice${string}`>;

interface TokenPriceDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  /** It is open by the time that the price is read. */
  readonly chain: Promise<Pick<Chain, "queries" | "mirror">>;
}

export type TokenPrice = ReturnType<typeof createTokenPrice>;

export function createTokenPrice(settings: TokenPriceSettings, deps: TokenPriceDeps) {
  const { clock, log } = deps;
  const { tokenPriceMaxAgeMs: maxAgeMs } = settings;
  const source = sourceOf(settings, deps);
  const listeners: (() => void)[] = [];
  /** With its age when it was read. */
  let known:
    | { readonly price: Decimal; readonly atMs: number; readonly ageMs: number; readonly readMs: number }
    | undefined;
  let failure: string | undefined;
  let failures = 0;

  function answer(): TokenPriceAnswer {
    if (!source) {
      const why = "there is no price of AKT; set token-price-file, token-price-url or token-price-oracle";
      return { price: undefined, why };
    }
    if (!known) return { price: undefined, why: failure ?? `the price of AKT was not read from ${source.where} yet` };
    const ageMs = known.ageMs + Math.round(clock.monotonicMs() - known.readMs);
    if (ageMs <= maxAgeMs) return { price: known.price, ageMs };
    const why = `the price of AKT is of ${formatTime(known.atMs)}, and may be ${maxAgeMs} ms old at most`;
    return { price: undefined, why: failure ? `${why}; ${failure}` : why };
  }

  async function poll({ where, read }: Source, signal: AbortSignal): Promise<void> {
    const before = answer().price;
    try {
      const { price, atMs, nowMs } = await read(signal);
      // A price of the future would never become old. `nowMs` lags behind while missed blocks are read.
      if (atMs > Math.max(nowMs, clock.now()) + tokenPriceAheadMs)
        throw new Error(`it is of ${formatTime(atMs)}, which is yet to come`);
      known = { price, atMs, ageMs: Math.max(0, nowMs - atMs), readMs: clock.monotonicMs() };
      failure = undefined;
      failures = 0;
    } catch (thrown) {
      if (signal.aborted) return;
      let reason = `the price of AKT cannot be read from ${where}: ${reasonOf(thrown)}`;
      if (ProviderError.is(thrown, "AKP_CHAIN_NO_ORACLE_PRICE")) {
        // The oracle withdraws its last price, also for the chain itself.
        known = undefined;
        reason = `${thrown.message}. ${thrown.advice}`;
      }
      if (reason !== failure) log.warn("failed to read the price of AKT", { from: where, reason: reasonOf(thrown) });
      failure = reason;
      failures += 1;
    }
    const { price } = answer();
    if (price?.atto === before?.atto) return;
    if (price) log.info("read the price of AKT", { from: where, dollars: showDecimal(price) });
    for (const listener of listeners) listener();
  }

  return {
    answer,
    /** Why there is no price, or why it could not be read again. */
    get error(): string | undefined {
      const now = answer();
      return now.price ? failure : `no bids on orders in uakt: ${now.why}`;
    },
    onChange: (listener: () => void) => void listeners.push(listener),
    async run(signal: AbortSignal): Promise<void> {
      if (!source) return untilAborted(signal);
      const { periodMs } = source;
      const firstMs = Math.min(tokenPriceRetryFirstMs, periodMs);
      const pause = createWakeSignal(clock);
      while (!signal.aborted) {
        await poll(source, signal);
        const pauseMs = failures === 0 ? periodMs : growingPauseMs(firstMs, periodMs, failures);
        await pause.wait(pauseMs, signal);
      }
    },
  };
}

interface Source {
  /** For messages, without keys that may be part of a URL. */
  readonly where: string;
  readonly periodMs: number;
  /** `nowMs` is the present by the clock that `atMs` is of. */
  read(signal: AbortSignal): Promise<{ readonly price: Decimal; readonly atMs: number; readonly nowMs: number }>;
}

function sourceOf(settings: TokenPriceSettings, { clock, chain }: TokenPriceDeps): Source | undefined {
  const { tokenPriceFile: path, tokenPricePeriodMs: periodMs, tokenPriceOracle: usesOracle } = settings;
  const url = settings.tokenPriceUrl === undefined ? undefined : new URL(settings.tokenPriceUrl);
  const { tokenPriceField: field, tokenPriceTimeField: timeField } = settings;
  const inText = (text: string, atMs: number) => ({
    price: readTokenPrice(text, field),
    atMs: timeField === undefined ? atMs : readTokenTime(text, timeField),
  });
  async function readFile() {
    const { text, changedAtMs } = readText(path ?? "");
    return { ...inText(text, changedAtMs), nowMs: clock.now() };
  }
  async function readOracle(signal: AbortSignal) {
    const { queries, mirror } = await chain;
    const { value } = await queries.oraclePrice("akt", { signal });
    return { price: plausible(value.dollars), atMs: nsToMs(value.timeNs), nowMs: nsToMs(mirror.timeNs) };
  }
  if (path !== undefined) return { where: path, periodMs: followedFileMs, read: readFile };
  if (url) {
    const limits = { limitMs: tokenPriceAnswerMs, mostBytes: tokenPriceBytes, clock };
    const read = async (signal: AbortSignal) => {
      const { text } = await fetchText(url, { ...limits, signal });
      const nowMs = clock.now();
      return { ...inText(text, nowMs), nowMs };
    };
    return { where: showUrl(url), periodMs, read };
  }
  return usesOracle ? { where: "the chain's oracle", periodMs, read: readOracle } : undefined;
}

/** Beyond this it is no price of a token but a mistake; the network's script has the same limit. */
const most = decimalOf(1_000_000n);
const fractionDigits = 18;

export function readTokenPrice(text: string, field: string | undefined): Decimal {
  const given = field === undefined ? text.trim() : inJson(text, field);
  const [, whole = "", fraction = ""] = /^(\d{1,20})(?:\.(\d{1,100}))?$/.exec(given) ?? [];
  if (whole === "") throw new Error(`${JSON.stringify(given.slice(0, priceOutputChars))} is no price`);
  // Some servers write floats with more digits than the chain keeps.
  return plausible(parseDecimal(`${whole}.${fraction.slice(0, fractionDigits) || "0"}`));
}

function plausible(price: Decimal): Decimal {
  if (compareDecimals(price, zero) > 0 && compareDecimals(price, most) <= 0) return price;
  throw new Error(`${showDecimal(price)} is not between 0 and 1000000 dollars`);
}

/** In ISO 8601, or in seconds since 1970. */
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
