/** HTTP over the control socket, for commands and `curl --unix-socket`: POST /NAME with a JSON object, JSON lines as the answer. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Clock, withDeadline } from "../clock.ts";
import { second } from "../durations.ts";
import { ProviderError, reasonOf } from "../errors.ts";
import { isRecord } from "../is-record.ts";
import { jsonText } from "../json-text.ts";
import type { ControlParams, Service } from "../lifecycle.ts";
import { listenOnSocket } from "../listener.ts";
import type { Log } from "../log.ts";
import { parseJson } from "../parse-json.ts";
import type { Process } from "../process.ts";
import {
  clearControlPath,
  controlPath,
  controlRequestBytes,
  requestTooLarge,
  warnOfOpenFolder,
} from "./control-socket.ts";

/** Concurrent connections of commands, streams included. */
export const controlConnections = 32;
/** Clients are on this machine and send their request at once. */
const controlRequestMs = 5 * second;
/** A client that reads nothing for this long is disconnected. */
const controlWriteMs = 10 * second;
/** Values of a stream between two yields to the event loop; each may take half a millisecond. */
const controlSliceValues = 32;
/** Time for streams to end at the shutdown. */
const controlStopMs = second;

interface ControlOptions {
  readonly dataDir: string;
  readonly control: Process["control"];
  readonly clock: Clock;
  readonly log: Log;
}

export function createControlService({ dataDir, control, clock, log }: ControlOptions): Service {
  const bounds = { requestTimeout: controlRequestMs, headersTimeout: controlRequestMs };
  let detail = "";
  return {
    name: "control",
    async start(scope) {
      const path = controlPath(dataDir);
      warnOfOpenFolder(dataDir, log);
      await clearControlPath(path);
      const server = createServer({ ...bounds, connectionsCheckingInterval: 1_000 }, (request, response) => {
        void respond(request, response, untilGone(response, scope.signal));
      });

      const { close } = await listenOnSocket(server, { path, connections: controlConnections, log }).catch((cause) => {
        throw new ProviderError("AKP_CONTROL_SOCKET_UNUSABLE", { path, reason: reasonOf(cause) }, { cause });
      });
      // Node removes the socket's file when it closes.
      scope.onStop(() => close((closed) => withDeadline(clock, controlStopMs, closed, () => undefined)));
      detail = path;
    },
    detail: () => detail,
  };

  /** Never rejects: an error is the response. */
  async function respond(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    // One request per connection.
    response.setHeader("connection", "close").setHeader("content-type", "application/x-ndjson");
    try {
      const params = await readParams(request);
      const result = await control((request.url ?? "").slice(1), params, signal);
      if (!isStream(result)) return void response.end(line(result));
      response.flushHeaders();
      let count = 0;
      for await (const value of result) {
        if (signal.aborted) break;
        if (!response.write(line(value))) await untilTaken(response);
        count += 1;
        if (count % controlSliceValues === 0) await clock.yield();
      }
      response.end();
    } catch (thrown) {
      respondError(response, thrown, signal);
    }
  }

  function respondError(response: ServerResponse, thrown: unknown, signal: AbortSignal): void {
    if (thrown === signal.reason && signal.aborted) return void response.end();
    const { entry, code, message, details } = ProviderError.from(thrown);
    if (code === "AKP_INTERNAL") log.error("control request failed", { error: thrown });
    // In the middle of a stream the client can only be disconnected.
    if (response.headersSent) response.destroy();
    else response.writeHead(entry.http).end(line({ code, message, details: simple(details) }));
  }

  async function untilTaken(response: ServerResponse): Promise<void> {
    const taken = Promise.race([once(response, "drain"), once(response, "close")]);
    await withDeadline(clock, controlWriteMs, taken, () => response.destroy());
  }
}

/** Aborted when the client disconnects or the provider stops. */
function untilGone(response: ServerResponse, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return AbortSignal.any([stopping, gone.signal]);
}

async function readParams(request: IncomingMessage): Promise<ControlParams> {
  const reject = (reason: string) => new ProviderError("AKP_QUESTION_REFUSED", { reason });
  if (request.method !== "POST") throw reject(`the method must be POST, not ${request.method}`);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > controlRequestBytes) throw requestTooLarge();
    pieces.push(piece);
  }
  const params = bytes === 0 ? {} : parseJson(Buffer.concat(pieces).toString("utf8"));
  if (!isRecord(params)) throw reject("it is not a JSON object");
  return params;
}

function isStream(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === "object" && result !== null && Symbol.asyncIterator in result;
}

/** What the words of an error are made of. Beside that, it may hold anything as evidence for the log. */
function simple(details: Readonly<Record<string, unknown>>): ControlParams {
  const isSimple = (value: unknown) => ["string", "number", "bigint"].includes(typeof value);
  return Object.fromEntries(Object.entries(details).filter(([, value]) => isSimple(value)));
}

function line(value: unknown): string {
  return `${jsonText(value)}\n`;
}
