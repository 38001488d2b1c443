/** Every way to write but apply: new objects, whole ones in the place of those that were read, patches, deletions. */

import { createHash } from "node:crypto";
import type { Boundary } from "../../runtime/boundary.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import { asSent, isAsDesired } from "../as-desired.ts";
import { apiVersionOf, type Kind, kinds, objectText } from "../kinds.ts";
import type { CallOptions, DeleteOptions, Kube, KubeObject, ObjectAt, SubresourceOptions } from "../kube.ts";
import { isLaterVersion } from "../kube.ts";
import { type OwnedFields, ownedFields } from "../owned-fields.ts";
import { cannotBeTried } from "./api-errors.ts";
import type { RequestLimits, Requests } from "./requests.ts";
import { collectionPath, dryRunQuery, objectPath, requestPath, withQuery } from "./transport.ts";

interface WriteDeps {
  readonly requests: Requests;
  readonly fieldManager: string;
  readonly boundary: Boundary;
  readonly lastWrites: LastWrites;
}

type Writes = Pick<Kube, "create" | "replace" | "patch" | "delete">;

export function createWrites({ requests, fieldManager, boundary, lastWrites }: WriteDeps): Writes {
  /** A write that a crash test may end the program before or after. What is only tried is none. */
  async function write<T>(point: string, dryRun: boolean, work: () => Promise<T>): Promise<T> {
    if (dryRun) return work();
    boundary.cross("kube", `${point}:before`);
    const result = await work();
    boundary.cross("kube", `${point}:after`);
    return result;
  }

  /** What a cache shows of the object from before is not believed any more. */
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

  function ask(verb: string, kind: Kind, at: ObjectAt, options: CallOptions) {
    return { verb, resource: objectText(kind, at), ...requests.begin(options) };
  }

  function addressed(kind: Kind, at: ObjectAt, { subresource, dryRun = false }: SubresourceOptions): string {
    return withQuery(requestPath(kind, at, subresource), { fieldManager, ...dryRunQuery(dryRun) });
  }

  return {
    create(kind, object, options = {}) {
      const { dryRun = false } = options;
      const path = withQuery(collectionPath(kind, object.metadata.namespace), { fieldManager, ...dryRunQuery(dryRun) });
      const asked = { ...ask("create", kind, object.metadata, options), method: "POST", path } as const;
      const body = whole(kind, object);
      return write("create", dryRun, () => requests.json({ ...asked, body }) as Promise<KubeObject>);
    },
    replace(kind, object, options = {}) {
      const { metadata } = object;
      const { dryRun = false } = options;
      // Without one it would undo in silence what others did meanwhile.
      invariant(metadata.resourceVersion, "an object is replaced at a version", {
        kind: kind.kind,
        name: metadata.name,
      });
      const path = addressed(kind, metadata, options);
      const asked = { ...ask("replace", kind, metadata, options), method: "PUT", path } as const;
      const body = whole(kind, object);
      return change("replace", objectPath(kind, metadata), dryRun, () => requests.json({ ...asked, body }));
    },
    patch(kind, at, operations, options = {}) {
      const { dryRun = false } = options;
      const path = addressed(kind, at, options);
      const asked = { ...ask("patch", kind, at, options), method: "PATCH", path, contentType: jsonPatch } as const;
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

/** Takes one object away. What became of a try whose answer was lost is seen in what the next one is told. */
async function deleteObject(requests: Requests, kind: Kind, at: ObjectAt, options: DeleteOptions): Promise<boolean> {
  const { uid } = options;
  // By its name alone, a second try could take along the namespace of somebody who came after.
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
    // Another one has the name by now: the one that was meant is gone.
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

/** Server-side apply, which writes only what is not yet so. */
interface ApplyDeps {
  readonly requests: Requests;
  readonly fieldManager: string;
  readonly boundary: Boundary;
  readonly lastWrites: LastWrites;
  readonly get: (kind: Kind, at: ObjectAt, call: RequestLimits) => Promise<KubeObject | undefined>;
}

export function createApply({ requests, fieldManager, boundary, lastWrites, get }: ApplyDeps): Kube["apply"] {
  /** What it is now, and no cache from before our last write may say. */
  async function ask(kind: Kind, at: ObjectAt, path: string, call: RequestLimits): Promise<KubeObject | undefined> {
    const object = await get(kind, at, call);
    const last = lastWrites.get(path);
    // Also when its versions went back: what the server has now is what a cache must show from here on.
    if (last && object) lastWrites.note(path, { ...last, version: object.metadata.resourceVersion });
    return object;
  }

  function isFulfilled(kind: Kind, desired: KubeObject, live: OwnedFields, path: string): boolean {
    const { resourceVersion, uid = live.uid } = desired.metadata;
    // Preconditions are for the server to answer, so it is always asked.
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
    // The status has owners of its own, and who wrote only that believes of the rest what he did before.
    const path = requestPath(kind, at, subresource);
    const isBelieved = live !== undefined && lastWrites.isShownBy(path, live);
    const object = isBelieved ? undefined : await ask(kind, at, path, call);
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
    // What changes nothing is no write to end a program at, nor one that a cache must show.
    if (dryRun) return { written: true, object: await tried(requests.json(request)), warnings };
    boundary.cross("kube", "apply:before");
    lastWrites.begin(path);
    const written = (await requests.json(request)) as KubeObject;
    boundary.cross("kube", "apply:after");
    requests.counts.applied += 1;
    remember(kind, desired, ownedFields(written, fieldManager, subresource), path);
    return { written: true, object: written, warnings };
  };
}

/** Undefined where only the write itself can tell. */
async function tried(answer: Promise<unknown>): Promise<KubeObject | undefined> {
  try {
    return (await answer) as KubeObject;
  } catch (thrown) {
    if (cannotBeTried(thrown)) return undefined;
    throw thrown;
  }
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64");
}

/** Our last write to each object: a cache that lags must not be taken for the state after it. */
interface LastWrite {
  /** Of the object, as we left it or saw it since; undefined while only the server knows what it has. */
  readonly version: string | undefined;
  /** An object that the server answered in words we do not know: what was desired, and what became of it. */
  readonly odd?: { readonly desired: string; readonly became: string };
}

interface LastWrites {
  /** From now on until its outcome is noted only the server knows: the answer may be lost, and a delete may take long. */
  begin(path: string): void;
  note(path: string, write: LastWrite): void;
  get(path: string): LastWrite | undefined;
  /** Whether this view of an object (null: none) shows our last write or what came after it. */
  isShownBy(path: string, live: OwnedFields | null): boolean;
}

export function createLastWrites(most: number): LastWrites {
  const writes = new Map<string, LastWrite>();

  function note(path: string, write: LastWrite): void {
    writes.delete(path);
    writes.set(path, write);
    const [oldest] = writes.keys();
    if (writes.size > most && oldest !== undefined) writes.delete(oldest);
  }

  return {
    begin: (path) => note(path, { version: undefined }),
    note,
    get: (path) => writes.get(path),
    isShownBy(path, live) {
      const last = writes.get(path);
      if (!last) return true;
      if (last.version === undefined || live?.resourceVersion === undefined) return false;
      return live.resourceVersion === last.version || isLaterVersion(live.resourceVersion, last.version);
    },
  };
}
