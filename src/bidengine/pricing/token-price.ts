/** What one AKT is worth in dollars, from a file or a URL of the operator's; read in the background, never for an order. */
import { compareDecimals, type Decimal, decimalOf, parseDecimal, showDecimal, zero } from "../../market/decimal.ts";
import { growingPauseMs } from "../../runtime/back-off.ts";
import { type Clock, formatTime, parseTime } from "../../runtime/clock.ts";
import { reasonOf } from "../../runtime/errors.ts";
import { fetchText, showUrl } from "../../runtime/fetch-text.ts";
import { readText } from "../../runtime/followed-file.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { createPause } from "../../runtime/pause.ts";
import type { TokenPriceSettings } from "./price-settings.ts";

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

/** Beyond this it is no price of a token but a mistake; the network's script draws the same line. */
const most = decimalOf(1_000_000n);
const fractionDigits = 18;

export function createTokenPrice(settings: TokenPriceSettings, { clock, log }: { clock: Clock; log: Log }): TokenPrice {
  const { tokenPriceFile: path, tokenPriceMaxAgeMs: maxAgeMs } = settings;
  const { tokenPriceField: field, tokenPriceTimeField: timeField } = settings;
  const url = settings.tokenPriceUrl === undefined ? undefined : new URL(settings.tokenPriceUrl);
  const where = path ?? (url && showUrl(url));
  const pause = createPause(clock);
  const listeners: (() => void)[] = [];
  let known: { readonly price: Decimal; readonly atMs: number } | undefined;
  let failure: string | undefined;
  let failuresInARow = 0;

  function answer(): TokenPriceAnswer {
    if (where === undefined) {
      return { price: undefined, why: "there is no price of AKT; set token-price-file or token-price-url" };
    }
    if (!known) return { price: undefined, why: failure ?? `the price of AKT was not read from ${where} yet` };
    const ageMs = Math.max(0, clock.now() - known.atMs);
    if (ageMs <= maxAgeMs) return { price: known.price, ageMs };
    const told = `the price of AKT is of ${formatTime(known.atMs)}, and may be ${maxAgeMs} ms old at most`;
    return { price: undefined, why: failure ? `${told}; ${failure}` : told };
  }

  async function read(signal: AbortSignal): Promise<{ text: string; atMs: number }> {
    if (url) {
      const { tokenPriceAnswerMs: limitMs, tokenPriceBytes: mostBytes } = limits;
      const { text } = await fetchText(url, { limitMs, mostBytes, clock, signal });
      return { text, atMs: clock.now() };
    }
    const { text, changedAtMs } = readText(path ?? "");
    return { text, atMs: changedAtMs };
  }

  async function look(signal: AbortSignal): Promise<void> {
    const before = answer().price;
    try {
      const { text, atMs } = await read(signal);
      known = {
        price: readTokenPrice(text, field),
        atMs: timeField === undefined ? atMs : readTokenTime(text, timeField),
      };
      failure = undefined;
      failuresInARow = 0;
    } catch (thrown) {
      if (signal.aborted) return;
      const told = `the price of AKT cannot be read from ${where}: ${reasonOf(thrown)}`;
      if (told !== failure) log.error("failed to read the price of AKT", { from: where, reason: reasonOf(thrown) });
      failure = told;
      failuresInARow += 1;
    }
    const { price } = answer();
    if (price?.atto === before?.atto) return;
    if (price) log.info("read the price of AKT", { from: where, dollars: showDecimal(price) });
    for (const listener of listeners) listener();
  }

  function pauseMs(): number {
    const regularMs = url ? settings.tokenPricePeriodMs : limits.followedFileMs;
    if (failuresInARow === 0) return regularMs;
    return growingPauseMs(Math.min(limits.tokenPriceRetryFirstMs, regularMs), regularMs, failuresInARow);
  }

  return {
    answer,
    get trouble() {
      const now = answer();
      return now.price ? failure : `no bids on orders in uakt: ${now.why}`;
    },
    onChange: (listener) => void listeners.push(listener),
    async run(signal) {
      while (!signal.aborted) {
        if (where !== undefined) await look(signal);
        await pause.wait(pauseMs(), signal);
      }
    },
  };
}

/** Throws what is wrong with it, in words. */
export function readTokenPrice(text: string, field: string | undefined): Decimal {
  const given = field === undefined ? text.trim() : inJson(text, field);
  const [, whole = "", fraction = ""] = /^(\d{1,20})(?:\.(\d{1,100}))?$/.exec(given) ?? [];
  if (whole === "") throw new Error(`${JSON.stringify(given.slice(0, limits.priceOutputChars))} is no price`);
  // Some servers write floats with more digits than the chain keeps; nobody means those.
  const price = parseDecimal(`${whole}.${fraction.slice(0, fractionDigits) || "0"}`);
  if (compareDecimals(price, zero) <= 0 || compareDecimals(price, most) > 0) {
    throw new Error(`${given} is not between 0 and 1000000 dollars`);
  }
  return price;
}

/** A time as people write it, or in seconds since 1970. */
export function readTokenTime(text: string, field: string): number {
  const given = inJson(text, field);
  const ms = /^\d{1,12}(\.\d+)?$/.test(given) ? Number(given) * 1_000 : parseTime(given);
  if (Number.isNaN(ms)) throw new Error(`${JSON.stringify(given.slice(0, limits.priceOutputChars))} is no time`);
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
