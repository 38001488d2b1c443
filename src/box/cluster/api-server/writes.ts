/** Every way in which an object is made or changed: decoded, filled in, owned, checked, and then stored. */
import { apiVersionOf } from "../../../kube/kinds.ts";
import type { KubeObject, ManagedFields, ObjectAt, ObjectMeta } from "../../../kube/kube.ts";
import { isRecord } from "../../../runtime/is-record.ts";
import { stampOf } from "../components/shapes/time.ts";
import type { Deletion } from "./deletion.ts";
import { equal } from "./fields/equal.ts";
import { type FieldSet, noFields, singleField } from "./fields/field-set.ts";
import { jsonPatch } from "./fields/json-patch.ts";
import { applied, type FieldWriter, ownersAfterUpdate } from "./fields/managers.ts";
import { type AdmissionDeps, admitByDefinition, admitInto, completeChanged, completeNew } from "./objects/admission.ts";
import { fillDefaults } from "./objects/defaults.ts";
import { type IdentityDeps, keptMetadata, nameOf, newMetadata } from "./objects/identity.ts";
import { alreadyExists, conflict, fault, invalid, modifiedSince, notFound, otherUid } from "./objects/rejections.ts";
import { StatusError } from "./objects/status-error.ts";
import { validateChange, validateNew } from "./objects/validation.ts";
import { conform } from "./schema/conform.ts";
import { pruneCustom } from "./schema/prune.ts";
import { typeFault } from "./schema/type-fault.ts";
import type { Served } from "./served-kinds.ts";

interface WriteOptions {
  readonly manager: string;
  /** Writes the status and nothing else; or, of a namespace, also what holds it back from going. */
  readonly subresource?: "status" | "finalize" | undefined;
}

interface ApplyOptions {
  readonly manager: string;
  readonly force?: boolean | undefined;
  readonly subresource?: "status" | undefined;
}

export interface Writes {
  create(served: Served, object: KubeObject, options: WriteOptions): KubeObject;
  update(served: Served, object: KubeObject, options: WriteOptions): KubeObject;
  /** A JSON merge patch, or the operations of a JSON patch. */
  patch(served: Served, at: ObjectAt, patch: unknown, options: WriteOptions): KubeObject;
  apply(served: Served, desired: KubeObject, options: ApplyOptions): KubeObject;
}

interface WriteDeps extends AdmissionDeps, IdentityDeps {
  readonly deletion: Deletion;
}

