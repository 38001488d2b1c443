/** The registry in force: built-in GPUs overlaid by the configured registry. The last good text holds on failure. */
import { growingPauseMs } from "../../../runtime/back-off.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { type FetchedText, fetchText, showUrl } from "../../../runtime/fetch-text.ts";
import { createWakeSignal } from "../../../runtime/wake-signal.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { readBoundedFile } from "../discovery/tree.ts";
import { parseRegistry } from "./parse-registry.ts";
import { builtInRegistry, mergeRegistries, type Registry } from "./registry.ts";

/** How often a registry file is looked at, so that an edit is seen at once. */
export const registryFileMs = 5 * second;
/** First pause after a registry could not be read; it grows up to the period. */
export const registryRetryFirstMs = 5 * second;

interface RegistrySourceOptions {
  /** Without one, only the built-in registry is used. */
  readonly location: RegistryLocation | undefined;
  readonly periodMs: number;
}

export type RegistrySource = ReturnType<typeof createRegistrySource>;

export function createRegistrySource(
  options: RegistrySourceOptions,
  { clock, log, onChange }: Pick<OperatorDeps, "clock" | "log"> & { readonly onChange: () => void },
) {
  const counts = { reads: 0, failures: 0, changes: 0 };
  const pause = createWakeSignal(clock);
  let location = options.location;
  let good: { readonly text: FetchedText; readonly from: RegistryLocation; readonly registry: Registry } | undefined;
  let trouble: ProviderError | undefined;
  let failuresInARow = 0;

  function succeed(text: FetchedText, from: RegistryLocation): void {
    const same = good?.text.text === text.text && good.from === from ? good.registry : undefined;
    const registry = same ?? mergeRegistries(builtInRegistry, parseRegistry(text.text, showLocation(from)));
    const recovered = trouble !== undefined;
    good = { text, from, registry };
    trouble = undefined;
    failuresInARow = 0;
    if (!same) {
      counts.changes += 1;
      log.info("read the GPU registry", { location: showLocation(from), problems: registry.problems });
    }
    if (!same || recovered) onChange();
  }

  function fail(thrown: unknown): void {
    const error = ProviderError.from(thrown);
    counts.failures += 1;
    failuresInARow += 1;
    if (trouble?.message === error.message) return;
    trouble = error;
    log.warn("failed to read the GPU registry", { error });
    onChange();
  }

  async function read(from: RegistryLocation, signal: AbortSignal): Promise<void> {
    counts.reads += 1;
    const known = good?.from === from ? good.text : undefined;
    try {
      const text = await readRegistryText(from, { known, clock, signal });
      if (from === location) succeed(text, from);
    } catch (thrown) {
      if (signal.aborted) return;
      if (from === location) fail(thrown);
    }
  }

  function pauseMs(from: RegistryLocation): number {
    const regularMs = isFile(from) ? Math.min(registryFileMs, options.periodMs) : options.periodMs;
    return failuresInARow === 0 ? regularMs : growingPauseMs(registryRetryFirstMs, regularMs, failuresInARow);
  }

  return {
    get registry(): Registry {
      return good?.registry ?? builtInRegistry;
    },
    get conditions(): Condition[] {
      const { problems = [] } = good?.registry ?? {};
      const leftOut = `entries of the GPU registry at ${good && showLocation(good.from)} were left out: ${problems.join("; ")}`;
      return [
        ...(trouble ? [condition("GpuRegistryUnusable", trouble.message)] : []),
        ...(problems.length > 0 ? [condition("GpuRegistryEntries", leftOut)] : []),
      ];
    },
    /** Reads from somewhere else from now on. What was known holds until the new one was read. */
    relocate(next: RegistryLocation | undefined): void {
      if (String(next) === String(location)) return;
      location = next;
      failuresInARow = 0;
      if (next === undefined) {
        good = undefined;
        trouble = undefined;
        onChange();
      }
      pause.notify();
    },
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const from = location;
        if (from !== undefined) await read(from, signal);
        // Without a location there is nothing to do until one is set.
        if (from === location) await pause.wait(from === undefined ? options.periodMs : pauseMs(from), signal);
      }
    },
    counts,
  };
}

/** A GPU registry: a hundred times the network's. */
export const registryBytes = 1024 * 1024;
/** Its answer comes from a small static server. */
export const registryAnswerMs = 10 * second;

export type RegistryLocation = URL | string;

interface ReadRegistryOptions {
  /** What was read last, so that a server need not send it again. */
  readonly known: FetchedText | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

function isFile(location: RegistryLocation): boolean {
  return !(location instanceof URL) && !(/^https?:\/\//i.test(location) && URL.canParse(location));
}

/** For people and logs: without credentials and query, where keys are put. */
function showLocation(location: RegistryLocation): string {
  return isFile(location) ? String(location) : showUrl(addressOf(location));
}

/** Throws AKP_GPU_REGISTRY_UNREADABLE. */
async function readRegistryText(location: RegistryLocation, options: ReadRegistryOptions): Promise<FetchedText> {
  const limits = { limitMs: registryAnswerMs, mostBytes: registryBytes };
  try {
    if (!isFile(location)) return await fetchText(addressOf(location), { ...options, ...limits });
    return { text: (await readBoundedFile(String(location), registryBytes)).toString("utf8") };
  } catch (thrown) {
    options.signal.throwIfAborted();
    const details = { location: showLocation(location), reason: reasonOf(thrown) };
    throw new ProviderError("AKP_GPU_REGISTRY_UNREADABLE", details, { cause: thrown });
  }
}

/** The network serves it below its address; an address of a JSON file is that file. */
function addressOf(location: RegistryLocation): URL {
  const url = new URL(location);
  if (!/(\.json|\/devices\/gpus)$/.test(url.pathname))
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/devices/gpus`;
  return url;
}
