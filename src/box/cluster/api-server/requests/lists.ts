/** Lists, page by page; every page is of the moment of the first one. */

import { apiVersionOf } from "../../../../kube/kinds.ts";
import type { KubeObject } from "../../../../kube/kube.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import { parseJson } from "../../../../runtime/parse-json.ts";
import type { Test } from "../objects/label-selector.ts";
import { badRequest } from "../objects/rejections.ts";
import { StatusError } from "../objects/status-error.ts";
import type { Served } from "../served-kinds.ts";
import { type Store, storeKey } from "../store.ts";
import type { FaultState } from "./faults.ts";

interface ListRequest {
  readonly served: Served;
  readonly wanted: Test<KubeObject>;
  /** Without one, all of it. */
  readonly limit: number | undefined;
  readonly next: string | undefined;
}

export function listPage(store: Store, faults: FaultState, request: ListRequest): unknown {
  const { served, wanted, limit = Number.POSITIVE_INFINITY, next } = request;
  const place = next === undefined ? { version: versionNow(store, faults), after: "" } : readToken(next);
  const all = store.listAt(served, place.version);
  if (!all) throw tooOld;
  const left = all.filter((object) => wanted(object) && storeKey(object.metadata) > place.after);
  const page = left.slice(0, Math.min(limit, faults.mostPageObjects));
  const last = page.at(-1);
  const more = last && left.length > page.length;
  return {
    kind: `${served.kind.kind}List`,
    apiVersion: apiVersionOf(served.kind),
    metadata: {
      resourceVersion: String(place.version),
      ...(more ? { continue: writeToken(place.version, storeKey(last.metadata)) } : {}),
    },
    items: served.isCustom ? page : page.map(withoutKind),
  };
}

/** Elements of a list do not say what they are. */
function withoutKind({ kind: _, apiVersion: __, ...object }: KubeObject): KubeObject {
  return object;
}

/** An API server may be behind the others. */
function versionNow(store: Store, { staleVersions }: FaultState): number {
  const then = store.version - staleVersions;
  return store.changesAfter(then) ? then : store.version;
}

function writeToken(version: number, after: string): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: version, start: after })).toString("base64url");
}

function readToken(token: string): { version: number; after: string } {
  const read = parseJson(Buffer.from(token, "base64url").toString());
  if (isRecord(read) && typeof read["rv"] === "number" && typeof read["start"] === "string") {
    return { version: read["rv"], after: read["start"] };
  }
  throw badRequest("invalid continue token: continue key is not valid");
}

const tooOld = new StatusError(
  410,
  "Expired",
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.",
);
