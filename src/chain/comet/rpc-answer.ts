/** What a node answered, taken apart: a result, a refusal, or something that is no answer of a node at all. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { limits } from "../../runtime/limits.ts";
import { slicedJson } from "./sliced-json.ts";
import type { RawAnswer } from "./transport.ts";

export interface Question {
  readonly endpoint: string;
  readonly method: string;
  readonly id: number;
}

/** So much of a strange answer is shown: enough to recognise a proxy's error page. */
const shownChars = 80;

/** The result of a JSON-RPC call; throws what else it may be. The event loop goes on while a large one is read. */
export async function readAnswer(question: Question, { status, body }: RawAnswer, clock: Clock): Promise<unknown> {
  const { endpoint, method, id } = question;
  const strange = (reason: string) => new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { endpoint, method, reason });
  const answer = await parse(body, clock);
  if (answer === undefined) throw strange(describe(status, body));
  const { error, result } = answer;
  if (isRecord(error)) {
    const reason = String(error["data"] ?? error["message"] ?? "no reason given");
    throw new ProviderError("AKP_CHAIN_CALL_REFUSED", { endpoint, method, reason, rpcCode: error["code"] });
  }
  if (answer["id"] !== id) throw strange(`it is the answer to call ${JSON.stringify(answer["id"])} instead of ${id}`);
  if (result === undefined) throw strange(`it holds neither a result nor an error (HTTP ${status})`);
  return result;
}

/** What `read` makes of a result; a TypeError of it means that the node's answer is of no use. */
export function reading<T>(endpoint: string, method: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown;
    throw new ProviderError("AKP_CHAIN_ANSWER_MALFORMED", { endpoint, method, reason: thrown.message });
  }
}

async function parse(body: string, clock: Clock): Promise<Record<string, unknown> | undefined> {
  try {
    const value: unknown = body.length > limits.rpcSliceChars ? await parseLarge(body, clock) : JSON.parse(body);
    return isRecord(value) && "jsonrpc" in value ? value : undefined;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

async function parseLarge(body: string, clock: Clock): Promise<unknown> {
  const parsing = slicedJson(body, limits.rpcSliceChars);
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
