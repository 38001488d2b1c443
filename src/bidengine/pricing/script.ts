/** Asks a program of the operator's for a price. Whatever is not a price is a no, with what it printed. */
import { resolve } from "node:path";
import type { JsonObject } from "../../bus/topics.ts";
import { type Decimal, formatDecimal, parseDecimal } from "../../market/decimal.ts";
import type { ResourceUnit, UnitResources } from "../../market/group-spec.ts";
import { leasedAddressesOf, storageClassOf } from "../../market/group-totals.ts";
import { shorten } from "../../market/printable.ts";
import { type ProgramEnd, runProgram } from "../../runtime/child-process.ts";
import type { Clock } from "../../runtime/clock.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { createSemaphore, type SemaphorePriority } from "../../runtime/semaphore.ts";
import {
  gpusByVendor,
  type NoPrice,
  no,
  type PriceRequest,
  type Quote,
  type ScriptSettings,
  type Strategy,
} from "./pricing.ts";

/** What a price script may print, and again its errors: a price is a line, and somebody may let it tell what it does. */
export const priceScriptBytes = 64 * 1024;
/** What is shown of that: enough to see what went wrong. */
export const priceOutputChars = 500;

/** For rechecks of orders with the same input, as bots post them by the hundred; a price that is older may have changed. */
const rememberedMs = 60_000;
const mostRemembered = 10_000;

export function createScript(settings: ScriptSettings, { clock, log }: { clock: Clock; log: Log }): Strategy {
  const { bidPriceScriptProcessLimit, bidPriceScriptTimeoutMs: limitMs } = settings;
  // Without a slash the system would look for it along PATH.
  const path = resolve(settings.bidPriceScriptPath ?? "");
  // Rechecks leave half of the processes to new orders.
  const slots = createSemaphore(bidPriceScriptProcessLimit, Math.ceil(bidPriceScriptProcessLimit / 2));
  const remembered = createLruCache<{ readonly answer: Quote; readonly atMs: number }>({ most: mostRemembered });
  /** By priority, owner and input; undefined of one that was cancelled. */
  const underWay = new Map<string, Promise<Quote | undefined>>();
  let trouble: string | undefined;
  let turns = Promise.resolve();

  /** Starting a process holds up everything else for some milliseconds, so only one starts in a turn of the event loop. */
  function ownTurn(): Promise<void> {
    turns = turns.then(() => clock.yield());
    return turns;
  }

  /** Orders with the same input share a run under way; one whose asker has gone is begun anew for the others. */
  async function quote(request: PriceRequest, signal: AbortSignal): Promise<Quote> {
    const input = scriptInput(request);
    const priority = request.isRecheck ? "low" : request.isFurther ? "later" : "normal";
    const key = `${priority} ${request.owner} ${input}`;
    for (;;) {
      const shared = underWay.get(key);
      if (!shared) break;
      const answer = await endedBy(shared, signal).catch(notAsked);
      if (answer) return answer;
    }
    const running = run(request, input, priority, signal);
    const kept = running.then(
      ({ answer, isCancelled }) => (isCancelled ? undefined : answer),
      () => undefined,
    );
    underWay.set(key, kept);
    const { answer } = await running.finally(() => underWay.delete(key));
    return answer;
  }

  async function run(
    { owner, most, isRecheck }: PriceRequest,
    input: string,
    priority: SemaphorePriority,
    signal: AbortSignal,
  ) {
    let giveBack: () => void;
    try {
      giveBack = await slots.acquire(signal, priority);
    } catch (thrown) {
      return { answer: notAsked(thrown), isCancelled: true };
    }
    try {
      const key = `${owner} ${input}`;
      const before = isRecheck ? remembered.get(key) : undefined;
      if (before && clock.monotonicMs() - before.atMs < rememberedMs) return { answer: before.answer };
      await ownTurn();
      const env = { AKASH_OWNER: owner, AKASH_DENOM: most.denom };
      const begunMs = clock.monotonicMs();
      const end = await runProgram({ path, env, input, limitMs, mostBytes: priceScriptBytes, clock, signal });
      const tookMs = Math.round(clock.monotonicMs() - begunMs);
      const answer = quoteOf(end, most.denom, { limitMs, tookMs });
      noteFault(end, answer);
      if (end.how === "exited") remembered.set(key, { answer, atMs: clock.monotonicMs() });
      return { answer, isCancelled: end.how === "cancelled" };
    } finally {
      giveBack();
    }
  }

  /** An answer that is neither a price nor a non-zero exit, by which scripts decline, concerns every order. */
  function noteFault({ how, code }: ProgramEnd, answer: Quote): void {
    if (how === "cancelled") return;
    const isNo = how === "exited" && code !== 0;
    const fault = answer.price || isNo ? undefined : `${answer.reason} (${path})`;
    if (fault && !trouble) log.warn("failed to get a price from the script", { path, reason: fault });
    trouble = fault;
  }

  return {
    quote,
    get trouble() {
      return trouble;
    },
  };
}

