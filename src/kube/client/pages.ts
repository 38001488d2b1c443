/** A list in pages, all of them of one moment. */
import { ProviderError } from "../../runtime/errors.ts";
import { apiVersionOf, type Kind, resourceOf } from "../kinds.ts";
import type { KubeObject, Selection } from "../kube.ts";
import { malformedAnswer } from "./api-errors.ts";
import type { RequestLimits, Requests } from "./requests.ts";
import { collectionPath, selectionQuery, withQuery } from "./transport.ts";

/** So much fewer are asked for where a page is larger than an answer may be: two tries, and the largest objects fit. */
const kubePageShrink = 10;
/** Objects of a page: what every other client asks for. They are taken one by one, so a page costs no memory. */
export const kubePageObjects = 500;
/** Pages of a list: a million objects are ten times what a cluster can hold. */
const kubePages = 2_000;

interface ListOptions extends Selection, RequestLimits {
  readonly once?: boolean;
}

export interface Listing<T> {
  /** Reads to the end. A page that failed is thrown, and the next call goes on with that page. */
  read(): Promise<Listed<T>>;
  /** Pages that were read. */
  readonly pages: number;
}

interface Listed<T> {
  /** Lists that cannot be watched have none. */
  readonly version: string | undefined;
  readonly found: readonly T[];
}

/** Keeps what is made of each object, unless that is undefined; or hands it to whoever takes a page at a time. */
export function createListing<T>(
  requests: Requests,
  kind: Kind,
  options: ListOptions,
  make: (object: KubeObject) => T | undefined,
  takePage?: (made: readonly T[]) => Promise<void>,
): Listing<T> {
  const found: T[] = [];
  let next: string | undefined;
  let pages = 0;
  let limit: number = kubePageObjects;

  /** A page that is larger than any answer may be is asked for in smaller ones; those after it grow again. */
  async function readNext() {
    for (;;) {
      try {
        const page = await readPage(requests, kind, { ...options, token: next, limit }, make);
        limit = Math.min(2 * limit, kubePageObjects);
        return page;
      } catch (thrown) {
        if (limit === 1 || !ProviderError.is(thrown, "AKP_KUBE_ANSWER_TOO_LARGE")) throw thrown;
        limit = Math.ceil(limit / kubePageShrink);
      }
    }
  }

  return {
    get pages() {
      return pages;
    },
    async read() {
      for (;;) {
        const { made, metadata } = await readNext();
        const page = made.filter((each) => each !== undefined);
        if (takePage) await takePage(page);
        else for (const each of page) found.push(each);
        next = metadata.continue || undefined;
        if (next === undefined) return { version: metadata.resourceVersion, found };
        pages += 1;
        if (pages < kubePages) continue;
        throw malformedAnswer(`more than ${kubePages} pages`, askedOf(kind), await requests.peer());
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
  const { metadata } = await readPage(requests, kind, { ...options, limit: 1 }, () => undefined);
  return metadata.resourceVersion;
}

/** The whole list. One whose later pages are gone by the time we want them is begun anew, once. */
export async function listAll(requests: Requests, kind: Kind, options: ListOptions): Promise<KubeObject[]> {
  const attempt = async () => [...(await createListing(requests, kind, options, (object) => object).read()).found];
  try {
    return await attempt();
  } catch (thrown) {
    if (ProviderError.is(thrown, "AKP_KUBE_GONE")) return attempt();
    throw thrown;
  }
}

interface PageOptions extends ListOptions {
  readonly token?: string | undefined;
  readonly limit?: number;
}

async function readPage<T>(requests: Requests, kind: Kind, options: PageOptions, make: (object: KubeObject) => T) {
  const { namespace, signal, untilMs, once = false, token, limit = kubePageObjects } = options;
  const asked = askedOf(kind);
  const path = withQuery(collectionPath(kind, namespace), { ...selectionQuery(options), limit, continue: token });
  // Elements of a list do not say what they are.
  const whole = (item: unknown) => make({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...(item as KubeObject) });
  const { made, rest } = await requests.items({ ...asked, path, signal, untilMs, once }, whole);
  if (!isPage(rest)) throw malformedAnswer("not a list", asked, await requests.peer());
  return { made, metadata: rest.metadata };
}

function askedOf(kind: Kind) {
  return { verb: "list", resource: resourceOf(kind) };
}

interface Page {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
}

/** Null is how Go writes that there are no items. */
function isPage(rest: unknown): rest is Page {
  if (typeof rest !== "object" || rest === null || !("metadata" in rest) || !("items" in rest)) return false;
  const { metadata, items } = rest;
  return typeof metadata === "object" && metadata !== null && (items === null || Array.isArray(items));
}
