/** The loop of one host name: observe, plan, apply, note. Only the leader writes; other copies note the same states. */
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { providerHostName } from "../../kube/objects/provider-host.ts";
import { isWildcard } from "../../market/host-names.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Condition } from "../../runtime/condition.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import type { IgnoreList } from "../ignore-list.ts";
import type { Lead, WritePace } from "../write-pace.ts";
import type { Probes, Proofs } from "./checks.ts";
import { type DeclaredHost, projectHost, serviceKey } from "./directive.ts";
import { type HostState, type HostStates, hostCondition, type NewHostState } from "./host-states.ts";
import { isRoute, type LiveRoute, type OwnRoute } from "./live-route.ts";
import {
  answerMs,
  type HostClaim,
  type HostPlan,
  hasRouteSince,
  type ObservedHost,
  type PlanRules,
  planHost,
  routeOf,
  settleMs,
  soonest,
} from "./plan.ts";
import type { Came, RouteWrites } from "./route-writes.ts";
import type { HostnameView } from "./view.ts";

/** That no route led to a name for a moment is reported this long: failures are looked into soon. */
export const gapReportedMs = 3_600_000;

interface HostnameLoopDeps {
  readonly view: HostnameView;
  readonly kube: Pick<Kube, "get">;
  readonly writes: RouteWrites;
  readonly pace: WritePace;
  readonly states: HostStates;
  readonly ignored: IgnoreList;
  readonly proofs: Proofs | undefined;
  readonly probes: Probes | undefined;
  readonly transportFailure: (service: string) => string | undefined;
  readonly manifestNamespace: string;
  readonly ingressClass: string;
  readonly retryDelayMs: number;
  readonly lead: Lead;
  readonly clock: Clock;
  readonly log: Log;
}

export class HostnameLoop {
  readonly #deps: HostnameLoopDeps;
  readonly #rules: PlanRules;

  constructor(rules: PlanRules, deps: HostnameLoopDeps) {
    this.#deps = deps;
    this.#rules = rules;
  }

