/** Our inventory operator's addition to akash.inventory.v1.Cluster, such as the snapshot's age, in a field that others skip. */
import { type Decoded, int64, messageOf, optional, plain, text } from "../protobuf.ts";

const proof = messageOf({
  /** The snapshot has all changes of pods up to this version of the API server; empty where that is not known. */
  podsVersion: plain(1, text, ""),
  /** Time since the cluster was last heard of. A snapshot without changes is not old. */
  ageMs: int64(2),
  /** The same of persistent volumes. */
  volumesVersion: plain(3, text, ""),
  volumesAgeMs: int64(4),
  /** The default storage class; may be empty. */
  defaultClass: plain(5, text, ""),
});

type SnapshotProof = Decoded<typeof proof>;

const unknown: SnapshotProof = { podsVersion: "", ageMs: 0n, volumesVersion: "", volumesAgeMs: 0n, defaultClass: "" };

const added = messageOf({ proof: optional(1_000, proof) });

/** Appended to the message. */
export function encodeProof(known: Partial<SnapshotProof>): Uint8Array {
  return added.encode({ proof: { ...unknown, ...known } });
}

/** Undefined where the message is another operator's. */
export function proofIn(cluster: Uint8Array): SnapshotProof | undefined {
  return added.decode(cluster).proof;
}
