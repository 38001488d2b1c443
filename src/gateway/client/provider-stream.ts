/** A WebSocket to a provider, as a tenant's command has it: frames in order, at the pace of whoever takes them. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { printable } from "../../market/printable.ts";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { TokenScope } from "../auth/identity.ts";
import { type Close, closeCodes } from "../streams/tenant-stream.ts";

/** Of one frame of a stream: a line of a log, and nobody reads a longer one. */
const clientFrameBytes = 16 * 2 ** 20;
/** A provider that was not heard for so long is gone: four of its pings are missing. */
export const clientSilenceMs = 45 * second;

export interface StreamRequest {
  readonly path: string;
  readonly scope: TokenScope;
  /** No more is read until the answer resolves; what it throws ends the stream. */
  readonly onFrame: (bytes: Buffer) => Promise<void> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ProviderStream {
  /** Resolves when it has left; at once, and unsent, where nobody is there any more. */
  send(frame: Uint8Array): Promise<void>;
  /** How the provider ended it; 1006 where it said no word. */
  readonly ended: Promise<Close>;
  leave(): void;
}

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
  // By that scheme the library adds no TLS of its own to what is TLS already.
  const webSocket = new WebSocket(`ws://${host}${request.path}`, {
    ...{ headers, createConnection: () => socket, perMessageDeflate: false, maxPayload: clientFrameBytes },
  });
  const stream = listen(webSocket, request, clock);
  const give = () => webSocket.terminate();
  until.addEventListener("abort", give);
  try {
    await begun(webSocket, { method: "GET", url: `${deps.origin}${request.path}` });
  } finally {
    until.removeEventListener("abort", give);
  }
  request.signal?.addEventListener("abort", stream.leave);
  webSocket.once("close", () => request.signal?.removeEventListener("abort", stream.leave));
  return stream;
}

/** From the start: the first frame may come with the very packet that begins it. */
function listen(webSocket: WebSocket, { onFrame }: StreamRequest, clock: Clock): ProviderStream {
  const { promise: ended, resolve, reject } = Promise.withResolvers<Close>();
  // Who only sends need not hear of it.
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

  /** Providers ping every ten seconds, so one that is silent is gone. */
  function look(): void {
    const leftMs = heardMs + clientSilenceMs - clock.monotonicMs();
    if (leftMs <= 0 && !webSocket.isPaused) {
      why = `nothing was heard of it for ${clientSilenceMs / 1_000} s`;
      webSocket.terminate();
    } else timer = clock.timer(Math.max(leftMs, 1_000), look);
  }

  webSocket.on("open", look).on("ping", heard);
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
    ended,
    send: (frame) =>
      webSocket.readyState === WebSocket.OPEN
        ? new Promise((sent) => webSocket.send(frame, () => sent()))
        : Promise.resolve(),
    leave: () => webSocket.close(closeCodes.done),
  };
}

function begun(webSocket: WebSocket, asked: { readonly method: string; readonly url: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    webSocket.once("open", resolve).once("error", reject);
    webSocket.once("unexpected-response", (_, answer: IncomingMessage) => {
      readAnswer(answer)
        .then((text) => reject(rejectionOf(asked, answer, text)), reject)
        .finally(() => webSocket.terminate());
    });
  });
}

/** Of a provider's answer to a command: the status of one with thousands of nodes has a tenth of it. */
const clientAnswerBytes = 16 * 2 ** 20;
/** Of what a provider says to a refusal: all that a person reads. */
const clientErrorChars = 4_096;

interface Asked {
  readonly method: string;
  readonly url: string;
}

export async function readAnswer(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > clientAnswerBytes) throw new Error(`its answer is longer than ${clientAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export function rejectionOf({ method, url }: Asked, { statusCode = 0 }: IncomingMessage, text: string): ProviderError {
  return new ProviderError("AKP_PROVIDER_REFUSED", { method, url, status: statusCode, body: shown(text) });
}

function shown(text: string): string {
  const lines = text.slice(0, clientErrorChars).trimEnd().split("\n").map(printable);
  return lines.join("\n").slice(0, clientErrorChars) || "(it says nothing more)";
}

/** Numbers that are never sent: a close frame need not have a code, and there may be none at all. */
const [noCode, noCloseFrame] = [1005, 1006];

const meanings: Readonly<Record<number, string>> = {
  [closeCodes.goingAway]: "it stops",
  [noCloseFrame]: "the connection ended without a word",
  [closeCodes.policyViolation]: "it does not let us in any more",
  [closeCodes.internal]: "something failed there",
  [closeCodes.notFound]: "there is no such lease, or nothing of it runs",
  [closeCodes.clusterAway]: "its cluster does not answer",
};

export function checkClose({ code, reason }: Close): void {
  if (code === closeCodes.done || code === noCode) return;
  const said = [meanings[code], reason && printable(reason)].filter(Boolean).join(": ");
  throw new ProviderError("AKP_PROVIDER_STREAM_ENDED", { reason: said ? `${said} (${code})` : `code ${code}` });
}
