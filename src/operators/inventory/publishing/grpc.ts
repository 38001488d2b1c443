/**
 * The operator's gRPC listener, from which the provider reads akash.inventory.v1. A stream begins with the picture as it
 * is and goes on with each change; a reader that is slow finds the newest one next, however many there were meanwhile.
 *
 * NodeRPC comes from a time when every node answered for itself, so its request names none. Here the metadata `node`
 * does; without it the answer is the first node by name, which for a cluster of one is the only one.
 */
import type { IncomingHttpHeaders } from "node:http2";
import { ProviderError } from "../../../runtime/errors.ts";
import { inventoryV1ServiceFile } from "../../../runtime/grpc/akash-proto.ts";
import { createGrpcServer } from "../../../runtime/grpc/grpc-server.ts";
import { type Health, healthFile, healthMethods } from "../../../runtime/grpc/health.ts";
import { type GrpcMethod, methodsOf } from "../../../runtime/grpc/methods.ts";
import { encodeProof } from "../../../runtime/grpc/picture-proof.ts";
import { symbolsOf } from "../../../runtime/grpc/proto-file.ts";
import { reflectionMethods } from "../../../runtime/grpc/reflection.ts";
import { limits } from "../../../runtime/limits.ts";
import type { ListenAddress } from "../../../runtime/listener.ts";
import type { OperatorGround } from "../ground.ts";
import type { Picture } from "./picture.ts";
import type { Publisher } from "./publisher.ts";

export interface GrpcListener {
  readonly port: number;
  /** Calls that are told of each change. */
  readonly streams: number;
  close(): Promise<void>;
}

export async function startGrpc(
  publisher: Publisher,
  options: ListenAddress & Pick<OperatorGround, "clock" | "log">,
): Promise<GrpcListener> {
  const { host, clock, log } = options;
  const known = new Set(["", ...symbolsOf(inventoryV1ServiceFile).services]);
  const health: Health = {
    serving: (service) => (known.has(service) ? publisher.told !== undefined : undefined),
    async changed(signal) {
      await publisher.next(publisher.told, signal);
    },
  };
  const server = createGrpcServer({
    methods: methodsOf(
      new Map([
        ...inventoryMethods(publisher),
        ...healthMethods(health),
        ...reflectionMethods([inventoryV1ServiceFile, healthFile]),
      ]),
    ),
    bounds: {
      connections: limits.inventoryConnections,
      calls: limits.inventoryCalls,
      streams: limits.inventoryStreams,
      requestBytes: limits.inventoryRequestBytes,
    },
    clock,
    log,
  });
  const names = { what: "the inventory over gRPC", setting: "--grpc-port" };
  const port = await server.listen({ host, port: options.port, ...names });
  return {
    port,
    get streams() {
      return server.streams;
    },
    close: () => server.stop(),
  };
}

/** In milliseconds, as `age_ms` over REST. Of a stream, when it began. */
export const ageHeader = "akash-inventory-age-ms";

function inventoryMethods(publisher: Publisher): [path: string, method: GrpcMethod][] {
  /** How long ago the cluster was heard of: the messages are the network's and have no place for it. */
  const headers = () => ({ [ageHeader]: `${publisher.ageMs}` });
  /** But a stream has its headers once, and our own provider wants to know it of every picture. */
  const withProof = (picture: Picture) => {
    const proof = { podsVersion: picture.inventory.podsVersion ?? "", ageMs: BigInt(publisher.ageMs) };
    return Buffer.concat([picture.clusterMessage(), encodeProof(proof)]);
  };
  const queryCluster: GrpcMethod = {
    kind: "unary",
    answer: () => ({ message: withProof(publisher.picture()), headers: headers() }),
  };
  const streamCluster: GrpcMethod = {
    kind: "stream",
    headers,
    async *answers(_, { signal }) {
      for (let last: Picture | undefined; ; ) {
        last = await publisher.next(last, signal);
        yield withProof(last);
      }
    },
  };
  const queryNode: GrpcMethod = {
    kind: "unary",
    answer: (_, call) => ({ message: nodeMessage(publisher.picture(), call.headers), headers: headers() }),
  };
  const streamNode: GrpcMethod = {
    kind: "stream",
    headers,
    async *answers(_, { headers, signal }) {
      let told: Uint8Array | undefined;
      for (let last: Picture | undefined; ; ) {
        last = await publisher.next(last, signal);
        const message = nodeMessage(last, headers);
        if (!told || Buffer.compare(told, message) !== 0) yield message;
        told = message;
      }
    },
  };
  return [
    ["/akash.inventory.v1.ClusterRPC/QueryCluster", queryCluster],
    ["/akash.inventory.v1.ClusterRPC/StreamCluster", streamCluster],
    ["/akash.inventory.v1.NodeRPC/QueryNode", queryNode],
    ["/akash.inventory.v1.NodeRPC/StreamNode", streamNode],
  ];
}

function nodeMessage(picture: Picture, headers: IncomingHttpHeaders): Uint8Array {
  const { offered, inventory } = picture;
  const name = headers["node"]?.toString() ?? offered[0];
  const message = name === undefined ? undefined : picture.nodeMessage(name);
  if (message) return message;
  const known = inventory.nodes.find((node) => node.name === name);
  const reason =
    known?.notOffered.map(({ message }) => message).join(", ") ??
    `of ${inventory.nodes.length} nodes, ${offered.length} are`;
  throw new ProviderError("AKP_INVENTORY_NODE_UNKNOWN", { node: name ?? "at all", reason });
}
