/** Claims get their volumes: one that is there and fits, or a new one from their storage class. */
import { kinds } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import { formatBytes, parseBytes } from "../../../../market/quantity.ts";
import type { Component, ComponentDeps } from "../component.ts";
import { atOf, byAge, isDeleting, keyOf } from "../shapes/metadata.ts";
import { isFinished, type Pod, type ResourceList } from "../shapes/pod.ts";
import {
  type Claim,
  classOf,
  isBound,
  type PersistentVolume,
  type ProvisionedClass,
  selectedNode,
  waitsForConsumer,
} from "../shapes/storage.ts";

const kind = kinds.persistentVolumeClaim;
const protection = "kubernetes.io/pvc-protection";
/** Volumes of such a class are created by hand. */
const byHand = "kubernetes.io/no-provisioner";
/** Its volumes are a folder of one node. */
const local = "rancher.io/local-path";

export function createClaims({ server, view, events }: ComponentDeps): Component {
  function work(key: string): undefined {
    const claim = view.get<Claim>(kind, atOf(key));
    if (!claim) return;
    const { finalizers = [] } = claim.metadata;
    if (isDeleting(claim)) {
      // It stays as long as a pod uses it.
      if (!isUsed(claim)) write(claim, { finalizers: finalizers.filter((each) => each !== protection) });
    } else if (!finalizers.includes(protection)) write(claim, { finalizers: [...finalizers, protection] });
    else if (!isBound(claim)) bind(claim);
  }

  function write(claim: Claim, metadata: object): void {
    server.update(kind, { ...claim, metadata: { ...claim.metadata, ...metadata } });
  }

  function isUsed({ metadata }: Claim): boolean {
    const pods = view.list<Pod>(kinds.pod, metadata.namespace);
    return pods.some((pod) => !isFinished(pod) && claimsOf(pod).includes(metadata.name));
  }

  function bind(claim: Claim): void {
    const { storageClassName, volumeName } = claim.spec;
    const storageClass = classOf(claim, view.list(kinds.storageClass));
    const waits = waitsForConsumer(storageClass) && !claim.metadata.annotations?.[selectedNode];
    if (storageClassName && !storageClass && !volumeName) {
      recordEvent(
        claim,
        "Warning",
        "ProvisioningFailed",
        `storageclass.storage.k8s.io "${storageClassName}" not found`,
      );
    } else if (waits) {
      recordEvent(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
    } else {
      const volume = volumeName
        ? view.get<PersistentVolume>(kinds.persistentVolume, { name: volumeName })
        : (existing(claim, storageClass) ?? provision(claim, storageClass));
      if (volume) join(claim, volume);
    }
  }

  /** The smallest free volume that is large enough. */
  function existing(claim: Claim, storageClass: ProvisionedClass | undefined): PersistentVolume | undefined {
    const className = storageClass?.metadata.name ?? "";
    const fits = ({ spec, status }: PersistentVolume) =>
      (spec.claimRef ? spec.claimRef.uid === claim.metadata.uid : status?.phase !== "Released") &&
      (spec.storageClassName ?? "") === className &&
      sizeOf(spec.capacity) >= sizeOf(claim.spec.resources?.requests);
    const found = view.list<PersistentVolume>(kinds.persistentVolume).filter(fits);
    return found.sort((a, b) => Number(sizeOf(a.spec.capacity) - sizeOf(b.spec.capacity)) || byAge(a, b))[0];
  }

  function provision(claim: Claim, storageClass: ProvisionedClass | undefined): PersistentVolume | undefined {
    if (!storageClass || storageClass.provisioner === byHand) return undefined;
    const made = volumeFor(claim, storageClass);
    const volume = server.create(kinds.persistentVolume, made, storageClass.provisioner) as PersistentVolume;
    recordEvent(claim, "Normal", "ProvisioningSucceeded", `Successfully provisioned volume ${volume.metadata.name}`);
    return volume;
  }

  function join(claim: Claim, volume: PersistentVolume): void {
    const spec = { ...volume.spec, claimRef: referenceTo(claim) };
    const taken = server.update(kinds.persistentVolume, { ...volume, spec });
    server.updateStatus(kinds.persistentVolume, { ...taken, status: { phase: "Bound" } });
    const named = server.update(kind, { ...claim, spec: { ...claim.spec, volumeName: volume.metadata.name } });
    const { accessModes = [], capacity = {} } = volume.spec;
    server.updateStatus(kind, { ...named, status: { phase: "Bound", accessModes, capacity } });
  }

  function recordEvent(object: Claim, type: "Normal" | "Warning", reason: string, note: string): void {
    events.record({ kind, object, by: "persistentvolume-controller" }, type, reason, note);
  }

  return {
    name: "claim",
    notice({ kind: of, object }, wake) {
      const { namespace } = object.metadata;
      if (of === kind) wake(keyOf(object.metadata));
      if (of === kinds.pod) for (const name of claimsOf(object as Pod)) wake(keyOf({ namespace, name }));
      if (of === kinds.storageClass || of === kinds.persistentVolume) {
        const waiting = view.list<Claim>(kind).filter((claim) => !isBound(claim));
        for (const { metadata } of waiting) wake(keyOf(metadata));
      }
    },
    work,
  };
}

/** The phase of a volume: available, or, when its claim is gone, deleted or released. */
export function createVolumes({ server, view }: ComponentDeps): Component {
  function work(name: string): undefined {
    const volume = view.get<PersistentVolume>(kinds.persistentVolume, { name });
    if (!volume || isDeleting(volume)) return;
    const { claimRef, persistentVolumeReclaimPolicy } = volume.spec;
    if (claimRef?.uid === undefined) show(volume, "Available");
    else if (view.find(claimRef.uid)) return;
    else if (persistentVolumeReclaimPolicy === "Delete") server.delete(kinds.persistentVolume, { name });
    else show(volume, "Released");
  }

  function show(volume: PersistentVolume, phase: "Available" | "Released"): void {
    if (volume.status?.phase === phase) return;
    server.updateStatus(kinds.persistentVolume, { ...volume, status: { phase } });
  }

  return {
    name: "volume",
    notice({ type, kind, object }, wake) {
      if (kind === kinds.persistentVolume && type !== "deleted") wake(object.metadata.name);
      const { volumeName } = kind === kinds.persistentVolumeClaim ? (object as Claim).spec : {};
      if (type === "deleted" && volumeName) wake(volumeName);
    },
    work,
  };
}

function claimsOf({ spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
}

function sizeOf(list: ResourceList | undefined): bigint {
  return parseBytes(String(list?.["storage"] ?? "0"));
}

function referenceTo({ metadata: { namespace = "", name, uid } }: Claim) {
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid };
}

function volumeFor(claim: Claim, { metadata, provisioner, reclaimPolicy = "Delete" }: ProvisionedClass): KubeObject {
  const node = claim.metadata.annotations?.[selectedNode];
  const term = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] };
  const name = `pvc-${claim.metadata.uid}`;
  const folder = {
    hostPath: { path: `/opt/local-path-provisioner/${name}` },
    nodeAffinity: { required: { nodeSelectorTerms: [term] } },
  };
  return {
    metadata: { name, annotations: { "pv.kubernetes.io/provisioned-by": provisioner } },
    spec: {
      storageClassName: metadata.name,
      accessModes: claim.spec.accessModes ?? ["ReadWriteOnce"],
      capacity: { storage: formatBytes(sizeOf(claim.spec.resources?.requests)) },
      persistentVolumeReclaimPolicy: reclaimPolicy,
      claimRef: referenceTo(claim),
      ...(node && provisioner === local ? folder : { csi: { driver: provisioner, volumeHandle: name } }),
    },
  };
}
