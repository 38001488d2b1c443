/** An inventory operator that is nothing but a wire: a test says every byte that it sends. */
import { once } from "node:events";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { Cluster, type Node } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { framed } from "../../src/runtime/grpc/framing.ts";
import type { Owner } from "./owner.ts";

export interface RawOperator {
  /** One at which nothing listens while it is killed, another one after that. */
  readonly port: number;
  /** Connections that are open. */
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  /** Calls of StreamCluster that are open. */
  readonly streams: ReadonlySet<ServerHttp2Stream>;
  queries: number;
  /** What a new stream begins with, and what a query is answered with; nothing is sent where there is none. */
  snapshot: Uint8Array | undefined;
  onQuery: (stream: ServerHttp2Stream) => void;
  onStream: (stream: ServerHttp2Stream) => void;
  /** The bytes as they are, to every stream. */
  write(bytes: Uint8Array): void;
  /** Ends with everything that is open, as a process that is killed does. */
  kill(): Promise<void>;
  /** Listens again, at another port. */
  revive(): Promise<void>;
}

export async function startRawOperator(owner: Owner, snapshot?: Uint8Array): Promise<RawOperator> {
  const sessions = new Set<ServerHttp2Session>();
  const streams = new Set<ServerHttp2Stream>();
  let server: Http2Server;

  function serve(stream: ServerHttp2Stream, path: string | undefined): void {
    stream.on("error", () => undefined);
    const isQuery = path?.endsWith("/QueryCluster");
    if (isQuery) {
      operator.queries += 1;
      operator.onQuery(stream);
    } else {
      streams.add(stream);
      stream.on("close", () => streams.delete(stream));
      operator.onStream(stream);
    }
  }

  async function revive(): Promise<void> {
    server = createServer();
    server.on("session", (session) => {
      sessions.add(session);
      session.on("error", () => undefined);
      session.on("close", () => sessions.delete(session));
    });
    server.on("stream", (stream, headers) => serve(stream, headers[":path"]));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }

  async function kill(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    for (const session of sessions) session.destroy();
    await closed;
  }

  const operator: RawOperator = {
    get port() {
      return (server.address() as AddressInfo | null)?.port ?? 1;
    },
    sessions,
    streams,
    queries: 0,
    snapshot,
    onQuery(stream) {
      if (operator.snapshot) answer(stream, operator.snapshot);
    },
    onStream(stream) {
      stream.respond(grpcHeaders);
      if (operator.snapshot) stream.write(framed(operator.snapshot));
    },
    write(bytes) {
      for (const stream of streams) stream.write(bytes);
    },
    kill,
    revive,
  };
  owner.after(kill);
  await revive();
  return operator;
}

export const grpcHeaders = { ":status": 200, "content-type": "application/grpc" };

/** The one answer to a call, with a status after it. */
export function answer(stream: ServerHttp2Stream, message: Uint8Array): void {
  stream.respond(grpcHeaders, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(framed(message));
}

/** A node in the words of the network's operator: what there is in powers of ten, what is taken in Mi. */
export function networkNode(name: string, cpuTaken = "1250m"): Node {
  const pair = (allocatable: string, allocated = "0") => ({
    allocatable: { string: allocatable },
    allocated: { string: allocated },
    attributes: [],
    capacity: { string: allocatable },
  });
  const card = {
    vendor: "nvidia",
    vendorId: "10de",
    name: "a100",
    modelid: "20b2",
    interface: "SXM4",
    memorySize: "80Gi",
  };
  return {
    name,
    resources: {
      cpu: { quantity: pair("32", cpuTaken), info: [{ id: "0", vendor: "AuthenticAMD", model: "EPYC", vcores: 32 }] },
      memory: { quantity: pair("274877906944", "1130Mi"), info: [] },
      gpu: { quantity: pair("8", "2"), info: Array.from({ length: 8 }, () => card) },
      ephemeralStorage: pair("1099511627776", "48Mi"),
      volumesAttached: pair("0"),
      volumesMounted: pair("0"),
    },
    capabilities: { storageClasses: ["beta3"] },
  };
}

export function networkSnapshot(nodes: readonly Node[]): Uint8Array {
  const quantity = {
    allocatable: { string: "1e12" },
    allocated: { string: "10Gi" },
    attributes: [],
    capacity: { string: "1e12" },
  };
  return Cluster.encode({ nodes: [...nodes], storage: [{ quantity, info: { class: "beta3", iops: "" } }] }).finish();
}