  readonly look = async (host: string, stopping: AbortSignal): Promise<Outcome> => {
    const { view, writes, retryDelayMs } = this.#deps;
    if (view.trouble !== undefined) return recheck(retryDelayMs);
    const { leading } = this.#deps.lead;
    const signal = leading && AbortSignal.any([stopping, leading]);
    const seen = await this.#observe(host, signal);
    const plan = planHost(seen, this.#rules);
    if (plan.verdict === "stale") return recheck(retryDelayMs);
    this.#noteProof(seen, plan);
    const note = (came: Came) => this.#note(seen, plan, came);
    const came = signal ? await writes.apply(host, plan, signal, note) : { conditions: [] };
    const failure = seen.unconfirmed ?? came.failure;
    if (plan.verdict === "gone" && !failure) return this.#forget(host);
    note(came);
    if (failure) return outcomeOf(failure);
    if (plan.verdict === "waiting" && seen.declared?.says) return this.#wait(seen.declared.says, plan);
    return at(soonest([plan.recheckMs, this.#gapLeftMs(host)]));
  };

  #gapLeftMs(host: string): number | undefined {
    const gap = this.#deps.states.get(host)?.gap;
    return gap && gap.endedAtMs + gapReportedMs - this.#deps.clock.now();
  }

  async #observe(host: string, signal: AbortSignal | undefined): Promise<ObservedHost> {
    const { view, clock, pace, proofs } = this.#deps;
    const declared = view.host(host);
    const says = declared?.says;
    const routes = [...view.routes(host)].filter((route) => declared || !this.#isPutRight(route, host));
    return {
      ...{ host, declared, routes, ...(await this.#confirm(host, routes, declared, signal)) },
      claims: this.#claims(host),
      unproven: says && proofs?.missing(host, says.lease.owner),
      manifest: says && view.manifest(says.namespace),
      service: says && view.services.get({ namespace: says.namespace, name: says.service }),
      endpoints: says && view.endpoints(serviceKey(says)),
      transportFailure: says && this.#deps.transportFailure(serviceKey(says)),
      unsettledMs: pace.unsettledMs(host, settleMs, this.#deps.lead.sinceMs),
      pauseMs: pace.pauseMs(host),
      isLeading: signal !== undefined,
      nowMs: clock.now(),
      isServed: view.isServed,
      live: (kind, namespace, name) => view.route(kind, namespace, name),
    };
  }

  /** Another host was written into the route of a declared name, whose own loop puts that right. */
  #isPutRight({ name, namespace }: LiveRoute, host: string): boolean {
    return name !== providerHostName(host) && this.#deps.view.declaredAs(name)?.says?.namespace === namespace;
  }

  /** A cached declaration may be older than another lease's route, so only the server's own copy may remove that. */
  async #confirm(
    host: string,
    routes: readonly OwnRoute[],
    declared: DeclaredHost | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Pick<ObservedHost, "confirmed" | "unconfirmed">> {
    const confirmed = new Map<string, DeclaredHost | undefined>();
    const foreign = routes.filter(({ namespace }) => namespace !== declared?.says?.namespace);
    if (!signal || foreign.length === 0 || (declared && !declared.says)) return { confirmed, unconfirmed: undefined };
    const others = declared ? [] : foreign.filter(isRoute).map(({ name }) => name);
    try {
      for (const name of new Set([providerHostName(host), ...others])) {
        const at = { namespace: this.#deps.manifestNamespace, name };
        const live = await this.#deps.kube.get(kinds.providerHost, at, { signal });
        confirmed.set(name, live && projectHost(live));
      }
      return { confirmed, unconfirmed: undefined };
    } catch (thrown) {
      signal.throwIfAborted();
      return { confirmed, unconfirmed: thrown };
    }
  }

  /** A rejected name without a route blocks no other: or an owner who proves nothing could claim every name first. */
  *#claims(host: string): Iterable<HostClaim> {
    const { view, states, proofs } = this.#deps;
    for (const declared of view.overlapping(host)) {
      // Every controller prefers an exact name to a wildcard: once both are proven, both are served.
      if (proofs && isWildcard(declared.key) !== isWildcard(host)) continue;
      const known = states.get(declared.key);
      const isRejected = known?.state === "refused" && known.namespace === declared.says?.namespace;
      const isServed = hasRouteSince(declared, view.routes(declared.key));
      if (!isRejected || isServed) yield { declared, isServed };
    }
  }

  #noteProof({ host, declared, unproven }: ObservedHost, { isAllowed, conditions }: HostPlan): void {
    const owner = declared?.says?.lease.owner;
    if (!owner) return;
    if (isAllowed && unproven !== undefined) this.#deps.proofs?.believe(host, owner);
    if (conditions.some(({ type }) => type === "ProofMissing")) this.#deps.proofs?.ask(host, owner);
  }

  #forget(host: string): Outcome {
    const { states, ignored, proofs } = this.#deps;
    const lease = states.get(host)?.lease;
    if (lease) ignored.succeeded(lease, host);
    states.forget(host);
    proofs?.forget(host);
    return done();
  }

  /** Tried again some times, as the network's operator does, and from then on when something of it changes. */
  #wait({ lease, host }: NonNullable<DeclaredHost["says"]>, plan: HostPlan): Outcome {
    const { ignored, retryDelayMs } = this.#deps;
    if (ignored.isFlagged(lease)) return at(plan.recheckMs);
    const reason = plan.conditions[0]?.message ?? "";
    ignored.failed(lease, new ProviderError("AKP_HOSTNAME_WAITS", { reason }), host);
    return at(soonest([plan.recheckMs, retryDelayMs]));
  }

  #note(seen: ObservedHost, plan: HostPlan, came: Came): void {
    const { view, states, ignored, log, clock } = this.#deps;
    const { host } = seen;
    const before = states.get(host);
    const state = this.#stateOf(seen, plan, came, before);
    // It is another lease's now: nothing of it fails for the one before.
    const isOther = before?.lease && before.namespace !== state.namespace;
    if (isOther) ignored.succeeded(before.lease, host);
    if (plan.verdict === "served" && state.lease) ignored.succeeded(state.lease, host);
    for (const { type, message } of state.conditions) {
      if (!before?.conditions.some((each) => each.type === type))
        log.info("host name has a condition", { host, type, message });
    }
    states.note(state, clock.now());
    // Whether it blocks other names depends on whether it is rejected, and has a route all the same.
    const [wasRejected, isRejected] = [before?.state === "refused", state.state === "refused"];
    if (wasRejected !== isRejected || (isRejected && before?.route !== state.route)) view.wakeOverlapping(host);
  }

  #stateOf(seen: ObservedHost, plan: HostPlan, came: Came, before: HostState | undefined): NewHostState {
    const { view, probes } = this.#deps;
    const { host, declared, endpoints, nowMs } = seen;
    const says = declared?.says;
    const own = says && routeOf(says, seen, this.#rules);
    const hasClass = view.hasClass();
    const found = own ? [...this.#faultsOf(own, endpoints, hasClass), ...(probes?.conditionsOf(host) ?? [])] : [];
    const gap = gapOf(came, before, nowMs);
    const given = [...plan.conditions, ...came.conditions, ...(gap ? [gapCondition(gap)] : [])];
    const lacks = given.some(({ type }) => type === "RouteFailed" || type === "RouteMissing");
    const isServed = own !== undefined || (plan.verdict === "served" && !lacks);
    const state = plan.verdict === "refused" ? "refused" : isServed ? "served" : "waiting";
    // A route that leads to no Service serves nothing.
    const isLost = own !== undefined && given.some(({ type }) => type === "ServiceMissing");
    const isSeen = endpoints !== undefined && hasClass !== undefined;
    // Until a controller has written a status, nothing shows that one serves the route.
    const isAnswered = isSeen && own?.acceptance.state === "accepted";
    const health = isLost || found.length > 0 ? "unhealthy" : isAnswered ? "healthy" : "unknown";
    const route = own?.acceptance.state ?? (state === "served" ? "unknown" : "none");
    return { ...leaseOf(seen, before), host, state, health, route, endpoints, conditions: [...given, ...found], gap };
  }

  #faultsOf({ kind, acceptance, createdAtMs }: LiveRoute, endpoints: HostState["endpoints"], hasClass?: boolean) {
    const isLate = acceptance.isSilent && this.#deps.clock.now() - createdAtMs >= answerMs;
    const faults: (Condition | false | undefined)[] = [
      kind === kinds.ingress &&
        hasClass === false &&
        hostCondition("ClassMissing", `the cluster has no IngressClass ${this.#deps.ingressClass}`),
      acceptance.state === "refused" && hostCondition("RouteNotAccepted", acceptance.message ?? ""),
      isLate && hostCondition("RouteNotAccepted", "no controller has answered"),
      endpoints?.ready === 0 && hostCondition("EndpointsMissing", "no workload of it is ready"),
    ];
    return faults.filter((each) => each !== false && each !== undefined);
  }
}

function at(recheckMs: number | undefined): Outcome {
  return recheckMs === undefined ? done() : recheck(recheckMs);
}

/** Of an undeclared name whose routes cannot be removed: what was known of it. */
function leaseOf({ declared, routes: [route] }: ObservedHost, before: HostState | undefined) {
  const known = declared ? declared.says : before;
  const { lease, namespace = "", service = "", externalPort = 0 } = known ?? {};
  if (known || declared) return { lease, namespace, service, externalPort };
  return { lease: route?.lease, namespace: route?.namespace ?? "", service, externalPort };
}

function gapOf({ gapMs }: Came, before: HostState | undefined, nowMs: number): HostState["gap"] {
  const gap = gapMs === undefined ? before?.gap : { gapMs, endedAtMs: nowMs };
  return gap && nowMs < gap.endedAtMs + gapReportedMs ? gap : undefined;
}

function gapCondition({ gapMs }: NonNullable<HostState["gap"]>): Condition {
  const text = `no route led to it for ${Math.ceil(gapMs)} ms: the controller takes no second one`;
  return hostCondition("TransferGap", text);
}

/** What the API server rejects it rejects again, until something changes; anything else is tried again. */
function outcomeOf(thrown: unknown): Outcome {
  const passes = ["AKP_KUBE_REFUSED", "AKP_KUBE_TERMINATING", "AKP_KUBE_NOT_FOUND", "AKP_KUBE_KIND_MISSING"] as const;
  if (passes.some((code) => ProviderError.is(thrown, code))) return waiting("cluster", reasonOf(thrown));
  throw thrown;
}
