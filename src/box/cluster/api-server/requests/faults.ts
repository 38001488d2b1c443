/** What can go wrong between a client and the API server, to be switched on by tests. */
import type { Readable } from "node:stream";
import { type Kind, resourceOf } from "../../../../kube/kinds.ts";
import { Refused } from "../objects/refused.ts";
import type { Verb } from "./api-request.ts";

export interface Faults {
  /** Rejects the next request, or so many of them. */
  reject(refusal: FaultyAnswer): void;
  /** As RBAC does, until it is allowed again. */
  forbid(verb: Verb, kind: Kind): void;
  allow(verb: Verb, kind: Kind): void;
  /** The next request, or so many of them, is done, and its answer never comes: the connection breaks. */
  loseAnswer(request: FaultyRequest): void;
  /** Every answer begins so much later. */
  slow(delayMs: number): void;
  /** Everything that watches tell, they tell so much later; reads and writes are as quick as ever. */
  lagWatches(delayMs: number): void;
  /** As where etcd is out of space: all is read and watched, and nothing that it would have to keep is taken. */
  readOnly(): void;
  /** As where etcd has no leader: the server answers nothing in time, and its watches are silent. */
  leaderless(): void;
  /** Lists show what was so many versions ago, as far as that is remembered. */
  staleLists(versions: number): void;
  /** Pages of lists have no more objects than this, however many were asked for. */
  smallPages(objects: number): void;
  /** Ends every watch politely, as a server that stops does. */
  endWatches(): void;
  /** Breaks every watch off in the middle of an event. */
  cutWatches(): void;
  /** Breaks every watch off, those to come too, after so many events. */
  cutWatchesAfter(events: number): void;
  /** The watches of now stay open, and tell nothing any more. */
  silenceWatches(): void;
  /** The same for logs that are followed. */
  endLogs(): void;
  cutLogs(): void;
  /** Versions before now are gone (410), for watches and for the further pages of lists. */
  forgetPast(): void;
  /** No version is ever remembered: each watch is told 410. */
  rememberNothing(): void;
  /**
   * As when etcd is restored from a backup: all is as it was so many versions ago, as far as that is remembered, and
   * the next change gets a version that another one had. Every watch is cut.
   */
  goBack(versions: number): void;
  /** All is well again. What was forgotten stays so. */
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

interface Asked {
  readonly verb: Verb;
  /** "pods", "deployments.apps" */
  readonly resource: string;
  readonly path: string;
  readonly dryRun: boolean;
}

/** The side of the server: what it must do now. */
export interface FaultState {
  readonly delayMs: number;
  readonly watchLagMs: number;
  readonly staleVersions: number;
  readonly mostPageObjects: number;
  readonly cutAfterEvents: number | undefined;
  readonly remembersNothing: boolean;
  /** Logs that are being followed. */
  readonly logs: Set<Readable>;
  /** Throws the rejection that this request gets, if it gets one. */
  check(asked: Asked): void;
  /** Whether the answer to this request is to get lost. */
  loses(asked: Asked): boolean;
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

/** What tests do to the server itself. */
interface ServerFaults {
  forget(): void;
  goBack(versions: number): void;
}

export function createFaults(watches: () => WatchFaults, server: ServerFaults): { faults: Faults; state: FaultState } {
  const refusals = createTickets<FaultyAnswer>();
  const losses = createTickets<FaultyRequest>();
  const forbidden = new Set<string>();
  const state = {
    ...allIsWell,
    logs: new Set<Readable>(),
    check(asked: Asked): void {
      const { verb, resource } = asked;
      if (forbidden.has(`${verb} ${resource}`)) {
        throw new Refused(
          403,
          "Forbidden",
          `${resource} is forbidden: User "test" cannot ${verb} resource "${resource}"`,
        );
      }
      if (state.readOnly && isKept(asked)) throw new Refused(500, "", "etcdserver: mvcc: database space exceeded");
      const refusal = refusals.take(asked);
      if (refusal) throw refused(refusal);
    },
    loses: (asked: Asked) => losses.take(asked) !== undefined,
  };
  const faults: Faults = {
    reject: (refusal) => refusals.add(refusal),
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
      refusals.add({ status: 504, times: Number.POSITIVE_INFINITY });
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
      refusals.clear();
      losses.clear();
      forbidden.clear();
      Object.assign(state, allIsWell);
      watches().cutAfter(Number.POSITIVE_INFINITY);
    },
  };
  return { faults, state };
}

/** What a real server lets a request take before it gives up on etcd. */
const leaderlessMs = 60_000;

/** Their end is written down before they go. The end of others makes room, and a full etcd takes it. */
const marked = new Set(["namespaces", "pods", "persistentvolumeclaims"]);

function isKept({ verb, resource, dryRun }: Asked): boolean {
  if (dryRun) return false;
  return ["create", "update", "patch"].includes(verb) || (verb === "delete" && marked.has(resource));
}

/** Each is good for so many requests that fit it. */
function createTickets<T extends FaultyRequest>() {
  let tickets: { readonly fault: T; left: number }[] = [];
  return {
    add: (fault: T) => void tickets.push({ fault, left: fault.times ?? 1 }),
    take(asked: Asked): T | undefined {
      const found = tickets.find(({ fault }) => fits(fault, asked));
      if (found) found.left -= 1;
      tickets = tickets.filter(({ left }) => left > 0);
      return found?.fault;
    },
    clear() {
      tickets = [];
    },
  };
}

function fits({ verb, kind, path = "" }: FaultyRequest, asked: Asked): boolean {
  if (verb !== undefined && verb !== asked.verb) return false;
  if (kind !== undefined && resourceOf(kind) !== asked.resource) return false;
  return asked.path.includes(path);
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

function refused({ status, retryAfterSeconds }: FaultyAnswer): Refused {
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  return new Refused(status, reasons[status] ?? "", "a fault that a test switched on", details);
}
