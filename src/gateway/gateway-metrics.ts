/** What is counted of the gateway. Labels are routes of ours and reasons of ours, never what somebody sent. */

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

/** Seconds: from an answer out of a cache to a manifest that waits for the chain. */
const bounds = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 1, 5, 30];
const classes = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

interface Measured {
  readonly server: Pick<RestServer, "connections">;
  readonly admission: Pick<Admission, "count" | "endings">;
  readonly grpc: Pick<GrpcGateway, "connections" | "streams" | "ends"> | undefined;
}

export function createGatewayMetrics() {
  const requests = new Map<Route | undefined, number[]>();
  const failures = new Map<HandshakeFailure, number>();
  const refusals = new Map<RejectionReason, number>();
  const latency = createHistogram(bounds);
  return {
    answered(route: Route | undefined, status: number, tookMs: number): void {
      latency.observe(tookMs / 1_000);
      let counts = requests.get(route);
      if (!counts) {
        counts = classes.map(() => 0);
        requests.set(route, counts);
      }
      const at = Math.floor(status / 100) - 1;
      counts[at] = (counts[at] ?? 0) + 1;
    },
    handshakeFailed: (reason: HandshakeFailure) => void failures.set(reason, (failures.get(reason) ?? 0) + 1),
    refused: (reason: RejectionReason) => void refusals.set(reason, (refusals.get(reason) ?? 0) + 1),
    /** Undefined until the gateway is open. */
    measure(metrics: Metrics, gateway: () => Measured | undefined): void {
      const byReason = (name: string, help: string, counts: () => ReadonlyMap<string, number> | undefined) =>
        metrics.read({ name: `akash_provider_gateway_${name}`, help, kind: "counter", labels: ["reason"] }, () =>
          [...(counts() ?? [])].map(([reason, count]) => [{ reason }, count] as const),
        );
      metrics.readEach("gauge", "akash_provider_gateway", [
        ["streams", "Open logs, events and shells of tenants", () => gateway()?.admission.count ?? 0],
        [
          "grpc_streams",
          "Open gRPC calls with many answers, those about leases among them",
          () => gateway()?.grpc?.streams ?? 0,
        ],
        [
          "connections",
          "Open connections of the gateway",
          () => (gateway()?.server.connections ?? 0) + (gateway()?.grpc?.connections ?? 0),
        ],
      ]);
      byReason(
        "stream_ends_total",
        "Streams that did not come to their own end, by error code",
        () => gateway()?.admission.endings,
      );
      byReason("handshake_failures_total", "Connections that never became TLS, by reason", () => failures);
      byReason("refusals_total", "Connections ended by a limit of the gateway, by reason", () => refusals);
      metrics.read(
        {
          name: "akash_provider_gateway_requests_total",
          help: "Requests answered by the gateway, by route and class of status; none is what has no route",
          kind: "counter",
          labels: ["route", "status"],
        },
        () => [...requests].flatMap(([route, counts]) => seriesOf(labelOf(route), counts)),
      );
      metrics.read(
        {
          name: "akash_provider_gateway_grpc_calls_total",
          help: "gRPC calls that ended, by method and status; other is what has no method, and Canceled whoever left before",
          kind: "counter",
          labels: ["service", "method", "status"],
        },
        () => grpcSeries(gateway()?.grpc?.ends),
      );
      metrics.readHistogram(
        { name: "akash_provider_gateway_request_seconds", help: "Time from a request's headers to its answer" },
        latency,
      );
    },
  };
}

function seriesOf(route: string, counts: readonly number[]) {
  return classes.flatMap((status, at) => {
    const count = counts[at] ?? 0;
    return count > 0 ? [[{ route, status }, count] as const] : [];
  });
}

function grpcSeries(ends: CallEnds | undefined) {
  const rows = ends ? ([...ends.methods, ["/other/other", ends.others]] as const) : [];
  return rows.flatMap(([path, counts]) => {
    const service = grpcServiceOf(path);
    const method = path.slice(service.length + 2);
    return Object.entries(grpcCodes).flatMap(([status, code]) => {
      const count = counts[code] ?? 0;
      return count > 0 ? [[{ service, method, status }, count] as const] : [];
    });
  });
}

function labelOf(route: Route | undefined): string {
  return route ? `${route.method} ${route.path.replaceAll(/\/\{\w+\}/g, "")}` : "none";
}
