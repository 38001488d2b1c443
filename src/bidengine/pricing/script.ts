/** Runs a program of the operator for a price. Any other output is a no, with what it printed. */
import { resolve } from "node:path";
import type { JsonObject } from "../../bus/topics.ts";
import { type Decimal, formatDecimal, parseDecimal } from "../../market/decimal.ts";
import type { ResourceUnit, UnitResources } from "../../market/group-spec.ts";
import { leasedAddressesOf, storageClassOf } from "../../market/group-totals.ts";
import { shorten } from "../../market/printable.ts";
import { type ProgramEnd, runProgram } from "../../runtime/child-process.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { endedBy } from "../../runtime/ended-by.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { createSemaphore, type SemaphorePriority } from "../../runtime/semaphore.ts";
import { gpusByVendor, no, type PriceRequest, type PriceSettings, type Quote, type Strategy } from "./pricing.ts";

/** Output of a price script, and again its errors: a price is a line, and a script may log. */
export const priceScriptBytes = 64 * 1024;
/** Characters shown of that. */
export const priceOutputChars = 500;

/** For rechecks of orders with the same input, as bots post them by the hundred. */
const cachedMs = 60_000;
const mostCached = 10_000;

type ScriptSettings = Pick<
  PriceSettings,
  "bidPriceScriptPath" | "bidPriceScriptProcessLimit" | "bidPriceScriptTimeoutMs"
>;

export function createScript(settings: ScriptSettings, { clock, log }: Pick<RuntimeDeps, "clock" | "log">): Strategy {
  const { bidPriceScriptProcessLimit: mostProcesses, bidPriceScriptTimeoutMs: limitMs } = settings;
  // Without a slash the system would look for it along PATH.
  const path = resolve(settings.bidPriceScriptPath ?? "");
  // Rechecks leave half of the processes to new orders.
  const processes = createSemaphore(mostProcesses, Math.ceil(mostProcesses / 2));
  const cache = createLruCache<{ readonly answer: Quote; readonly atMs: number }>({ most: mostCached });
  /** By priority, owner and input; undefined if cancelled. */
  const running = new Map<string, Promise<Quote | undefined>>();
  let error: string | undefined;
  let lastStart = Promise.resolve();

  /** Starting a process blocks for some milliseconds, so only one starts in a turn of the event loop. */
  function nextTurn(): Promise<void> {
    lastStart = lastStart.then(() => clock.yield());
    return lastStart;
  }

  /** Orders with the same input share a run; one that its caller cancelled is started again for the others. */
  async function quote(request: PriceRequest, signal: AbortSignal): Promise<Quote> {
    const input = scriptInput(request);
    const priority = request.isRecheck ? "low" : request.isFurther ? "later" : "normal";
    const key = `${priority} ${request.owner} ${input}`;
    for (let shared = running.get(key); shared; shared = running.get(key)) {
      const answer = await endedBy(shared, signal).catch(notRun);
      if (answer) return answer;
    }
    const own = run(request, input, priority, signal);
    const shared = own.then(
      ({ answer, isCancelled }) => (isCancelled ? undefined : answer),
      () => undefined,
    );
    running.set(key, shared);
    const { answer } = await own.finally(() => running.delete(key));
    return answer;
  }

  async function run(request: PriceRequest, input: string, priority: SemaphorePriority, signal: AbortSignal) {
    const { owner, most, isRecheck } = request;
    let release: () => void;
    try {
      release = await processes.acquire(signal, priority);
    } catch (thrown) {
      return { answer: notRun(thrown), isCancelled: true };
    }
    try {
      const key = `${owner} ${input}`;
      const before = isRecheck ? cache.get(key) : undefined;
      if (before && clock.monotonicMs() - before.atMs < cachedMs) return { answer: before.answer };
      await nextTurn();
      const env = { AKASH_OWNER: owner, AKASH_DENOM: most.denom };
      const startedMs = clock.monotonicMs();
      const end = await runProgram({ path, env, input, limitMs, mostBytes: priceScriptBytes, clock, signal });
      const tookMs = Math.round(clock.monotonicMs() - startedMs);
      const answer = quoteOf(end, most.denom, { limitMs, tookMs });
      noteError(end, answer);
      if (end.how === "exited") cache.set(key, { answer, atMs: clock.monotonicMs() });
      return { answer, isCancelled: end.how === "cancelled" };
    } finally {
      release();
    }
  }

  /** Neither a price nor a non-zero exit, by which scripts decline: it concerns every order. */
  function noteError({ how, code }: ProgramEnd, answer: Quote): void {
    if (how === "cancelled") return;
    const isNo = how === "exited" && code !== 0;
    const reason = answer.price || isNo ? undefined : `${answer.reason} (${path})`;
    if (reason && !error) log.warn("failed to get a price from the script", { path, reason });
    error = reason;
  }

  return {
    quote,
    get error() {
      return error;
    },
  };
}

