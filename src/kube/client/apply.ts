/** Server-side apply, which writes only what is not yet so. */
import { createHash } from "node:crypto";
import type { Boundary } from "../../runtime/boundary.ts";
import { asSent, isAsDesired } from "../as-desired.ts";
import { apiVersionOf, type Kind, objectText } from "../kinds.ts";
import type { Kube, KubeObject, ObjectAt } from "../kube.ts";
import { type OwnedFields, ownedFields } from "../owned-fields.ts";
import type { LastWrites } from "./last-writes.ts";
import { addressOf, dryRunQuery, withQuery } from "./paths.ts";
import { cannotBeTried } from "./refusal.ts";
import type { CallLimits, Requests } from "./requests.ts";

interface ApplyDeps {
  readonly requests: Requests;
  readonly fieldManager: string;
  readonly boundary: Boundary;
  readonly lastWrites: LastWrites;
  readonly get: (kind: Kind, at: ObjectAt, call: CallLimits) => Promise<KubeObject | undefined>;
}

export function createApply({ requests, fieldManager, boundary, lastWrites, get }: ApplyDeps): Kube["apply"] {
  /** What it is now, and no cache from before our last write may say. */
  async function ask(kind: Kind, at: ObjectAt, path: string, call: CallLimits): Promise<KubeObject | undefined> {
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
    const path = addressOf(kind, at, subresource);
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
