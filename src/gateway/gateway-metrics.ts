/** What is counted of the gateway. Labels are routes of ours and reasons of ours, never what somebody sent. */
import type { CallEnds } from "../runtime/grpc/call-ends.ts";
import { grpcCodes } from "../runtime/grpc/grpc-status.ts";
import { serviceOf } from "../runtime/grpc/methods.ts";
import { createHistogram } from "../runtime/histogram.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { GrpcGateway } from "./grpc/grpc-gateway.ts";
import type { Route } from "./rest/route.ts";
import type { Refusal } from "./rest/server.ts";
import type { HandshakeFailure } from "./rest/tls-front.ts";
import type { Admission } from "./streams/admission.ts";

/** Seconds: from an answer out of a cache to a manifest that waits for the chain. */
const bounds = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 1, 5, 30];
const classes = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;

interface GatewayTally {
  answered(route: Route | undefined, status: number, tookMs: number): void;
  handshakeFailed(reason: HandshakeFailure): void;
  refused(reason: Refusal): void;
  measure(metrics: Metrics, measured: Measured): void;
}

/** Undefined is what has not begun. */
interface Measured {
  readonly connections: () => number;
  readonly streams: () => Pick<Admission, "count" | "endings"> | undefined;
  readonly grpc: () => Pick<GrpcGateway, "streams" | "ends"> | undefined;
}

export function createGatewayTally(): GatewayTally {
  const requests = new Map<Route | undefined, number[]>();
  const failures = new Map<HandshakeFailure, number>();
  const refusals = new Map<Refusal, number>();
  const latency = createHistogram(bounds);
  return {
    answered(route, status, tookMs) {
      latency.observe(tookMs / 1_000);
      let counts = requests.get(route);
      if (!counts) {
        counts = classes.map(() => 0);
        requests.set(route, counts);
      }
      const at = Math.floor(status / 100) - 1;
      counts[at] = (counts[at] ?? 0) + 1;
    },
    handshakeFailed: (reason) => void failures.set(reason, (failures.get(reason) ?? 0) + 1),
    refused: (reason) => void refusals.set(reason, (refusals.get(reason) ?? 0) + 1),
    measure(metrics, { connections, streams, grpc }) {
      metrics.read(
        { name: "akash_provider_gateway_streams", help: "Open logs, events and shells of tenants", kind: "gauge" },
        () => streams()?.count ?? 0,
      );
      metrics.read(
        {
          name: "akash_provider_gateway_stream_ends_total",
          help: "Streams that did not come to their own end, by error code",
          kind: "counter",
          labels: ["reason"],
        },
        () => [...(streams()?.endings ?? [])].map(([reason, count]) => [{ reason }, count] as const),
      );
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
        () => grpcSeries(grpc()?.ends),
      );
      metrics.read(
        {
          name: "akash_provider_gateway_grpc_streams",
          help: "Open gRPC calls with many answers, those about leases among them",
          kind: "gauge",
        },
        () => grpc()?.streams ?? 0,
      );
      metrics.readHistogram(
        { name: "akash_provider_gateway_request_seconds", help: "Time from a request's headers to its answer" },
        latency,
      );
      metrics.read(
        { name: "akash_provider_gateway_connections", help: "Open connections of the gateway", kind: "gauge" },
        connections,
      );
      metrics.read(
        {
          name: "akash_provider_gateway_handshake_failures_total",
          help: "Connections that never became TLS, by reason",
          kind: "counter",
          labels: ["reason"],
        },
        () => [...failures].map(([reason, count]) => [{ reason }, count] as const),
      );
      metrics.read(
        {
          name: "akash_provider_gateway_refusals_total",
          help: "Connections ended by a limit of the gateway, by reason",
          kind: "counter",
          labels: ["reason"],
        },
        () => [...refusals].map(([reason, count]) => [{ reason }, count] as const),
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
    const service = serviceOf(path);
    const method = path.slice(service.length + 2);
    return Object.entries(grpcCodes).flatMap(([status, code]) => {
      const count = counts[code] ?? 0;
      return count > 0 ? [[{ service, method, status }, count] as const] : [];
    });
  });
}

/** Without the names in it, like "GET /lease/status". */
function labelOf(route: Route | undefined): string {
  return route ? `${route.method} ${route.path.replaceAll(/\/\{\w+\}/g, "")}` : "none";
}
