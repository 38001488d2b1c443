/**
 * One look at a host name: what is declared, what its lease runs and what routes there are, and the smallest change that
 * brings them together. A new route comes before an old one goes. Only the copy that leads writes; others tell what they see.
 */
import { kinds } from "../../kube/kinds.ts";
import type { Kube } from "../../kube/kube.ts";
import { providerHostName } from "../../kube/objects/provider-host.ts";
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
    if (cluster.trouble !== undefined) return recheck(deps.retryDelayMs);
    const leading = deps.leading();
    const signal = leading && AbortSignal.any([stopping, leading]);
    const declared = cluster.host(host);
    if (!declared) return sweep(host, signal);
    if (!declared.says) return refuse(declared, undefined, faultOf(declared));
    return serve(declared, declared.says, signal);
  }

  /** Nobody declares it any more, by the word of the server itself. */
  async function sweep(host: string, signal: AbortSignal | undefined): Promise<Outcome> {
    const lease = states.get(host)?.lease;
    if (lease) ignored.succeeded(lease, host);
    states.forget(host);
    writer.forget(host);
    proofs?.forget(host);
    // One of a name that is declared had another written into it by somebody, and is put right.
    const own = providerHostName(host);
    const left = [...cluster.routes(host)].filter(({ name }) => name === own || !cluster.isDeclaredAs(name));
    if (left.length === 0 || !signal) return done();
    // The cache will show it in a moment, and wake us.
    if (await declaredAtServer(host, signal)) return recheck(deps.retryDelayMs);
    await removeAll(left, signal);
    log.info("removed routes of host name", { host, objects: left.length });
    return done();
  }

  async function declaredAtServer(host: string, signal: AbortSignal): Promise<DeclaredHost | undefined> {
    const at = { namespace: deps.manifestNamespace, name: providerHostName(host) };
    const live = await kube.get(kinds.providerHost, at, { signal });
    return live && projectHost(live);
  }

  async function serve(declared: DeclaredHost, says: DeclaredRoute, signal: AbortSignal | undefined): Promise<Outcome> {
    const { host, lease } = says;
    const routes = [...cluster.routes(host)];
    // Routes of another lease may be newer than what the cache shows of the declaration, above all to one who just got the
    // lead. They go only by the word of the server itself.
    if (signal && routes.some(({ namespace }) => namespace !== says.namespace)) {
      const live = await declaredAtServer(host, signal);
      if (live?.says?.namespace !== says.namespace) return recheck(deps.retryDelayMs);
    }
    const overlapping = cluster.overlapping(host);
    const refusal = refusalOf({ declared, says, overlapping, routes, rules: deps.rules });
    const others = routes.filter((route) => route.lease.owner !== lease.owner);
    // Whoever had the name before has given it up: its object is gone, and this is another one.
    if (refusal?.type !== "OwnerChanged" && signal) await removeAll(others, signal);
    // It is of another owner now, and was given up in between: what led to the lease before would take his requests.
    if (refusal?.type === "HostnameInUse" && signal)
      await removeAll(
        routes.filter((route) => !others.includes(route) && route.namespace !== says.namespace),
        signal,
      );
    if (refusal) return refuse(declared, says, refusal);
    const own = cluster.route(backend.kind, says.namespace, providerHostName(host));
    // One that leads to this owner was let through before, for whichever lease and by whichever kind.
    const isServed = routes.some((route) => isRoute(route) && route.lease.owner === lease.owner);
    if (!isServed && proofs) {
      const unproven = proofs.missing(host, lease.owner);
      if (unproven !== undefined) {
        refuse(declared, says, condition("ProofMissing", unproven));
        return recheck(limits.hostnameProofEveryMs);
      }
    }
    const directive = directiveOf(says, cluster.manifest(says.namespace));
    if (isMissing(directive)) return wait(says, own, directive.missing);
    const missing = own ? undefined : needed(directive);
    if (missing) return wait(says, own, missing);
    ignored.succeeded(lease, host);
    return bringAll(
      directive,
      routes.filter((route) => route.lease.owner === lease.owner),
      signal,
    );
  }

  /** Without these there is nothing that a route could lead to, or nothing that it could be. */
  function needed({ namespace, service }: Directive): Condition | undefined {
    const { group, plural } = backend.kind;
    if (!cluster.isServed(backend.kind))
      return condition("KindMissing", `the cluster does not know ${plural}.${group}`);
    if (cluster.service(namespace, service)) return undefined;
    return condition("ServiceMissing", `resource not found: Service ${service} of ${namespace}`);
  }

  async function bringAll(
    directive: Directive,
    routes: readonly LiveRoute[],
    signal: AbortSignal | undefined,
  ): Promise<Outcome> {
    const built = backend.build(directive, cluster.isServed);
    const own = () => cluster.route(backend.kind, directive.namespace, providerHostName(directive.host));
    const conditions = [...directive.unheeded, ...built.unhonoured];
    let [gone, unsettledMs, isPutOff]: [readonly LiveRoute[], number, boolean] = [[], 0, false];
    if (signal) {
      try {
        const came = await writer.write(directive, built, routes, signal);
        conditions.push(...came.refused);
        ({ gone, unsettledMs, isPutOff } = came);
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
    if (signal) await removeAll(left.removed, signal);
    // It would be there by now, if any copy had the lead.
    if (!signal && !own()) conditions.push(condition("RouteMissing", "the copy that has the lead has not made it yet"));
    if (signal && left.removed.some(({ namespace }) => namespace !== directive.namespace)) counts.transfers += 1;
    const gap = writer.gapOf(directive.host);
    noteServed(directive, own(), [...conditions, ...left.conditions, ...gap.conditions]);
    const lookAgainMs = isPutOff ? unsettledMs : (left.lookAgainMs ?? gap.leftMs);
    return lookAgainMs === undefined ? done() : recheck(lookAgainMs);
  }

  function failedToWrite(
    directive: Directive,
    own: LiveRoute | undefined,
    conditions: readonly Condition[],
    thrown: unknown,
  ): Outcome {
    noteServed(directive, own, [...conditions, condition("RouteFailed", reasonOf(thrown))]);
    const passes = ["AKP_KUBE_REFUSED", "AKP_KUBE_TERMINATING", "AKP_KUBE_NOT_FOUND", "AKP_KUBE_KIND_MISSING"] as const;
    if (passes.some((code) => ProviderError.is(thrown, code))) return waiting("cluster", reasonOf(thrown));
    throw thrown;
  }

  /** Looked at again some times, as the network's operator does, and from then on when something of it changes. */
  function wait(says: DeclaredRoute, own: LiveRoute | undefined, missing: Condition): Outcome {
    noteState({ ...says, state: own ? "served" : "waiting", own, conditions: [missing] });
    if (ignored.isFlagged(says.lease)) return done();
    ignored.failed(says.lease, new ProviderError("AKP_HOSTNAME_WAITS", { reason: missing.message }), says.host);
    return recheck(deps.retryDelayMs);
  }

  /** Nothing is made for it. What its lease has from before stays: somebody let it have that. */
  function refuse({ key }: DeclaredHost, says: DeclaredRoute | undefined, refusal: Condition): Outcome {
    const unknown = { lease: undefined, namespace: "", service: "", externalPort: 0 };
    const own = says && cluster.route(backend.kind, says.namespace, providerHostName(says.host));
    noteState({ ...(says ?? unknown), host: key, state: "refused", own, conditions: [refusal] });
    return done();
  }

  function noteServed(directive: Directive, own: LiveRoute | undefined, conditions: readonly Condition[]): void {
    const lacks = conditions.some(({ type }) => type === "RouteFailed" || type === "RouteMissing");
    noteState({ ...directive, state: own || !lacks ? "served" : "waiting", own, conditions });
  }

  function noteState(seen: Seen): void {
    const { host, lease, namespace, service, externalPort, state, own } = seen;
    const endpoints = cluster.endpoints(serviceKey(namespace, service));
    const troubles = own ? [...troublesOf(own, endpoints), ...(deps.probes?.troubleOf(host) ?? [])] : [];
    const conditions = [...seen.conditions, ...troubles].map(shortened);
    const route: HostState["route"] = own?.acceptance.state ?? (state === "served" ? "unknown" : "none");
    const health = healthOf({ own, endpoints, troubles });
    const shown = { host, lease, namespace, service, externalPort, state, health, route, endpoints, conditions };
    const before = states.get(host);
    // It is of another lease now: nothing of it fails there any more.
    if (before?.lease && before.namespace !== namespace) ignored.succeeded(before.lease, host);
    for (const each of conditions) {
      if (!before?.conditions.some(({ type }) => type === each.type))
        log.info("host name has a condition", { host, type: each.type, message: each.message });
    }
    states.note(shown, clock.now());
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

function troublesOf({ acceptance }: LiveRoute, endpoints: HostState["endpoints"]): Condition[] {
  return [
    ...(acceptance.state === "refused" ? [condition("RouteNotAccepted", acceptance.message ?? "")] : []),
    ...(endpoints?.ready === 0 ? [condition("EndpointsMissing", "no workload of it is ready")] : []),
  ];
}

interface Judged {
  readonly own: LiveRoute | undefined;
  readonly endpoints: HostState["endpoints"];
  readonly troubles: readonly Condition[];
}

/** Of an Ingress its controller may say nothing; of a route of the Gateway API it has to. */
function healthOf({ own, endpoints, troubles }: Judged): HostState["health"] {
  if (troubles.length > 0) return "unhealthy";
  const isUntold = own?.kind === kinds.httpRoute && own.acceptance.state !== "accepted";
  return !own || !endpoints || isUntold ? "unknown" : "healthy";
}
