/**
 * One look at a host name: what is declared, what its lease runs and what routes there are, and the smallest change that
 * brings them together. A new route comes before an old one goes. Only the copy that leads writes; others tell what they see.
 */
import { kinds, resourceOf } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { providerHostName } from "../../kube/objects/provider-host.ts";
import { isWildcard } from "../../market/host-names.ts";
import type { HostRules } from "../../market/host-rules.ts";
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { limits } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { done, type Outcome, recheck, waiting } from "../../runtime/outcome.ts";
import type { IgnoreList } from "../ignore-list.ts";
import type { Backend } from "./backends/backend.ts";
import { type Condition, condition } from "./condition.ts";
import { type DeclaredHost, type DeclaredRoute, projectHost, serviceKey } from "./declared-host.ts";
import { type Directive, directiveOf, isMissing } from "./directive.ts";
import { refusalOf } from "./host-checks.ts";
import type { HostState, HostStates } from "./host-states.ts";
import { sortLeft } from "./left-routes.ts";
import { isRoute, type LiveRoute } from "./live-route.ts";
import type { Probes } from "./probes.ts";
import type { Proofs } from "./proofs.ts";
import { createRouteWriter } from "./route-writer.ts";
import type { WatchedCluster } from "./watched-cluster.ts";