function notRun(thrown: unknown): Quote {
  return no(`the price script was not run: ${reasonOf(thrown)}`, { strategy: "shellScript" });
}

function quoteOf(end: ProgramEnd, denom: string, { limitMs, tookMs }: { limitMs: number; tookMs: number }): Quote {
  const [output, errors] = [shown(end.stdout), shown(end.stderr)];
  const evidence: JsonObject = { strategy: "shellScript", tookMs, output, ...(errors && { errors }) };
  const fail = (reason: string): Quote => no(`the price script ${reason}`, evidence);
  switch (end.how) {
    case "not started":
      return fail(`cannot be started: ${end.reason}`);
    case "late":
      return fail(`gave no price within ${limitMs} ms and was ended`);
    case "flooded":
      return fail(`printed more than ${priceScriptBytes} bytes and was ended: ${output || errors}`);
    case "cancelled":
      return fail("was ended because its price is not needed any more");
    case "killed":
      return fail(`was ended by the signal ${end.reason}`);
    case "exited":
      if (end.code !== 0) return fail(`ended with the code ${end.code}: ${errors || output || "it printed nothing"}`);
      return priceOf(end.stdout, denom, evidence, fail);
  }
}

function priceOf(stdout: string, denom: string, evidence: JsonObject, fail: (reason: string) => Quote): Quote {
  const text = stdout.trim();
  if (text === "") return fail("printed nothing");
  let amount: Decimal;
  try {
    amount = parseDecimal(text);
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    return fail(`printed what is no price: ${JSON.stringify(shown(text))}`);
  }
  if (amount.atto === 0n) return fail("returned a price of zero");
  if (amount.atto < 0n) return fail(`returned a negative price: ${text}`);
  return { price: { denom, amount }, evidence };
}

function shown(text: string): string {
  return shorten(text.trim(), priceOutputChars);
}

/** Digits after the point that a script should print. */
const pricePrecision = 6;

/** Standard input of a price script: one line of JSON, in the format of the network's scripts. */
export function scriptInput({ group, offer, most }: PriceRequest): string {
  const resources = group.units.map((unit, index) => unitInput(unit, offer[index] ?? unit));
  const price = { denom: most.denom, amount: formatDecimal(most.amount) };
  return `${JSON.stringify({ resources, price, price_precision: pricePrecision })}\n`;
}

/** Amounts are far below 2⁵³: the network allows no order with more. */
function unitInput({ count, endpoints }: ResourceUnit, { cpu, memory, gpu, storage }: UnitResources) {
  const gpus = [...gpusByVendor(gpu.attributes)].sort(([left], [right]) => (left < right ? -1 : 1));
  return {
    memory: Number(memory.bytes),
    cpu: Number(cpu.milli),
    gpu: {
      units: Number(gpu.count),
      attributes: gpus.length > 0 ? { vendor: Object.fromEntries(gpus) } : {},
    },
    storage: storage.map((volume) => ({ class: storageClassOf(volume), size: Number(volume.bytes) })),
    count,
    endpoint_quantity: endpoints.length,
    ip_lease_quantity: leasedAddressesOf([{ endpoints }]),
  };
}
