/** Server-side apply, which writes only what is not yet so. */
import type { Boundary } from "../../runtime/boundary.ts";
import { limits } from "../../runtime/limits.ts";
import { apiVersionOf, type Kind, objectText } from "../kinds.ts";
import type { Applied, ApplyOptions, KubeObject, ObjectAt } from "../kube.ts";
import { digest, type OwnedFields, ownedFields, wishedFields } from "../owned-fields.ts";
import { objectPath, withQuery } from "./paths.ts";
import type { Requests } from "./requests.ts";

export interface ApplyDeps {
  readonly requests: Requests;
  readonly fieldManager: string;
  readonly boundary: Boundary;
  readonly get: (kind: Kind, at: ObjectAt) => Promise<KubeObject | undefined>;
}

export type Apply = (kind: Kind, desired: KubeObject, options?: ApplyOptions) => Promise<Applied>;

export function createApply({ requests, fieldManager, boundary, get }: ApplyDeps): Apply {
  /**
   * What our fields became by our last write, by object. The server may write a wish in its own words; then what we
   * own never equals what we wish, and only this tells that nothing has changed since.
   */
  const became = new Map<string, { readonly wished: string; readonly owned: string }>();

  function remember(path: string, wished: string, object: KubeObject): void {
    became.delete(path);
    became.set(path, { wished, owned: digest(ownedFields(object, fieldManager).fields) });
    const [oldest] = became.keys();
    if (became.size > limits.kubeAppliedObjects && oldest !== undefined) became.delete(oldest);
  }

  function isAsWished(path: string, wished: string, live: OwnedFields): boolean {
    const owned = digest(live.fields);
    const last = became.get(path);
    return owned === wished || (last?.wished === wished && last.owned === owned);
  }

  return async (kind, desired, { force = false, live } = {}) => {
    const { name, namespace } = desired.metadata;
    const path = objectPath(kind, { name, namespace });
    const wished = digest(wishedFields(desired));
    // A precondition on the version is a question to the server, so it is always asked.
    const object = live === undefined ? await get(kind, { name, namespace }) : undefined;
    const known = live === undefined ? object && ownedFields(object, fieldManager) : live;
    if (known && desired.metadata.resourceVersion === undefined && isAsWished(path, wished, known)) {
      requests.counts.unchanged += 1;
      return { written: false, object };
    }
    boundary.cross("kube", "apply:before");
    const written = (await requests.json({
      verb: "apply",
      resource: objectText(kind, { name, namespace }),
      method: "PATCH",
      path: withQuery(path, { fieldManager, force }),
      contentType: "application/apply-patch+yaml",
      body: { ...desired, apiVersion: apiVersionOf(kind), kind: kind.kind },
    })) as KubeObject;
    boundary.cross("kube", "apply:after");
    requests.counts.applied += 1;
    remember(path, wished, written);
    return { written: true, object: written };
  };
}
