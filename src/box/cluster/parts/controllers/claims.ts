/** Claims get their volumes: one that is there and fits, or a new one from their storage class. */

import { kinds } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import { formatBytes, parseBytes } from "../../../../market/quantity.ts";
import { type Ground, managers, type Part } from "../part.ts";
import { atOf, byAge, isDeleting, keyOf } from "../shapes/metadata.ts";
import { isFinished, type Pod } from "../shapes/pod.ts";
import {
  type Claim,
  classOf,
  isBound,
  type PersistentVolume,
  type StorageClass,
  selectedNode,
  waitsForConsumer,
} from "../shapes/storage.ts";

/** How much a storage class has to give, by its name; without a word there is no end to it. */
export type StorageCapacity = (storageClass: string) => bigint | undefined;

const protection = "kubernetes.io/pvc-protection";
const by = "persistentvolume-controller";
/** Classes whose volumes are a folder of one node. */
const local = ["rancher.io/local-path", "kubernetes.io/no-provisioner"];

export function createClaims(ground: Ground, capacity: StorageCapacity | undefined): Part {
  const { server, view, events } = ground;

  function work(key: string): undefined {
    const claim = view.get<Claim>(kinds.persistentVolumeClaim, atOf(key));
    if (!claim) return;
    if (isDeleting(claim)) letGo(claim);
    else if (!claim.metadata.finalizers?.includes(protection)) protect(claim);
    else if (!isBound(claim)) bind(claim);
  }

  function protect(claim: Claim): void {
    const finalizers = [...(claim.metadata.finalizers ?? []), protection];
    server.update(
      kinds.persistentVolumeClaim,
      { ...claim, metadata: { ...claim.metadata, finalizers } },
      managers.controllers,
    );
  }

  /** A claim stays as long as a pod uses it. */
  function letGo(claim: Claim): void {
    const { finalizers = [] } = claim.metadata;
    if (!finalizers.includes(protection) || isUsed(claim)) return;
    const metadata = { ...claim.metadata, finalizers: finalizers.filter((each) => each !== protection) };
    server.update(kinds.persistentVolumeClaim, { ...claim, metadata }, managers.controllers);
  }

  function isUsed({ metadata }: Claim): boolean {
    return view
      .list<Pod>(kinds.pod, metadata.namespace)
      .some((pod) => !isFinished(pod) && claimsOf(pod).includes(metadata.name));
  }

  function bind(claim: Claim): void {
    const { storageClassName } = claim.spec;
    const storageClass = classOf(claim, view.list(kinds.storageClass));
    if (storageClassName && !storageClass && !claim.spec.volumeName) {
      show(claim, "Warning", "ProvisioningFailed", `storageclass.storage.k8s.io "${storageClassName}" not found`);
      return;
    }
    if (waitsForConsumer(storageClass) && !claim.metadata.annotations?.[selectedNode]) {
      show(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
      return;
    }
    const volume = claim.spec.volumeName
      ? view.get<PersistentVolume>(kinds.persistentVolume, { name: claim.spec.volumeName })
      : (existing(claim) ?? (storageClass && provision(claim, storageClass)));
    const nowhere = "no persistent volumes available for this claim and no storage class is set";
    if (volume) join(claim, volume);
    else if (!storageClass) show(claim, "Normal", "FailedBinding", nowhere);
  }

  /** The smallest free volume that is large enough. */
  function existing(claim: Claim): PersistentVolume | undefined {
    const { accessModes = [] } = claim.spec;
    const className = classOf(claim, view.list(kinds.storageClass))?.metadata.name ?? claim.spec.storageClassName ?? "";
    const fits = ({ spec, status, metadata }: PersistentVolume) =>
      (spec.claimRef ? isReserved(spec.claimRef, claim) : status?.phase !== "Released") &&
      (spec.storageClassName ?? "") === className &&
      sizeOf(spec.capacity) >= sizeOf(claim.spec.resources?.requests) &&
      accessModes.every((mode) => spec.accessModes?.includes(mode)) &&
      metadata.deletionTimestamp === undefined;
    const found = view.list<PersistentVolume>(kinds.persistentVolume).filter(fits);
    return found.sort((a, b) => Number(sizeOf(a.spec.capacity) - sizeOf(b.spec.capacity)) || byAge(a, b))[0];
  }

  function provision(claim: Claim, storageClass: StorageClass): PersistentVolume | undefined {
    const wanted = sizeOf(claim.spec.resources?.requests);
    const className = storageClass.metadata.name;
    const most = capacity?.(className);
    if (storageClass.provisioner === "kubernetes.io/no-provisioner") return undefined;
    if (most !== undefined && used(className) + wanted > most) {
      const note = `failed to provision volume with StorageClass "${className}": not enough free storage`;
      show(claim, "Warning", "ProvisioningFailed", note);
      return giveUpNode(claim);
    }
    const made = volumeFor(claim, storageClass, formatBytes(wanted));
    const volume = server.create(kinds.persistentVolume, made, storageClass.provisioner) as PersistentVolume;
    const note = `Successfully provisioned volume ${volume.metadata.name}`;
    events.record({
      kind: kinds.persistentVolumeClaim,
      object: claim,
      type: "Normal",
      reason: "ProvisioningSucceeded",
      note,
      by: storageClass.provisioner,
    });
    return volume;
  }

  /** The scheduler may try another node. */
  function giveUpNode(claim: Claim): undefined {
    const now = view.get<Claim>(kinds.persistentVolumeClaim, claim.metadata);
    if (!now?.metadata.annotations?.[selectedNode]) return;
    const { [selectedNode]: _, ...annotations } = now.metadata.annotations;
    server.update(
      kinds.persistentVolumeClaim,
      { ...now, metadata: { ...now.metadata, annotations } },
      managers.controllers,
    );
  }

  function used(className: string): bigint {
    const volumes = view.list<PersistentVolume>(kinds.persistentVolume);
    return volumes.reduce(
      (sum, { spec }) => sum + (spec.storageClassName === className ? sizeOf(spec.capacity) : 0n),
      0n,
    );
  }

  function join(claim: Claim, volume: PersistentVolume): void {
    const claimRef = referenceTo(claim);
    const taken = server.update(
      kinds.persistentVolume,
      { ...volume, spec: { ...volume.spec, claimRef } },
      managers.controllers,
    );
    server.updateStatus(kinds.persistentVolume, { ...taken, status: { phase: "Bound" } }, managers.controllers);
    const annotations = {
      ...claim.metadata.annotations,
      "pv.kubernetes.io/bind-completed": "yes",
      "pv.kubernetes.io/bound-by-controller": "yes",
    };
    const spec = { ...claim.spec, volumeName: volume.metadata.name };
    const named = server.update(
      kinds.persistentVolumeClaim,
      { ...claim, metadata: { ...claim.metadata, annotations }, spec },
      managers.controllers,
    );
    const { accessModes = [], capacity: size = {} } = volume.spec;
    const status = { phase: "Bound", accessModes, capacity: size };
    server.updateStatus(kinds.persistentVolumeClaim, { ...named, status }, managers.controllers);
  }

  /** Why it is pending, told once. */
  function show(claim: Claim, type: "Normal" | "Warning", reason: string, note: string): void {
    if (claim.status?.phase !== "Pending") {
      server.updateStatus(
        kinds.persistentVolumeClaim,
        { ...claim, status: { phase: "Pending" } },
        managers.controllers,
      );
    }
    events.record({ kind: kinds.persistentVolumeClaim, object: claim, type, reason, note, by });
  }

  return {
    name: "claim",
    notice({ kind, object }, wake) {
      if (kind === kinds.persistentVolumeClaim) wake(keyOf(object.metadata));
      const { namespace } = object.metadata;
      if (kind === kinds.pod) {
        for (const name of claimsOf(object as Pod)) {
          const claim = view.get<Claim>(kinds.persistentVolumeClaim, { namespace, name });
          if (claim && isDeleting(claim)) wake(keyOf({ namespace, name }));
        }
      }
      if (kind === kinds.storageClass || kind === kinds.persistentVolume) {
        const waiting = view.list<Claim>(kinds.persistentVolumeClaim).filter((claim) => !isBound(claim));
        for (const { metadata } of waiting) wake(keyOf(metadata));
      }
    },
    work,
  };
}

function claimsOf({ spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
}

function sizeOf(list: Readonly<Record<string, string | number>> | undefined): bigint {
  return parseBytes(String(list?.["storage"] ?? "0"));
}

function isReserved(
  { namespace, name, uid }: NonNullable<PersistentVolume["spec"]["claimRef"]>,
  { metadata }: Claim,
): boolean {
  return namespace === metadata.namespace && name === metadata.name && (uid === undefined || uid === metadata.uid);
}

function referenceTo({ metadata: { namespace = "", name, uid } }: Claim) {
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid };
}

function volumeFor(claim: Claim, storageClass: StorageClass, storage: string): KubeObject {
  const node = claim.metadata.annotations?.[selectedNode];
  const term = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] };
  const name = `pvc-${claim.metadata.uid}`;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, annotations: { "pv.kubernetes.io/provisioned-by": storageClass.provisioner } },
    spec: {
      storageClassName: storageClass.metadata.name,
      accessModes: claim.spec.accessModes ?? ["ReadWriteOnce"],
      capacity: { storage },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      volumeMode: claim.spec.volumeMode ?? "Filesystem",
      claimRef: referenceTo(claim),
      ...(node && local.includes(storageClass.provisioner)
        ? {
            hostPath: { path: `/opt/local-path-provisioner/${name}` },
            nodeAffinity: { required: { nodeSelectorTerms: [term] } },
          }
        : { csi: { driver: storageClass.provisioner, volumeHandle: name } }),
    },
  };
}