function notAsked(thrown: unknown): NoPrice {
  return no(`the price script was not asked: ${reasonOf(thrown)}`, { strategy: "shellScript" });
}

function quoteOf(end: ProgramEnd, denom: string, { limitMs, tookMs }: { limitMs: number; tookMs: number }): Quote {
  const [output, errors] = [told(end.stdout), told(end.stderr)];
  const evidence: JsonObject = { strategy: "shellScript", tookMs, output, ...(errors && { errors }) };
  const fail = (reason: string): NoPrice => no(`the price script ${reason}`, evidence);
  switch (end.how) {
    case "not started":
      return fail(`cannot be started: ${end.reason}`);
    case "late":
      return fail(`gave no price within ${limitMs} ms and was ended`);
    case "flooded":
      return fail(`printed more than ${priceScriptBytes} bytes and was ended: ${output || errors}`);
    case "cancelled":
      return fail("was ended because nobody waits for its price any more");
    case "killed":
      return fail(`was ended by the signal ${end.reason}`);
    case "exited":
      if (end.code !== 0) return fail(`ended with the code ${end.code}: ${errors || output || "it printed nothing"}`);
      return priceOf(end.stdout, denom, evidence, fail);
  }
}

function priceOf(stdout: string, denom: string, evidence: JsonObject, fail: (reason: string) => NoPrice): Quote {
  const text = stdout.trim();
  if (text === "") return fail("printed nothing");
  let amount: Decimal;
  try {
    amount = parseDecimal(text);
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    return fail(`printed what is no price: ${JSON.stringify(told(text))}`);
  }
  if (amount.atto === 0n) return fail("asks for a price of zero");
  if (amount.atto < 0n) return fail(`asks for a price below zero: ${text}`);
  return { price: { denom, amount }, evidence };
}

function told(text: string): string {
  return shorten(text.trim(), priceOutputChars);
}

// What a price script is told on its standard input: one line of JSON, field by field as the network's scripts read it.

/** Digits after the point that a script should print. */
const pricePrecision = 6;

export function scriptInput({ group, offer, most }: PriceRequest): string {
  const resources = group.units.map((unit, index) => unitInput(unit, offer[index] ?? unit));
  const price = { denom: most.denom, amount: formatDecimal(most.amount) };
  return `${JSON.stringify({ resources, price, price_precision: pricePrecision })}\n`;
}

/** Amounts are far below 2⁵³: the network allows no order with more. */
function unitInput({ count, endpoints }: ResourceUnit, { cpu, memory, gpu, storage }: UnitResources) {
  const cards = [...gpusByVendor(gpu.attributes)].sort(([left], [right]) => (left < right ? -1 : 1));
  return {
    memory: Number(memory.bytes),
    cpu: Number(cpu.milli),
    gpu: {
      units: Number(gpu.count),
      attributes: cards.length > 0 ? { vendor: Object.fromEntries(cards) } : {},
    },
    storage: storage.map((volume) => ({ class: storageClassOf(volume), size: Number(volume.bytes) })),
    count,
    endpoint_quantity: endpoints.length,
    ip_lease_quantity: leasedAddressesOf([{ endpoints }]),
  };
}
