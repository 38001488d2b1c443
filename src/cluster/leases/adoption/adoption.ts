/**
 * What the Go provider made of a lease before us becomes ours: the fields that it owns are moved to us, so that what
 * we do not want of them can go. Workloads, its and ours, are kept as they live until their tenant changes them.
 */
import { groupIn } from "../../../journal/manifests.ts";
import { pointerTo } from "../../../kube/json-fields.ts";
import { type Kind, kinds } from "../../../kube/kinds.ts";
import type { KubeObject, PatchOperation } from "../../../kube/kube.ts";
import { namespaceLabel } from "../../../kube/objects/lease-labels.ts";
import type { DesiredObject } from "../../../kube/objects/lease-workload.ts";
import { manifestAnnotations } from "../../../kube/objects/manifest-resource.ts";
import {
  keptForLabel,
  madeForLabel,
  runsService,
  serviceDigest,
  templateLabel,
} from "../../../kube/objects/workload-object.ts";
import { adoptObject, goProviderEntry } from "../../../kube/owned-fields.ts";
import type { ManifestGroup, ManifestService } from "../../../market/manifest.ts";
import { inParallel } from "../../../runtime/in-parallel.ts";
import { type LiveObject, type LiveObjects, liveText, workloadKinds } from "../live-objects.ts";
import type { ObservedLease } from "../observed-lease.ts";
import type { LeaseDeps } from "../watched-cluster.ts";

/** Objects of one step of one lease that are written at once: they do not need each other. */
export const leaseWrites = 4;

export interface Adopted {
  /** By workload (`liveText`): what its labels say of how it was made. */
  readonly made: ReadonlyMap<string, MadeAs>;
  /** Workloads of which the recorded manifest has no service. */
  readonly unplaced: readonly string[];
  /** How many objects were moved to us just now. */
  readonly moved: number;
}

interface MadeAs {
  /** By its digest. */
  readonly service: string;
  /** By its digest; undefined where it is none of ours, or of a version of ours that did not write it down. */
  readonly template: string | undefined;
}

export function isWorkload({ kind }: { readonly kind: Kind }): boolean {
  return workloadKinds.includes(kind);
}

export type Adoption = ReturnType<typeof createAdoption>;

