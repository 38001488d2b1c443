/** A list in pages, all of them of one moment. */
import { ProviderError } from "../../runtime/errors.ts";
import { apiVersionOf, type Kind, resourceOf } from "../kinds.ts";
import type { KubeObject, Selection } from "../kube.ts";
import { malformedAnswer } from "./refusal.ts";
import type { CallLimits, Requests } from "./requests.ts";
import { collectionPath, selectionQuery, withQuery } from "./transport.ts";

/** So much fewer are asked for where a page is larger than an answer may be: two tries, and the largest objects fit. */
const kubePageShrink = 10;
/** Objects of a page: what every other client asks for. They are taken one by one, so a page costs no memory. */
export const kubePageObjects = 500;
/** Pages of a list: a million objects are ten times what a cluster can hold. */
const kubePages = 2_000;

interface ListOptions extends Selection, CallLimits {
  readonly once?: boolean;
}

export interface Listing<T> {
  /**
   * Reads to the end. A page that was refused is thrown, and asked for again by the next call: what was read before it is
   * not read twice.
   */
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

/**
 * The items of a list, each as soon as its last byte is there. A page that is parsed as a whole is a hundred thousand values
 * at once, which outlive the nursery of the heap: the process would grow by tens of megabytes that it never gives back.
 */
interface ListItems {
  write(chunk: Buffer): void;
  /** What the list says besides its items, in whose place is an empty list. */
  end(): unknown;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const space = 0x20;
const [openList, closeList] = [0x5b, 0x5d];
const [openObject, closeObject] = [0x7b, 0x7d];
/** How deep one is within the list itself, and within its items. */
const [topDepth, itemsDepth] = [1, 2];

/** Items are handed over parsed. What is no JSON, or no list of objects, is a SyntaxError. */
export function createListItems(onItem: (item: unknown) => void): ListItems {
  let depth = 0;
  let inItems = false;
  let inString = false;
  let escaped = false;
  /** The last string at the top: of a value that begins there, its key. */
  let key = "";
  /** What earlier chunks had of the item at hand, and of everything else. */
  let begun: Buffer[] = [];
  const rest: Buffer[] = [];

  function finish(end: Buffer): void {
    const bytes = begun.length === 0 ? end : Buffer.concat([...begun, end]);
    begun = [];
    onItem(JSON.parse(bytes.toString()));
  }

  /** Where the string ends in which we are, or the chunk. */
  function skipString(chunk: Buffer, from: number): number {
    let at = from;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (escaped) escaped = false;
      else if (byte === backslash) escaped = true;
      else if (byte === quote) {
        inString = false;
        break;
      }
    }
    if (depth === topDepth) key += chunk.toString("latin1", from, at);
    return at;
  }

  function write(chunk: Buffer): void {
    /** Where the item at hand, or what is none, begins in this chunk. */
    let from = 0;
    for (let at = inString ? skipString(chunk, 0) + 1 : 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (inItems && depth === itemsDepth) {
        if (byte === openObject) {
          from = at;
          depth += 1;
        } else if (byte === closeList) {
          from = at;
          depth -= 1;
          inItems = false;
        } else if (byte > space && byte !== comma) {
          throw new SyntaxError("an item that is no object");
        }
      } else if (byte === quote) {
        inString = true;
        if (depth === topDepth) key = "";
        at = skipString(chunk, at + 1);
      } else if (byte === openObject || byte === openList) {
        depth += 1;
        if (byte === openList && depth === itemsDepth && key === "items") {
          inItems = true;
          rest.push(chunk.subarray(from, at + 1));
        }
      } else if (byte === closeObject || byte === closeList) {
        depth -= 1;
        if (inItems && depth === itemsDepth) finish(chunk.subarray(from, at + 1));
      }
    }
    if (!inItems) rest.push(chunk.subarray(from));
    else if (depth > itemsDepth) begun.push(chunk.subarray(from));
  }

  return { write, end: () => JSON.parse(Buffer.concat(rest).toString()) };
}
