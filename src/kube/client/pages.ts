/** A list in pages, all of them of one moment. */
import { ProviderError } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { apiVersionOf, type Kind, resourceOf } from "../kinds.ts";
import type { KubeObject, Selection } from "../kube.ts";
import { malformedAnswer } from "./api-errors.ts";
import type { RequestLimits, Requests } from "./requests.ts";
import { collectionPath, selectionQuery, withQuery } from "./transport.ts";

/** A page is parsed as a whole, which takes several times its size. The largest objects have 9 MiB. */
const kubePageBytes = 16 * 1024 * 1024;
/** A page above that is requested again with so many times fewer objects. */
const kubePageShrink = 10;
/** Objects of a page, as in other clients. */
export const kubePageObjects = 500;
/** Pages of a list: a million objects are ten times what a cluster can hold. */
const kubePages = 2_000;

interface ListOptions extends Selection, RequestLimits {
  readonly once?: boolean;
}

export type Listing<T> = ReturnType<typeof createListing<T>>;

/** Keeps what is made of each object unless it is undefined, or hands it over page by page. */
export function createListing<T>(
  requests: Requests,
  kind: Kind,
  options: ListOptions,
  make: (object: KubeObject) => T | undefined,
  takePage?: (made: readonly T[]) => Promise<void>,
) {
  const found: T[] = [];
  let next: string | undefined;
  let pages = 0;
  let limit: number = kubePageObjects;

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
    /** Pages read so far. */
    get pages(): number {
      return pages;
    },
    /** Reads to the end. A page that failed is thrown, and the next call goes on with that page. A metrics list has no version. */
    async read(): Promise<{ readonly version: string | undefined; readonly found: readonly T[] }> {
      for (;;) {
        const { made, metadata } = await readNext();
        const page = made.filter((each) => each !== undefined);
        if (takePage) await takePage(page);
        else for (const each of page) found.push(each);
        next = metadata.continue || undefined;
        if (next === undefined) return { version: metadata.resourceVersion, found };
        pages += 1;
        if (pages < kubePages) continue;
        throw malformedAnswer(`more than ${kubePages} pages`, operationOf(kind), await requests.peer());
      }
    },
  };
}

/** The present version of the server, at the cost of one object. */
export async function presentVersion(
  requests: Requests,
  kind: Kind,
  options: ListOptions,
): Promise<string | undefined> {
  const { metadata } = await readPage(requests, kind, { ...options, limit: 1 }, () => undefined);
  return metadata.resourceVersion;
}

/** The whole list. Where later pages have expired it is begun anew, once. */
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
  const operation = operationOf(kind);
  const path = withQuery(collectionPath(kind, namespace), { ...selectionQuery(options), limit, continue: token });
  const page = await requests.json({ ...operation, path, signal, untilMs, once, mostBytes: kubePageBytes });
  if (!isPage(page)) throw malformedAnswer("not a list of objects", operation, await requests.peer());
  // Items of a list lack their kind.
  const whole = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  return { made: (page.items ?? []).map((item) => make({ ...whole, ...item })), metadata: page.metadata };
}

function operationOf(kind: Kind) {
  return { verb: "list", resource: resourceOf(kind) };
}

interface Page {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  /** Go writes no items as null. */
  readonly items: readonly KubeObject[] | null;
}

function isPage(page: unknown): page is Page {
  if (!isRecord(page) || !isRecord(page["metadata"]) || !("items" in page)) return false;
  const { items } = page;
  return items === null || (Array.isArray(items) && items.every(isRecord));
}
