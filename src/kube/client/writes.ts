/** Writes to the API server: create, replace, patch, delete, and server-side apply. */
import { createHash } from "node:crypto";
import type { Boundary } from "../../runtime/boundary.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { asSent, isAsDesired } from "../as-desired.ts";
import { apiVersionOf, type Kind, kinds, objectText } from "../kinds.ts";
import type { CallOptions, DeleteOptions, Kube, KubeObject, ObjectAt, SubresourceOptions } from "../kube.ts";
import { isLaterVersion } from "../kube.ts";
import { type OwnedFields, ownedFields } from "../owned-fields.ts";
import { isDryRunUnsupported } from "./api-errors.ts";
import type { RequestLimits, Requests } from "./requests.ts";
import { collectionPath, dryRunQuery, objectPath, requestPath, withQuery } from "./transport.ts";

interface WriteDeps {
  readonly requests: Requests;
  readonly fieldManager: string;
  readonly boundary: Boundary;
  readonly lastWrites: LastWrites;
  readonly get: (kind: Kind, at: ObjectAt, call: RequestLimits) => Promise<KubeObject | undefined>;
}

type Writes = Pick<Kube, "create" | "replace" | "patch" | "delete">;

export function createWrites({ requests, fieldManager, boundary, lastWrites }: WriteDeps): Writes {
  /** Crash tests end the program before or after a write. A dry run is none. */
  async function write<T>(point: string, dryRun: boolean, work: () => Promise<T>): Promise<T> {
    if (dryRun) return work();
    boundary.cross("kube", `${point}:before`);
    const result = await work();
    boundary.cross("kube", `${point}:after`);
    return result;
  }

  /** A cache that shows the object from before is not used for the next apply. */
  async function change(
    point: "replace" | "patch",
    path: string,
    dryRun: boolean,
    work: () => Promise<unknown>,
  ): Promise<KubeObject> {
    return write(point, dryRun, async () => {
      if (!dryRun) lastWrites.begin(path);
      const written = (await work()) as KubeObject;
      if (!dryRun) lastWrites.note(path, { version: written.metadata.resourceVersion });
      return written;
    });
  }

  function operation(verb: string, kind: Kind, at: ObjectAt, options: CallOptions) {
    return { verb, resource: objectText(kind, at), ...requests.begin(options) };
  }

  function addressed(kind: Kind, at: ObjectAt, { subresource, dryRun = false }: SubresourceOptions): string {
    return withQuery(requestPath(kind, at, subresource), { fieldManager, ...dryRunQuery(dryRun) });
  }

  return {
    create(kind, object, options = {}) {
      const { dryRun = false } = options;
      const path = withQuery(collectionPath(kind, object.metadata.namespace), { fieldManager, ...dryRunQuery(dryRun) });
      const asked = { ...operation("create", kind, object.metadata, options), method: "POST", path } as const;
      const body = whole(kind, object);
      return write("create", dryRun, () => requests.json({ ...asked, body }) as Promise<KubeObject>);
    },
    replace(kind, object, options = {}) {
      const { metadata } = object;
      const { dryRun = false } = options;
      // Without one it would silently undo the writes of others.
      invariant(metadata.resourceVersion, "an object is replaced at a version", {
        kind: kind.kind,
        name: metadata.name,
      });
      const path = addressed(kind, metadata, options);
      const asked = { ...operation("replace", kind, metadata, options), method: "PUT", path } as const;
      const body = whole(kind, object);
      return change("replace", objectPath(kind, metadata), dryRun, () => requests.json({ ...asked, body }));
    },
    patch(kind, at, operations, options = {}) {
      const { dryRun = false } = options;
      const path = addressed(kind, at, options);
      const asked = {
        ...operation("patch", kind, at, options),
        method: "PATCH",
        path,
        contentType: jsonPatch,
      } as const;
      const request = { ...asked, body: operations, neverTwice: true };
      return change("patch", objectPath(kind, at), dryRun, () => requests.json(request));
    },
    async delete(kind, at, options = {}) {
      const { dryRun = false } = options;
      if (!dryRun) lastWrites.begin(objectPath(kind, at));
      return write("delete", dryRun, () => deleteObject(requests, kind, at, options));
    },
  };
}

const jsonPatch = "application/json-patch+json";

function whole(kind: Kind, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** The outcome of a try whose response was lost is seen from the response to the next one. */
async function deleteObject(requests: Requests, kind: Kind, at: ObjectAt, options: DeleteOptions): Promise<boolean> {
  const { uid } = options;
  // By its name alone, a retry could delete a later namespace of that name.
  invariant(kind !== kinds.namespace || uid, "a namespace is deleted by its uid", { name: at.name });
  const asked = { verb: "delete", resource: objectText(kind, at), ...requests.begin(options) };
  let lost = false;
  const onLost = () => {
    lost = true;
  };
  try {
    const body = deleteBody(options);
    await requests.json({ ...asked, method: "DELETE", path: objectPath(kind, at), body, onLost });
    return true;
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND")) return lost;
    // Another object has the name by now.
    if (lost && ProviderError.is(thrown, "AKP_KUBE_OTHER_UID")) return true;
    throw thrown;
  }
}

function deleteBody({
  uid,
  resourceVersion,
  propagation = "Background",
  graceSeconds,
  dryRun,
}: DeleteOptions): unknown {
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    propagationPolicy: propagation,
    preconditions: { uid, resourceVersion },
    gracePeriodSeconds: graceSeconds,
    ...(dryRun && { dryRun: ["All"] }),
  };
}

