/** A stream over a WebSocket: pinged, held back by a slow reader, and cut off where nothing is taken for long. */
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import type { ByteHolding } from "../../runtime/byte-budget.ts";
import type { Clock } from "../../runtime/clock.ts";
import { minute, second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { streamFarewellMs } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import type { AdmittedStream } from "./admission.ts";
import { createFrameWriter } from "./frame-writer.ts";
import { readInput } from "./stream-input.ts";
import { type Close, closeFor, type StreamHandler, type TenantStream } from "./tenant-stream.ts";

/** The network's CLI leaves who has not pinged it for 15 s. */
export const streamPingMs = 10 * second;
/** And who has left while a command takes none of his input is known to be gone after two of these. */
export const streamProbeMs = second;
/**
 * A client to which nothing could be written for so long is cut off, and so is one that has not read a stream's end by then. It
 * may read all the time: the kernel takes more when a third of its buffer is free, of up to 4 MB. This long, it is one with less
 * than 3 KB/s. What waits for it meanwhile is little; until the end it counts among its tenant's streams.
 */
export const streamStalledMs = 10 * minute;

/** Echoes a close frame with its code alone, as the network's gateway does, and says that it was sent one. */
export class StreamSocket extends WebSocket {
  /** No frame may come after the one that closes. */
  beforeClose: () => void = () => undefined;
  onLeave: () => void = () => undefined;

  override close(code?: number): void {
    this.beforeClose();
    super.close(code);
    this.onLeave();
  }

  closeWith({ code, reason }: Close): void {
    this.beforeClose();
    super.close(code, reason);
  }
}

interface StreamDeps {
  readonly webSocket: StreamSocket;
  readonly socket: Socket;
  readonly admitted: AdmittedStream;
  readonly holding: ByteHolding;
  readonly clock: Clock;
  readonly log: Log;
}

export function serveStream(handler: StreamHandler, deps: StreamDeps): void {
  const { webSocket, socket, admitted, clock, log } = deps;
  const { signal } = admitted;
  const isOpen = () => webSocket.readyState === WebSocket.OPEN;
  const writes = createFrameWriter(socket, clock);
  let beats = 0;
  let nextBeat = clock.timer(streamProbeMs, beat);
  let farewell: { cancel(): void } | undefined;
  let isOver = false;
  /** As an answer to our close frame, or first. */
  let hasSaidClose = false;
  const input = readInput({
    ...deps,
    onExcess: cutOff,
    onFailure(thrown) {
      log.error("stream failed", { error: thrown });
      admitted.end(ProviderError.from(thrown));
    },
  });

  function beat(): void {
    nextBeat = clock.timer(streamProbeMs, beat);
    beats += 1;
    // Also behind what waits already: who is behind reads it in his time, and counts on one in every ten seconds.
    const isDue = (beats * streamProbeMs) % streamPingMs === 0;
    // That somebody has left of whom nothing is read comes to light only by writing. Where something waits, that does it.
    const isProbe = !writes.room() && webSocket.isPaused;
    if (writes.waitedMs() > streamStalledMs) cutOff(new ProviderError("AKP_STREAM_TOO_SLOW", {}));
    else if (isOpen() && (isDue || isProbe)) webSocket.ping();
  }

  function cutOff(why: ProviderError): void {
    if (!isOver) admitted.end(why);
    webSocket.terminate();
  }

  function finish(close: Close): void {
    isOver = true;
    farewell?.cancel();
    webSocket.closeWith(signal.aborted ? closeFor(signal.reason) : close);
    input.discard();
    leaveLater(clock.monotonicMs() + streamStalledMs);
  }

  /** Only our half is ended: the kernel drops megabytes for a slow reader when something comes for a closed connection. */
  function leaveLater(deadlineMs: number): void {
    if (webSocket.readyState === WebSocket.CLOSED) return;
    farewell = clock.timer(streamFarewellMs, () => {
      const isRead = hasSaidClose && socket.writableLength === 0;
      if (isRead || clock.monotonicMs() > deadlineMs) webSocket.terminate();
      else {
        socket.end();
        leaveLater(deadlineMs);
      }
    });
  }

  async function run(stream: TenantStream): Promise<void> {
    try {
      finish(await handler(stream));
    } catch (thrown) {
      if (!signal.aborted && ProviderError.from(thrown).code === "AKP_INTERNAL")
        log.error("stream failed", { error: thrown });
      finish(closeFor(thrown));
    }
  }

  const gone = () => {
    if (!isOver) admitted.end(new ProviderError("AKP_STREAM_CLIENT_GONE", {}));
  };
  webSocket.onLeave = () => {
    hasSaidClose = true;
    gone();
  };
  webSocket.beforeClose = writes.flush;
  webSocket.on("error", (error) => log.debug("stream failed", { reason: error.message }));
  answerPings(webSocket, socket);
  signal.addEventListener("abort", () => {
    writes.release();
    farewell ??= clock.timer(streamFarewellMs, () => finish(closeFor(signal.reason)));
  });
  const running = run({
    signal,
    send(frame) {
      if (!isOpen()) return undefined;
      writes.write(frame);
      return signal.aborted ? undefined : writes.room();
    },
    onFrame: input.handTo,
  });
  // Its close frame is sent by then.
  void running.then(() => admitted.leave(() => webSocket.terminate()));
  webSocket.once("close", () => {
    gone();
    nextBeat.cancel();
    farewell?.cancel();
    void running.then(admitted.release);
  });
}

/** Those of a client that does not read are not answered, so that it makes us hold nothing. */
function answerPings(webSocket: StreamSocket, socket: Socket): void {
  webSocket.on("ping", (data) => {
    if (webSocket.readyState === WebSocket.OPEN && !socket.writableNeedDrain) webSocket.pong(data);
  });
}
