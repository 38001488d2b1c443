/** Every way to write but apply: new objects, whole ones in the place of those that were read, patches, deletions. */
import type { Boundary } from "../../runtime/boundary.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { invariant } from "../../runtime/invariant.ts";
import { apiVersionOf, type Kind, kinds, objectText } from "../kinds.ts";
import type { CallOptions, DeleteOptions, Kube, KubeObject, ObjectAt, SubresourceOptions } from "../kube.ts";
import type { LastWrites } from "./last-writes.ts";
import { addressOf, collectionPath, dryRunQuery, objectPath, withQuery } from "./paths.ts";
import type { Requests } from "./requests.ts";

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
    return withQuery(addressOf(kind, at, subresource), { fieldManager, ...dryRunQuery(dryRun) });
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