interface HostnameLoopDeps {
  readonly cluster: WatchedCluster;
  readonly kube: Pick<Kube, "get" | "apply" | "patch" | "delete" | "fieldManager">;
  readonly backend: Backend;
  readonly states: HostStates;
  readonly ignored: IgnoreList;
  readonly rules: HostRules;
  readonly proofs: Proofs | undefined;
  readonly probes: Probes | undefined;
  /** What of a Service's own options is not in force. */
  readonly transportTrouble: (directive: Directive) => readonly Condition[];
  readonly manifestNamespace: string;
  /** Whether routes of another kind, from before the mode was changed, are taken away. */
  readonly removesOldKind: boolean;
  readonly retryDelayMs: number;
  /** Aborted when this copy leads no more; undefined while it does not. */
  readonly leading: () => AbortSignal | undefined;
  /** When it began to. */
  readonly ledSinceMs: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

export function createHostnameLoop(deps: HostnameLoopDeps) {
  const { cluster, kube, backend, states, ignored, proofs, clock, log } = deps;
  const writer = createRouteWriter(deps);
  const { removeAll, counts } = writer;

  async function look(host: string, stopping: AbortSignal): Promise<Outcome> {
    const outcome = await lookAt(host, stopping);
    const waitMs = answerLeftMs(host);
    if (waitMs === undefined || (outcome.kind === "recheck" && outcome.afterMs <= waitMs)) return outcome;
    return outcome.kind === "done" || outcome.kind === "recheck" ? recheck(waitMs) : outcome;
  }

  /** Until a route that no controller has said a word of is told as not accepted: nobody would wake us for that. */
  function answerLeftMs(host: string): number | undefined {
    const says = cluster.host(host)?.says;
    const own = says && cluster.route(backend.kind, says.namespace, providerHostName(host));
    if (!own?.acceptance.isSilent) return undefined;
    const leftMs = own.createdAtMs + limits.hostnameAnswerMs - clock.now();
    return leftMs > 0 ? leftMs : undefined;
  }

  async function lookAt(host: string, stopping: AbortSignal): Promise<Outcome> {
    if (cluster.trouble !== undefined) return recheck(deps.retryDelayMs);
    const leading = deps.leading();
    const signal = leading && AbortSignal.any([stopping, leading]);
    const declared = cluster.host(host);
    if (!declared) return sweep(host, signal);
    if (!declared.says) return refuse(declared, undefined, [faultOf(declared)]);
    return serve(declared, declared.says, signal);
  }

  /** Nobody declares it any more, by the word of the server itself. */
  async function sweep(host: string, signal: AbortSignal | undefined): Promise<Outcome> {
    const own = providerHostName(host);
    // One of a name that is declared had another written into it by somebody, and is put right.
    const isPutRight = ({ name, namespace }: LiveRoute) =>
      name !== own && cluster.declaredAs(name)?.says?.namespace === namespace;
    const left = [...cluster.routes(host)].filter((route) => !isPutRight(route));
    if (left.length === 0 || !signal) return forget(host);
    try {
      const live = await declaredAtServer(own, signal);
      // The cache will show it in a moment, and wake us.
      if (live?.key === host) return recheck(deps.retryDelayMs);
      // Somebody wrote another host into it. What it has stays until that is put right, or it is gone.
      if (live) return forget(host);
      const orphans = await undeclared(left, own, signal);
      await removeAll(orphans, signal);
      if (orphans.length > 0) log.info("removed routes of host name", { host, objects: orphans.length });
    } catch (thrown) {
      // It still leads somewhere, and whoever asks for the name is to see that.
      const [{ lease, namespace } = { lease: undefined, namespace: "" }] = left;
      const was = states.get(host) ?? { lease, namespace, service: "", externalPort: 0 };
      const conditions = [condition("RouteFailed", `it is not declared, and its route cannot go: ${reasonOf(thrown)}`)];
      if (!signal.aborted) noteState({ ...was, host, state: "waiting", own: undefined, conditions });
      throw thrown;
    }
    return forget(host);
  }

  function forget(host: string): Outcome {
    const lease = states.get(host)?.lease;
    if (lease) ignored.succeeded(lease, host);
    states.forget(host);
    writer.forget(host);
    proofs?.forget(host);
    return done();
  }

  /** Those with another name are not of the host that they name: whose their own is, the server says too. */
  async function undeclared(left: readonly LiveRoute[], own: string, signal: AbortSignal): Promise<LiveRoute[]> {
    const orphans: LiveRoute[] = [];
    for (const route of left) {
      const live = isRoute(route) && route.name !== own ? await declaredAtServer(route.name, signal) : undefined;
      if (live?.says?.namespace !== route.namespace) orphans.push(route);
    }
    return orphans;
  }

  async function declaredAtServer(name: string, signal: AbortSignal): Promise<DeclaredHost | undefined> {
    const live = await kube.get(kinds.providerHost, { namespace: deps.manifestNamespace, name }, { signal });
    return live && projectHost(live);
  }

  /** Whether its owner has had a route since it was declared. */
  function isServed({ key, createdAtMs, says }: DeclaredHost): boolean {
    for (const route of cluster.routes(key))
      if (isRoute(route) && route.lease.owner === says?.lease.owner && route.createdAtMs >= createdAtMs) return true;
    return false;
  }

  /** What is refused and has nothing keeps nobody out: else whoever asks first, and proves nothing, would have it. */
  function* claims(host: string): Iterable<DeclaredHost> {
    for (const other of cluster.overlapping(host)) {
      // A proven exact name goes before a wildcard, in every controller: both are served.
      if (proofs && isWildcard(other.key) !== isWildcard(host)) continue;
      const known = states.get(other.key);
      const isRefused = known?.state === "refused" && known.namespace === other.says?.namespace;
      if (!isRefused || isServed(other)) yield other;
    }
  }

  async function serve(declared: DeclaredHost, says: DeclaredRoute, signal: AbortSignal | undefined): Promise<Outcome> {
    const failures: unknown[] = [];
    const outcome = await serveAs(declared, says, signal, failures);
    // It is tried again, after a while.
    if (failures.length > 0) throw failures[0];
    return outcome;
  }

  /** What could not be removed is kept in `failures`, and keeps nothing else from being done. */
  async function serveAs(
    declared: DeclaredHost,
    says: DeclaredRoute,
    signal: AbortSignal | undefined,
    failures: unknown[],
  ): Promise<Outcome> {
    const { host, lease } = says;
    const routes = [...cluster.routes(host)];
    const own = cluster.route(backend.kind, says.namespace, providerHostName(host));
    // Routes of another lease may be newer than what the cache shows of the declaration, above all to one who just got the
    // lead. They go only by the word of the server itself.
    if (signal && routes.some(({ namespace }) => namespace !== says.namespace)) {
      try {
        const live = await declaredAtServer(providerHostName(host), signal);
        if (live?.says?.namespace !== says.namespace) return recheck(deps.retryDelayMs);
      } catch (thrown) {
        if (!signal.aborted) noteWaiting(says, own, [failureText(thrown)]);
        throw thrown;
      }
    }
    const overlapping = claims(host);
    const refusal = refusalOf({ declared, says, overlapping, isServed, routes, rules: deps.rules });
    const others = routes.filter((route) => route.lease.owner !== lease.owner);
    // Whoever had the name before has given it up: its object is gone, and this is another one.
    if (refusal?.type !== "OwnerChanged" && signal) await tryToRemove(others, signal, failures);
    // It is of another owner now, and was given up in between: what led to the lease before would take his requests.
    if (refusal?.type === "HostnameInUse" && signal)
      await tryToRemove(
        routes.filter((route) => !others.includes(route) && route.namespace !== says.namespace),
        signal,
        failures,
      );
    const undone = failures.slice(0, 1).map(failureText);
    if (refusal) return refuse(declared, says, [refusal, ...undone]);
    // One that leads to this owner was let through before, for whichever lease and by whichever kind.
    if (routes.some((route) => isRoute(route) && route.lease.owner === lease.owner)) proofs?.believe(host, lease.owner);
    const unproven = proofs?.missing(host, lease.owner);
    if (unproven !== undefined) {
      refuse(declared, says, [condition("ProofMissing", unproven), ...undone]);
      return recheck(limits.hostnameProofEveryMs);
    }
    const directive = directiveOf(says, cluster.manifest(says.namespace));
    if (isMissing(directive)) return wait(says, own, [directive.missing, ...undone]);
    const missing = needed(directive);
    if (missing && !own) return wait(says, own, [missing, ...undone]);
    ignored.succeeded(lease, host);
    return bringAll(
      directive,
      routes.filter((route) => route.lease.owner === lease.owner),
      signal,
      { failures, conditions: [...undone, ...(missing ? [missing] : [])] },
    );
  }

  async function tryToRemove(routes: readonly LiveRoute[], signal: AbortSignal, failures: unknown[]): Promise<boolean> {
    try {
      await removeAll(routes, signal);
      return true;
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      failures.push(thrown);
      return false;
    }
  }

  /** Without these there is nothing that a route could lead to, or nothing that it could be. */
  function needed({ namespace, service, externalPort }: Directive): Condition | undefined {
    if (!cluster.isServed(backend.kind))
      return condition("KindMissing", `the cluster does not know ${resourceOf(backend.kind)}`);
    const live = cluster.service(namespace, service);
    if (live?.ports.includes(externalPort)) return undefined;
    const what = `Service ${service} of ${namespace}`;
    return condition("ServiceMissing", `resource not found: ${live ? `port ${externalPort} of ` : ""}${what}`);
  }

  async function bringAll(
    directive: Directive,
    routes: readonly LiveRoute[],
    signal: AbortSignal | undefined,
    before: { readonly failures: unknown[]; readonly conditions: readonly Condition[] },
  ): Promise<Outcome> {
    const built = backend.build(directive, cluster.isServed);
    const own = () => cluster.route(backend.kind, directive.namespace, providerHostName(directive.host));
    const options = [...directive.unheeded, ...built.unhonoured, ...deps.transportTrouble(directive)];
    const conditions = [...before.conditions, ...options];
    let [gone, unsettledMs, putOffMs]: [readonly LiveRoute[], number, number | undefined] = [[], 0, undefined];
    if (signal) {
      try {
        const came = await writer.write(directive, built, routes, signal);
        conditions.push(...came.conditions);
        ({ gone, unsettledMs, putOffMs } = came);
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        return failedToWrite(directive, own(), conditions, thrown);
      }
    }
    const left = sortLeft(
      built,
      routes.filter((each) => !gone.includes(each)),
      {
        live: own(),
        ready: cluster.endpoints(serviceKey(directive.namespace, directive.service))?.ready ?? 0,
        removesOldKind: deps.removesOldKind,
        unsettledMs,
        nowMs: clock.now(),
      },
    );
    const { failures } = before;
    const isRemoved = signal !== undefined && (await tryToRemove(left.removed, signal, failures));
    if (signal && !isRemoved) conditions.push(failureText(failures.at(-1)));
    // It would be there by now, if any copy had the lead.
    if (!signal && !own()) conditions.push(condition("RouteMissing", "the copy that has the lead has not made it yet"));
    if (isRemoved && left.removed.some(({ namespace }) => namespace !== directive.namespace)) counts.transfers += 1;
    const gap = writer.gapOf(directive.host);
    noteServed(directive, own(), [...conditions, ...left.conditions, ...gap.conditions]);
    const lookAgainMs = putOffMs ?? left.lookAgainMs ?? gap.leftMs;
    return lookAgainMs === undefined ? done() : recheck(lookAgainMs);
  }

  function failedToWrite(
    directive: Directive,
    own: LiveRoute | undefined,
    conditions: readonly Condition[],
    thrown: unknown,
  ): Outcome {
    noteServed(directive, own, [...conditions, failureText(thrown)]);
    const passes = ["AKP_KUBE_REFUSED", "AKP_KUBE_TERMINATING", "AKP_KUBE_NOT_FOUND", "AKP_KUBE_KIND_MISSING"] as const;
    if (passes.some((code) => ProviderError.is(thrown, code))) return waiting("cluster", reasonOf(thrown));
    throw thrown;
  }

  /** Looked at again some times, as the network's operator does, and from then on when something of it changes. */
  function wait(says: DeclaredRoute, own: LiveRoute | undefined, conditions: readonly Condition[]): Outcome {
    noteWaiting(says, own, conditions);
    if (ignored.isFlagged(says.lease)) return done();
    const reason = conditions[0]?.message ?? "";
    ignored.failed(says.lease, new ProviderError("AKP_HOSTNAME_WAITS", { reason }), says.host);
    return recheck(deps.retryDelayMs);
  }

  function noteWaiting(says: DeclaredRoute, own: LiveRoute | undefined, conditions: readonly Condition[]): void {
    noteState({ ...says, state: own ? "served" : "waiting", own, conditions });
  }

  /** Nothing is made for it. What its lease has from before stays: somebody let it have that. */
  function refuse({ key }: DeclaredHost, says: DeclaredRoute | undefined, conditions: readonly Condition[]): Outcome {
    const unknown = { lease: undefined, namespace: "", service: "", externalPort: 0 };
    const own = says && cluster.route(backend.kind, says.namespace, providerHostName(says.host));
    noteState({ ...(says ?? unknown), host: key, state: "refused", own, conditions });
    return done();
  }

  function noteServed(directive: Directive, own: LiveRoute | undefined, conditions: readonly Condition[]): void {
    const lacks = conditions.some(({ type }) => type === "RouteFailed" || type === "RouteMissing");
    noteState({ ...directive, state: own || !lacks ? "served" : "waiting", own, conditions });
  }

  function noteState(seen: Seen): void {
    const { host, lease, namespace, service, externalPort, state, own } = seen;
    const endpoints = cluster.endpoints(serviceKey(namespace, service));
    const hasClass = cluster.hasClass();
    const found = own ? [...troublesOf(own, endpoints, hasClass), ...(deps.probes?.troubleOf(host) ?? [])] : [];
    const conditions = [...seen.conditions, ...found].map(shortened);
    // A route that leads to no Service serves nobody, whatever else is well.
    const isLost = own !== undefined && seen.conditions.some(({ type }) => type === "ServiceMissing");
    const route: HostState["route"] = own?.acceptance.state ?? (state === "served" ? "unknown" : "none");
    const isSeen = endpoints !== undefined && hasClass !== undefined;
    const health = healthOf({ own, isSeen, isTroubled: isLost || found.length > 0 });
    const shown = { host, lease, namespace, service, externalPort, state, health, route, endpoints, conditions };
    const before = states.get(host);
    // It is of another lease now: nothing of it fails there any more.
    if (before?.lease && before.namespace !== namespace) ignored.succeeded(before.lease, host);
    for (const each of conditions) {
      if (!before?.conditions.some(({ type }) => type === each.type))
        log.info("host name has a condition", { host, type: each.type, message: each.message });
    }
    states.note(shown, clock.now());
    // By whether it is refused, and has a route all the same, others are kept out.
    const [wasRefused, isRefused] = [before?.state === "refused", state === "refused"];
    if (wasRefused !== isRefused || (isRefused && before?.route !== route)) cluster.wakeOverlapping(host);
  }

  function troublesOf(
    { kind, acceptance, createdAtMs }: LiveRoute,
    endpoints: HostState["endpoints"],
    hasClass: boolean | undefined,
  ): Condition[] {
    const isUnanswered = acceptance.isSilent && clock.now() - createdAtMs >= limits.hostnameAnswerMs;
    const silence = "no controller has answered";
    return [
      ...(kind === kinds.ingress && hasClass === false
        ? [condition("ClassMissing", `the cluster has no IngressClass ${cluster.ingressClass}`)]
        : []),
      ...(acceptance.state === "refused" ? [condition("RouteNotAccepted", acceptance.message ?? "")] : []),
      ...(isUnanswered ? [condition("RouteNotAccepted", silence)] : []),
      ...(endpoints?.ready === 0 ? [condition("EndpointsMissing", "no workload of it is ready")] : []),
    ];
  }

  return { look, counts };
}

interface Seen extends Pick<HostState, "host" | "lease" | "namespace" | "service" | "externalPort" | "state"> {
  readonly own: LiveRoute | undefined;
  readonly conditions: readonly Condition[];
}

function shortened({ type, message }: Condition): Condition {
  const most = limits.hostnameConditionChars;
  return condition(type, message.length > most ? `${message.slice(0, most)}…` : message);
}

function faultOf({ name }: DeclaredHost): Condition {
  return condition(
    "HostnameInvalid",
    `the ProviderHost ${name} names no lease, no port, or a host that is not its own`,
  );
}

function failureText(thrown: unknown): Condition {
  return condition("RouteFailed", reasonOf(thrown));
}

interface Judged {
  readonly own: LiveRoute | undefined;
  /** What it would be judged by. */
  readonly isSeen: boolean;
  readonly isTroubled: boolean;
}

/** Of an Ingress its controller may say nothing; of a route of the Gateway API it has to. */
function healthOf({ own, isSeen, isTroubled }: Judged): HostState["health"] {
  if (isTroubled) return "unhealthy";
  const isUntold = own?.kind === kinds.httpRoute && own.acceptance.state !== "accepted";
  return !own || !isSeen || isUntold ? "unknown" : "healthy";
}