/** Server-side apply, skipped where it would change nothing. */
export function createApply({ requests, fieldManager, boundary, lastWrites, get }: WriteDeps): Kube["apply"] {
  /** The present object, which a cache from before our last write cannot show. */
  async function read(kind: Kind, at: ObjectAt, path: string, call: RequestLimits): Promise<KubeObject | undefined> {
    const object = await get(kind, at, call);
    const last = lastWrites.get(path);
    // Also when versions went back: a cache must show at least this version from here on.
    if (last && object) lastWrites.note(path, { ...last, version: object.metadata.resourceVersion });
    return object;
  }

  function isFulfilled(kind: Kind, desired: KubeObject, live: OwnedFields, path: string): boolean {
    const { resourceVersion, uid = live.uid } = desired.metadata;
    // Preconditions are checked by the server.
    if (resourceVersion !== undefined || uid !== live.uid) return false;
    if (isAsDesired(kind, desired, live)) return true;
    const odd = lastWrites.get(path)?.odd;
    return odd !== undefined && !live.deleting && odd.desired === digest(desired) && odd.became === digest(live.fields);
  }

  function remember(kind: Kind, desired: KubeObject, owned: OwnedFields, path: string): void {
    const isOdd = !isAsDesired(kind, desired, owned);
    const odd = isOdd ? { odd: { desired: digest(desired), became: digest(owned.fields) } } : {};
    lastWrites.note(path, { version: owned.resourceVersion, ...odd });
  }

  return async (kind, given, options = {}) => {
    const { force = false, live, dryRun = false, subresource } = options;
    const call = requests.begin(options);
    const desired = asSent(kind, given);
    const { name, namespace } = desired.metadata;
    const at = { name, namespace };
    // The status has field owners of its own, so its last write is kept apart.
    const path = requestPath(kind, at, subresource);
    const isBelieved = live !== undefined && lastWrites.isShownBy(path, live);
    const object = isBelieved ? undefined : await read(kind, at, path, call);
    const known = isBelieved ? live : object && ownedFields(object, fieldManager, subresource);
    if (known && isFulfilled(kind, desired, known, path)) {
      requests.counts.unchanged += 1;
      return { written: false, object, warnings: [] };
    }
    let warnings: readonly string[] = [];
    const request = {
      ...call,
      verb: "apply",
      resource: objectText(kind, at),
      method: "PATCH",
      path: withQuery(path, { fieldManager, force, ...dryRunQuery(dryRun) }),
      contentType: "application/apply-patch+yaml",
      body: { ...desired, apiVersion: apiVersionOf(kind), kind: kind.kind },
      onWarnings: (texts: readonly string[]) => {
        warnings = texts;
      },
    } as const;
    if (dryRun) return { written: true, object: await dryRunResult(requests.json(request)), warnings };
    boundary.cross("kube", "apply:before");
    lastWrites.begin(path);
    const written = (await requests.json(request)) as KubeObject;
    boundary.cross("kube", "apply:after");
    requests.counts.applied += 1;
    remember(kind, desired, ownedFields(written, fieldManager, subresource), path);
    return { written: true, object: written, warnings };
  };
}

/** Undefined where an admission webhook does not support dry runs. */
async function dryRunResult(answer: Promise<unknown>): Promise<KubeObject | undefined> {
  try {
    return (await answer) as KubeObject;
  } catch (thrown) {
    if (isDryRunUnsupported(thrown)) return undefined;
    throw thrown;
  }
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64");
}

interface LastWrite {
  /** As we left it or read it since; undefined while the outcome of a write is unknown. */
  readonly version: string | undefined;
  /** An object that the server writes differently from what was applied: digests of both. */
  readonly odd?: { readonly desired: string; readonly became: string };
}

type LastWrites = ReturnType<typeof createLastWrites>;

/** Our last write to each object: a cache that lags must not be taken for the state after it. */
export function createLastWrites(most: number) {
  const writes = createLruCache<LastWrite>({ most });
  return {
    /** Until the outcome is noted it is unknown: the response may be lost, and a delete may take long. */
    begin: (path: string) => writes.set(path, { version: undefined }),
    note: (path: string, write: LastWrite) => writes.set(path, write),
    get: (path: string) => writes.get(path),
    /** Whether this view of an object (null: no object) shows our last write or a later state. */
    isShownBy(path: string, live: OwnedFields | null): boolean {
      const last = writes.get(path);
      if (!last) return true;
      if (last.version === undefined || live?.resourceVersion === undefined) return false;
      return live.resourceVersion === last.version || isLaterVersion(live.resourceVersion, last.version);
    },
  };
}
