/** What can go wrong between a client and the API server, to be switched on by tests. */
import type { Readable } from "node:stream";
import { type Kind, resourceOf } from "../../../../kube/kinds.ts";
import { StatusError } from "../objects/status-error.ts";
import type { Verb } from "./api-request.ts";

export interface Faults {
  /** Rejects the next request, or the given number. */
  reject(rejection: FaultyAnswer): void;
  /** As RBAC does, until it is allowed again. */
  forbid(verb: Verb, kind: Kind): void;
  allow(verb: Verb, kind: Kind): void;
  /** Executes the next request, or the given number, and breaks the connection before the answer. */
  loseAnswer(request: FaultyRequest): void;
  /** Delays every answer. */
  slow(delayMs: number): void;
  /** Delays all events of watches; reads and writes are not delayed. */
  lagWatches(delayMs: number): void;
  /** As if etcd were out of space: reads and watches work, writes fail. */
  readOnly(): void;
  /** As if etcd had no leader: requests time out, and watches are silent. */
  leaderless(): void;
  /** Lists show the state of so many versions ago, as far as that is remembered. */
  staleLists(versions: number): void;
  /** Limits pages of lists to this many objects, whatever limit was requested. */
  smallPages(objects: number): void;
  /** Ends every watch cleanly, as a server that stops does. */
  endWatches(): void;
  /** Breaks every watch in the middle of an event. */
  cutWatches(): void;
  /** Breaks every watch, later ones too, after so many events. */
  cutWatchesAfter(events: number): void;
  /** Open watches stay open and send nothing any more. */
  silenceWatches(): void;
  /** As `endWatches`, for followed logs. */
  endLogs(): void;
  cutLogs(): void;
  /** Versions before now are gone (410), for watches and for the further pages of lists. */
  forgetPast(): void;
  /** No version is ever remembered: each watch gets 410. */
  rememberNothing(): void;
  /**
   * As when etcd is restored from a backup: the state is that of so many versions ago, as far as that is remembered, and
   * the next change gets a version that was in use before. Every watch is cut.
   */
  goBack(versions: number): void;
  /** Ends all faults. Forgotten versions stay forgotten. */
  clear(): void;
}

interface FaultyAnswer extends FaultyRequest {
  readonly status: number;
  readonly retryAfterSeconds?: number;
}

interface FaultyRequest {
  readonly times?: number;
  readonly verb?: Verb;
  readonly kind?: Kind;
  /** Only of addresses that hold this: "/log". */
  readonly path?: string;
}

interface ReceivedRequest {
  readonly verb: Verb;
  /** "pods", "deployments.apps" */
  readonly resource: string;
  readonly path: string;
  readonly dryRun: boolean;
}

/** The faults as the server sees them. */
export interface FaultState {
  readonly delayMs: number;
  readonly watchLagMs: number;
  readonly staleVersions: number;
  readonly mostPageObjects: number;
  readonly cutAfterEvents: number | undefined;
  readonly remembersNothing: boolean;
  /** Followed logs. */
  readonly logs: Set<Readable>;
  /** Throws if this request is to be rejected. */
  check(request: ReceivedRequest): void;
  /** Whether the answer to this request is lost. */
  loses(request: ReceivedRequest): boolean;
}

export interface WatchFaults {
  end(): void;
  cut(): void;
  silence(): void;
  /** From now on for those that are open. */
  cutAfter(events: number): void;
}

const allIsWell = {
  delayMs: 0,
  watchLagMs: 0,
  staleVersions: 0,
  mostPageObjects: Number.POSITIVE_INFINITY,
  cutAfterEvents: undefined as number | undefined,
  remembersNothing: false,
  readOnly: false,
};

/** Operations on the store that tests trigger. */
interface ServerFaults {
  forget(): void;
  goBack(versions: number): void;
}

