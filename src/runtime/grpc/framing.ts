/** Messages on a gRPC call: each has a head that says whether it is compressed, and how long it is. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { GrpcRefusal, grpcCodes } from "./grpc-status.ts";

const headBytes = 5;

export function messageHead(message: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(message.length, 1);
  return head;
}

/** The messages of a request that goes on, each as soon as it is whole. */
export async function* readMessages(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= headBytes) {
      const size = rest.readUInt32BE(1);
      if (size > mostBytes) throw tooLarge(size, mostBytes);
      if (rest.length < headBytes + size) break;
      refuseCompressed(rest, headers);
      yield rest.subarray(headBytes, headBytes + size);
      rest = rest.subarray(headBytes + size);
    }
  }
  if (rest.length > 0) throw new GrpcRefusal(grpcCodes.Internal, "grpc: the request ends within a message");
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