export function createAdoption({ kube, live, options }: Pick<LeaseDeps, "kube" | "live" | "options">) {
  const { manifestNamespace } = options;

  /** Before anything else is written: only the Manifest resource shows what made a workload, until it is written over. */
  async function take(lease: ObservedLease, wanted: readonly DesiredObject[], signal: AbortSignal): Promise<Adopted> {
    const { name, namespace } = lease;
    const { services, applied, isTheirs } = madeOf(lease);
    const version = live.manifest(name)?.metadata.resourceVersion;
    const { made, unplaced, moving, unmarked } = sortObjects(lease, wanted, live);
    if (namespace?.isFromBefore) await adoptObject(kube, kinds.namespace, namespace, { signal });
    /**
     * By the version that it says, or else, of a manifest from before us or a workload of ours, by what it runs. The
     * network's provider may have made it of one that was written over since, by itself or by us.
     */
    const digestIn = (object: KubeObject, service: ManifestService | undefined) =>
      service &&
      ((version !== undefined && object.metadata.labels?.[networksVersion] === version) ||
        ((isTheirs || !goProviderEntry(object.metadata)) && runsService(object, service)))
        ? serviceDigest(service)
        : undefined;
    const adopt = async (
      object: LiveObject,
      options: Pick<Parameters<typeof adoptObject>[3], "also" | "isUnowned">,
    ): Promise<void> => {
      const now = await adoptObject(kube, object.kind, object, { ...options, signal });
      const marked = isWorkload(object) && now ? madeAs(now.metadata) : undefined;
      if (marked) made.set(liveText(object), marked);
    };
    await inParallel(moving, leaseWrites, (object) => {
      const service = isWorkload(object) ? services.get(object.name) : undefined;
      const also = (now: KubeObject) => (service ? marksOf(now, digestIn(now, service)) : []);
      return adopt(object, { also, isUnowned: !object.isOurs });
    });
    await inParallel(unmarked, leaseWrites, (object) => {
      const also = (now: KubeObject) =>
        marksOf(now, madeAs(object)?.service ?? digestIn(now, applied.get(object.name)));
      return adopt(object, { also, isUnowned: true });
    });
    return { made, unplaced: unplaced.sort(), moved: moving.length + (namespace?.isFromBefore ? 1 : 0) };
  }

  /** Its version of before says nothing of what the Go provider wrote since. */
  async function takeManifest(name: string, signal: AbortSignal): Promise<void> {
    const resource = live.manifest(name);
    if (!resource || !goProviderEntry(resource.metadata)) return;
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
  async function scale({ kept }: Pick<ReturnType<typeof sortWorkloads>, "kept">, signal: AbortSignal): Promise<void> {
    for (const { desired, count } of kept) {
      const { kind, object } = desired;
      const before = live.get(kind, object.metadata)?.replicas;
      if (before === undefined || before === count) continue;
      const operations: PatchOperation[] = [
        { op: "test", path: labelPath(madeForLabel), value: object.metadata.labels?.[madeForLabel] },
        { op: "replace", path: "/spec/replicas", value: count },
      ];
      await kube.patch(kind, object.metadata, operations, { signal });
    }
  }

  return { take, takeManifest, release, scale };
}

/**
 * `isLeft`: the tenant has sent nothing since we took over, so what is missing may be what an unplaced workload stands for.
 * `isRefresh`: the operator wants our newest template on all of them.
 */
export function sortWorkloads(
  live: LiveObjects,
  workloads: readonly DesiredObject[],
  group: ManifestGroup,
  { made, unplaced }: Adopted,
  { isLeft, isRefresh }: { readonly isLeft: boolean; readonly isRefresh: boolean },
) {
  /** Run on as they are. */
  const kept: { readonly desired: DesiredObject; readonly count: number }[] = [];
  /** Were kept until now; ours come in their place. */
  const released: DesiredObject[] = [];
  /** All that are to be as we want them, the released ones too. */
  const ours: DesiredObject[] = [];
  for (const desired of workloads) {
    const { kind, object } = desired;
    const { name, labels = {} } = object.metadata;
    const marked = made.get(liveText({ kind, name }));
    const count = group.services.find((each) => each.name === name)?.count;
    const isOther = marked?.service === labels[madeForLabel] && marked?.template !== labels[templateLabel];
    if (isOther && count !== undefined && !isRefresh) {
      kept.push({ desired, count });
      continue;
    }
    if (marked && marked.template === undefined) released.push(desired);
    const isMissing = !live.get(kind, object.metadata);
    if (!(isLeft && isMissing && unplaced.length > 0)) ours.push(desired);
  }
  return { kept, released, ours };
}

/** What becomes of each object of a lease. */
function sortObjects(lease: ObservedLease, wanted: readonly DesiredObject[], live: LiveObjects) {
  const { services, applied, isTheirs } = madeOf(lease);
  const names = new Set(wanted.map(({ kind, object }) => liveText({ kind, name: object.metadata.name })));
  const made = new Map<string, MadeAs>();
  const unplaced: string[] = [];
  const moving: LiveObject[] = [];
  /** Without our label: an earlier version of ours did not write it, or wrote one that the Go provider removed. */
  const unmarked: LiveObject[] = [];
  for (const object of live.contents(lease.name)) {
    if (object.deletingSinceMs !== undefined || object.labels[namespaceLabel] !== lease.name) continue;
    // Restored from a backup, it is owned by the tool that restored it.
    const isRestored = isTheirs && isWorkload(object) && !object.isOurs;
    if (!object.isFromBefore && !isRestored) {
      if (!isWorkload(object) || !object.isOurs) continue;
      const marked = madeAs(object);
      if (marked) made.set(liveText(object), marked);
      const isUnmarked = object.labels[madeForLabel] === undefined;
      if (isUnmarked && (marked || applied.has(object.name))) unmarked.push(object);
    } else if (!isWorkload(object)) {
      if (names.has(liveText(object))) moving.push(object);
    } else if (services.has(object.name)) moving.push(object);
    else unplaced.push(liveText(object));
  }
  return { made, unplaced, moving, unmarked };
}

/** By service: the recorded manifest, the one that we deployed last, and whether the recorded one is from before us. */
function madeOf({ recorded, row }: ObservedLease) {
  const { deployed } = row ?? {};
  const isTheirs = (recorded ?? deployed)?.version === "";
  const before = recorded?.group ?? (deployed && groupIn(deployed.body));
  // A manifest is written down before it is applied.
  const last = deployed && !isTheirs ? groupIn(deployed.body) : before;
  const byName = (group: ManifestGroup | undefined) =>
    new Map(group?.services.map((service) => [service.name, service]));
  return { services: byName(before), applied: byName(last), isTheirs };
}

function madeAs({ labels = {} }: Pick<LiveObject, "labels"> | KubeObject["metadata"]): MadeAs | undefined {
  const service = labels[madeForLabel] ?? labels[keptForLabel];
  return service === undefined ? undefined : { service, template: labels[templateLabel] };
}

/** `digest`: of the service that it was made for, undefined if that is unknown. Its template is none that we know. */
function marksOf({ metadata: { labels = {} } }: KubeObject, digest: string | undefined): PatchOperation[] {
  const gone = [templateLabel, keptForLabel, madeForLabel].filter((label) => labels[label] !== undefined);
  const path = labelPath(madeForLabel);
  return [
    ...gone.map((label) => ({ op: "remove", path: labelPath(label) }) as const),
    ...(digest === undefined ? [] : [{ op: "add", path, value: digest } as const]),
  ];
}

/** By it the Go provider says of which version of the Manifest resource it made an object. */
const networksVersion = "akash.network/manifest.resource.version";

function labelPath(label: string): string {
  return pointerTo("metadata", "labels", label);
}
