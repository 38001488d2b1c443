/**
 * Custom resources by which operators are told what a lease has: a host name, a port of a leased address. One lease has a
 * name at a time. The cluster says who has what, and is all that a new process starts from; beside it stand the grants of
 * this one, which are settled in one step before anything is written, so that of two who want a name at once one gets it.
 */

import { adoptObject } from "../../../kube/adopt-object.ts";
import { networksEntry } from "../../../kube/adopted-fields.ts";
import { type kinds, resourceOf } from "../../../kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchCache } from "../../../kube/kube.ts";
import { idLabels, managedSelector } from "../../../kube/objects/lease-labels.ts";
import { type OwnedFields, ownedFields } from "../../../kube/owned-fields.ts";
import type { Address } from "../../../market/address.ts";
import { formatLeaseId, type LeaseId } from "../../../market/ids.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import { watchTrouble } from "../../watch-trouble.ts";
import { createUnseenWrites } from "./unseen-writes.ts";

export interface DeclarationDeps<Wanted> {
  readonly kube: Pick<Kube, "watch" | "get" | "apply" | "patch" | "delete" | "list" | "fieldManager">;
  readonly kind: typeof kinds.providerHost | typeof kinds.providerLeasedIp;
  /** Where they are kept, whichever lease they belong to. */
  readonly namespace: string;
  /** Leases of other providers are none of our business, though what they have is not free. */
  readonly provider: Address;
  /** What is had: a host name, for instance. */
  readonly subjectOf: (wanted: Wanted) => string;
  /** Of the one object that may declare it. */
  readonly objectName: (subject: string) => string;
  readonly build: (lease: LeaseId, wanted: Wanted) => KubeObject;
  /** Undefined where it says nothing that we understand. */
  readonly read: (object: KubeObject) => { readonly lease: LeaseId; readonly subject: string } | undefined;
  /** Why a lease may not have what nobody has so far; undefined where it may. */
  readonly objection: (lease: LeaseId, wanted: Wanted) => string | undefined;
  /** Whether one subject may be free, or not, because the other one changed hands. */
  readonly concerns: (subject: string, changed: string) => boolean;
}

/** Who has what. Without a lease: an object that says nothing we understand, and that nobody of ours may touch. */
interface Holder {
  readonly subject: string;
  readonly lease: LeaseId | undefined;
}

export interface Withheld<Wanted> {
  readonly wanted: Wanted;
  readonly reason: string;
  /** Another lease of the same owner has it, as after a move: nothing that an operator could mend. */
  readonly isOwners: boolean;
}

interface Grant extends Holder {
  readonly lease: LeaseId;
  readonly leaseId: string;
}

interface Declared extends Holder {
  /** Of the object. */
  readonly name: string;
  readonly fields: OwnedFields;
  /** The network's provider owns fields of it. */
  readonly isFromBefore: boolean;
}

