/** Writes to the API server: create, replace, patch, delete, and server-side apply. */
import { createHash } from "node:crypto";
import type { Boundary } from "../../runtime/boundary.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import { createLruCache } from "../../runtime/lru-cache.ts";
import { asSent, isAsDesired } from "../as-desired.ts";
import { apiVersionOf, type Kind, kinds, objectText } from "../kinds.ts";
import {
  type DeleteOptions,
  isLaterVersion,
  type Kube,
  type KubeObject,
  type ObjectAt,
  type WriteOptions,
} from "../kube.ts";
import { type OwnedFields, ownedFields } from "../owned-fields.ts";
import { isDryRunUnsupported } from "./api-errors.ts";
import type { Request, RequestLimits, Requests } from "./requests.ts";
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
  async function write(
    verb: "create" | "replace" | "patch",
    kind: Kind,
    at: ObjectAt,
    { dryRun = false, ...call }: WriteOptions,
    { path, ...request }: Pick<Request, "method" | "path" | "body" | "contentType" | "neverTwice">,
  ): Promise<KubeObject> {
    const query = { fieldManager, ...dryRunQuery(dryRun) };
    const sent = {
      ...request,
      verb,
      resource: objectText(kind, at),
      path: withQuery(path, query),
      ...requests.begin(call),
    };
    if (dryRun) return requests.json(sent) as Promise<KubeObject>;
    boundary.cross("kube", `${verb}:before`);
    // A cache that shows the object from before is not used for the next apply.
    if (verb !== "create") lastWrites.begin(objectPath(kind, at));
    const written = (await requests.json(sent)) as KubeObject;
    if (verb !== "create") lastWrites.note(objectPath(kind, at), { version: written.metadata.resourceVersion });
    boundary.cross("kube", `${verb}:after`);
    return written;
  }

  return {
    create(kind, object, options = {}) {
      const path = collectionPath(kind, object.metadata.namespace);
      return write("create", kind, object.metadata, options, { method: "POST", path, body: whole(kind, object) });
    },
    replace(kind, object, options = {}) {
      const { metadata } = object;
      // Without one it would silently undo the writes of others.
      invariant(metadata.resourceVersion, "an object is replaced at a version", {
        kind: kind.kind,
        name: metadata.name,
      });
      const path = requestPath(kind, metadata, options.subresource);
      return write("replace", kind, metadata, options, { method: "PUT", path, body: whole(kind, object) });
    },
    patch(kind, at, operations, options = {}) {
      const path = requestPath(kind, at, options.subresource);
      const request = { method: "PATCH", path, contentType: jsonPatch, body: operations, neverTwice: true } as const;
      return write("patch", kind, at, options, request);
    },
    async delete(kind, at, options = {}) {
      if (options.dryRun) return deleteObject(requests, kind, at, options);
      boundary.cross("kube", "delete:before");
      lastWrites.begin(objectPath(kind, at));
      const deleted = await deleteObject(requests, kind, at, options);
      boundary.cross("kube", "delete:after");
      return deleted;
    },
  };
}

const jsonPatch = "application/json-patch+json";

function whole(kind: Kind, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
}

/** The outcome of a try whose response was lost is seen from the response to the next one. */
async function deleteObject(requests: Requests, kind: Kind, at: ObjectAt, options: DeleteOptions): Promise<boolean> {
  const { uid, resourceVersion, propagation = "Background", graceSeconds, dryRun } = options;
  // By its name alone, a retry could delete a later namespace of that name.
  invariant(kind !== kinds.namespace || uid, "a namespace is deleted by its uid", { name: at.name });
  const operation = { verb: "delete", resource: objectText(kind, at), ...requests.begin(options) };
  let lost = false;
  const onLost = () => {
    lost = true;
  };
  try {
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: propagation,
      preconditions: { uid, resourceVersion },
      gracePeriodSeconds: graceSeconds,
      ...(dryRun && { dryRun: ["All"] }),
    };
    await requests.json({ ...operation, method: "DELETE", path: objectPath(kind, at), body, onLost });
    return true;
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND")) return lost;
    // Another object has the name by now.
    if (lost && ProviderError.is(thrown, "AKP_KUBE_OTHER_UID")) return true;
    throw thrown;
  }
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
      body: whole(kind, desired),
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
