/** The reconcile loop of one host name: observe, plan, apply, record. Only the leader writes; other copies record the same states. */
import { kinds } from "../../kube/kinds.ts";
import { providerHostName } from "../../kube/objects/provider-host.ts";
import { isWildcard } from "../../market/host-names.ts";
import type { Condition } from "../../runtime/condition.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import type { IgnoreList } from "../ignore-list.ts";
import type { Probes, Proofs } from "./checks.ts";
import { type DeclaredHost, type DeclaredRoute, projectHost, serviceKey } from "./directive.ts";
import { type HostState, type HostStates, hostCondition, type NewHostState } from "./host-states.ts";
import { isRoute, type LiveRoute, type OwnRoute } from "./live-route.ts";
import {
  answerMs,
  earliest,
  type HostClaim,
  type HostPlan,
  hasRouteSince,
  type ObservedHost,
  type PlanRules,
  planHost,
  routeOf,
  settleMs,
} from "./plan.ts";
import type { RouteWrites, WriteResult } from "./route-writes.ts";
import type { HostnameDeps } from "./view.ts";

/** A moment without a route in a transfer is reported this long. */
export const gapReportedMs = 3_600_000;

interface HostnameLoopDeps extends HostnameDeps {
  readonly writes: RouteWrites;
  readonly states: HostStates;
  readonly ignored: IgnoreList;
  readonly proofs: Proofs | undefined;
  readonly probes: Probes | undefined;
  readonly transportFailure: (service: string) => string | undefined;
  readonly manifestNamespace: string;
  readonly ingressClass: string;
  readonly rules: PlanRules;
}

export async function reconcileHost(deps: HostnameLoopDeps, host: string, stopping: AbortSignal): Promise<Outcome> {
  const { view, writes, states, clock, retryDelayMs, lead, rules } = deps;
  if (view.unavailableReason !== undefined) return recheck(retryDelayMs);
  const signal = lead.leading && AbortSignal.any([stopping, lead.leading]);
  const observed = await observe(deps, host, signal);
  const plan = planHost(observed, rules);
  if (plan.verdict === "stale") return recheck(retryDelayMs);
  recordProof(deps, observed, plan);
  const record = (result: WriteResult) => recordState(deps, observed, plan, result);
  const result = signal ? await writes.apply(host, plan, signal, record) : { conditions: [] };
  const failure = observed.unconfirmed ?? result.failure;
  if (plan.verdict === "gone" && !failure) return forget(deps, host);
  record(result);
  if (failure) return outcomeOf(failure);
  if (plan.verdict === "waiting" && observed.declared?.target) return waitFor(deps, observed.declared.target, plan);
  const gap = states.get(host)?.gap;
  return recheckAt(earliest([plan.recheckMs, gap && gap.endedAtMs + gapReportedMs - clock.now()]));
}

async function observe(deps: HostnameLoopDeps, host: string, signal: AbortSignal | undefined): Promise<ObservedHost> {
  const { view, clock, pace, proofs, lead, transportFailure } = deps;
  const declared = view.host(host);
  const target = declared?.target;
  // Another host was written into the route of a declared name: that name's own loop puts it right.
  const isOfOther = ({ name, namespace }: LiveRoute) =>
    name !== providerHostName(host) && view.declaredAs(name)?.target?.namespace === namespace;
  const routes = [...view.routes(host)].filter((route) => declared || !isOfOther(route));
  return {
    ...{ host, declared, routes, ...(await confirm(deps, host, routes, declared, signal)) },
    claims: claimsOf(deps, host),
    unproven: target && proofs?.missing(host, target.lease.owner),
    manifest: target && view.manifest(target.namespace),
    service: target && view.services.get({ namespace: target.namespace, name: target.service }),
    endpoints: target && view.endpoints(serviceKey(target)),
    transportFailure: target && transportFailure(serviceKey(target)),
    unsettledMs: pace.unsettledMs(host, settleMs, lead.sinceMs),
    pauseMs: pace.pauseMs(host),
    isLeading: signal !== undefined,
    nowMs: clock.now(),
    isServed: view.isServed,
    live: (kind, namespace, name) => view.route(kind, namespace, name),
  };
}

/** A cached declaration may be older than another lease's route, so only the server's own copy may remove that. */
async function confirm(
  { kube, manifestNamespace: namespace }: HostnameLoopDeps,
  host: string,
  routes: readonly OwnRoute[],
  declared: DeclaredHost | undefined,
  signal: AbortSignal | undefined,
): Promise<Pick<ObservedHost, "confirmed" | "unconfirmed">> {
  const confirmed = new Map<string, DeclaredHost | undefined>();
  const foreign = routes.filter((route) => route.namespace !== declared?.target?.namespace);
  if (!signal || foreign.length === 0 || (declared && !declared.target)) return { confirmed, unconfirmed: undefined };
  const others = declared ? [] : foreign.filter(isRoute).map(({ name }) => name);
  try {
    for (const name of new Set([providerHostName(host), ...others])) {
      const live = await kube.get(kinds.providerHost, { namespace, name }, { signal });
      confirmed.set(name, live && projectHost(live));
    }
    return { confirmed, unconfirmed: undefined };
  } catch (thrown) {
    signal.throwIfAborted();
    return { confirmed, unconfirmed: thrown };
  }
}

/** A rejected name without a route blocks no other: or an owner who proves nothing could claim every name first. */
function* claimsOf({ view, states, proofs }: HostnameLoopDeps, host: string): Iterable<HostClaim> {
  for (const declared of view.overlapping(host)) {
    // Every controller prefers an exact name to a wildcard: once both are proven, both are served.
    if (proofs && isWildcard(declared.key) !== isWildcard(host)) continue;
    const known = states.get(declared.key);
    const isRejected = known?.state === "refused" && known.namespace === declared.target?.namespace;
    const isServed = hasRouteSince(declared, view.routes(declared.key));
    if (!isRejected || isServed) yield { declared, isServed };
  }
}

