/**
 * Custom resources that declare to operators what a lease has: a host name, a port of a leased address. One lease has a
 * name at a time. The cluster says who has what, and is all that a new process starts from; beside it stand the grants of
 * this one, which are settled in one step before anything is written, so that of two who want a name at once one gets it.
 */

import { type kinds, resourceOf } from "../../../kube/kinds.ts";
import type { Change, Kube, KubeObject, WatchCache } from "../../../kube/kube.ts";
import { idLabels, managedSelector } from "../../../kube/objects/lease-labels.ts";
import { adoptObject, goProviderEntry, type OwnedFields, ownedFields } from "../../../kube/owned-fields.ts";
import type { Address } from "../../../market/address.ts";
import { formatLeaseId, type LeaseId } from "../../../market/ids.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { Scope } from "../../../runtime/lifecycle.ts";
import { cachesError } from "../../cache-error.ts";

export interface DeclarationDeps<Wanted> {
  readonly kube: Pick<Kube, "watch" | "get" | "apply" | "patch" | "delete" | "list" | "fieldManager">;
  readonly kind: typeof kinds.providerHost | typeof kinds.providerLeasedIp;
  readonly namespace: string;
  /** Leases of other providers are none of our business, though what they have is not free. */
  readonly provider: Address;
  readonly subjectOf: (wanted: Wanted) => string;
  readonly objectName: (subject: string) => string;
  readonly build: (lease: LeaseId, wanted: Wanted) => KubeObject;
  readonly read: (object: KubeObject) => { readonly lease: LeaseId; readonly subject: string } | undefined;
  /** Why a lease may not have what is free; undefined where it may. */
  readonly objection: (lease: LeaseId, wanted: Wanted) => string | undefined;
  /** Whether one subject may be free, or not, because the other one changed hands. */
  readonly concerns: (subject: string, changed: string) => boolean;
}

/** Who has what. Without a lease: an object that we cannot read, and leave alone. */
interface Holder {
  readonly subject: string;
  readonly lease: LeaseId | undefined;
}

interface Withheld<Wanted> {
  readonly wanted: Wanted;
  readonly reason: string;
  /** Another lease of the same owner has it, as after a move: nothing that an operator could fix. */
  readonly isOwners: boolean;
}

interface Grant extends Holder {
  readonly lease: LeaseId;
  readonly leaseId: string;
}

interface Declared extends Holder {
  readonly name: string;
  readonly fields: OwnedFields;
  readonly isFromBefore: boolean;
}

export function createDeclarations<Wanted>(deps: DeclarationDeps<Wanted>) {
  const { kube, kind, namespace, subjectOf, objectName, build } = deps;
  const listeners: ((leaseId: string) => void)[] = [];
  const wake = (leaseId: string) => {
    for (const listener of listeners) listener(leaseId);
  };
  const declared = createDeclared(deps, (change) => grants.handle(change));
  const unseen = createUnseenWrites(
    (subject, signal) => kube.get(kind, { namespace, name: objectName(subject) }, { signal }),
    declared.seen,
    (subject) => grants.onSeen(subject),
  );
  const grants = createGrants(deps, declared, unseen, wake);

  /** One may have been given to another lease, or given up, while those before it were written. */
  async function writeGranted(lease: LeaseId, wanted: readonly Wanted[], signal: AbortSignal): Promise<void> {
    const leaseId = formatLeaseId(lease);
    for (const each of wanted) {
      const subject = subjectOf(each);
      await unseen.turn(subject);
      if (grants.get(subject)?.leaseId !== leaseId) continue;
      const { fields: live = null, isFromBefore = false } = declared.get(subject) ?? {};
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
      if (isOurs && !grants.get(write.subject)) await unseen.untilSeen(write, signal);
    }
    for (const each of [...declared.cache().by("lease", leaseId)]) {
      // Unless it is on its way to another lease, which then writes it over.
      const isLeft = !grants.get(each.subject) && !unseen.get(each.subject);
      if (isLeft) await remove(each, signal);
    }
  }

  /** The very object that was seen, as it was: it may have become another lease's meanwhile. */
  async function remove({ name, fields: { uid = "", resourceVersion = "" } }: Declared, signal: AbortSignal) {
    await kube.delete(kind, { namespace, name }, { uid, resourceVersion, signal });
  }

  return {
    ...{ open: declared.open, holder: grants.holder, holders: grants.holders, settle: grants.settle },
    /** Writes what the lease wants and may have, and takes away what it no longer wants. */
    async declare(lease: LeaseId, wanted: readonly Wanted[], signal: AbortSignal) {
      const leaseId = formatLeaseId(lease);
      await writeGranted(lease, grants.settle(lease, wanted), signal);
      await removeLeft(leaseId, signal);
      return grants.withheldFrom(leaseId);
    },
    /** The lease is over. Lists from the API server: the cache may lack what an earlier process wrote. */
    async release(lease: LeaseId, signal: AbortSignal): Promise<void> {
      grants.release(formatLeaseId(lease));
      const objects = await kube.list(kind, { namespace, labelSelector: selectorOf(lease), signal });
      for (const each of objects) await declared.seen(each, signal);
      await removeLeft(formatLeaseId(lease), signal);
    },
    /**
     * What the lease is to have from now on, also where another one of its owner has it: the object stays the same and
     * changes hands. Whether it may is for the caller to say, without a pause before this.
     */
    async take(lease: LeaseId, wanted: readonly Wanted[], signal: AbortSignal): Promise<void> {
      const losers = wanted.flatMap((each) => grants.holder(subjectOf(each))?.lease ?? []);
      for (const each of wanted) grants.grant(lease, each);
      for (const each of [...losers, lease]) wake(formatLeaseId(each));
      await writeGranted(lease, wanted, signal);
    },
    subjectsOf: declared.subjectsOf,
    has: (leaseId: string) => declared.subjectsOf(leaseId).length > 0,
    withheldFrom: grants.withheldFrom,
    /** A lease is to be looked at: what it has is not as it was, or what it lacks may be free. */
    onChange: (listener: (leaseId: string) => void) => void listeners.push(listener),
    get error(): string | undefined {
      return declared.error();
    },
  };
}

