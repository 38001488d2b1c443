/** Our inventory operator's addition to akash.inventory.v1.Cluster, such as the snapshot's age, in a field number that others skip. */
import { type Decoded, int64, messageOf, optional, plain, text } from "../protobuf.ts";

const proof = messageOf({
  /** Every pod's change up to this version of the API server is in the picture; empty where that is not known. */
  podsVersion: plain(1, text, ""),
  /** How long ago the cluster was heard of when this was sent. A picture in which nothing changed is not old. */
  ageMs: int64(2),
  /** The same two of persistent volumes, which have a watch of their own. */
  volumesVersion: plain(3, text, ""),
  volumesAgeMs: int64(4),
  /** The storage class of claims that name none; empty where there is none. */
  defaultClass: plain(5, text, ""),
});

type PictureProof = Decoded<typeof proof>;

const unknown: PictureProof = { podsVersion: "", ageMs: 0n, volumesVersion: "", volumesAgeMs: 0n, defaultClass: "" };

const added = messageOf({ proof: optional(1_000, proof) });

/** To be put behind the message itself. */
export function encodeProof(known: Partial<PictureProof>): Uint8Array {
  return added.encode({ proof: { ...unknown, ...known } });
}

/** Undefined where the message is another operator's. */
export function proofIn(cluster: Uint8Array): PictureProof | undefined {
  return added.decode(cluster).proof;
}
