/** HTTP to a pod or a service inside the cluster, through the API server. */
import { type Kind, kinds, objectText } from "../kinds.ts";
import type { ProxyAnswer, ProxyRequest, ProxyTarget } from "../kube.ts";
import { objectPath } from "./paths.ts";
import type { Requests } from "./requests.ts";

export function proxy(target: ProxyTarget, request: ProxyRequest, requests: Requests): Promise<ProxyAnswer> {
  const { method = "GET", path = "/", headers = {}, body, mostBytes } = request;
  const kind: Kind = target.kind === "pod" ? kinds.pod : kinds.service;
  const { namespace, name, port, scheme = "http" } = target;
  // Made plain before it is put behind ours: dots in it must not lead to other parts of the API.
  const inside = new URL(path, "http://inside");
  const part = scheme === "https" ? `https:${name}:${port}` : `${name}:${port}`;
  const outside = `${objectPath(kind, { namespace, name: part })}/proxy`;
  return requests.raw({
    verb: "reach",
    resource: objectText(kind, target),
    method,
    path: `${outside}${inside.pathname}${inside.search}`,
    headers,
    body,
    mostBytes,
    ...requests.begin(request),
  });
}