/** What the cluster has, as the cache shows it. */
function createDeclared<Wanted>(
  { kube, kind, namespace, objectName, read }: DeclarationDeps<Wanted>,
  handle: (change: Change<Declared>) => void,
) {
  let opened: WatchCache<Declared, "lease"> | undefined;

  function project(object: KubeObject): Declared {
    const { name } = object.metadata;
    const { lease, subject = name } = read(object) ?? {};
    const isFromBefore = goProviderEntry(object.metadata) !== undefined;
    return { name, lease, subject, fields: ownedFields(object, kube.fieldManager), isFromBefore };
  }

  function error(): string | undefined {
    return opened ? cachesError([opened]) : `${resourceOf(kind)} are not watched yet`;
  }

  function cache(): WatchCache<Declared, "lease"> {
    if (!opened?.ready) throw new ProviderError("AKP_CLUSTER_UNKNOWN", { reason: error() ?? "" });
    return opened;
  }

  return {
    cache,
    error,
    open(scope: Scope): void {
      const selection = { kind, namespace, labelSelector: managedSelector, withManagedFields: true };
      opened = kube.watch({ ...selection, project, handle, indexes: { lease: leaseIdOf } });
      scope.onStop(() => opened?.close());
    },
    get: (subject: string): Declared | undefined => cache().get({ namespace, name: objectName(subject) }),
    /** Resolves when the cache shows the object as it was answered, or what came after. */
    async seen({ metadata: { resourceVersion } }: KubeObject, signal?: AbortSignal): Promise<void> {
      if (resourceVersion !== undefined) await cache().seen(resourceVersion, signal);
    },
    subjectsOf: (leaseId: string): string[] => [...(opened?.by("lease", leaseId) ?? [])].map(({ subject }) => subject),
  };
}

interface UnseenWrite {
  readonly subject: string;
  readonly lease: LeaseId;
  readonly ended: Promise<void>;
  isUnderWay: boolean;
  /** As it was answered; undefined while only the server knows. */
  object: KubeObject | undefined;
}

/**
 * What we wrote and the cache does not show yet. A name is its lease's from before the write is sent until the cache shows
 * what became of it. Only what the cache shows is removed, and the cache goes on to show it until it hears of that: so a name
 * is never free before the cache shows it so, and no cache that lags can show as one lease's what another was given.
 */
export function createUnseenWrites(
  ask: (subject: string, signal: AbortSignal) => Promise<KubeObject | undefined>,
  seen: (object: KubeObject, signal?: AbortSignal) => Promise<void>,
  onSeen: (subject: string) => void,
) {
  const writes = new Map<string, UnseenWrite>();

  function forget(write: UnseenWrite): void {
    if (writes.get(write.subject) !== write) return;
    writes.delete(write.subject);
    onSeen(write.subject);
  }

  return {
    get: (subject: string): UnseenWrite | undefined => writes.get(subject),
    list: (): UnseenWrite[] => [...writes.values()],
    /** Of two writes under way at once, the later one could be carried out first. */
    async turn(subject: string): Promise<void> {
      for (let last = writes.get(subject); last?.isUnderWay; last = writes.get(subject)) await last.ended;
    },
    /** Begins at once: nothing may come between the turn and this. Without an object the cache was right as it is. */
    async write(
      subject: string,
      lease: LeaseId,
      send: () => Promise<{ readonly object: KubeObject | undefined }>,
    ): Promise<void> {
      const ended = Promise.withResolvers<void>();
      const write: UnseenWrite = { subject, lease, ended: ended.promise, isUnderWay: true, object: undefined };
      writes.set(subject, write);
      try {
        const { object } = await send();
        if (!object) return forget(write);
        write.object = object;
        void seen(object).then(
          () => forget(write),
          // The watch was closed.
          () => undefined,
        );
      } finally {
        write.isUnderWay = false;
        ended.resolve();
      }
    },
    /** Waits until the cache shows the write. A failed write may still have been applied, so the API server is read. */
    async untilSeen(write: UnseenWrite, signal: AbortSignal): Promise<void> {
      await write.ended;
      const object = write.object ?? (await ask(write.subject, signal));
      if (object) await seen(object, signal);
      forget(write);
    },
  };
}