export function createFaults(watches: () => WatchFaults, server: ServerFaults): { faults: Faults; state: FaultState } {
  const rejections = createTickets<FaultyAnswer>();
  const losses = createTickets<FaultyRequest>();
  const forbidden = new Set<string>();
  const state = {
    ...allIsWell,
    logs: new Set<Readable>(),
    check(request: ReceivedRequest): void {
      const { verb, resource } = request;
      if (forbidden.has(`${verb} ${resource}`)) {
        throw new StatusError(
          403,
          "Forbidden",
          `${resource} is forbidden: User "test" cannot ${verb} resource "${resource}"`,
        );
      }
      if (state.readOnly && isKept(request))
        throw new StatusError(500, "", "etcdserver: mvcc: database space exceeded");
      const rejection = rejections.take(request);
      if (rejection) throw toStatusError(rejection);
    },
    loses: (request: ReceivedRequest) => losses.take(request) !== undefined,
  };
  const faults: Faults = {
    reject: (rejection) => rejections.add(rejection),
    loseAnswer: (request) => losses.add(request),
    forbid: (verb, kind) => void forbidden.add(`${verb} ${resourceOf(kind)}`),
    allow: (verb, kind) => void forbidden.delete(`${verb} ${resourceOf(kind)}`),
    slow(delayMs) {
      state.delayMs = delayMs;
    },
    lagWatches(delayMs) {
      state.watchLagMs = delayMs;
    },
    readOnly() {
      state.readOnly = true;
    },
    leaderless() {
      state.delayMs = leaderlessMs;
      rejections.add({ status: 504, times: Number.POSITIVE_INFINITY });
      watches().silence();
    },
    staleLists(versions) {
      state.staleVersions = versions;
    },
    smallPages(objects) {
      state.mostPageObjects = objects;
    },
    endWatches: () => watches().end(),
    cutWatches: () => watches().cut(),
    cutWatchesAfter(events) {
      state.cutAfterEvents = events;
      watches().cutAfter(events);
    },
    silenceWatches: () => watches().silence(),
    endLogs() {
      for (const log of state.logs) {
        state.logs.delete(log);
        log.push(null);
      }
    },
    cutLogs() {
      for (const log of state.logs) log.destroy(new Error("the connection was cut"));
    },
    forgetPast: () => server.forget(),
    rememberNothing() {
      state.remembersNothing = true;
    },
    goBack(versions) {
      watches().cut();
      server.goBack(versions);
    },
    clear() {
      rejections.clear();
      losses.clear();
      forbidden.clear();
      Object.assign(state, allIsWell);
      watches().cutAfter(Number.POSITIVE_INFINITY);
    },
  };
  return { faults, state };
}

/** A real server's time-out of a request while etcd does not answer. */
const leaderlessMs = 60_000;

/** Their deletion is written before they go. The deletion of others frees space, and a full etcd accepts it. */
const marked = new Set(["namespaces", "pods", "persistentvolumeclaims"]);

function isKept({ verb, resource, dryRun }: ReceivedRequest): boolean {
  if (dryRun) return false;
  return ["create", "update", "patch"].includes(verb) || (verb === "delete" && marked.has(resource));
}

/** Faults that each apply to a number of matching requests. */
function createTickets<T extends FaultyRequest>() {
  let tickets: { readonly fault: T; left: number }[] = [];
  return {
    add: (fault: T) => void tickets.push({ fault, left: fault.times ?? 1 }),
    take(request: ReceivedRequest): T | undefined {
      const found = tickets.find(({ fault }) => fits(fault, request));
      if (found) found.left -= 1;
      tickets = tickets.filter(({ left }) => left > 0);
      return found?.fault;
    },
    clear() {
      tickets = [];
    },
  };
}

function fits({ verb, kind, path = "" }: FaultyRequest, request: ReceivedRequest): boolean {
  if (verb !== undefined && verb !== request.verb) return false;
  if (kind !== undefined && resourceOf(kind) !== request.resource) return false;
  return request.path.includes(path);
}

const reasons: Readonly<Record<number, string>> = {
  401: "Unauthorized",
  409: "Conflict",
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

function toStatusError({ status, retryAfterSeconds }: FaultyAnswer): StatusError {
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  return new StatusError(status, reasons[status] ?? "", "a fault that a test switched on", details);
}
