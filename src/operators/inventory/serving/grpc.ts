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
import type { GrpcMethod } from "../../../runtime/grpc/methods.ts";
import { encodeProof } from "../../../runtime/grpc/picture-proof.ts";
import type { ListenAddress } from "../../../runtime/listener.ts";
import type { OperatorGround } from "../../ground.ts";
import { type GrpcListener, startOperatorGrpc } from "../../serving/grpc.ts";
import type { Picture } from "./picture.ts";
import type { Publisher } from "./publisher.ts";

export function startGrpc(
  publisher: Publisher,
  { host, port, clock, log }: ListenAddress & Pick<OperatorGround, "clock" | "log">,
): Promise<GrpcListener> {
  return startOperatorGrpc({
    ...{ host, port, clock, log, what: "the inventory over gRPC" },
    methods: inventoryMethods(publisher),
    file: inventoryV1ServiceFile,
    serving: () => publisher.told !== undefined,
    async changed(signal) {
      await publisher.next(publisher.told, signal);
    },
  });
}

/** In milliseconds, as `age_ms` over REST. Of a stream, when it began. */
export const ageHeader = "akash-inventory-age-ms";

function inventoryMethods(publisher: Publisher): [path: string, method: GrpcMethod][] {
  /** How long ago the cluster was heard of: the messages are the network's and have no place for it. */
  const headers = () => ({ [ageHeader]: `${publisher.ageMs}` });
  /** But a stream has its headers once, and our own provider wants to know it of every picture. */
  const withProof = (picture: Picture) => {
    const { podsVersion = "", volumesVersion = "", defaultClass = "" } = picture.inventory;
    const ages = { ageMs: BigInt(publisher.ageMs), volumesAgeMs: BigInt(publisher.volumesAgeMs) };
    const proof = { podsVersion, volumesVersion, defaultClass, ...ages };
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
