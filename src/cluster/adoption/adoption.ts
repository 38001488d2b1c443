/**
 * What the network's provider made of a lease before us becomes ours: the fields that it owns are moved to us, so that what
 * we do not want of them can go, and its workloads are kept as they live until their tenant changes them.
 */
import { groupIn } from "../../journal/manifests.ts";
import { adoptObject } from "../../kube/adopt-object.ts";
import { networksEntry } from "../../kube/adopted-fields.ts";
import { pointerTo } from "../../kube/json-pointer.ts";
import { type Kind, kinds } from "../../kube/kinds.ts";
import type { Kube, KubeObject, PatchOperation } from "../../kube/kube.ts";
import { keptLabel, runsService, serviceDigest } from "../../kube/objects/kept-workload.ts";
import { namespaceLabel } from "../../kube/objects/lease-labels.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import { manifestAnnotations } from "../../kube/objects/manifest-resource.ts";
import type { ManifestGroup, ManifestService } from "../../market/manifest.ts";
import { inParallel } from "../../runtime/in-parallel.ts";
import { limits } from "../../runtime/limits.ts";
import type { LeaseTruth } from "../leases/lease-truth.ts";
import { type LiveObject, type LiveObjects, liveText, workloadKinds } from "../leases/live-objects.ts";

interface AdoptionDeps {
  readonly kube: Pick<Kube, "get" | "patch" | "fieldManager">;
  readonly live: LiveObjects;
  readonly manifestNamespace: string;
}

export interface Adopted {
  /** For which service each kept workload was made, by its digest; a workload is named by `liveText`. */
  readonly madeFor: ReadonlyMap<string, string>;
  /** Workloads of which the recorded manifest knows no service, so that nobody can say what they were made for. */
  readonly unplaced: readonly string[];
  /** How many objects were moved to us just now. */
  readonly moved: number;
}

/** What is brought to the cluster of a manifest's workloads. */
export interface WorkloadSteps {
  /** Run on as they are. */
  readonly kept: readonly { readonly desired: DesiredObject; readonly count: number }[];
  /** Were kept until now; ours come in their place. */
  readonly released: readonly DesiredObject[];
  /** All that are to be as we want them, the released ones too. */
  readonly ours: readonly DesiredObject[];
}

export function isWorkload({ kind }: { readonly kind: Kind }): boolean {
  return workloadKinds.includes(kind);
}

