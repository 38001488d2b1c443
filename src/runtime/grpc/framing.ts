/** Messages on a gRPC call: each has a head that says whether it is compressed, and how long it is. */
import type { Http2Stream, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { GrpcRefusal, grpcCodes } from "./grpc-status.ts";

const headBytes = 5;

export function messageHead(message: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(message.length, 1);
  return head;
}

/** A message with its head, ready to be sent. */
export function framed(message: Uint8Array): Buffer {
  return Buffer.concat([messageHead(message), message]);
}

/** The messages of one side of a call, each as soon as it is whole. The stream is left to whoever gave it. */
export async function* readMessages(
  stream: Http2Stream,
  headers: () => IncomingHttpHeaders,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  const cut = createCutter(headers, mostBytes);
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
    yield* cut.take(chunk);
  if (cut.held > 0) throw new GrpcRefusal(grpcCodes.Internal, "grpc: the call ends within a message");
}

/** Cuts what comes in into messages. Pieces are joined once a message is whole: a large one comes in hundreds of them. */
export function createCutter(headers: () => IncomingHttpHeaders, mostBytes: number) {
  let pieces: Buffer[] = [];
  let held = 0;
  let needed = headBytes;
  return {
    *take(chunk: Buffer): Generator<Uint8Array> {
      pieces.push(chunk);
      held += chunk.length;
      while (held >= needed) {
        const joined = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
        pieces = [joined];
        const size = joined.readUInt32BE(1);
        if (size > mostBytes) throw tooLarge(size, mostBytes);
        needed = headBytes + size;
        if (held < needed) return;
        refuseCompressed(joined, headers());
        yield joined.subarray(headBytes, needed);
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

/** The one message of a request. */
export async function readMessage(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  mostBytes: number,
): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > headBytes + mostBytes) throw tooLarge(size, mostBytes);
    chunks.push(chunk);
  }
  const frame = Buffer.concat(chunks);
  if (frame.length < headBytes || frame.readUInt32BE(1) !== frame.length - headBytes) {
    throw new GrpcRefusal(grpcCodes.Internal, "grpc: the request is not one whole message");
  }
  refuseCompressed(frame, headers);
  return frame.subarray(headBytes);
}

function tooLarge(size: number, mostBytes: number): GrpcRefusal {
  const reason = `grpc: received message larger than max (${size} vs. ${mostBytes})`;
  return new GrpcRefusal(grpcCodes.ResourceExhausted, reason);
}

function refuseCompressed(frame: Buffer, headers: IncomingHttpHeaders): void {
  if (frame[0] === 0) return;
  const encoding = headers["grpc-encoding"] ?? "";
  const reason = `grpc: Decompressor is not installed for grpc-encoding "${String(encoding)}"`;
  throw new GrpcRefusal(grpcCodes.Unimplemented, reason);
}
