/** A WebSocket to a provider, with back-pressure. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { printable } from "../../market/printable.ts";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { TokenScope } from "../auth/identity.ts";
import { type Close, closeCodes } from "../streams/tenant-stream.ts";

/** Largest frame: a line of a log. */
const clientFrameBytes = 16 * 2 ** 20;
/** Timeout without any frame: four pings are missing. */
export const clientSilenceMs = 45 * second;

export interface StreamRequest {
  readonly path: string;
  readonly scope: TokenScope;
  /** No more is read until the result resolves; an error ends the stream. */
  readonly onFrame: (bytes: Buffer) => Promise<void> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type ProviderStream = ReturnType<typeof listen>;

interface ProviderStreamDeps {
  readonly socket: TLSSocket;
  readonly origin: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly until: AbortSignal;
}

export async function openStream(request: StreamRequest, deps: ProviderStreamDeps): Promise<ProviderStream> {
  const { socket, host, headers, clock, until } = deps;
  // Not wss, as the socket is TLS already.
  const webSocket = new WebSocket(`ws://${host}${request.path}`, {
    ...{ headers, createConnection: () => socket, perMessageDeflate: false, maxPayload: clientFrameBytes },
  });
  const stream = listen(webSocket, request, clock);
  const abort = () => webSocket.terminate();
  until.addEventListener("abort", abort);
  try {
    await untilOpen(webSocket, { method: "GET", url: `${deps.origin}${request.path}` });
  } finally {
    until.removeEventListener("abort", abort);
  }
  request.signal?.addEventListener("abort", stream.leave);
  webSocket.once("close", () => request.signal?.removeEventListener("abort", stream.leave));
  return stream;
}

/** Called before it is open: the first frame may come in the same packet as the response. */
function listen(webSocket: WebSocket, { onFrame }: StreamRequest, clock: Clock) {
  const { promise: ended, resolve, reject } = Promise.withResolvers<Close>();
  // Callers that only send do not await it.
  ended.catch(() => undefined);
  let why: string | undefined;
  let heardMs = clock.monotonicMs();
  let timer: Timer | undefined;
  const heard = () => {
    heardMs = clock.monotonicMs();
  };

  function fail(thrown: unknown): void {
    reject(thrown);
    webSocket.terminate();
  }

  /** Providers ping every ten seconds. */
  function checkSilence(): void {
    const leftMs = heardMs + clientSilenceMs - clock.monotonicMs();
    if (leftMs <= 0 && !webSocket.isPaused) {
      why = `nothing was received for ${clientSilenceMs / 1_000} s`;
      webSocket.terminate();
    } else timer = clock.timer(Math.max(leftMs, 1_000), checkSilence);
  }

  webSocket.on("open", checkSilence).on("ping", heard);
  webSocket.on("message", (bytes: Buffer) => {
    heard();
    try {
      const taken = onFrame(bytes);
      if (!taken) return;
      webSocket.pause();
      taken.then(() => {
        heard();
        webSocket.resume();
      }, fail);
    } catch (thrown) {
      fail(thrown);
    }
  });
  webSocket.on("error", (thrown) => {
    why ??= reasonOf(thrown);
  });
  webSocket.on("close", (code, reason) => {
    timer?.cancel();
    resolve({ code, reason: reason.toString() || (why ?? "") });
  });
  return {
    /** The provider's close frame; 1006 without one. */
    ended,
    /** Resolves when the frame is written, or at once where the stream is closed. */
    send: (frame: Uint8Array): Promise<void> =>
      webSocket.readyState === WebSocket.OPEN
        ? new Promise((sent) => webSocket.send(frame, () => sent()))
        : Promise.resolve(),
    leave: () => webSocket.close(closeCodes.done),
  };
}

function untilOpen(webSocket: WebSocket, request: RequestName): Promise<void> {
  return new Promise((resolve, reject) => {
    webSocket.once("open", resolve).once("error", reject);
    webSocket.once("unexpected-response", (_, answer: IncomingMessage) => {
      readAnswer(answer)
        .then((text) => reject(rejectionOf(request, answer, text)), reject)
        .finally(() => webSocket.terminate());
    });
  });
}

/** Largest response: the status of a provider with thousands of nodes has a tenth of it. */
const clientAnswerBytes = 16 * 2 ** 20;
/** Of an error response, as shown to a person. */
const clientErrorChars = 4_096;

interface RequestName {
  readonly method: string;
  readonly url: string;
}

export async function readAnswer(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > clientAnswerBytes) throw new Error(`its response is longer than ${clientAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export function rejectionOf(
  { method, url }: RequestName,
  { statusCode = 0 }: IncomingMessage,
  text: string,
): ProviderError {
  return new ProviderError("AKP_PROVIDER_REFUSED", { method, url, status: statusCode, body: shown(text) });
}

function shown(text: string): string {
  const lines = text.slice(0, clientErrorChars).trimEnd().split("\n").map(printable);
  return lines.join("\n").slice(0, clientErrorChars) || "(it says nothing more)";
}

/** Reserved codes: a close frame without a code, and no close frame. */
const [noCode, noCloseFrame] = [1005, 1006];

const meanings: Readonly<Record<number, string>> = {
  [closeCodes.goingAway]: "it shuts down",
  [noCloseFrame]: "the connection was lost",
  [closeCodes.policyViolation]: "the credentials are not valid any more",
  [closeCodes.internal]: "internal error",
  [closeCodes.notFound]: "there is no such lease, or nothing of it runs",
  [closeCodes.clusterAway]: "its cluster does not answer",
};

export function checkClose({ code, reason }: Close): void {
  if (code === closeCodes.done || code === noCode) return;
  const said = [meanings[code], reason && printable(reason)].filter(Boolean).join(": ");
  throw new ProviderError("AKP_PROVIDER_STREAM_ENDED", { reason: said ? `${said} (${code})` : `code ${code}` });
}
