/** Messages on a gRPC call: each has a head that says whether it is compressed, and how long it is. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { GrpcRefusal, grpcCodes } from "./grpc-status.ts";

const headBytes = 5;

export function messageHead(message: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(message.length, 1);
  return head;
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
    if (size > headBytes + mostBytes) {
      const reason = `grpc: received message larger than max (${size} vs. ${mostBytes})`;
      throw new GrpcRefusal(grpcCodes.ResourceExhausted, reason);
    }
    chunks.push(chunk);
  }
  const frame = Buffer.concat(chunks);
  if (frame.length < headBytes || frame.readUInt32BE(1) !== frame.length - headBytes) {
    throw new GrpcRefusal(grpcCodes.Internal, "grpc: the request is not one whole message");
  }
  if (frame[0] !== 0) {
    const encoding = headers["grpc-encoding"] ?? "";
    const reason = `grpc: Decompressor is not installed for grpc-encoding "${String(encoding)}"`;
    throw new GrpcRefusal(grpcCodes.Unimplemented, reason);
  }
  return frame.subarray(headBytes);
}
