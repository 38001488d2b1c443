/**
 * What our inventory operator adds to akash.inventory.v1.Cluster: how new the picture is. The network's message has no
 * place for it, so it is a field with a high number, which every other reader skips.
 */
import { type Decoded, int64, messageOf, optional, plain, text } from "../protobuf.ts";

const proof = messageOf({
  /** Every pod's change up to this version of the API server is in the picture; empty where that is not known. */
  podsVersion: plain(1, text, ""),
  /** How long ago the cluster was heard of when this was sent. A picture in which nothing changed is not old. */
  ageMs: int64(2),
});

type PictureProof = Decoded<typeof proof>;

const added = messageOf({ proof: optional(1_000, proof) });

/** To be put behind the message itself. */
export function encodeProof(value: PictureProof): Uint8Array {
  return added.encode({ proof: value });
}

/** Undefined where the message is another operator's. */
export function proofIn(cluster: Uint8Array): PictureProof | undefined {
  return added.decode(cluster).proof;
}