/** Who is to have what, settled in memory before it is written. */
function createGrants<Wanted>(
  { provider, subjectOf, objection, concerns }: DeclarationDeps<Wanted>,
  declared: Pick<ReturnType<typeof createDeclared>, "get" | "cache">,
  unseen: Pick<ReturnType<typeof createUnseenWrites>, "get" | "list">,
  wake: (leaseId: string) => void,
) {
  const grants = new Map<string, Grant>();
  const withheld = new Map<string, readonly Withheld<Wanted>[]>();

  function holder(subject: string): Holder | undefined {
    return grants.get(subject) ?? unseen.get(subject) ?? declared.get(subject);
  }

  function wakeThoseWithout(changed: string): void {
    for (const [leaseId, missing] of withheld) {
      if (missing.some(({ wanted }) => concerns(subjectOf(wanted), changed))) wake(leaseId);
    }
  }

  /** No lease claims it any more. The lease that the cache shows may have given it up for the one that did. */
  function wakeAround(subject: string): void {
    const lease = declared.get(subject)?.lease;
    if (lease?.provider === provider) wake(formatLeaseId(lease));
    wakeThoseWithout(subject);
  }

  function drop(leaseId: string, isKept: (subject: string) => boolean): void {
    for (const [subject, grant] of grants) {
      if (grant.leaseId !== leaseId || isKept(subject)) continue;
      grants.delete(subject);
      wakeAround(subject);
    }
  }

  function whyNot(lease: LeaseId, wanted: Wanted, holding: Holder | undefined): string | undefined {
    if (!holding) return objection(lease, wanted);
    if (!holding.lease) return "held by an object that names no lease";
    const holderId = formatLeaseId(holding.lease);
    if (holderId === formatLeaseId(lease)) return undefined;
    return holding.lease.owner === lease.owner
      ? `held by lease ${holderId} of the same owner`
      : "held by another owner";
  }

  function grant(lease: LeaseId, wanted: Wanted): void {
    const subject = subjectOf(wanted);
    grants.set(subject, { subject, lease, leaseId: formatLeaseId(lease) });
  }

  return {
    holder,
    grant,
    get: (subject: string) => grants.get(subject),
    *holders(): Iterable<Holder> {
      yield* grants.values();
      for (const each of [...unseen.list(), ...declared.cache().list()]) if (!grants.has(each.subject)) yield each;
    },
    onSeen(subject: string): void {
      if (!grants.has(subject)) wakeAround(subject);
    },
    handle({ type, value: { lease, subject } }: Change<Declared>): void {
      const leaseId = lease?.provider === provider ? formatLeaseId(lease) : undefined;
      if (leaseId !== undefined) wake(leaseId);
      // A write from before the name changed hands, or of another program.
      const grant = grants.get(subject);
      if (grant && grant.leaseId !== leaseId) wake(grant.leaseId);
      if (type !== "added") wakeThoseWithout(subject);
    },
    /** Who gets what, with nothing between the question and the answer. What the lease had and no longer wants is free. */
    settle(lease: LeaseId, wanted: readonly Wanted[]): Wanted[] {
      const leaseId = formatLeaseId(lease);
      const subjects = new Set(wanted.map(subjectOf));
      drop(leaseId, (subject) => subjects.has(subject));
      const granted: Wanted[] = [];
      const missing: Withheld<Wanted>[] = [];
      for (const each of wanted) {
        const holding = holder(subjectOf(each));
        const reason = whyNot(lease, each, holding);
        if (reason === undefined) {
          grant(lease, each);
          granted.push(each);
        } else missing.push({ wanted: each, reason, isOwners: holding?.lease?.owner === lease.owner });
      }
      if (missing.length > 0) withheld.set(leaseId, missing);
      else withheld.delete(leaseId);
      return granted;
    },
    release(leaseId: string): void {
      drop(leaseId, () => false);
      withheld.delete(leaseId);
    },
    withheldFrom: (leaseId: string): readonly Withheld<Wanted>[] => withheld.get(leaseId) ?? [],
  };
}

function leaseIdOf({ lease }: Declared): string | undefined {
  return lease && formatLeaseId(lease);
}

function selectorOf(lease: LeaseId): string {
  const labels = Object.entries(idLabels(lease)).map(([name, value]) => `${name}=${value}`);
  return labels.join(",");
}
