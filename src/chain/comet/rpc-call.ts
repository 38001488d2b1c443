/** JSON-RPC 2.0 to one node, with bounds on time and bytes, and the numbers and times that CometBFT writes as text. */
import { type Clock, parseTime } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { slicedJson } from "../../runtime/sliced-json.ts";
import { type RawAnswer, type RpcTransport, unreachable } from "./transport.ts";

/** One call to a node: the slowest sound answers, long lists, take a few seconds. */
export const rpcCallMs = 10 * second;
/** Characters of a large answer that are parsed between two breaths of the event loop: about 3 ms. */
export const rpcSliceChars = 256 * 1024;
/** The largest sound answer is the result of a full block of 22 MB. */
export const rpcAnswerBytes = 64 * 1024 * 1024;

export interface RpcLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** So much more of the answer has come. */
  readonly onBytes?: (bytes: number) => void;
}

export type RpcCall = (
  method: string,
  params: Readonly<Record<string, unknown>>,
  bounds?: RpcLimits,
) => Promise<unknown>;

export function createRpcCall(transport: RpcTransport, clock: Clock): RpcCall {
  const { name: node } = transport;
  let ids = 0;

  return async (method, params, { timeoutMs = rpcCallMs, signal, onBytes } = {}) => {
    signal?.throwIfAborted();
    ids += 1;
    const request = { node, method, id: ids };
    const text = JSON.stringify({ jsonrpc: "2.0", id: request.id, method, params });
    const ending = new AbortController();
    let bytes = 0;
    const timer = clock.timer(timeoutMs, () => {
      const reason = bytes > 0 ? `only ${bytes} bytes within ${timeoutMs} ms` : `no answer within ${timeoutMs} ms`;
      ending.abort(unreachable(node, reason));
    });
    const took = (more: number) => {
      bytes += more;
      onBytes?.(more);
      if (bytes <= rpcAnswerBytes) return;
      const reason = `more than ${rpcAnswerBytes} bytes`;
      ending.abort(new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node, method, reason }));
    };
    try {
      const bounds = { signal: AbortSignal.any([ending.signal, ...(signal ? [signal] : [])]), onBytes: took };
      const answer = await transport.send({ method, text }, bounds);
      return await readAnswer(request, answer, clock);
    } finally {
      timer.cancel();
    }
  };
}

/** Characters of a malformed answer in an error: enough to recognise a proxy's error page. */
const shownChars = 80;

/** The result of a JSON-RPC call; throws what else it may be. The event loop goes on while a large one is read. */
async function readAnswer(
  { node, method, id }: { readonly node: string; readonly method: string; readonly id: number },
  { status, body }: RawAnswer,
  clock: Clock,
): Promise<unknown> {
  const strange = (reason: string) => new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node, method, reason });
  const answer = await parse(body, clock);
  if (answer === undefined) throw strange(describe(status, body));
  const { error, result } = answer;
  if (isRecord(error)) {
    const { data, message = "no reason given" } = error;
    // CometBFT gives the reason in `data`; a vendor's gateway may have an object there.
    const reason = typeof data === "string" ? data : String(message);
    throw new ProviderError("AKP_CHAIN_CALL_REFUSED", { node, method, reason, rpcCode: error["code"] });
  }
  if (answer["id"] !== id) throw strange(`it is the answer to call ${JSON.stringify(answer["id"])} instead of ${id}`);
  if (result === undefined) throw strange(`it holds neither a result nor an error (HTTP ${status})`);
  return result;
}

/** What `read` makes of a result; a TypeError of it means that the node's answer is of no use. */
export function reading<T>(node: string, method: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { node, method, reason: thrown.message });
  }
}

async function parse(body: string, clock: Clock): Promise<Record<string, unknown> | undefined> {
  try {
    const value: unknown = body.length > rpcSliceChars ? await parseLarge(body, clock) : JSON.parse(body);
    return isRecord(value) && "jsonrpc" in value ? value : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

async function parseLarge(body: string, clock: Clock): Promise<unknown> {
  const parsing = slicedJson(body, rpcSliceChars);
  for (;;) {
    const { done, value } = parsing.next();
    if (done) return value;
    await clock.yield();
  }
}

function describe(status: number, body: string): string {
  const text = body.trim();
  if (text === "") return `nothing (HTTP ${status})`;
  const kind = text.startsWith("<") ? "an HTML page" : text.startsWith("{") ? "JSON that is cut off or none" : "a text";
  return `${kind} (HTTP ${status}, ${body.length} characters) that begins ${JSON.stringify(text.slice(0, shownChars))}`;
}

// Numbers and times as CometBFT writes them into JSON: both as text. What is neither is a TypeError that says so.

const mostInt64 = 2n ** 63n - 1n;

export function readHeight(value: unknown): bigint {
  if (typeof value !== "string" || !/^\d{1,19}$/.test(value))
    throw new TypeError(`${shownValue(value)} is not a height`);
  const height = BigInt(value);
  if (height > mostInt64) throw new TypeError(`${value} is not a height`);
  return height;
}

export function readGas(value: unknown): bigint {
  if (typeof value !== "string" || !/^-?\d{1,19}$/.test(value)) throw new TypeError(`${shownValue(value)} is no gas`);
  return BigInt(value);
}

const timePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/** "2026-11-15T08:24:11.82854255Z" in nanoseconds since the epoch. */
export function readTimeNs(value: unknown): bigint {
  const [, seconds = "", fraction = ""] = (typeof value === "string" ? timePattern.exec(value) : undefined) ?? [];
  const ms = parseTime(`${seconds}Z`);
  if (Number.isNaN(ms)) throw new TypeError(`${shownValue(value)} is not a time`);
  return BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

export function shownValue(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 80);
}
