/**
 * The way in from outside: one HTTP port that goes by the Ingresses of the simulated cluster, as an ingress controller does.
 * `curl -H "Host: NAME" ADDRESS` is answered by a container.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { fieldsOf, recordsOf, textOf } from "../kube/json-fields.ts";
import { kinds } from "../kube/kinds.ts";
import type { Kube, KubeObject, WatchCache } from "../kube/kube.ts";
import { operatorConnections } from "../operators/serving/grpc.ts";
import { ProviderError } from "../runtime/errors.ts";
import type { Service } from "../runtime/lifecycle.ts";
import { type ListenAddress, type Listener, listen } from "../runtime/listener.ts";
import type { Log } from "../runtime/log.ts";

interface FrontDoorOptions {
  readonly listen: ListenAddress;
  /** Of the Ingresses that are ours. */
  readonly ingressClass: string;
}

interface FrontDoorDeps {
  readonly kube: Promise<Kube>;
  readonly log: Log;
}

interface Route {
  readonly at: { readonly namespace: string; readonly name: string };
  readonly host: string;
  readonly service: string;
  readonly port: number;
  readonly createdAt: string;
  /** It says where it is reached. */
  readonly isPublished: boolean;
}

type Routes = WatchCache<Route | undefined, "host">;

export function createFrontDoorService(options: FrontDoorOptions, deps: FrontDoorDeps): Service & { url(): string } {
  let listener: Listener | undefined;
  let routes: Routes | undefined;
  return {
    name: "front door",
    async start(scope) {
      const [kube, { log }] = [await deps.kube, deps];
      const opened: Routes = kube.watch({
        kind: kinds.ingress,
        project: (object) => routeOf(object, options.ingressClass),
        indexes: { host: (route) => route?.host },
        handle: ({ type, value: route }) =>
          route && !route.isPublished && type !== "deleted" ? publishStatus(kube, route) : undefined,
      });
      scope.onStop(() => opened.close());
      routes = opened;
      const server = createServer((request, response) => void answer(kube, opened, request, response));
      const names = { what: "the front door of the demo", setting: "`loopback` in src/box/demo.ts" };
      listener = await listen(server, { ...options.listen, ...names, connections: operatorConnections, log });
      scope.onStop(() => listener?.close());
    },
    url: () => listener?.url ?? "",
    detail: () => (listener ? `${listener.url}, ${routes?.size ?? 0} host names` : ""),
  };
}

/** Sets the load balancer status as ingress controllers do. */
async function publishStatus(kube: Kube, { at }: Route): Promise<void> {
  const status = { loadBalancer: { ingress: [{ ip: "127.0.0.1" }] } };
  try {
    await kube.apply(kinds.ingress, { metadata: at, status }, { subresource: "status", force: true });
  } catch (thrown) {
    // The Ingress was deleted meanwhile.
    if (!ProviderError.is(thrown, "AKP_KUBE_NOT_FOUND")) throw thrown;
  }
}

async function answer(kube: Kube, routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const host = hostOf(request.headers.host ?? "");
  const say = (status: number, text: string | Buffer) => {
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(text);
  };
  const [first, ...others] = routesTo(routes, host);
  if (!first) return say(404, `nothing here is named ${JSON.stringify(host)}\n`);
  if (request.method !== "GET" && request.method !== "HEAD")
    return say(405, "containers of the demo answer GET only\n");
  const reach = ({ at, service: name, port }: Route) =>
    kube.proxy({ kind: "service", namespace: at.namespace, name, port }, { path: pathOf(request.url ?? "/") });
  try {
    let reply = await reach(first);
    // While a host moves between leases both have a route, and one of them may have no pods yet.
    for (const other of others) if (reply.status === nothingBehind) reply = await reach(other);
    say(reply.status, reply.body);
  } catch (thrown) {
    say(503, `${ProviderError.from(thrown).message}\n`);
  }
}

const nothingBehind = 503;

/** Those of that very name before those of a wildcard, which stands for one label; the oldest first, as controllers have it. */
function routesTo(routes: Routes, host: string): Route[] {
  const named = (name: string) => Array.from(routes.by("host", name)).filter((route) => route !== undefined);
  const exact = named(host);
  const found = exact.length > 0 ? exact : named(`*${host.slice(Math.max(0, host.indexOf(".")))}`);
  return found.sort((a, b) => a.createdAt.localeCompare(b.createdAt));
}

/** With two slashes in front, a slash either way, it would be read as the name of a server and lose its first part. */
function pathOf(url: string): string {
  return url.replace(/^[/\\]+/, "/");
}

/** The Host header without the port. */
function hostOf(header: string): string {
  return header.replace(/:\d*$/, "").toLowerCase();
}

function routeOf({ metadata, spec, status }: KubeObject, ingressClass: string): Route | undefined {
  const { ingressClassName, rules } = fieldsOf(spec);
  const [rule] = recordsOf(rules);
  const [path] = recordsOf(fieldsOf(rule?.["http"])["paths"]);
  const service = fieldsOf(fieldsOf(path?.["backend"])["service"]);
  const [host, name] = [textOf(rule?.["host"]), textOf(service["name"])];
  if (ingressClassName !== ingressClass || !host || !name) return undefined;
  return {
    at: { namespace: metadata.namespace ?? "", name: metadata.name },
    host,
    service: name,
    port: Number(fieldsOf(service["port"])["number"] ?? 80),
    createdAt: metadata.creationTimestamp ?? "",
    isPublished: recordsOf(fieldsOf(fieldsOf(status)["loadBalancer"])["ingress"]).length > 0,
  };
}
