/** Fetches a small text over HTTP: within a time, up to a length, and from where we were sent and nowhere else. */
import { type Clock, withDeadline } from "./clock.ts";

export interface FetchedText {
  readonly text: string;
  /** The server's mark of this very text. */
  readonly etag?: string;
}

interface FetchOptions {
  /** What was read last, so that a server need not send it again. */
  readonly known?: FetchedText | undefined;
  readonly limitMs: number;
  readonly mostBytes: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** For people and logs: without credentials and query, where keys are put. */
export function showUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** Throws in words. Credentials in the address are sent as such. */
export function fetchText(url: URL, options: FetchOptions): Promise<FetchedText> {
  return inTime(options, (signal) => ask(url, options, signal));
}

/** What is asked for, within a time; whoever is late is ended. */
export async function inTime<T>(
  { limitMs, clock, signal }: Pick<FetchOptions, "limitMs" | "clock" | "signal">,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  try {
    return await withDeadline(clock, limitMs, ask(AbortSignal.any([signal, late.signal])), () => {
      throw new Error(`no whole answer within ${limitMs} ms`);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    // "fetch failed" is all that fetch says itself.
    throw thrown instanceof TypeError && thrown.cause ? thrown.cause : thrown;
  } finally {
    late.abort();
  }
}

async function ask(given: URL, { known, mostBytes }: FetchOptions, signal: AbortSignal): Promise<FetchedText> {
  const url = new URL(given);
  const headers = {
    accept: "application/json",
    ...(known?.etag ? { "if-none-match": known.etag } : {}),
    ...takeCredentials(url),
  };
  const answer = await fetch(url, { headers, redirect: "manual", signal });
  if (answer.status === 304 && known?.etag) return known;
  if (answer.status !== 200) throw new Error(refusalOf(answer));
  const etag = answer.headers.get("etag");
  return { text: await readResponseBody(answer, mostBytes), ...(etag ? { etag } : {}) };
}

/** Fetch rejects an address with credentials, and says so with all of them. */
export function takeCredentials(url: URL): Record<string, string> {
  const { username, password } = url;
  url.username = "";
  url.password = "";
  if (!username && !password) return {};
  const pair = `${unescaped(username)}:${unescaped(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** A password may hold a percent sign that nobody escaped: what is no escape stays as it stands. */
function unescaped(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

function refusalOf({ status, headers }: Response): string {
  const elsewhere = headers.get("location");
  return elsewhere ? `it has moved to ${elsewhere.split("?")[0]} (${status})` : `the server answered ${status}`;
}

export async function readResponseBody({ body }: Response, mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`it is longer than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
