/** Framing of gRPC messages: each has a prefix with a compression flag and its length. */
import type { Http2Stream, IncomingHttpHeaders } from "node:http2";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { reasonOf, systemCodeOf } from "../errors.ts";
import { GrpcError, grpcCodes } from "./grpc-status.ts";

export const headBytes = 5;

/** Of larger messages the last frame is cached. */
const largeBytes = 4_096;
let last: { readonly message: Uint8Array; readonly frame: Buffer } | undefined;

/** A message with its prefix. Calls that send the same large message share one frame. */
export function framed(message: Uint8Array): Buffer {
  if (message.length < largeBytes) return frameOf(message, false);
  if (last?.message !== message) last = { message, frame: frameOf(message, false) };
  return last.frame;
}

function frameOf(message: Uint8Array, isCompressed: boolean): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length);
  frame[0] = isCompressed ? 1 : 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headBytes);
  return frame;
}

const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** Compressed in the thread pool. */
export async function framedGzip(message: Uint8Array): Promise<Buffer> {
  return frameOf(await compress(message), true);
}

interface Reading {
  readonly headers: () => IncomingHttpHeaders;
  readonly mostBytes: number;
  readonly unpack?: (packed: Uint8Array) => Promise<Uint8Array>;
  /** Called with the bytes held of incomplete messages; may throw to end the reading. */
  readonly onKept?: (bytes: number) => void;
}

/** The messages of one side of a call. The caller closes the stream. */
export async function* readMessages(
  stream: Http2Stream,
  { headers, mostBytes, unpack = (packed) => gunzipMessage(packed, mostBytes), onKept }: Reading,
): AsyncGenerator<Uint8Array> {
  const cut = createCutter(mostBytes);
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    for (const frame of cut.take(chunk)) {
      onKept?.(cut.kept);
      yield messageIn(frame, headers(), unpack);
    }
    onKept?.(cut.kept);
  }
  if (cut.held > 0) throw new GrpcError(grpcCodes.Internal, "grpc: the call ends within a message");
}

/** Smaller chunks are copied. */
const smallBytes = 1_024;
const blockBytes = 16 * smallBytes;
/** Chunks of a request as clients send it. */
const fewPieces = 8;

/** A buffer of chunks, joined on demand. Small chunks are copied together: one of a single byte costs 200 bytes. */
export class ByteBuffer {
  #pieces: Buffer[] = [];
  /** For small chunks; its filled part is the last chunk. */
  #block: Buffer | undefined;
  #filled = 0;
  size = 0;
  /** Memory held: a chunk keeps the whole buffer that it is part of. */
  kept = 0;

  add(piece: Buffer): void {
    this.size += piece.length;
    if (this.#block && this.#filled + piece.length <= blockBytes) this.#copy(this.#block, piece);
    else if (piece.length > smallBytes || this.#pieces.length < fewPieces) {
      this.#block = undefined;
      if (piece.buffer !== this.#pieces.at(-1)?.buffer) this.kept += piece.buffer.byteLength;
      this.#pieces.push(piece);
    } else {
      this.#block = Buffer.allocUnsafeSlow(blockBytes);
      this.kept += blockBytes;
      this.#filled = 0;
      this.#pieces.push(this.#block);
      this.#copy(this.#block, piece);
    }
  }

  #copy(block: Buffer, piece: Buffer): void {
    block.set(piece, this.#filled);
    this.#filled += piece.length;
    this.#pieces[this.#pieces.length - 1] = block.subarray(0, this.#filled);
  }

  get pieces(): number {
    return this.#pieces.length;
  }

  whole(): Buffer {
    if (this.#pieces.length !== 1) {
      this.#pieces = [Buffer.concat(this.#pieces)];
      this.kept = this.size;
    }
    this.#block = undefined;
    return this.#pieces[0] as Buffer;
  }
}

/** Splits chunks into frames. Chunks are joined once per frame: a large one comes in hundreds of them. */
export function createCutter(mostBytes: number) {
  let buffer = new ByteBuffer();
  let needed = headBytes;
  return {
    *take(chunk: Buffer): Generator<Buffer> {
      buffer.add(chunk);
      while (buffer.size >= needed) {
        const joined = buffer.whole();
        needed = frameBytes(joined, mostBytes);
        if (buffer.size < needed) return;
        yield joined.subarray(0, needed);
        buffer = new ByteBuffer();
        buffer.add(joined.subarray(needed));
        needed = headBytes;
      }
    },
    /** Bytes of an incomplete message. */
    get held() {
      return buffer.size;
    },
    get kept() {
      return buffer.kept;
    },
  };
}

/** Length of the frame with this prefix. */
export function frameBytes(start: Buffer, mostBytes: number): number {
  const size = start.readUInt32BE(1);
  if (size > mostBytes) {
    const reason = `grpc: received message larger than max (${size} vs. ${mostBytes})`;
    throw new GrpcError(grpcCodes.ResourceExhausted, reason);
  }
  return headBytes + size;
}

/** The message in a frame; a promise where it is compressed. */
export function messageIn(
  frame: Buffer,
  headers: IncomingHttpHeaders,
  unpack: (packed: Uint8Array) => Promise<Uint8Array>,
): Uint8Array | Promise<Uint8Array> {
  const message = frame.subarray(headBytes);
  if (frame[0] === 0) return message;
  const encoding = String(headers["grpc-encoding"] ?? "");
  if (encoding === "gzip") return unpack(message);
  const reason = `grpc: Decompressor is not installed for grpc-encoding "${encoding}"`;
  throw new GrpcError(grpcCodes.Unimplemented, reason);
}

export async function gunzipMessage(message: Uint8Array, mostBytes: number): Promise<Uint8Array> {
  try {
    return await decompress(message, { maxOutputLength: mostBytes });
  } catch (thrown) {
    const isLarge = systemCodeOf(thrown) === "ERR_BUFFER_TOO_LARGE";
    throw isLarge
      ? new GrpcError(
          grpcCodes.ResourceExhausted,
          `grpc: received message after decompression larger than max ${mostBytes}`,
        )
      : new GrpcError(grpcCodes.Internal, `grpc: failed to decompress the received message: ${reasonOf(thrown)}`);
  }
}
