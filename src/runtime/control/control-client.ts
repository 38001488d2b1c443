/** Sends requests to the running provider over its control socket. */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { catalogue, type ErrorCode } from "../catalogue.ts";
import { type Clock, withDeadline } from "../clock.ts";
import { minute } from "../durations.ts";
import { type ErrorDetails, ProviderError, reasonOf, systemCodeOf } from "../errors.ts";
import { isRecord } from "../is-record.ts";
import type { ControlParams } from "../lifecycle.ts";
import { parseJson } from "../parse-json.ts";
import { controlPath, controlRequestBytes, requestTooLarge } from "./control-socket.ts";

/** Time until the response begins: a price script may be slow, and others may wait before it. */
const controlAnswerMs = 2 * minute;
/** One line of a response: a decision with all of its evidence is under 100 KB. */
const controlLineBytes = 16 * 1024 * 1024;

export interface ControlRequest {
  readonly dataDir: string;
  readonly name: string;
  readonly params?: ControlParams;
  readonly clock: Clock;
  /** Ends a stream. */
  readonly signal?: AbortSignal;
}

/** A single response. AKP_PROVIDER_NOT_RUNNING when no provider listens. */
export async function requestControl(call: ControlRequest): Promise<unknown> {
  for await (const response of streamControl(call)) return response;
  throw cut(controlPath(call.dataDir), "it said nothing");
}

/** A stream of values until the provider or the signal ends it. */
export async function* streamControl({
  dataDir,
  name,
  params = {},
  clock,
  signal,
}: ControlRequest): AsyncGenerator<unknown> {
  const path = controlPath(dataDir);
  const text = JSON.stringify(params);
  if (Buffer.byteLength(text) > controlRequestBytes) throw requestTooLarge();
  const sent = request({ socketPath: path, path: `/${name}`, method: "POST", agent: false });
  const leave = () => sent.destroy();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    const response = await begin(sent, text, path, clock);
    if (response.statusCode !== 200) throw await errorOf(response, path);
    for await (const line of linesOf(response, path)) yield answerOf(line, path);
  } catch (thrown) {
    if (!signal?.aborted) throw thrown;
  } finally {
    signal?.removeEventListener("abort", leave);
    sent.destroy();
  }
}

async function begin(sent: ClientRequest, text: string, path: string, clock: Clock): Promise<IncomingMessage> {
  sent.end(text);
  const began = once(sent, "response").catch((thrown) => {
    throw connectFault(path, thrown);
  });
  const [response] = await withDeadline(clock, controlAnswerMs, began, () => {
    throw cut(path, `nothing came within ${controlAnswerMs} ms`);
  });
  // Later errors are reported by the response stream.
  sent.on("error", () => undefined);
  return response as IncomingMessage;
}

function connectFault(path: string, thrown: unknown): ProviderError {
  const code = systemCodeOf(thrown);
  const details = { path, reason: reasonOf(thrown) };
  if (code === "ENOENT") return new ProviderError("AKP_PROVIDER_NOT_RUNNING", { path, reason: "there is no socket" });
  if (code === "ECONNREFUSED")
    return new ProviderError("AKP_PROVIDER_NOT_RUNNING", { path, reason: "the one that listened there is gone" });
  if (code === "EACCES" || code === "EPERM") return new ProviderError("AKP_CONTROL_FORBIDDEN", details);
  return new ProviderError("AKP_CONTROL_CUT", details, { cause: thrown });
}

async function errorOf(response: IncomingMessage, path: string): Promise<ProviderError> {
  for await (const line of linesOf(response, path)) {
    const told = parseJson(line);
    if (!isRecord(told)) break;
    const { code, message, details } = told;
    if (typeof code === "string" && Object.hasOwn(catalogue, code))
      return new ProviderError(code as ErrorCode, details as ErrorDetails<ErrorCode>);
    return new ProviderError("AKP_QUESTION_REFUSED", { reason: String(message) });
  }
  return cut(path, `it answered with status ${response.statusCode}`);
}

function answerOf(line: string, path: string): unknown {
  const answer = parseJson(line);
  if (answer === undefined) throw cut(path, "it answered something that is not JSON");
  return answer;
}

async function* linesOf(response: IncomingMessage, path: string): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const piece of response.setEncoding("utf8") as AsyncIterable<string>) {
      const [first = "", ...others] = piece.split("\n");
      const last = others.pop();
      rest += first;
      if (last !== undefined) {
        yield rest;
        yield* others;
        rest = last;
      }
      if (rest.length > controlLineBytes) throw cut(path, `a line is longer than ${controlLineBytes} bytes`);
    }
  } catch (thrown) {
    throw thrown instanceof ProviderError ? thrown : cut(path, reasonOf(thrown));
  }
  if (rest !== "") throw cut(path, "its last line is not whole");
}

function cut(path: string, reason: string): ProviderError {
  return new ProviderError("AKP_CONTROL_CUT", { path, reason });
}
