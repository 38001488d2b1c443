/** A list in pages, all of them of one moment. */
import { ProviderError } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import { apiVersionOf, type Kind, resourceOf } from "../kinds.ts";
import type { KubeObject, Selection } from "../kube.ts";
import { collectionPath, selectionQuery, withQuery } from "./paths.ts";
import { malformed } from "./refusal.ts";
import type { Call, Requests } from "./requests.ts";

export interface ListOptions extends Selection, Call {
  readonly once?: boolean;
}

export interface Listing {
  /**
   * Reads to the end and returns the version of the list, which those that cannot be watched do not have. A page that
   * was refused is thrown, and asked for again by the next call: what was read before it is not read twice.
   */
  read(): Promise<string | undefined>;
  /** Pages that were read. */
  readonly pages: number;
}

/** Hands every object to `take`. */
export function createListing(
  requests: Requests,
  kind: Kind,
  options: ListOptions,
  take: (object: KubeObject) => void,
): Listing {
  let next: string | undefined;
  let pages = 0;
  return {
    get pages() {
      return pages;
    },
    async read() {
      for (;;) {
        const { items, metadata } = await readPage(requests, kind, options, next);
        // Elements of a list do not say what they are.
        for (const object of items ?? []) take({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...object });
        next = metadata.continue || undefined;
        if (next === undefined) return metadata.resourceVersion;
        pages += 1;
        if (pages < limits.kubePages) continue;
        throw malformed(`more than ${limits.kubePages} pages`, askedOf(kind), await requests.peer());
      }
    },
  };
}

/** The version at which the server is now, for the price of one object. */
export async function presentVersion(
  requests: Requests,
  kind: Kind,
  options: ListOptions,
): Promise<string | undefined> {
  const { metadata } = await readPage(requests, kind, options, undefined, 1);
  return metadata.resourceVersion;
}

/** The whole list. One whose later pages are gone by the time we want them is begun anew, once. */
export async function listAll(requests: Requests, kind: Kind, options: ListOptions): Promise<KubeObject[]> {
  const attempt = async () => {
    const objects: KubeObject[] = [];
    await createListing(requests, kind, options, (object) => objects.push(object)).read();
    return objects;
  };
  try {
    return await attempt();
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_GONE")) return attempt();
    throw thrown;
  }
}

async function readPage(
  requests: Requests,
  kind: Kind,
  options: ListOptions,
  token: string | undefined,
  limit: number = limits.kubePageObjects,
): Promise<Page> {
  const { namespace, signal, untilMs, once = false } = options;
  const asked = askedOf(kind);
  const path = withQuery(collectionPath(kind, namespace), { ...selectionQuery(options), limit, continue: token });
  const answer = await requests.json({ ...asked, path, signal, untilMs, once });
  if (!isPage(answer)) throw malformed("not a list", asked, await requests.peer());
  return answer;
}

function askedOf(kind: Kind) {
  return { verb: "list", resource: resourceOf(kind) };
}

interface Page {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  /** Null is how Go writes that there are none. */
  readonly items: readonly KubeObject[] | null;
}

function isPage(answer: unknown): answer is Page {
  if (typeof answer !== "object" || answer === null || !("metadata" in answer) || !("items" in answer)) return false;
  const { metadata, items } = answer;
  return typeof metadata === "object" && metadata !== null && (items === null || Array.isArray(items));
}
