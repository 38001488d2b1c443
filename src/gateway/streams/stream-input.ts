/** What a tenant sends on a WebSocket: read little further than it is taken, but enough to notice that the tenant left. */
import type { Socket } from "node:net";
import type { RawData, WebSocket } from "ws";
import type { ByteHolding } from "../../runtime/byte-budget.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { createTokenBucket } from "../../runtime/throttle.ts";
import type { TenantStream } from "./tenant-stream.ts";

/** Of what a tenant sends to a shell, in one frame: tools send 4 KB, a browser what somebody pastes. */
export const streamFrameBytes = 2 ** 20;

/** Read before the previous frame is taken: 64 KiB as the network's CLI sends them. */
const [framesAhead, bytesAhead] = [16, 64 * 1024];
/** Of one message that is not whole: the largest one, and as much again for the pieces that it comes in. */
const unfinishedBytes = 2 * streamFrameBytes;
/** Control frames and small ones that no command takes: clients ping a few times a minute. */
const smallFrames = { atOnce: 1_000, perS: 20 };

interface StreamInputDeps {
  readonly webSocket: WebSocket;
  readonly socket: Socket;
  readonly holding: ByteHolding;
  readonly clock: Clock;
  /** More came than is kept or looked at. */
  readonly onExcess: (why: ProviderError) => void;
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
    /** Throws away what is there and what comes. */
    discard(): void {
      take = undefined;
      [waiting.length, waitingBytes] = [0, 0];
      webSocket.resume();
    },
  };
}

// Follows the frames beside `ws`, which does not say what it keeps: every TLS record and fragment of a message that is not whole.

/** What V8 keeps of a buffer beside its bytes. */
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
    /** Of the message that is not whole. */
    get keptBytes(): number {
      return keptBytes;
    },
  };
}

/** With its mask, without which a client's frame is an error. Longer than what is there while the size is still to come. */
function headSize(head: Buffer): number {
  const length = (head[1] ?? 0) & 0x7f;
  return 6 + (length === 127 ? 8 : length === 126 ? 2 : 0);
}

function payloadSize(head: Buffer): number {
  const length = (head[1] ?? 0) & 0x7f;
  if (length === 127) return Number(head.readBigUInt64BE(2));
  return length === 126 ? head.readUInt16BE(2) : length;
}
