/** Fetches a registry's text from where it is: a server of the network's kind, a plain URL, or a file. */
import type { Clock } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { type FetchedText, fetchText, showUrl } from "../../../runtime/fetch-text.ts";
import { readBounded } from "../bounded-file.ts";

/** A GPU registry: a hundred times the network's. */
export const registryBytes = 1024 * 1024;
/** Its answer comes from a small static server. */
export const registryAnswerMs = 10 * second;

/** An address, or the path of a file. */
export type RegistryLocation = URL | string;

export type RegistryText = FetchedText;

interface ReadRegistryOptions {
  /** What was read last, so that a server need not send it again. */
  readonly known: RegistryText | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export function isFile(location: RegistryLocation): boolean {
  return !(location instanceof URL) && !(/^https?:\/\//i.test(location) && URL.canParse(location));
}

/** For people and logs: without credentials and query, where keys are put. */
export function showLocation(location: RegistryLocation): string {
  if (isFile(location)) return String(location);
  return showUrl(addressOf(location));
}

/** Throws AKP_GPU_REGISTRY_UNREADABLE. */
export async function readRegistryText(
  location: RegistryLocation,
  options: ReadRegistryOptions,
): Promise<RegistryText> {
  try {
    if (!isFile(location)) {
      const { known, clock, signal } = options;

      return await fetchText(addressOf(location), {
        known,
        limitMs: registryAnswerMs,
        mostBytes: registryBytes,
        clock,
        signal,
      });
    }
    return { text: (await readBounded(String(location), registryBytes)).toString("utf8") };
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
