/** Messages on a gRPC call: each has a head that says whether it is compressed, and how long it is. */
import type { Http2Stream, IncomingHttpHeaders } from "node:http2";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { reasonOf, systemCodeOf } from "../errors.ts";
import { GrpcRefusal, grpcCodes } from "./grpc-status.ts";

export const headBytes = 5;

/** A message with its head, ready to be sent. */
export function framed(message: Uint8Array, isCompressed = false): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length);
  frame[0] = isCompressed ? 1 : 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, headBytes);
  return frame;
}

const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** The same compressed: by other threads, so that a large one holds nobody up. */
export async function framedGzip(message: Uint8Array): Promise<Buffer> {
  return framed(await compress(message), true);
}

/** The messages of one side of a call, each as soon as it is whole. The stream is left to whoever gave it. */
export async function* readMessages(
  stream: Http2Stream,
  headers: () => IncomingHttpHeaders,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  const cut = createCutter(mostBytes);
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
    for (const frame of cut.take(chunk)) yield messageIn(frame, headers(), mostBytes);
  if (cut.held > 0) throw new GrpcRefusal(grpcCodes.Internal, "grpc: the call ends within a message");
}

/** Cuts what comes in into frames. Pieces are joined once one is whole: a large one comes in hundreds of them. */
export function createCutter(mostBytes: number) {
  let pieces: Buffer[] = [];
  let held = 0;
  let needed = headBytes;
  return {
    *take(chunk: Buffer): Generator<Buffer> {
      pieces.push(chunk);
      held += chunk.length;
      while (held >= needed) {
        const joined = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
        pieces = [joined];
        needed = frameBytes(joined, mostBytes);
        if (held < needed) return;
        yield joined.subarray(0, needed);
        pieces = [joined.subarray(needed)];
        held -= needed;
        needed = headBytes;
      }
    },
    /** Bytes of a message that is not whole yet. */
    get held() {
      return held;
    },
  };
}

/** How long the frame is that begins so. */
export function frameBytes(start: Buffer, mostBytes: number): number {
  const size = start.readUInt32BE(1);
  if (size > mostBytes) {
    const reason = `grpc: received message larger than max (${size} vs. ${mostBytes})`;
    throw new GrpcRefusal(grpcCodes.ResourceExhausted, reason);
  }
  return headBytes + size;
}

/** What a frame holds; later where it has to be unpacked. */
export function messageIn(
  frame: Buffer,
  headers: IncomingHttpHeaders,
  mostBytes: number,
): Uint8Array | Promise<Uint8Array> {
  const message = frame.subarray(headBytes);
  if (frame[0] === 0) return message;
  const encoding = String(headers["grpc-encoding"] ?? "");
  if (encoding === "gzip") return unpacked(message, mostBytes);
  const reason = `grpc: Decompressor is not installed for grpc-encoding "${encoding}"`;
  throw new GrpcRefusal(grpcCodes.Unimplemented, reason);
}

async function unpacked(message: Uint8Array, mostBytes: number): Promise<Uint8Array> {
  try {
    return await decompress(message, { maxOutputLength: mostBytes });
  } catch (thrown) {
    const isLarge = systemCodeOf(thrown) === "ERR_BUFFER_TOO_LARGE";
    throw isLarge
      ? new GrpcRefusal(
          grpcCodes.ResourceExhausted,
          `grpc: received message after decompression larger than max ${mostBytes}`,
        )
      : new GrpcRefusal(grpcCodes.Internal, `grpc: failed to decompress the received message: ${reasonOf(thrown)}`);
  }
}