export function createDeclarations<Wanted>(deps: DeclarationDeps<Wanted>) {
  const { kube, kind, namespace, provider, subjectOf, objectName, build, read, objection, concerns } = deps;
  const listeners: ((leaseId: string) => void)[] = [];
  const grants = new Map<string, Grant>();
  const unseen = createUnseenWrites({
    ask: (subject, signal) => kube.get(kind, { namespace, name: objectName(subject) }, { signal }),
    seen,
    onSeen: (subject) => {
      if (!grants.has(subject)) wakeAround(subject);
    },
  });
  const withheld = new Map<string, readonly Withheld<Wanted>[]>();
  let opened: WatchCache<Declared, "lease"> | undefined;

  function cache(): WatchCache<Declared, "lease"> {
    if (!opened?.ready) throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason: trouble() ?? "" });
    return opened;
  }

  function trouble(): string | undefined {
    return opened ? watchTrouble([opened]) : `nobody has begun to read ${resourceOf(kind)}`;
  }

  /** Resolves when the cache shows the object as it was answered, or what came after. */
  async function seen({ metadata: { resourceVersion } }: KubeObject, signal?: AbortSignal): Promise<void> {
    if (resourceVersion !== undefined) await cache().seen(resourceVersion, signal);
  }

  function declared(subject: string): Declared | undefined {
    return cache().get({ namespace, name: objectName(subject) });
  }

  function holder(subject: string): Holder | undefined {
    return grants.get(subject) ?? unseen.get(subject) ?? declared(subject);
  }

  function* holders(): Iterable<Holder> {
    yield* grants.values();
    for (const each of [...unseen.list(), ...cache().list()]) if (!grants.has(each.subject)) yield each;
  }

  function wake(leaseId: string): void {
    for (const listener of listeners) listener(leaseId);
  }

  function wakeThoseWithout(changed: string): void {
    for (const [leaseId, missing] of withheld) {
      if (missing.some(({ wanted }) => concerns(subjectOf(wanted), changed))) wake(leaseId);
    }
  }

  /** Nobody is on the way to it any more. The lease that the cache shows may have left it for whoever was. */
  function wakeAround(subject: string): void {
    const lease = declared(subject)?.lease;
    if (lease?.provider === provider) wake(formatLeaseId(lease));
    wakeThoseWithout(subject);
  }

  function handle({ type, value: { lease, subject } }: Change<Declared>): void {
    const leaseId = lease?.provider === provider ? formatLeaseId(lease) : undefined;
    if (leaseId !== undefined) wake(leaseId);
    // A write from before the name changed hands, or somebody else's.
    const grant = grants.get(subject);
    if (grant && grant.leaseId !== leaseId) wake(grant.leaseId);
    if (type !== "added") wakeThoseWithout(subject);
  }

  function drop(leaseId: string, isKept: (subject: string) => boolean): void {
    for (const [subject, grant] of grants) {
      if (grant.leaseId !== leaseId || isKept(subject)) continue;
      grants.delete(subject);
      wakeAround(subject);
    }
  }

  function refusalOf(lease: LeaseId, wanted: Wanted, holding: Holder | undefined): string | undefined {
    if (!holding) return objection(lease, wanted);
    if (!holding.lease) return "held by an object that names no lease";
    if (formatLeaseId(holding.lease) === formatLeaseId(lease)) return undefined;
    return holding.lease.owner === lease.owner
      ? `held by lease ${formatLeaseId(holding.lease)} of the same owner`
      : "held by another owner";
  }

  /** Who gets what, with nothing between the question and the answer. What the lease had and no longer wants is free. */
  function settle(lease: LeaseId, wanted: readonly Wanted[]): Wanted[] {
    const leaseId = formatLeaseId(lease);
    const subjects = new Set(wanted.map(subjectOf));
    drop(leaseId, (subject) => subjects.has(subject));
    const granted: Wanted[] = [];
    const missing: Withheld<Wanted>[] = [];
    for (const each of wanted) {
      const holding = holder(subjectOf(each));
      const reason = refusalOf(lease, each, holding);
      if (reason === undefined) {
        grant(lease, each);
        granted.push(each);
      } else missing.push({ wanted: each, reason, isOwners: holding?.lease?.owner === lease.owner });
    }
    if (missing.length > 0) withheld.set(leaseId, missing);
    else withheld.delete(leaseId);
    return granted;
  }

  function grant(lease: LeaseId, wanted: Wanted): void {
    const subject = subjectOf(wanted);
    grants.set(subject, { subject, lease, leaseId: formatLeaseId(lease) });
  }

  /** One may have been given to another lease, or given up, while those before it were written. */
  async function writeGranted(lease: LeaseId, wanted: readonly Wanted[], signal: AbortSignal): Promise<void> {
    const leaseId = formatLeaseId(lease);
    for (const each of wanted) {
      const subject = subjectOf(each);
      await unseen.turn(subject);
      if (grants.get(subject)?.leaseId !== leaseId) continue;
      const { fields: live = null, isFromBefore = false } = declared(subject) ?? {};
      const send = async () => {
        if (isFromBefore) await adoptObject(kube, kind, { namespace, name: objectName(subject) }, { signal });
        return kube.apply(kind, build(lease, each), { live, force: true, signal });
      };
      await unseen.write(subject, lease, send);
    }
  }

  /** What a lease has and is no longer to have, as the cache shows it once it shows all that the lease wrote. */
  async function removeLeft(leaseId: string, signal: AbortSignal): Promise<void> {
    for (const write of unseen.list()) {
      const isOurs = formatLeaseId(write.lease) === leaseId;
      if (isOurs && !grants.has(write.subject)) await unseen.untilSeen(write, signal);
    }
    for (const each of [...cache().by("lease", leaseId)]) {
      // Unless it is on its way to another lease, which then writes it over.
      const isLeft = !grants.has(each.subject) && !unseen.get(each.subject);
      if (isLeft) await remove(each, signal);
    }
  }

  /** The very object that was seen, as it was: it may have become another lease's meanwhile. */
  async function remove({ name, fields: { uid = "", resourceVersion = "" } }: Declared, signal: AbortSignal) {
    await kube.delete(kind, { namespace, name }, { uid, resourceVersion, signal });
  }

  function project(object: KubeObject): Declared {
    const { name } = object.metadata;
    const { lease, subject = name } = read(object) ?? {};
    const isFromBefore = networksEntry(object.metadata) !== undefined;
    return { name, lease, subject, fields: ownedFields(object, kube.fieldManager), isFromBefore };
  }

  return {
    /** Begins to read what there is; until that is known, `trouble` says so, and nothing is answered or written. */
    open(scope: Scope): void {
      const selection = { kind, namespace, labelSelector: managedSelector, withManagedFields: true };
      opened = kube.watch({ ...selection, project, handle, indexes: { lease: leaseIdOf } });
      scope.onStop(() => opened?.close());
    },
    holder,
    holders,
    settle,
    /** Brings to the cluster what the lease wants and may have, and takes away what it no longer wants. */
    async declare(
      lease: LeaseId,
      wanted: readonly Wanted[],
      signal: AbortSignal,
    ): Promise<readonly Withheld<Wanted>[]> {
      const leaseId = formatLeaseId(lease);
      await writeGranted(lease, settle(lease, wanted), signal);
      await removeLeft(leaseId, signal);
      return withheld.get(leaseId) ?? [];
    },
    /** The lease is over. The server is asked what it has: the cache may not show yet what a process before us wrote. */
    async release(lease: LeaseId, signal: AbortSignal): Promise<void> {
      const leaseId = formatLeaseId(lease);
      drop(leaseId, () => false);
      withheld.delete(leaseId);
      const objects = await kube.list(kind, { namespace, labelSelector: selectorOf(lease), signal });
      for (const each of objects) await seen(each, signal);
      await removeLeft(leaseId, signal);
    },
    /**
     * What the lease is to have from now on, also where another one of its owner has it: the object stays the same and
     * changes hands. Whether it may is for the caller to say, without a pause before this.
     */
    async take(lease: LeaseId, wanted: readonly Wanted[], signal: AbortSignal): Promise<void> {
      const losers = wanted.flatMap((each) => holder(subjectOf(each))?.lease ?? []);
      for (const each of wanted) grant(lease, each);
      for (const each of [...losers, lease]) wake(formatLeaseId(each));
      await writeGranted(lease, wanted, signal);
    },
    /** What a lease has, as far as the cluster is known. */
    subjectsOf(leaseId: string): string[] {
      return [...(opened?.by("lease", leaseId) ?? [])].map(({ subject }) => subject);
    },
    /** What it wanted when it last declared, and did not get. */
    withheldFrom: (leaseId: string) => withheld.get(leaseId) ?? [],
    /** A lease is to be looked at: what it has is not as it was, or what it lacks may be free. */
    onChange: (listener: (leaseId: string) => void) => void listeners.push(listener),
    /** Why nothing may be judged by it now. */
    get trouble(): string | undefined {
      return trouble();
    },
  };
}

function leaseIdOf({ lease }: Declared): string | undefined {
  return lease && formatLeaseId(lease);
}

function selectorOf(lease: LeaseId): string {
  const labels = Object.entries(idLabels(lease)).map(([name, value]) => `${name}=${value}`);
  return labels.join(",");
}
