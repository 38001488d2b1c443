/** The registry in force: built-in GPUs overlaid by the configured registry. The last good text holds on failure. */
import { growingPauseMs } from "../../../runtime/back-off.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { type FetchedText, fetchText, showUrl } from "../../../runtime/fetch-text.ts";
import { createWakeSignal } from "../../../runtime/wake-signal.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { readBoundedFile } from "../discovery/tree.ts";
import { builtInRegistry, parseRegistry, type Registry } from "./parse-registry.ts";
import { mergeRegistries } from "./registry.ts";

export const registryFileMs = 5 * second;
/** First pause after a failed read; it grows up to the period. */
export const registryRetryFirstMs = 5 * second;
/** A hundred times the network's registry. */
export const registryBytes = 1024 * 1024;
/** It comes from a small static server. */
export const registryAnswerMs = 10 * second;

export type RegistryLocation = URL | string;

interface RegistrySourceOptions {
  /** Without one, only the built-in registry is used. */
  readonly location: RegistryLocation | undefined;
  readonly periodMs: number;
}

interface RegistrySourceDeps extends Pick<OperatorDeps, "clock" | "log"> {
  readonly onChange: () => void;
}

export type RegistrySource = ReturnType<typeof createRegistrySource>;

export function createRegistrySource(options: RegistrySourceOptions, { clock, log, onChange }: RegistrySourceDeps) {
  const counts = { failures: 0 };
  const wakeup = createWakeSignal(clock);
  let location = options.location;
  let good: { readonly text: FetchedText; readonly from: RegistryLocation; readonly registry: Registry } | undefined;
  let error: ProviderError | undefined;
  let failuresInARow = 0;

  async function read(from: RegistryLocation, signal: AbortSignal): Promise<void> {
    const before = good?.from === from ? good : undefined;
    try {
      const text = await readText(from, before?.text, signal);
      if (from !== location) return;
      const same = before?.text.text === text.text ? before.registry : undefined;
      const registry = same ?? mergeRegistries(builtInRegistry, parseRegistry(text.text, showLocation(from)));
      if (!same) log.info("read the GPU registry", { location: showLocation(from), problems: registry.problems });
      const isChanged = !same || error !== undefined;
      good = { text, from, registry };
      error = undefined;
      failuresInARow = 0;
      if (isChanged) onChange();
    } catch (thrown) {
      if (signal.aborted || from !== location) return;
      const message = error?.message;
      error = ProviderError.from(thrown);
      counts.failures += 1;
      failuresInARow += 1;
      if (message === error.message) return;
      log.warn("failed to read the GPU registry", { error });
      onChange();
    }
  }

  /** Throws AKP_GPU_REGISTRY_UNREADABLE. */
  async function readText(from: RegistryLocation, known: FetchedText | undefined, signal: AbortSignal) {
    const limits = { limitMs: registryAnswerMs, mostBytes: registryBytes };
    try {
      if (!isFile(from)) return await fetchText(addressOf(from), { known, clock, signal, ...limits });
      return { text: (await readBoundedFile(String(from), registryBytes)).toString("utf8") };
    } catch (thrown) {
      signal.throwIfAborted();
      const details = { location: showLocation(from), reason: reasonOf(thrown) };
      throw new ProviderError("AKP_GPU_REGISTRY_UNREADABLE", details, { cause: thrown });
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
        ...(error ? [condition("GpuRegistryUnusable", error.message)] : []),
        ...(problems.length > 0 ? [condition("GpuRegistryEntries", leftOut)] : []),
      ];
    },
    /** What was read before holds until the new one was read. */
    relocate(next: RegistryLocation | undefined): void {
      if (String(next) === String(location)) return;
      location = next;
      failuresInARow = 0;
      if (next === undefined) {
        good = undefined;
        error = undefined;
        onChange();
      }
      wakeup.notify();
    },
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const from = location;
        if (from !== undefined) await read(from, signal);
        // Without a location there is nothing to do until one is set.
        if (from === location) await wakeup.wait(from === undefined ? options.periodMs : pauseMs(from), signal);
      }
    },
    counts,
  };
}

function isFile(location: RegistryLocation): boolean {
  return !(location instanceof URL) && !(/^https?:\/\//i.test(location) && URL.canParse(location));
}

/** For people and logs: without credentials and query, where keys are put. */
function showLocation(location: RegistryLocation): string {
  return isFile(location) ? String(location) : showUrl(addressOf(location));
}

/** The network serves it below its address; an address of a JSON file is that file. */
function addressOf(location: RegistryLocation): URL {
  const url = new URL(location);
  if (!/(\.json|\/devices\/gpus)$/.test(url.pathname))
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/devices/gpus`;
  return url;
}
