/**
 * What the operator answers over gRPC. A stream begins with all host names and goes on with those that change; a reader
 * that is slow finds each once, as it is then, however often it changed meanwhile.
 */
import {
  operatorHostnameV1State,
  operatorHostnameV1StateRequest,
  operatorHostnameV1Status,
} from "../../../runtime/grpc/akash-proto.ts";
import { readRequest } from "../../../runtime/grpc/grpc-status.ts";
import type { GrpcMethod } from "../../../runtime/grpc/methods.ts";
import { limits } from "../../../runtime/limits.ts";
import type { HostState, HostStates } from "../host-states.ts";

interface Told {
  readonly states: HostStates;
  /** Why nothing can be told yet. */
  readonly waitingFor: () => string | undefined;
  readonly leading: () => boolean;
  /** "Traefik" */
  readonly backend: string;
}

export function hostnameMethods({ states, waitingFor, leading, backend }: Told): [path: string, method: GrpcMethod][] {
  const getStatus: GrpcMethod = {
    kind: "unary",
    answer: () => ({
      message: operatorHostnameV1Status.encode({
        waitingFor: waitingFor() ?? "",
        leading: leading(),
        backend,
        ...countsOf(states),
      }),
    }),
  };
  const getState: GrpcMethod = {
    kind: "unary",
    answer(request) {
      const { hostnames } = readRequest("StateRequest", operatorHostnameV1StateRequest, request);
      const isWhole = hostnames.length === 0;
      const asked = isWhole ? [...states.list()] : hostnames.flatMap((host) => states.get(host) ?? []);
      return { message: messageOf({ whole: isWhole, states: asked, gone: [], settled: true }) };
    },
  };
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
  let wake = (): void => undefined;
  const leave = states.onChange((host) => {
    changed.add(host);
    wake();
  });
  signal.addEventListener("abort", () => wake(), { once: true });
  try {
    for (let whole = true; !signal.aborted; whole = false) {
      const parts = nextSlice(states, changed);
      // Messages one after the other are one with the fields of all.
      yield Buffer.concat([...parts, messageOf({ whole, states: [], gone: [], settled: changed.size === 0 })]);
      while (changed.size === 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    leave();
  }
}

/** Takes off what goes into one message: some names have more to tell than others, and a client takes only so much at once. */
function nextSlice(states: HostStates, changed: Set<string>): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const host of changed) {
    if (parts.length >= limits.hostnameStreamSlice || bytes >= limits.hostnameStreamBytes) break;
    changed.delete(host);
    const state = states.get(host);
    const told = state ? { states: [state], gone: [] } : { states: [], gone: [host] };
    const part = messageOf({ whole: false, settled: false, ...told });
    parts.push(part);
    bytes += part.length;
  }
  return parts;
}

interface Message {
  /** What was told before is forgotten. */
  readonly whole: boolean;
  readonly states: readonly HostState[];
  readonly gone: readonly string[];
  /** There is nothing more to tell for now. */
  readonly settled: boolean;
}

function messageOf({ states, gone, ...rest }: Message): Uint8Array {
  return operatorHostnameV1State.encode({ ...rest, gone: [...gone], hostnames: states.map(hostnameOf) });
}

const nanoPerMs = 1_000_000n;

function hostnameOf({ host, lease, endpoints, changedAtMs, conditions, ...rest }: HostState) {
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
