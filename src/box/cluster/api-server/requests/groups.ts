/** What the server says it offers of a group: the kinds and their statuses, with what may be done to them. */
import { apiVersionOf } from "../../../../kube/kinds.ts";
import type { Served, ServedKinds } from "../served-kinds.ts";

/** Undefined where the address is not that of a group, or it has nothing. */
export function describeGroup(served: ServedKinds, path: string): unknown {
  const [, core, group = "", version = core] = /^\/(?:api\/([^/]+)|apis\/([^/]+)\/([^/]+))$/.exec(path) ?? [];
  const found = version === undefined ? [] : served.inGroup(group, version);
  const [first] = found;
  if (!first) return undefined;
  const resources = found.flatMap(describe);
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersionOf(first.kind), resources };
}

const verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];

function describe({ kind: { plural, kind, namespaced }, hasStatus }: Served): unknown[] {
  const singularName = kind.toLowerCase();
  const status = { name: `${plural}/status`, singularName: "", namespaced, kind, verbs: ["get", "patch", "update"] };
  return [{ name: plural, singularName, namespaced, kind, verbs }, ...(hasStatus ? [status] : [])];
}
