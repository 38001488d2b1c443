/**
 * The registry in force: the cards known by ourselves, and over them what the configured registry says. That is read
 * again and again; what it no longer says is forgotten, and while it cannot be read its last good text holds.
 */

import { growingPauseMs } from "../../../runtime/back-off.ts";
import { type Condition, condition } from "../../../runtime/condition.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { createPause } from "../../../runtime/pause.ts";
import type { OperatorGround } from "../../ground.ts";
import { builtInRegistry } from "./built-in-registry.ts";
import { parseRegistry } from "./parse-registry.ts";
import { isFile, type RegistryLocation, type RegistryText, readRegistryText, showLocation } from "./read-registry.ts";
import { mergeRegistries, type Registry } from "./registry.ts";

/** How often a registry file is looked at, so that an edit is seen at once. */
export const registryFileMs = 5 * second;
/** First pause after a registry could not be read; it grows up to the period. */
export const registryRetryFirstMs = 5 * second;

interface RegistrySourceOptions {
  /** An address or the path of a file; without one, only the built-in table is used. */
  readonly location: RegistryLocation | undefined;
  readonly periodMs: number;
}

interface RegistrySourceDeps extends Pick<OperatorGround, "clock" | "log"> {
  /** Called after the registry or the conditions have changed. */
  readonly onChange: () => void;
}

export type RegistrySource = ReturnType<typeof createRegistrySource>;

export function createRegistrySource(options: RegistrySourceOptions, { clock, log, onChange }: RegistrySourceDeps) {
  const counts = { reads: 0, failures: 0, changes: 0 };
  const pause = createPause(clock);
  let location = options.location;
  let good: { readonly text: RegistryText; readonly from: RegistryLocation; readonly registry: Registry } | undefined;
  let trouble: ProviderError | undefined;
  let failuresInARow = 0;

  function succeed(text: RegistryText, from: RegistryLocation): void {
    const unchanged = good?.text.text === text.text && good.from === from;
    const registry =
      unchanged && good
        ? good.registry
        : mergeRegistries(builtInRegistry, parseRegistry(text.text, showLocation(from)));
    const recovered = trouble !== undefined;
    good = { text, from, registry };
    trouble = undefined;
    failuresInARow = 0;
    if (!unchanged) {
      counts.changes += 1;
      log.info("read the GPU registry", { location: showLocation(from), problems: registry.problems });
    }
    if (!unchanged || recovered) onChange();
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
      pause.ring();
    },
    /** Keeps the registry up to date until the signal is aborted. */
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
