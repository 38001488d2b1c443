/**
 * The operator's HTTP listener, for people, probes and Prometheus. It answers from what is known, and never waits for the
 * cluster.
 */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { withDeadline } from "../../../runtime/clock.ts";
import { ProviderError } from "../../../runtime/errors.ts";
import type { ListenAddress, Listener } from "../../../runtime/listener.ts";
import type { Metrics } from "../../../runtime/metrics.ts";
import type { OperatorGround } from "../../ground.ts";
import { type HttpAnswer, serveHttp } from "../../serving/http-server.ts";
import type { Publisher } from "./publisher.ts";

export interface RestOptions extends ListenAddress, Pick<OperatorGround, "clock" | "log"> {
  /** How long a request may take. */
  readonly apiTimeoutMs: number;
  readonly version: string;
  readonly metrics: Pick<Metrics, "text" | "contentType">;
}

interface Answer {
  readonly contentType: string;
  readonly body: readonly (string | Buffer)[];
}

type Route = (query: URLSearchParams) => Answer | Promise<Answer>;

export async function startRest(publisher: Publisher, options: RestOptions): Promise<Listener> {
  const { apiTimeoutMs, clock, log } = options;
  const routes = routesOf(publisher, options);

  async function answer({ method = "", url = "/" }: IncomingMessage): Promise<Answer> {
    const [path = "", query = ""] = url.split("?", 2);
    const route = routes.get(path);
    if (!route) throw new ProviderError("AKP_HTTP_PATH_UNKNOWN", { path, paths: [...routes.keys()].join(", ") });
    if (method !== "GET" && method !== "HEAD") throw new ProviderError("AKP_HTTP_METHOD_REFUSED", { method, path });
    return withDeadline(clock, apiTimeoutMs, Promise.resolve(route(new URLSearchParams(query))), () => {
      throw new ProviderError("AKP_HTTP_ANSWER_LATE", { path, limitMs: apiTimeoutMs });
    });
  }

  const { host, port } = options;
  const settled = (request: IncomingMessage) =>
    answer(request).then(
      (given) => answerOf(200, given),
      (thrown) => {
        const error = ProviderError.from(thrown);
        if (error.code === "AKP_INTERNAL") log.error("failed to answer a request", { error });
        return refusal(error);
      },
    );
  return serveHttp(settled, { host, port, what: "the inventory over REST", log });
}

function routesOf(publisher: Publisher, { version, metrics }: RestOptions): ReadonlyMap<string, Route> {
  const health: Route = () => json({ status: "ok" });
  const ready: Route = () => {
    const { inventory, offered } = publisher.picture();
    return json({
      status: "ready",
      nodes: inventory.nodes.length,
      offered: offered.length,
      age_ms: publisher.ageMs,
      conditions: inventory.conditions,
    });
  };
  const inventory: Route = (query) => {
    const body = [publisher.picture().fullJson(), `,"age_ms":${publisher.ageMs}}`];
    if (!query.has("pretty")) return { contentType: "application/json", body };
    return json(JSON.parse(body.join("")));
  };
  return new Map<string, Route>([
    ["/health", health],
    ["/ready", ready],
    ["/version", () => json({ name: "akash-provider", version })],
    ["/v1/inventory", inventory],
    ["/metrics", async () => ({ contentType: metrics.contentType, body: [await metrics.text()] })],
    // Where the network's own operator has them.
    ["/metrics/health", health],
    ["/metrics/ready", ready],
  ]);
}

function json(value: unknown): Answer {
  return { contentType: "application/json", body: [`${JSON.stringify(value, null, 2)}\n`] };
}

function refusal(error: ProviderError): HttpAnswer {
  const { code, message, advice, entry } = error;
  const allow = code === "AKP_HTTP_METHOD_REFUSED" ? { allow: "GET, HEAD" } : undefined;
  return answerOf(entry.http, json({ code, message, advice }), allow);
}

function answerOf(status: number, { contentType, body }: Answer, more?: OutgoingHttpHeaders): HttpAnswer {
  return { status, headers: { "content-type": contentType, "cache-control": "no-cache", ...more }, body };
}
