/** Reads frames of a client at the pace of the handler, with a small read-ahead to notice that the client has left. */
import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import type { ByteHolding } from "../../runtime/byte-budget.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createTokenBucket } from "../../runtime/throttle.ts";
import type { TenantStream } from "./tenant-stream.ts";

/** Largest frame: tools send 4 KB, a browser what is pasted. */
export const streamFrameBytes = 2 ** 20;

/** Read ahead of the handler. */
const [framesAhead, bytesAhead] = [16, 64 * 1024];
/** Of an incomplete message: the largest one, and as much again for its fragments. */
const unfinishedBytes = 2 * streamFrameBytes;
/** Limit of control frames and ignored small frames: clients ping a few times a minute. */
const smallFrames = { atOnce: 1_000, perS: 20 };

interface StreamInputDeps {
  readonly webSocket: WebSocket;
  readonly socket: Socket;
  readonly holding: ByteHolding;
  readonly clock: Clock;
  readonly onExcess: (error: ProviderError) => void;
  readonly onFailure: (thrown: unknown) => void;
}

type Take = Parameters<TenantStream["onFrame"]>[0];

interface InputFrame {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
}

export function readInput({ webSocket, socket, holding, clock, onExcess, onFailure }: StreamInputDeps) {
  let taking: InputFrame | undefined;
  const waiting: InputFrame[] = [];
  let waitingBytes = 0;
  let take: Take | undefined;
  const allowsSmall = createTokenBucket(smallFrames, clock);
  const meter = createFrameMeter((isControl) => {
    if (isControl || !take) countSmall();
  });

  function countSmall(): void {
    if (!allowsSmall()) onExcess(new ProviderError("AKP_STREAM_INPUT_EXCESS", { what: "small frames" }));
  }

  function hold(): void {
    if (socket.destroyed) return;
    const whole = (taking?.bytes.length ?? 0) + waitingBytes + waiting.length * bufferBytes;
    if (holding.resize(meter.keptBytes + whole) && meter.keptBytes <= unfinishedBytes) return;
    const what = "bytes that make no whole frame or that no command takes";
    onExcess(new ProviderError("AKP_STREAM_INPUT_EXCESS", { what }));
  }

  function readOrNot(): void {
    if (waiting.length >= framesAhead || waitingBytes >= bytesAhead) webSocket.pause();
    else webSocket.resume();
  }

  async function takeAll(first: Promise<void>): Promise<void> {
    await first;
    for (taking = waiting.shift(); taking; taking = waiting.shift()) {
      waitingBytes -= taking.bytes.length;
      readOrNot();
      await take?.(taking.bytes, taking.isBinary);
    }
    hold();
  }

  webSocket.on("message", (data: RawData, isBinary) => {
    const frame = { bytes: data as Buffer, isBinary };
    if (!take) return;
    if (taking) {
      waiting.push(frame);
      waitingBytes += frame.bytes.length;
      readOrNot();
      return;
    }
    try {
      const taken = take(frame.bytes, isBinary);
      if (taken) {
        taking = frame;
        takeAll(taken).catch(onFailure);
      } else if (frame.bytes.length < smallBytes) countSmall();
    } catch (thrown) {
      onFailure(thrown);
    }
  });
  // Behind its reader, which has read the chunk by then.
  socket.on("data", (chunk: Buffer) => {
    meter.read(chunk);
    hold();
  });
  socket.once("close", () => holding.resize(0));
  return {
    handTo(listener: Take): void {
      take = listener;
    },
    /** Discards pending and future frames. */
    discard(): void {
      take = undefined;
      [waiting.length, waitingBytes] = [0, 0];
      webSocket.resume();
    },
  };
}

// Parses the frames again, as `ws` does not report how much it holds of an incomplete message.

/** V8's overhead of a buffer. */
const bufferBytes = 256;
const smallBytes = 128;

function createFrameMeter(onSmallFrame: (isControl: boolean) => void) {
  const head = Buffer.alloc(14);
  let headLength = 0;
  let payloadLeft = 0;
  let [isControl, isLast] = [false, false];
  let isWithinMessage = false;
  let keptBytes = 0;

  function begin(): void {
    headLength = 0;
    payloadLeft = payloadSize(head);
    isControl = ((head[0] ?? 0) & 0x08) !== 0;
    isLast = ((head[0] ?? 0) & 0x80) !== 0;
    if (payloadLeft < smallBytes) onSmallFrame(isControl);
    if (isControl) return;
    isWithinMessage = true;
    keptBytes += bufferBytes;
  }

  function end(): void {
    if (isControl || !isLast) return;
    isWithinMessage = false;
    keptBytes = 0;
  }

  return {
    read(chunk: Buffer): void {
      for (let at = 0; at < chunk.length; ) {
        if (payloadLeft === 0) {
          head[headLength] = chunk[at] ?? 0;
          [headLength, at] = [headLength + 1, at + 1];
          if (headLength < headSize(head)) continue;
          begin();
        }
        const taken = Math.min(payloadLeft, chunk.length - at);
        [payloadLeft, at] = [payloadLeft - taken, at + taken];
        if (payloadLeft === 0) end();
      }
      const isWhole = !isWithinMessage && headLength === 0 && payloadLeft === 0;
      keptBytes = isWhole ? 0 : keptBytes + chunk.length + bufferBytes;
    },
    /** Of an incomplete message. */
    get keptBytes(): number {
      return keptBytes;
    },
  };
}

/** With the mask, which clients must send. */
function headSize(head: Buffer): number {
  const length = (head[1] ?? 0) & 0x7f;
  return 6 + (length === 127 ? 8 : length === 126 ? 2 : 0);
}

function payloadSize(head: Buffer): number {
  const length = (head[1] ?? 0) & 0x7f;
  if (length === 127) return Number(head.readBigUInt64BE(2));
  return length === 126 ? head.readUInt16BE(2) : length;
}