export function createWrites(deps: WriteDeps): Writes {
  const { store, clock, random, deletion } = deps;

  function writerOf({ kind }: Served, { manager, subresource }: WriteOptions): FieldWriter {
    return { manager, apiVersion: apiVersionOf(kind), subresource, time: stampOf(clock.now()) };
  }

  /** The object to store for a received one, without the field managers. */
  function decode(served: Served, sent: KubeObject): KubeObject {
    const { kind } = served;
    const whole = { ...sent, apiVersion: apiVersionOf(kind), kind: kind.kind };
    if (served.isCustom) return pruneCustom(whole, served.shape) as KubeObject;
    const object = conform(whole, served.shape) as KubeObject;
    fillDefaults(object);
    return object;
  }

  const blanks = new WeakMap<Served, KubeObject>();

  /** What a new object replaces: nothing but what the kind always has. */
  function blank(served: Served): KubeObject {
    const { kind, shape } = served;
    const found =
      blanks.get(served) ?? conform({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: {} }, shape);
    blanks.set(served, found as KubeObject);
    return found as KubeObject;
  }

  /** Fields from before the first apply get an owner, so that an apply conflicts with them. */
  function tracked(served: Served, live: KubeObject): KubeObject {
    if (live.metadata.managedFields) return live;
    const writer = writerOf(served, { manager: "before-first-apply" });
    const rules = { shape: served.shape, ignored: ignoredBy(served) };
    return {
      ...live,
      metadata: { ...live.metadata, ...owners(ownersAfterUpdate(blank(served), live, writer, rules)) },
    };
  }

  function add(served: Served, object: KubeObject, managedFields: readonly ManagedFields[]): KubeObject {
    const next = { ...object, metadata: { ...newMetadata(served, object, deps), ...owners(managedFields) } };
    admitInto(deps, served, next);
    admitByDefinition(deps, served, next.metadata.name);
    completeNew(deps, served, next);
    validateNew(served, next);
    const there = store.get(served, next.metadata);
    if (there) throw alreadyExists(served.kind, there);
    return store.put(served, next);
  }

  function replace(
    served: Served,
    live: KubeObject,
    object: KubeObject,
    managedFields: readonly ManagedFields[],
  ): KubeObject {
    const next = { ...object, metadata: { ...keptMetadata(served, live, object), ...owners(managedFields) } };
    completeChanged(deps, served, live, next);
    if (isUnchanged(live, next)) return live;
    validateChange(served, live, next);
    if (deletion.isFinished(served, next)) return deletion.finish(served, next);
    return store.put(served, next);
  }

  function liveOf(served: Served, { name, namespace }: ObjectAt): KubeObject {
    const live = store.get(served, { name, namespace });
    if (!live) throw notFound(served.kind, name);
    return live;
  }

  function update(served: Served, sent: KubeObject, options: WriteOptions): KubeObject {
    const live = liveOf(served, sent.metadata);
    checkVersion(served, live, sent.metadata);
    const object = decode(served, sent);
    const writer = writerOf(served, options);
    const isStatus = options.subresource === "status";
    const ignored = isStatus ? noFields : ignoredBy(served);
    const next: Record<string, unknown> & KubeObject = isStatus
      ? { ...live, status: object["status"] }
      : keepStatus(served, live, object);
    if (served.kind.kind === "Namespace" && options.subresource === undefined) next["spec"] = live["spec"];
    // An object without field managers stays without until the first apply.
    const before = isStatus ? live.metadata.managedFields : givenOwners(sent, live);
    const owned = before ? ownersAfterUpdate(live, next, writer, { shape: served.shape, ignored }, before) : [];
    return replace(served, live, next, owned);
  }

  return {
    create(served, sent, options) {
      const name = nameOf(sent, random);
      if (name === "") throw invalid(served.kind, "", [nameRequired]);
      // The server says so with this status too.
      if (sent.metadata.resourceVersion) {
        throw new StatusError(500, "", "resourceVersion should not be set on objects to be created");
      }
      const object = decode(served, withoutStatus(served, { ...sent, metadata: { ...sent.metadata, name } }));
      const owned = { shape: served.shape, ignored: ignoredBy(served) };
      return add(served, object, ownersAfterUpdate(blank(served), object, writerOf(served, options), owned));
    },
    update,
    patch(served, at, patch, options) {
      const live = liveOf(served, at);
      const next = (Array.isArray(patch) ? jsonPatch(live, patch) : mergePatch(live, patch)) as KubeObject;
      const { name, namespace } = live.metadata;
      return update(served, { ...next, metadata: { ...next.metadata, name, namespace } as ObjectMeta }, options);
    },
    apply(served, desired, { manager, force = false, subresource }) {
      const { kind, shape } = served;
      const { name, namespace } = desired.metadata;
      const live = store.get(served, { name, namespace });
      if (!live && subresource) throw notFound(kind, name);
      checkVersion(served, live, desired.metadata);
      const given = subresource
        ? { metadata: { name, ...(namespace && { namespace }) }, status: desired["status"] }
        : desired;
      const sent = { ...given, apiVersion: apiVersionOf(kind), kind: kind.kind };
      const wrong = typeFault(sent, shape);
      if (wrong !== undefined) {
        const what = `${namespace ?? ""}/${name}; ${apiVersionOf(kind)}, Kind=${kind.kind}`;
        throw new StatusError(500, "", `failed to create typed patch object (${what}): ${wrong}`);
      }
      const request = { ...writerOf(served, { manager, subresource }), force };
      const before = live ? tracked(served, live) : blank(served);
      const { object, managedFields } = applied(before, sent, request, {
        shape,
        ignored: subresource ? noFields : ignoredBy(served),
      });
      const merged = object as unknown as KubeObject;
      if (!live) return add(served, decode(served, withoutStatus(served, merged)), managedFields);
      const next = decode(served, merged);
      if (subresource) return replace(served, live, { ...live, status: next["status"] }, managedFields);
      return replace(served, live, keepStatus(served, live, next), managedFields);
    },
  };
}

/** Who writes owners is believed, also that there are none; who knows nothing of them leaves them as they are. */
function givenOwners({ metadata }: KubeObject, live: KubeObject): readonly ManagedFields[] | undefined {
  const { managedFields = live.metadata.managedFields } = metadata;
  return managedFields?.length === 0 ? undefined : managedFields;
}

/** A node has a status when it registers; that of other objects is written later by their controllers. */
function withoutStatus({ hasStatus, kind }: Served, object: KubeObject): KubeObject {
  if (!hasStatus || kind.kind === "Node") return object;
  const { status: _, ...rest } = object;
  return rest;
}

/** One that has none keeps none. */
function keepStatus({ hasStatus }: Served, live: KubeObject, next: KubeObject): KubeObject {
  if (!hasStatus) return next;
  const { status: _, ...rest } = next;
  return "status" in live ? { ...rest, status: live["status"] } : rest;
}

function owners(managedFields: readonly ManagedFields[]): Pick<ObjectMeta, "managedFields"> {
  return managedFields.length === 0 ? {} : { managedFields };
}

const nameRequired = fault("Required", "metadata.name", undefined, "name or generateName is required");

/** Fields that only a subresource can write are not owned by a write to the main resource. */
function ignoredBy({ hasStatus }: Served): FieldSet {
  return hasStatus ? singleField("status") : noFields;
}

/** One that says which object it means gets no other, and no new one in its place. */
function checkVersion({ kind }: Served, live: KubeObject | undefined, sent: ObjectMeta): void {
  const { uid, resourceVersion } = live?.metadata ?? {};
  if (sent.uid && sent.uid !== uid) throw otherUid(kind, sent.name, sent.uid, uid);
  if (live && sent.resourceVersion && sent.resourceVersion !== resourceVersion) {
    throw conflict(kind, sent.name, modifiedSince);
  }
}

/** A newer timestamp alone of the same field manager entry is no change. */
function isUnchanged(live: KubeObject, next: KubeObject): boolean {
  return equal(timeless(live), timeless(next));
}

function timeless(object: KubeObject): unknown {
  const managedFields = object.metadata.managedFields?.map((entry) => ({ ...entry, time: undefined }));
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

/** RFC 7386: null takes a field away, records are merged, all else is replaced. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const out: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete out[name];
    else out[name] = mergePatch(out[name], value);
  }
  return out;
}
