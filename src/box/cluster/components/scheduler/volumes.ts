/** What a pod's claims say about where it may run. */
import { kinds } from "../../../../kube/kinds.ts";
import { isDeleting } from "../shapes/metadata.ts";
import type { KubeNode } from "../shapes/node.ts";
import type { Pod } from "../shapes/pod.ts";
import { type Claim, classOf, isBound, type PersistentVolume, waitsForConsumer } from "../shapes/storage.ts";
import type { View } from "../view.ts";
import { matches } from "./filters.ts";

export interface VolumeNeeds {
  /** Why it can run nowhere for now. */
  readonly blocked: string | undefined;
  /** Claims that get their volume once it is known where the pod will run. */
  readonly unbound: readonly Claim[];
  conflictOn(node: KubeNode): readonly string[];
}

export function volumeNeeds(view: View, pod: Pod): VolumeNeeds {
  const { namespace } = pod.metadata;
  const unbound: Claim[] = [];
  const volumes: (PersistentVolume | undefined)[] = [];
  let blocked: string | undefined;
  for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
    if (!persistentVolumeClaim) continue;
    const { claimName } = persistentVolumeClaim;
    const claim = view.get<Claim>(kinds.persistentVolumeClaim, { namespace, name: claimName });
    if (!claim) blocked ??= `persistentvolumeclaim "${claimName}" not found`;
    else if (isDeleting(claim)) blocked ??= `persistentvolumeclaim "${claimName}" is being deleted`;
    else if (isBound(claim)) volumes.push(view.get(kinds.persistentVolume, { name: claim.spec.volumeName ?? "" }));
    else if (waitsForConsumer(classOf(claim, view.list(kinds.storageClass)))) unbound.push(claim);
    else blocked ??= "pod has unbound immediate PersistentVolumeClaims";
  }
  const isFar = (node: KubeNode) => volumes.some((volume) => !matches(node, volume?.spec.nodeAffinity?.required));
  const conflict = ["node(s) didn't match PersistentVolume's node affinity"];
  return { blocked, unbound, conflictOn: (node) => (isFar(node) ? conflict : []) };
}
