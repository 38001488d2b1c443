/**
 * REST and gRPC answers. A stream starts with all names, then sends changes; a slow reader gets only the newest state.
 */
import { formatGoTime, formatTime } from "../../runtime/clock.ts";
import {
  operatorHostnameV1State,
  operatorHostnameV1StateRequest,
  operatorHostnameV1Status,
} from "../../runtime/grpc/akash-proto.ts";
import { readRequest } from "../../runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../runtime/grpc/methods.ts";
import { createChangeSignal, unary } from "../serving/grpc.ts";
import { leaseFields } from "../serving/rest.ts";
import type { HostState, HostStates } from "./host-states.ts";

/** Host names in one message of a stream: clients accept 4 MB, and each is a few hundred bytes. */
const messageHosts = 1_000;
/** Names with many conditions come in smaller messages. */
export const messageBytes = 1_048_576;

interface Served {
  readonly states: HostStates;
  readonly waitingFor: () => string | undefined;
  readonly leading: () => boolean;
  readonly backend: string;
}

export function hostnameMethods({
  states,
  waitingFor,
  leading,
  backend,
}: Served): [path: string, method: GrpcMethod][] {
  const getStatus = unary(() => {
    const status = { waitingFor: waitingFor() ?? "", leading: leading(), backend };
    return operatorHostnameV1Status.encode({ ...status, ...countsOf(states) });
  });
  const getState = unary((request) => {
    const { hostnames } = readRequest("StateRequest", operatorHostnameV1StateRequest, request);
    const whole = hostnames.length === 0;
    const chosen = whole ? [...states.list()] : hostnames.flatMap((host) => states.get(host) ?? []);
    return messageOf(chosen, [], whole, true);
  });
  const streamState: GrpcMethod = { kind: "stream", answers: (_, { signal }) => changesOf(states, signal) };
  const service = "/akash.operator.hostname.v1.HostnameRPC";
  return [
    [`${service}/GetStatus`, getStatus],
    [`${service}/GetState`, getState],
    [`${service}/StreamState`, streamState],
  ];
}

async function* changesOf(states: HostStates, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const changed = new Set(Array.from(states.list(), ({ host }) => host));
  const pause = createChangeSignal();
  const leave = states.onChange((host) => {
    changed.add(host);
    pause.notify();
  });
  try {
    for (let whole = true; !signal.aborted; whole = false) {
      const parts = nextSlice(states, changed);
      // Concatenated protobuf messages are one message with the fields of all.
      yield Buffer.concat([...parts, messageOf([], [], whole, changed.size === 0)]);
      while (changed.size === 0) await pause.next(signal);
    }
  } finally {
    leave();
  }
}

function nextSlice(states: HostStates, changed: Set<string>): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const host of changed) {
    if (parts.length >= messageHosts || bytes >= messageBytes) break;
    changed.delete(host);
    const state = states.get(host);
    const part = messageOf(state ? [state] : [], state ? [] : [host], false, false);
    parts.push(part);
    bytes += part.length;
  }
  return parts;
}

/** Whole: it replaces all earlier messages. Settled: nothing more is to be sent for now. */
function messageOf(states: readonly HostState[], gone: string[], whole: boolean, settled: boolean): Uint8Array {
  return operatorHostnameV1State.encode({ hostnames: states.map(hostnameOf), gone, whole, settled });
}

const nanoPerMs = 1_000_000n;

function hostnameOf({ host, lease, endpoints, changedAtMs, conditions, gap: _, ...rest }: HostState) {
  return {
    ...rest,
    hostname: host,
    leaseId: lease && { ...lease, bseq: 0 },
    endpointsKnown: endpoints !== undefined,
    endpointsReady: endpoints?.ready ?? 0,
    endpointsTotal: endpoints?.total ?? 0,
    conditions: [...conditions],
    changedAt: BigInt(Math.round(changedAtMs)) * nanoPerMs,
  };
}

function countsOf(states: HostStates) {
  const counts = { served: 0, waiting: 0, refused: 0, unhealthy: 0 };
  for (const { state, health } of states.list()) {
    counts[state] += 1;
    if (health === "unhealthy") counts.unhealthy += 1;
  }
  return counts;
}

/** `/managed-hostnames`: what is served; undefined while nothing is. */
export function managedView(states: HostStates): Readonly<Record<string, object>> | undefined {
  const served = sorted(states).filter(({ state }) => state === "served");
  return served.length === 0 ? undefined : Object.fromEntries(served.map((state) => [state.host, managed(state)]));
}

function managed({ lease, namespace, externalPort, service, changedAtMs }: HostState): object {
  return {
    LeaseID: lease && leaseFields(lease),
    Namespace: namespace,
    ExternalPort: externalPort,
    ServiceName: service,
    LastUpdate: formatGoTime(changedAtMs),
  };
}

/** `/hostnames`: all of them, with health and conditions. */
export function hostnamesView(states: HostStates): readonly object[] {
  return sorted(states).map(({ host, lease, externalPort, changedAtMs, gap: _, ...state }) => ({
    ...{ ...state, hostname: host, lease: lease && leaseFields(lease), external_port: externalPort },
    endpoints: state.endpoints ?? null,
    changed_at: formatTime(changedAtMs),
  }));
}

function sorted(states: HostStates): HostState[] {
  return [...states.list()].sort((a, b) => (a.host < b.host ? -1 : 1));
}
