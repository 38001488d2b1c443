/**
 * REST for people, probes and Prometheus, and akash.inventory.v1 over gRPC. A slow stream skips to the newest snapshot.
 * NodeRPC requests have no node: its name is in the metadata `node`; without it, it is the first node by name.
 */
import type { IncomingHttpHeaders } from "node:http2";
import { withDeadline } from "../../../runtime/clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import { inventoryV1ServiceFile } from "../../../runtime/grpc/akash-proto.ts";
import type { GrpcMethod } from "../../../runtime/grpc/methods.ts";
import { encodeProof } from "../../../runtime/grpc/snapshot-proof.ts";
import type { ListenAddress, Listener } from "../../../runtime/listener.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import type { OperatorDeps } from "../../operator-service.ts";
import { type GrpcListener, startOperatorGrpc } from "../../serving/grpc.ts";
import { type HttpAnswer, serveHttp } from "../../serving/rest.ts";
import type { Publisher } from "./publisher.ts";
import type { InventorySnapshot } from "./snapshot.ts";

type ListenOptions = ListenAddress & Pick<OperatorDeps, "clock" | "log">;

export function startInventoryGrpc(publisher: Publisher, options: ListenOptions): Promise<GrpcListener> {
  return startOperatorGrpc({
    ...options,
    what: "the inventory over gRPC",
    methods: inventoryMethods(publisher),
    file: inventoryV1ServiceFile,
    serving: () => publisher.published !== undefined,
    changed: async (signal) => void (await publisher.next(publisher.published, signal)),
  });
}

/** In milliseconds, as `age_ms` over REST. Of a stream, when it began. */
export const ageHeader = "akash-inventory-age-ms";

function inventoryMethods(publisher: Publisher): [path: string, method: GrpcMethod][] {
  /** The network's messages have no field for the age. */
  const headers = () => ({ [ageHeader]: `${publisher.ageMs}` });
  /** A stream has its headers once, and our provider needs the age of every snapshot. */
  const cluster = (snapshot: InventorySnapshot) => {
    const { podsVersion = "", volumesVersion = "", defaultClass = "" } = snapshot.inventory;
    const ages = { ageMs: BigInt(publisher.ageMs), volumesAgeMs: BigInt(publisher.volumesAgeMs) };
    const proof = encodeProof({ podsVersion, volumesVersion, defaultClass, ...ages });
    return Buffer.concat([snapshot.clusterMessage(), proof]);
  };
  type Encode = (snapshot: InventorySnapshot, headers: IncomingHttpHeaders) => Uint8Array;
  const query = (encode: Encode): GrpcMethod => ({
    kind: "unary",
    answer: (_, call) => ({ message: encode(publisher.snapshot(), call.headers), headers: headers() }),
  });
  const stream = (encode: Encode): GrpcMethod => ({
    kind: "stream",
    headers,
    async *answers(_, call) {
      let sent: Uint8Array | undefined;
      for (let last: InventorySnapshot | undefined; ; ) {
        last = await publisher.next(last, call.signal);
        const message = encode(last, call.headers);
        if (!sent || Buffer.compare(sent, message) !== 0) yield message;
        sent = message;
      }
    },
  });
  return [
    ["/akash.inventory.v1.ClusterRPC/QueryCluster", query(cluster)],
    ["/akash.inventory.v1.ClusterRPC/StreamCluster", stream(cluster)],
    ["/akash.inventory.v1.NodeRPC/QueryNode", query(nodeMessage)],
    ["/akash.inventory.v1.NodeRPC/StreamNode", stream(nodeMessage)],
  ];
}

function nodeMessage(snapshot: InventorySnapshot, headers: IncomingHttpHeaders): Uint8Array {
  const { offered, inventory } = snapshot;
  const name = headers["node"]?.toString() ?? offered[0];
  const message = name === undefined ? undefined : snapshot.nodeMessage(name);
  if (message) return message;
  const known = inventory.nodes.find((node) => node.name === name);
  const counts = `of ${inventory.nodes.length} nodes, ${offered.length} are`;
  const reason = known?.notOffered.map(({ message }) => message).join(", ") ?? counts;
  throw new ProviderError("AKP_INVENTORY_NODE_UNKNOWN", { node: name ?? "at all", reason });
}

export interface RestOptions extends ListenOptions {
  readonly apiTimeoutMs: number;
  readonly version: string;
  readonly metrics: Pick<Metrics, "text" | "contentType">;
}

type Route = (query: URLSearchParams) => HttpAnswer | Promise<HttpAnswer>;

export function startInventoryRest(publisher: Publisher, options: RestOptions): Promise<Listener> {
  const { host, port, apiTimeoutMs, clock, log } = options;
  const routes = routesOf(publisher, options);

  async function answer(method: string, url: string): Promise<HttpAnswer> {
    const [path = "", query = ""] = url.split("?", 2);
    const route = routes.get(path);
    if (!route) throw new ProviderError("AKP_HTTP_PATH_UNKNOWN", { path, paths: [...routes.keys()].join(", ") });
    if (method !== "GET" && method !== "HEAD") throw new ProviderError("AKP_HTTP_METHOD_REFUSED", { method, path });
    return withDeadline(clock, apiTimeoutMs, Promise.resolve(route(new URLSearchParams(query))), () => {
      throw new ProviderError("AKP_HTTP_ANSWER_LATE", { path, limitMs: apiTimeoutMs });
    });
  }

  function rejected(thrown: unknown): HttpAnswer {
    const error = ProviderError.from(thrown);
    const { code, message, advice, entry } = error;
    if (code === "AKP_INTERNAL") log.error("failed to answer a request", { error });
    const given = json({ code, message, advice }, entry.http);
    const allow = code === "AKP_HTTP_METHOD_REFUSED" ? { allow: "GET, HEAD" } : {};
    return { ...given, headers: { ...given.headers, ...allow } };
  }

  return serveHttp(({ method = "", url = "/" }) => answer(method, url).catch(rejected), {
    ...{ host, port, log, what: "the inventory over REST" },
  });
}

function routesOf(publisher: Publisher, { version, metrics }: RestOptions): ReadonlyMap<string, Route> {
  const health: Route = () => json({ status: "ok" });
  const ready: Route = () => {
    const { inventory, offered } = publisher.snapshot();
    const counts = { nodes: inventory.nodes.length, offered: offered.length };
    return json({ status: "ready", ...counts, age_ms: publisher.ageMs, conditions: inventory.conditions });
  };
  const inventory: Route = (query) => {
    const body = [publisher.snapshot().fullJson(), `,"age_ms":${publisher.ageMs}}`];
    return query.has("pretty") ? json(JSON.parse(body.join(""))) : page("application/json", body);
  };
  return new Map<string, Route>([
    ["/health", health],
    ["/ready", ready],
    ["/version", () => json({ name: "akash-provider", version })],
    ["/v1/inventory", inventory],
    ["/metrics", async () => page(metrics.contentType, [await metrics.text()])],
    // Where the network's own operator has them.
    ["/metrics/health", health],
    ["/metrics/ready", ready],
  ]);
}

function json(value: unknown, status = 200): HttpAnswer {
  return page("application/json", [`${JSON.stringify(value, null, 2)}\n`], status);
}

function page(contentType: string, body: readonly (string | Buffer)[], status = 200): HttpAnswer {
  return { status, headers: { "content-type": contentType, "cache-control": "no-cache" }, body };
}