function recordProof({ proofs }: HostnameLoopDeps, observed: ObservedHost, { isAllowed, conditions }: HostPlan): void {
  const { host, declared, unproven } = observed;
  const owner = declared?.target?.lease.owner;
  if (!owner) return;
  if (isAllowed && unproven !== undefined) proofs?.trust(host, owner);
  if (conditions.some(({ type }) => type === "ProofMissing")) proofs?.lookUpSoon(host, owner);
}

function forget({ states, ignored, proofs }: HostnameLoopDeps, host: string): Outcome {
  const lease = states.get(host)?.lease;
  if (lease) ignored.succeeded(lease, host);
  states.forget(host);
  proofs?.forget(host);
  return done();
}

/** Tried again some times, as the network's operator does, and from then on when something of it changes. */
function waitFor({ ignored, retryDelayMs }: HostnameLoopDeps, { lease, host }: DeclaredRoute, plan: HostPlan): Outcome {
  if (ignored.isFlagged(lease)) return recheckAt(plan.recheckMs);
  const reason = plan.conditions[0]?.message ?? "";
  ignored.failed(lease, new ProviderError("AKP_HOSTNAME_WAITS", { reason }), host);
  return recheckAt(earliest([plan.recheckMs, retryDelayMs]));
}

function recordState(deps: HostnameLoopDeps, observed: ObservedHost, plan: HostPlan, result: WriteResult): void {
  const { view, states, ignored, log, clock } = deps;
  const { host } = observed;
  const before = states.get(host);
  const state = stateOf(deps, observed, plan, result, before);
  // It is another lease's now: nothing of it fails for the one before.
  if (before?.lease && before.namespace !== state.namespace) ignored.succeeded(before.lease, host);
  if (plan.verdict === "served" && state.lease) ignored.succeeded(state.lease, host);
  for (const { type, message } of state.conditions) {
    if (!before?.conditions.some((each) => each.type === type))
      log.info("host name has a condition", { host, type, message });
  }
  states.record(state, clock.now());
  // Whether it blocks other names depends on whether it is rejected, and has a route all the same.
  const [wasRejected, isRejected] = [before?.state === "refused", state.state === "refused"];
  if (wasRejected !== isRejected || (isRejected && before?.route !== state.route)) view.wakeOverlapping(host);
}

function stateOf(
  deps: HostnameLoopDeps,
  observed: ObservedHost,
  plan: HostPlan,
  result: WriteResult,
  before: HostState | undefined,
): NewHostState {
  const { view, probes, rules, ingressClass } = deps;
  const { host, declared, endpoints, nowMs } = observed;
  const own = declared?.target && routeOf(declared.target, observed, rules);
  const hasClass = view.hasClass();
  const isClassMissing = own?.kind === kinds.ingress && hasClass === false;
  const faults = own && [
    ...(isClassMissing ? [hostCondition("ClassMissing", `the cluster has no IngressClass ${ingressClass}`)] : []),
    ...routeFaults(own, endpoints, nowMs),
    ...(probes?.conditionsOf(host) ?? []),
  ];
  const gap = gapOf(result, before, nowMs);
  const given = [...plan.conditions, ...result.conditions, ...(gap ? [gapCondition(gap)] : [])];
  const lacks = given.some(({ type }) => type === "RouteFailed" || type === "RouteMissing");
  const isServed = own !== undefined || (plan.verdict === "served" && !lacks);
  const state = plan.verdict === "refused" ? "refused" : isServed ? "served" : "waiting";
  // A route that leads to no Service serves nothing.
  const isLost = own !== undefined && given.some(({ type }) => type === "ServiceMissing");
  // Until a controller has written a status, nothing shows that one serves the route.
  const isAnswered = endpoints !== undefined && hasClass !== undefined && own?.acceptance.state === "accepted";
  const health = isLost || faults?.length ? "unhealthy" : isAnswered ? "healthy" : "unknown";
  const route = own?.acceptance.state ?? (state === "served" ? "unknown" : "none");
  const conditions = [...given, ...(faults ?? [])];
  return { ...leaseOf(observed, before), host, state, health, route, endpoints, conditions, gap };
}

function* routeFaults({ acceptance, createdAtMs }: LiveRoute, endpoints: HostState["endpoints"], nowMs: number) {
  if (acceptance.state === "refused") yield hostCondition("RouteNotAccepted", acceptance.message ?? "");
  const isLate = acceptance.isSilent && nowMs - createdAtMs >= answerMs;
  if (isLate) yield hostCondition("RouteNotAccepted", "no controller has answered");
  if (endpoints?.ready === 0) yield hostCondition("EndpointsMissing", "no workload of it is ready");
}

function recheckAt(recheckMs: number | undefined): Outcome {
  return recheckMs === undefined ? done() : recheck(recheckMs);
}

/** Of an undeclared name whose routes cannot be removed: what was known of it. */
function leaseOf({ declared, routes: [route] }: ObservedHost, before: HostState | undefined) {
  const known = declared ? declared.target : before;
  const { lease, namespace = "", service = "", externalPort = 0 } = known ?? {};
  if (known || declared) return { lease, namespace, service, externalPort };
  return { lease: route?.lease, namespace: route?.namespace ?? "", service, externalPort };
}

function gapOf({ gapMs }: WriteResult, before: HostState | undefined, nowMs: number): HostState["gap"] {
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
