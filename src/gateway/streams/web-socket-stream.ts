/** Serves a stream over a WebSocket, with pings, back-pressure, and a limit for clients that do not read. */
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import type { ByteHolding } from "../../runtime/byte-budget.ts";
import type { RuntimeDeps } from "../../runtime/deps.ts";
import { minute, second } from "../../runtime/durations.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { streamFarewellMs } from "../../runtime/limits.ts";
import type { AdmittedStream } from "./admission.ts";
import { createFrameWriter } from "./frame-writer.ts";
import { readInput } from "./stream-input.ts";
import { type Close, closeFor, type StreamHandler, type TenantStream } from "./tenant-stream.ts";

/** The network's CLI disconnects after 15 s without a ping. */
export const streamPingMs = 10 * second;
/** Clients that are not read from are detected as gone after two of these. */
export const streamProbeMs = second;
/**
 * A client is cut off when nothing could be written to it for so long, or it has not read the end of the stream. The kernel takes
 * more once a third of its buffer of up to 4 MB is free, so such a client reads less than 3 KB/s.
 */
export const streamStalledMs = 10 * minute;

/** Echoes a close frame with its code only, as the Go provider does, and reports it. */
export class StreamSocket extends WebSocket {
  /** No frame may follow the close frame. */
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

interface StreamDeps extends Pick<RuntimeDeps, "clock" | "log"> {
  readonly webSocket: StreamSocket;
  readonly socket: Socket;
  readonly admitted: AdmittedStream;
  readonly holding: ByteHolding;
}

export function serveStream(handler: StreamHandler, deps: StreamDeps): void {
  const { webSocket, socket, admitted, clock, log } = deps;
  const { signal } = admitted;
  const isOpen = () => webSocket.readyState === WebSocket.OPEN;
  const writes = createFrameWriter(socket, clock);
  let probes = 0;
  let nextProbe = clock.timer(streamProbeMs, probe);
  let farewell: { cancel(): void } | undefined;
  let isOver = false;
  let hasSentClose = false;
  const input = readInput({
    ...deps,
    onExcess: cutOff,
    onFailure(thrown) {
      log.error("stream failed", { error: thrown });
      admitted.end(ProviderError.from(thrown));
    },
  });

  function probe(): void {
    nextProbe = clock.timer(streamProbeMs, probe);
    probes += 1;
    // Also behind pending frames: a slow reader counts on one in every ten seconds.
    const isDue = (probes * streamProbeMs) % streamPingMs === 0;
    // Without reading, a closed connection is detected only by writing.
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

  /** Half-closes first: on a fully closed connection the kernel would drop megabytes that a slow reader has not read. */
  function leaveLater(deadlineMs: number): void {
    if (webSocket.readyState === WebSocket.CLOSED) return;
    farewell = clock.timer(streamFarewellMs, () => {
      const isRead = hasSentClose && socket.writableLength === 0;
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
    hasSentClose = true;
    gone();
  };
  webSocket.beforeClose = writes.flush;
  webSocket.on("error", (error) => log.debug("stream failed", { reason: error.message }));
  // Pings of a client that does not read are ignored, so that no pongs pile up.
  webSocket.on("ping", (data) => {
    if (isOpen() && !socket.writableNeedDrain) webSocket.pong(data);
  });
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
  void running.then(() => admitted.leave(() => webSocket.terminate()));
  webSocket.once("close", () => {
    gone();
    nextProbe.cancel();
    farewell?.cancel();
    void running.then(admitted.release);
  });
}
