/** Methods of a gRPC server. Messages are bytes here; each method decodes its own. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";

export interface GrpcCall {
  readonly path: string;
  /** Among them the metadata of the request. */
  readonly headers: IncomingHttpHeaders;
  /** The same for all calls of a connection; undefined once that is gone. */
  readonly socket: Socket | undefined;
  /** Aborted when the call is over: the client left, its time is up, or the server stops. */
  readonly signal: AbortSignal;
  /** Ends it now with the status of what was thrown, also where the client reads nothing of what it was sent. */
  end(thrown: unknown): void;
}

export interface GrpcAnswer {
  readonly message: Uint8Array;
  readonly headers?: OutgoingHttpHeaders;
}

interface AnyMethod {
  /** The caller's account, if it has one. Throws where the call is not permitted. The request is read only after it. */
  authenticate?(call: Pick<GrpcCall, "headers" | "socket">): string | undefined | Promise<string | undefined>;
}

export interface UnaryMethod extends AnyMethod {
  readonly kind: "unary";
  /** Synchronous where possible: that costs a fraction. */
  answer(request: Uint8Array, call: GrpcCall): GrpcAnswer | Promise<GrpcAnswer>;
}

/** Fails with a GrpcError or a ProviderError. */
export type GrpcMethod =
  | UnaryMethod
  /** The next message is pulled when the client had room for the last one. */
  | (AnyMethod & {
      readonly kind: "stream";
      answers(request: Uint8Array, call: GrpcCall): AsyncIterable<Uint8Array>;
      /** Metadata that goes before the first message. */
      headers?(): OutgoingHttpHeaders;
    })
  /** Both sides send as many messages as they like. */
  | (AnyMethod & {
      readonly kind: "conversation";
      answers(requests: AsyncIterable<Uint8Array>, call: GrpcCall): AsyncIterable<Uint8Array>;
    });

export interface GrpcMethods {
  /** By path: "/grpc.health.v1.Health/Check". */
  find(path: string): GrpcMethod | undefined;
  /** Distinguishes an unknown service from an unknown method. */
  hasService(name: string): boolean;
}

export function methodsOf(byPath: ReadonlyMap<string, GrpcMethod>): GrpcMethods {
  const services = new Set([...byPath.keys()].map(grpcServiceOf));
  return { find: (path) => byPath.get(path), hasService: (name) => services.has(name) };
}

/** "/akash.market.v1beta5.Query/Orders" is a method of "akash.market.v1beta5.Query". */
export function grpcServiceOf(path: string): string {
  return path.slice(1, path.lastIndexOf("/"));
}
