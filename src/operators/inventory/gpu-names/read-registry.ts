/** Fetches a registry's text from where it is: a server of the network's kind, a plain URL, or a file. */
import { type Clock, withDeadline } from "../../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../../runtime/errors.ts";
import { limits } from "../../../runtime/limits.ts";
import { readBounded } from "../bounded-file.ts";

/** An address, or the path of a file. */
export type RegistryLocation = URL | string;

export interface RegistryText {
  readonly text: string;
  /** The server's mark of this very text. */
  readonly etag?: string;
}

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
  const { origin, pathname } = addressOf(location);
  return `${origin}${pathname}`;
}

/** Throws AKP_GPU_REGISTRY_UNREADABLE. */
export async function readRegistryText(
  location: RegistryLocation,
  options: ReadRegistryOptions,
): Promise<RegistryText> {
  try {
    if (!isFile(location)) return await fetchText(addressOf(location), options);
    return { text: (await readBounded(String(location), limits.registryBytes)).toString("utf8") };
  } catch (thrown) {
    options.signal.throwIfAborted();
    // "fetch failed" is all that fetch says itself.
    const reason = reasonOf(thrown instanceof Error && thrown.cause ? thrown.cause : thrown);
    const details = { location: showLocation(location), reason };
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

async function fetchText(url: URL, { known, clock, signal }: ReadRegistryOptions): Promise<RegistryText> {
  const late = new AbortController();
  const ask = async () => {
    const headers = { accept: "application/json", ...(known?.etag ? { "if-none-match": known.etag } : {}) };
    // We go where we were sent and nowhere else.
    const init = {
      headers: { ...headers, ...takeCredentials(url) },
      redirect: "manual",
      signal: AbortSignal.any([signal, late.signal]),
    } as const;
    const answer = await fetch(url, init);
    if (answer.status === 304 && known?.etag) return known;
    if (answer.status !== 200) throw new Error(refusalOf(answer));
    const etag = answer.headers.get("etag");
    return { text: await bodyOf(answer), ...(etag ? { etag } : {}) };
  };
  try {
    return await withDeadline(clock, limits.registryAnswerMs, ask(), () => {
      throw new Error(`no whole answer within ${limits.registryAnswerMs} ms`);
    });
  } finally {
    late.abort();
  }
}

/** Fetch refuses an address with credentials, and says so with all of them. */
function takeCredentials(url: URL): Record<string, string> {
  const { username, password } = url;
  url.username = "";
  url.password = "";
  if (!username && !password) return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

function refusalOf({ status, headers }: Response): string {
  const elsewhere = headers.get("location");
  return elsewhere ? `it has moved to ${elsewhere.split("?")[0]} (${status})` : `the server answered ${status}`;
}

async function bodyOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.registryBytes) throw new Error(`it is longer than ${limits.registryBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