export function createAdoption({ kube, live, manifestNamespace }: AdoptionDeps) {
  /** Before anything else is written: what made a workload is told by the Manifest resource, and that only until it is written over. */
  async function take(truth: LeaseTruth, wanted: readonly DesiredObject[], signal: AbortSignal): Promise<Adopted> {
    const { name, namespace } = truth;
    const { group, isTheirs } = madeOf(truth);
    const services = new Map(group?.services.map((service) => [service.name, service]));
    const version = live.manifest(name)?.metadata.resourceVersion;
    /**
     * By the version that it says, or else, of a manifest from before us, by what it runs. The network's provider may have
     * made it of one that was written over since, by itself or by us.
     */
    const isMadeFor = (object: KubeObject, service: ManifestService) =>
      (version !== undefined && object.metadata.labels?.[networksVersion] === version) ||
      (isTheirs && runsService(object, service));
    const names = new Set(wanted.map(({ kind, object }) => liveText({ kind, name: object.metadata.name })));
    const madeFor = new Map<string, string>();
    const unplaced: string[] = [];
    const moving: LiveObject[] = [];
    for (const object of live.contents(name)) {
      const kept = isWorkload(object) ? object.labels[keptLabel] : undefined;
      if (object.deletingSinceMs !== undefined || object.labels[namespaceLabel] !== name) continue;
      // Brought back from a backup, it is whoever's brought it.
      const isBroughtBack = isTheirs && isWorkload(object) && !object.isOurs;
      if (!object.isFromBefore && !isBroughtBack) {
        if (kept !== undefined) madeFor.set(liveText(object), kept);
      } else if (!isWorkload(object)) {
        if (names.has(liveText(object))) moving.push(object);
      } else if (services.has(object.name)) moving.push(object);
      else unplaced.push(liveText(object));
    }
    if (namespace?.isFromBefore) await adoptObject(kube, kinds.namespace, namespace, { signal });
    await inParallel(moving, limits.leaseWrites, async (object) => {
      const service = isWorkload(object) ? services.get(object.name) : undefined;
      const also = (now: KubeObject) => (service ? markOf(now.metadata, isMadeFor(now, service) && service) : []);
      const moved = await adoptObject(kube, object.kind, object, { also, signal, isStrangers: !object.isOurs });
      const kept = service && moved?.metadata.labels?.[keptLabel];
      if (kept !== undefined) madeFor.set(liveText(object), kept);
    });
    return { madeFor, unplaced: unplaced.sort(), moved: moving.length + (namespace?.isFromBefore ? 1 : 0) };
  }

  /** Its version of before says nothing of what the network's provider wrote since. */
  async function takeManifest(name: string, signal: AbortSignal): Promise<void> {
    const resource = live.manifest(name);
    if (!resource || !networksEntry(resource.metadata)) return;
    const also = ({ metadata }: KubeObject): PatchOperation[] =>
      metadata.annotations?.[manifestAnnotations.version] === undefined
        ? []
        : [{ op: "remove", path: pointerTo("metadata", "annotations", manifestAnnotations.version) }];
    await adoptObject(kube, kinds.manifest, { namespace: manifestNamespace, name }, { also, signal });
  }

  /** All that we patched of it becomes what we applied, so that it goes with what is applied next. */
  async function release(released: readonly DesiredObject[], signal: AbortSignal): Promise<void> {
    for (const { kind, object } of released) await adoptObject(kube, kind, object.metadata, { signal });
  }

  /** A kept workload is scaled as its tenant wants: that replaces none of its pods. */
  async function scale({ kept }: WorkloadSteps, madeFor: Adopted["madeFor"], signal: AbortSignal): Promise<void> {
    for (const { desired, count } of kept) {
      const { kind, object } = desired;
      const before = live.get(kind, object.metadata)?.replicas;
      if (before === undefined || before === count) continue;
      const operations: PatchOperation[] = [
        { op: "test", path: labelPath, value: madeFor.get(liveText({ kind, name: object.metadata.name })) },
        { op: "replace", path: "/spec/replicas", value: count },
      ];
      await kube.patch(kind, object.metadata, operations, { signal });
    }
  }

  /** `isLeft`: the tenant has sent nothing since we took over, so what is missing may be what an unplaced workload stands for. */
  function sort(
    workloads: readonly DesiredObject[],
    group: ManifestGroup,
    { madeFor, unplaced }: Adopted,
    isLeft: boolean,
  ): WorkloadSteps {
    const kept: { desired: DesiredObject; count: number }[] = [];
    const released: DesiredObject[] = [];
    const ours: DesiredObject[] = [];
    for (const desired of workloads) {
      const { kind, object } = desired;
      const { name } = object.metadata;
      const service = group.services.find((each) => each.name === name);
      const digest = madeFor.get(liveText({ kind, name }));
      if (service && digest === serviceDigest(service)) {
        kept.push({ desired, count: service.count });
        continue;
      }
      if (digest !== undefined) released.push(desired);
      const isMissing = !live.get(kind, object.metadata);
      if (!(isLeft && isMissing && unplaced.length > 0)) ours.push(desired);
    }
    return { kept, released, ours };
  }

  return { take, takeManifest, release, scale, sort };
}

/** Which manifest the workloads were made of, and whether it is from before us. */
function madeOf({ recorded, row }: LeaseTruth): {
  readonly group: ManifestGroup | undefined;
  readonly isTheirs: boolean;
} {
  const { deployed } = row ?? {};
  return {
    group: recorded?.group ?? (deployed && groupIn(deployed.body)),
    isTheirs: (recorded ?? deployed)?.version === "",
  };
}

/** `service`: for which it was made; where nobody can say, it says so no more. */
function markOf({ labels }: KubeObject["metadata"], service: ManifestService | false): PatchOperation[] {
  if (service) return [{ op: "add", path: labelPath, value: serviceDigest(service) }];
  return labels?.[keptLabel] === undefined ? [] : [{ op: "remove", path: labelPath }];
}

/** By it the network's provider says of which version of the Manifest resource it made an object. */
const networksVersion = "akash.network/manifest.resource.version";

const labelPath = pointerTo("metadata", "labels", keptLabel);
