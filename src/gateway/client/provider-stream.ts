/** A WebSocket to a provider, as a tenant's command has it: frames in order, at the pace of whoever takes them. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import type { Clock, Timer } from "../../runtime/clock.ts";
import { second } from "../../runtime/durations.ts";
import { reasonOf } from "../../runtime/errors.ts";
import type { Scope } from "../auth/identity.ts";
import { closeCodes } from "../streams/close-codes.ts";
import type { Close } from "../streams/tenant-stream.ts";
import { readBounded, refusalOf } from "./provider-answer.ts";

/** Of one frame of a stream: a line of a log, and nobody reads a longer one. */
const clientFrameBytes = 16 * 2 ** 20;
/** A provider that was not heard for so long is gone: four of its pings are missing. */
export const clientSilenceMs = 45 * second;

export interface StreamRequest {
  /** From the slash on, with what is asked. */
  readonly path: string;
  /** What a token must open. */
  readonly scope: Scope;
  /** No more is read until the answer resolves; what it throws ends the stream. */
  readonly onFrame: (bytes: Buffer) => Promise<void> | undefined;
  /** Ends it, as `leave` does. */
  readonly signal?: AbortSignal | undefined;
}

export interface ProviderStream {
  /** Resolves when it has left; at once, and unsent, where nobody is there any more. */
  send(frame: Uint8Array): Promise<void>;
  /** How the provider ended it; 1006 where it said no word. */
  readonly ended: Promise<Close>;
  leave(): void;
}

interface StreamGround {
  readonly socket: TLSSocket;
  readonly origin: string;
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Until it begins. */
  readonly until: AbortSignal;
}

export async function openStream(request: StreamRequest, ground: StreamGround): Promise<ProviderStream> {
  const { socket, host, headers, clock, until } = ground;
  // By that scheme the library adds no TLS of its own to what is TLS already.
  const webSocket = new WebSocket(`ws://${host}${request.path}`, {
    ...{ headers, createConnection: () => socket, perMessageDeflate: false, maxPayload: clientFrameBytes },
  });
  const stream = listen(webSocket, request, clock);
  const give = () => webSocket.terminate();
  until.addEventListener("abort", give);
  try {
    await begun(webSocket, { method: "GET", url: `${ground.origin}${request.path}` });
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

/** Throws what the provider says instead. */
function begun(webSocket: WebSocket, asked: { readonly method: string; readonly url: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    webSocket.once("open", resolve).once("error", reject);
    webSocket.once("unexpected-response", (_, answer: IncomingMessage) => {
      readBounded(answer)
        .then((text) => reject(refusalOf(asked, answer, text)), reject)
        .finally(() => webSocket.terminate());
    });
  });
}
