/** Metrics of the gateway. Labels are routes and reasons of ours, never a client's text. */
import type { CallEnds } from "../runtime/grpc/call.ts";
import { grpcCodes } from "../runtime/grpc/grpc-status.ts";
import { grpcServiceOf } from "../runtime/grpc/methods.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { createHistogram } from "../runtime/metrics.ts";
import type { GrpcGateway } from "./grpc/grpc-gateway.ts";
import type { Route } from "./rest/route.ts";
import type { RejectionReason, RestServer } from "./rest/server.ts";
import type { HandshakeFailure } from "./rest/tls-front.ts";
import type { Admission } from "./streams/admission.ts";

/** Seconds: from a cached response to a manifest that waits for the chain. */
const bounds = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 1, 5, 30];
const classes = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;

interface Measured {
  readonly server: Pick<RestServer, "connections">;
  readonly admission: Pick<Admission, "count" | "endings">;
  readonly grpc: Pick<GrpcGateway, "connections" | "streams" | "ends"> | undefined;
}

type Counts = ReadonlyMap<string, number>;

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

export function createGatewayMetrics() {
  const requests = new Map<Route | undefined, number[]>();
  const failures = new Map<HandshakeFailure, number>();
  const rejections = new Map<RejectionReason, number>();
  const latency = createHistogram(bounds);
  return {
    answered(route: Route | undefined, status: number, tookMs: number): void {
      latency.observe(tookMs / 1_000);
      const counts = requests.get(route) ?? classes.map(() => 0);
      requests.set(route, counts);
      const at = Math.floor(status / 100) - 1;
      counts[at] = (counts[at] ?? 0) + 1;
    },
    handshakeFailed: (reason: HandshakeFailure) => void failures.set(reason, (failures.get(reason) ?? 0) + 1),
    rejected: (reason: RejectionReason) => void rejections.set(reason, (rejections.get(reason) ?? 0) + 1),
    /** Undefined until the gateway is open. */
    measure(metrics: Metrics, gateway: () => Measured | undefined): void {
      metrics.readEach("gauge", "akash_provider_gateway", [
        ["streams", "Open streams of logs, events and shells", () => gateway()?.admission.count ?? 0],
        ["grpc_streams", "Open gRPC calls with server streaming", () => gateway()?.grpc?.streams ?? 0],
        [
          ...(["connections", "Open connections of the gateway"] as const),
          () => (gateway()?.server.connections ?? 0) + (gateway()?.grpc?.connections ?? 0),
        ],
      ]);
      const byReason = (name: string, help: string, counts: () => Counts | undefined) =>
        metrics.read({ name: `akash_provider_gateway_${name}_total`, help, kind: "counter", labels: ["reason"] }, () =>
          [...(counts() ?? [])].map(([reason, count]) => [{ reason }, count] as const),
        );
      byReason("stream_ends", "Streams that ended early, by error code", () => gateway()?.admission.endings);
      byReason("handshake_failures", "Connections whose TLS handshake failed, by reason", () => failures);
      byReason("refusals", "Connections ended by a limit of the gateway, by reason", () => rejections);
      metrics.read(
        {
          name: "akash_provider_gateway_requests_total",
          help: "REST requests, by route and status class; route none is an unknown path",
          ...{ kind: "counter", labels: ["route", "status"] },
        },
        () => [...requests].flatMap(([route, counts]) => seriesOf(labelOf(route), counts)),
      );
      metrics.read(
        {
          name: "akash_provider_gateway_grpc_calls_total",
          help: "gRPC calls that ended, by method and status; other is an unknown method, Canceled a client that left",
          ...{ kind: "counter", labels: ["service", "method", "status"] },
        },
        () => grpcSeries(gateway()?.grpc?.ends),
      );
      const help = "Time from a request's headers to its response";
      metrics.readHistogram({ name: "akash_provider_gateway_request_seconds", help }, latency);
    },
  };
}

function seriesOf(route: string, counts: readonly number[]) {
  const series = classes.map((status, at) => [{ route, status }, counts[at] ?? 0] as const);
  return series.filter(([, count]) => count > 0);
}

function grpcSeries(ends: CallEnds | undefined) {
  const rows = ends ? ([...ends.methods, ["/other/other", ends.others]] as const) : [];
  return rows.flatMap(([path, counts]) => {
    const service = grpcServiceOf(path);
    const method = path.slice(service.length + 2);
    const codes = Object.entries(grpcCodes);
    const series = codes.map(([status, code]) => [{ service, method, status }, counts[code] ?? 0] as const);
    return series.filter(([, count]) => count > 0);
  });
}

function labelOf(route: Route | undefined): string {
  return route ? `${route.method} ${route.path.replaceAll(/\/\{\w+\}/g, "")}` : "none";
}
