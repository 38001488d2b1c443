/**
 * Follows the frames of a WebSocket beside its reader, which does not say what it keeps: of a message that is not whole, every
 * TLS record and every fragment, however small.
 */

/** What V8 keeps of a buffer beside its bytes. */
export const bufferBytes = 256;
/** Of a frame below this size the work is what costs. */
export const smallBytes = 128;

interface FrameMeter {
  read(chunk: Buffer): void;
  /** Kept of the message that is not whole. */
  readonly keptBytes: number;
}

export function createFrameMeter(onSmallFrame: (isControl: boolean) => void): FrameMeter {
  const head = Buffer.alloc(14);
  let headLength = 0;
  let payloadLeft = 0;
  /** Of the frame that is being read. */
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
    read(chunk) {
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
    get keptBytes() {
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
