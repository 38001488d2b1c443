/** A list in pages, all of them of one moment. */
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { apiVersionOf, type Kind, resourceOf } from "../kinds.ts";
import type { KubeObject, Selection } from "../kube.ts";
import { collectionPath, selectionQuery, withQuery } from "./paths.ts";
import { malformed } from "./refusal.ts";
import type { Requests } from "./requests.ts";

export interface ListOptions extends Selection {
  readonly signal?: AbortSignal;
  readonly once?: boolean;
  readonly pageObjects?: number;
}

/** Hands every object to `take`, and returns the version to watch from. */
export async function listPages(
  requests: Requests,
  kind: Kind,
  options: ListOptions,
  take: (object: KubeObject) => void,
): Promise<string> {
  const { namespace, signal, once = false, pageObjects = limits.kubePageObjects } = options;
  const asked = { verb: "list", resource: resourceOf(kind) };
  let next: string | undefined;
  for (let page = 0; page < limits.kubePages; page += 1) {
    const query = { ...selectionQuery(options), limit: pageObjects, continue: next };
    const path = withQuery(collectionPath(kind, namespace), query);
    const answer = await requests.json({ ...asked, path, signal, once });
    if (!isList(answer)) throw malformed("not a list", asked, await requests.peer());
    // Elements of a list do not say what they are.
    for (const object of answer.items ?? []) take({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object });
    next = answer.metadata.continue || undefined;
    if (next === undefined) return answer.metadata.resourceVersion;
  }
  throw malformed(`more than ${limits.kubePages} pages`, asked, await requests.peer());
}

/** The whole list. One whose later pages are gone by the time we want them is begun anew, once. */
export async function listAll(requests: Requests, kind: Kind, options: ListOptions): Promise<KubeObject[]> {
  const attempt = async () => {
    const objects: KubeObject[] = [];
    await listPages(requests, kind, options, (object) => objects.push(object));
    return objects;
  };
  try {
    return await attempt();
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_GONE")) return attempt();
    throw thrown;
  }
}

interface List {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items?: readonly KubeObject[] | null;
}

function isList(answer: unknown): answer is List {
  if (typeof answer !== "object" || answer === null || !("metadata" in answer)) return false;
  const { metadata } = answer;
  return typeof metadata === "object" && metadata !== null && "resourceVersion" in metadata;
}
