/** The plan for one host name: pure. */
import { isAsDesired } from "../../kube/as-desired.ts";
import { type Kind, kinds, resourceOf } from "../../kube/kinds.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import { providerHostName } from "../../kube/objects/provider-host.ts";
import { goQuote } from "../../market/go-json.ts";
import { blockedText, type HostRules, isHostName, isReserved, notAllowed } from "../../market/host-names.ts";
import { formatLeaseId } from "../../market/ids.ts";
import { staticHost } from "../../market/lease-namespace.ts";
import type { Condition } from "../../runtime/condition.ts";
import { contestedWrites } from "../write-pace.ts";
import type { RouteBackend, RouteObjects } from "./backends/backend.ts";
import {
  type DeclaredHost,
  type DeclaredRoute,
  type Directive,
  directiveOf,
  isDirective,
  type WatchedManifest,
} from "./directive.ts";
import { type Endpoints, failureOf, hostCondition } from "./host-states.ts";
import { isRoute, type LiveRoute, type OwnRoute } from "./live-route.ts";

/**
 * A write is in force at its controller after this long: Traefik gathers changes of each kind for two seconds. What a
 * route names has to exist this long before; what it names no more, or what it replaces, stays this long after.
 */
export const settleMs = 5_000;
/** A moved name is served by its old lease for this long at most while the new one has no ready workload: longer than images take. */
const transferMs = 300_000;
/** A route that was put back because the controller rejected its successor stays this long: each try is a gap. */
export const forceAgainMs = 600_000;
/** A controller of the Gateway API has reported something of a route by then; they take seconds. */
export const answerMs = 60_000;
/** A proof of ownership in the DNS is looked up this often: its owner waits for it. */
export const proofEveryMs = 60_000;

/** A declaration, and whether its owner has had a route since it was made. */
export interface HostClaim {
  readonly declared: DeclaredHost;
  readonly isServed: boolean;
}

export interface ObservedHost {
  readonly host: string;
  readonly declared: DeclaredHost | undefined;
  /** Ours for this name, of every kind and lease; of an undeclared name, those that no other declaration is for. */
  readonly routes: readonly OwnRoute[];
  /** By the name of the object, declarations as the API server has them: read where routes of another lease may have to go. */
  readonly confirmed: ReadonlyMap<string, DeclaredHost | undefined>;
  readonly unconfirmed: unknown;
  /** Other declared names that match the same requests, but those that are rejected and have no route. */
  readonly claims: Iterable<HostClaim>;
  readonly unproven: string | undefined;
  readonly manifest: WatchedManifest | undefined;
  readonly service: { readonly ports: readonly number[] } | undefined;
  /** Undefined while they cannot be seen. */
  readonly endpoints: Endpoints | undefined;
  readonly transportFailure: string | undefined;
  /** Until what was written last is in force at the controller. */
  readonly unsettledMs: number;
  /** Until its objects may be written again, where another program keeps changing them. */
  readonly pauseMs: number;
  readonly isLeading: boolean;
  readonly nowMs: number;
  readonly isServed: (kind: Kind) => boolean;
  readonly live: (kind: Kind, namespace: string, name: string) => LiveRoute | undefined;
}

export interface PlanRules {
  readonly backend: RouteBackend;
  readonly hostRules: HostRules;
  readonly removesOldKind: boolean;
}

export interface HostPlan {
  /** Gone: nothing declares it. Stale: the cache is older than the server, so nothing is decided. */
  readonly verdict: "served" | "waiting" | "refused" | "gone" | "stale";
  readonly conditions: readonly Condition[];
  /** These routes of other leases go before anything is written. */
  readonly removed: readonly LiveRoute[];
  readonly write?: RouteWrite;
  /** These go when all is written. */
  readonly replaced: readonly LiveRoute[];
  /** The checks have passed, and the owner has proven the domain where that is required. */
  readonly isAllowed: boolean;
  /** Nothing else would wake it then. */
  readonly recheckMs?: number | undefined;
}

export interface RouteWrite {
  readonly directive: Directive;
  readonly parts: readonly DesiredObject[];
  readonly route: DesiredObject | undefined;
  readonly policies: readonly DesiredObject[];
  /** Routes of other leases of the owner that may go first, where the controller accepts no second route for a host. */
  readonly conflicting: readonly LiveRoute[];
}

const nothing = { conditions: [], removed: [], replaced: [], isAllowed: false };

export function planHost(seen: ObservedHost, rules: PlanRules): HostPlan {
  const { declared, nowMs } = seen;
  if (!declared) return planOrphans(seen);
  const { name, target } = declared;
  if (!target) {
    const fault = `the ProviderHost ${name} names no lease, no port, or a host that is not its own`;
    return { ...nothing, verdict: "refused", conditions: [hostCondition("HostnameInvalid", fault)] };
  }
  const own = routeOf(target, seen, rules);
  const plan = planDeclared(seen, declared, target, { ...rules, own });
  // A route that no controller reports on is not accepted after a while.
  const answerLeftMs = own?.acceptance.isSilent ? own.createdAtMs + answerMs - nowMs : 0;
  return { ...plan, recheckMs: earliest([plan.recheckMs, answerLeftMs > 0 ? answerLeftMs : undefined]) };
}

export function routeOf({ namespace, host }: DeclaredRoute, { live }: ObservedHost, { backend }: PlanRules) {
  return live(backend.kind, namespace, providerHostName(host));
}

/** Nothing declares the name, and the server confirms it. */
function planOrphans({ host, routes, confirmed, unconfirmed, isLeading }: ObservedHost): HostPlan {
  if (unconfirmed) return { ...nothing, verdict: "gone", conditions: [failureOf(unconfirmed)] };
  if (!isLeading || routes.length === 0) return { ...nothing, verdict: "gone" };
  const name = providerHostName(host);
  const live = confirmed.get(name);
  if (live?.key === host) return { ...nothing, verdict: "stale" };
  // Another host was written into its declaration: its routes stay until that is put right or deleted.
  if (live) return { ...nothing, verdict: "gone" };
  // A route with another name may have had this host written into it: its declaration decides.
  const isOrphan = (route: LiveRoute) =>
    !isRoute(route) || route.name === name || confirmed.get(route.name)?.target?.namespace !== route.namespace;
  // Shown only where they cannot be removed.
  const conditions = [hostCondition("RouteFailed", "it is not declared, and its route cannot go")];
  return { ...nothing, verdict: "gone", conditions, removed: routes.filter(isOrphan) };
}

interface OwnRules extends PlanRules {
  readonly own: LiveRoute | undefined;
}

function planDeclared(seen: ObservedHost, declared: DeclaredHost, target: DeclaredRoute, rules: OwnRules): HostPlan {
  const { routes, claims, confirmed, unconfirmed } = seen;
  const foreign = routes.filter(({ namespace }) => namespace !== target.namespace);
  if (unconfirmed) return { ...nothing, verdict: "waiting", conditions: [failureOf(unconfirmed)] };
  const isConfirmed = confirmed.get(declared.name)?.target?.namespace === target.namespace;
  if (seen.isLeading && foreign.length > 0 && !isConfirmed) return { ...nothing, verdict: "stale" };
  const isOfOwner = ({ lease }: OwnRoute) => lease.owner === target.lease.owner;
  const isServed = hasRouteSince(declared, routes);
  const rejection = rejectionOf({ declared, target, isServed, claims, routes, rules: rules.hostRules });
  // Another owner gave the name up, unless the declaration was rewritten. Of a name in use, old routes of its own owner
  // would take the requests of the other one.
  const others = rejection?.type === "HostnameInUse" ? foreign : foreign.filter((route) => !isOfOwner(route));
  const first = { ...nothing, removed: rejection?.type === "OwnerChanged" ? [] : others };
  if (rejection) return { ...first, verdict: "refused", conditions: [rejection] };
  // An owner whose route exists was allowed before, for whichever lease and kind.
  const hasRoute = routes.some((route) => isRoute(route) && isOfOwner(route));
  if (seen.unproven !== undefined && !hasRoute) {
    const conditions = [hostCondition("ProofMissing", seen.unproven)];
    return { ...first, verdict: "refused", conditions, recheckMs: proofEveryMs };
  }
  const allowed = { ...first, isAllowed: true };
  const directive = directiveOf(target, seen.manifest);
  if (!isDirective(directive)) return { ...allowed, verdict: "waiting", conditions: [directive] };
  const missing = missingFor(directive, seen, rules);
  if (missing && !rules.own) return { ...allowed, verdict: "waiting", conditions: [missing] };
  const plan = planRoute(directive, routes.filter(isOfOwner), seen, rules);
  return { ...allowed, ...plan, verdict: "served", conditions: [...(missing ? [missing] : []), ...plan.conditions] };
}

/** Without these a route would lead nowhere, or cannot exist. */
function missingFor({ namespace, service, externalPort }: Directive, seen: ObservedHost, { backend }: PlanRules) {
  if (!seen.isServed(backend.kind))
    return hostCondition("KindMissing", `the cluster does not know ${resourceOf(backend.kind)}`);
  if (seen.service?.ports.includes(externalPort)) return undefined;
  const port = seen.service ? `port ${externalPort} of ` : "";
  return hostCondition("ServiceMissing", `resource not found: ${port}Service ${service} of ${namespace}`);
}

type RoutePlan = Pick<HostPlan, "write" | "replaced" | "conditions" | "recheckMs">;

function planRoute(directive: Directive, routes: readonly OwnRoute[], seen: ObservedHost, rules: OwnRules): RoutePlan {
  const { own } = rules;
  const built = rules.backend.build(directive, seen.isServed);
  const { write, hold, recheckMs } = planWrite(directive, built, routes, seen, own);
  // A policy that the controller rejects each time is never as desired, and holds nothing up.
  const isWriting = write.parts.length > 0 || write.route !== undefined;
  const unsettledMs = seen.isLeading && isWriting ? settleMs : seen.unsettledMs;
  const left = planLeft(built, routes, { ...seen, unsettledMs }, rules);
  const { readTimeout } = directive.options;
  const timeout = `read_timeout ${readTimeout}: it cannot be written: ${seen.transportFailure}`;
  const conditions = [
    ...directive.unsupported,
    ...built.unhonoured,
    ...(seen.transportFailure === undefined ? [] : [hostCondition("OptionNotHonoured", timeout)]),
    ...hold,
    ...(seen.isLeading || own ? [] : [hostCondition("RouteMissing", "the copy that has the lead has not made it yet")]),
    ...left.conditions,
  ];
  return { write, replaced: left.removed, conditions, recheckMs: earliest([recheckMs, left.recheckMs]) };
}

/** What is not as desired, and what keeps it from being written now. */
function planWrite(
  directive: Directive,
  { parts, route, policies }: RouteObjects,
  routes: readonly OwnRoute[],
  { live, endpoints, nowMs, pauseMs, unsettledMs }: ObservedHost,
  own: LiveRoute | undefined,
): { readonly write: RouteWrite; readonly hold: readonly Condition[]; readonly recheckMs?: number } {
  const none = { directive, parts: [], route: undefined, policies: [], conflicting: [] };
  if (pauseMs > 0) {
    const text = `another program changes its objects: they were written ${contestedWrites} times within a minute`;
    return { write: none, hold: [hostCondition("RouteContested", text)], recheckMs: pauseMs };
  }
  const before = routes.filter(({ namespace, kind }) => namespace !== directive.namespace && kind === route.kind);
  for (const { putBackFor, createdAtMs } of own ? [] : before) {
    const leftMs = createdAtMs + forceAgainMs - nowMs;
    if (putBackFor !== undefined && leftMs > 0)
      return { write: none, hold: [hostCondition("RouteFailed", putBackFor)], recheckMs: leftMs };
  }
  const isToWrite = ({ kind, object }: DesiredObject) => {
    const there = live(kind, directive.namespace, object.metadata.name);
    return !there || !isAsDesired(kind, object, there.ownedFromBefore ?? there.owned);
  };
  const newParts = parts.filter(isToWrite);
  const leftMs = newParts.length > 0 ? settleMs : unsettledMs;
  // A route that serves stays as it is until it may name what is new.
  if (parts.length > 0 && own && isToWrite(route) && leftMs > 0)
    return { write: { ...none, parts: newParts }, hold: [], recheckMs: leftMs };
  // As long as nothing answers behind the new route, the old one is better than none.
  const conflicting = (endpoints?.ready ?? 0) > 0 ? before : [];
  const newRoute = isToWrite(route) ? route : undefined;
  const write = { directive, parts: newParts, route: newRoute, policies: policies.filter(isToWrite), conflicting };
  return { write, hold: [] };
}

type Left = Pick<HostPlan, "conditions" | "recheckMs"> & { readonly removed: readonly LiveRoute[] };

/** What else there is for the name: a route of another lease of the owner, or of another kind, serves until the new one does. */
function planLeft(
  { parts, route, policies }: RouteObjects,
  routes: readonly OwnRoute[],
  seen: ObservedHost,
  { own, removesOldKind }: OwnRules,
): Left {
  const { namespace = "" } = route.object.metadata;
  const wanted = new Set([route, ...parts, ...policies].map(({ kind, object }) => placeOf(kind, object.metadata)));
  const left = routes.filter((each) => !each.isDeleting && !wanted.has(placeOf(each.kind, each)));
  const oldKind = left.filter((each) => each.kind !== route.kind && isRoute(each));
  const stays = removesOldKind ? [] : oldKind;
  const conditions = stays.slice(0, 1).map(keptText);
  // What a route refers to stays with it.
  const isKept = (each: OwnRoute) =>
    stays.some((old) => old === each || (!isRoute(each) && old.namespace === each.namespace));
  const going = left.filter((each) => !isKept(each));
  const [first] = going;
  if (!first) return { removed: [], conditions };
  // Parts that a new route names no more.
  const isReplaced = going.every((each) => each.namespace === namespace && !oldKind.includes(each));
  const waitMs = isReplaced ? seen.unsettledMs : takeOverMs(own, seen);
  if (waitMs === 0) return { removed: going, conditions };
  const pending = isReplaced ? [] : [hostCondition("TransferPending", pendingText(first, own))];
  return { removed: [], conditions: [...conditions, ...pending], ...(waitMs !== undefined && { recheckMs: waitMs }) };
}

function placeOf({ kind }: Kind, { namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${kind} ${namespace}/${name}`;
}

/** Until the new route may be alone; undefined where its controller or its workload has to report something first. */
function takeOverMs(live: LiveRoute | undefined, { endpoints, unsettledMs, nowMs }: ObservedHost): number | undefined {
  if (!live || live.isDeleting || live.acceptance.state === "refused") return undefined;
  if (live.kind === kinds.httpRoute && live.acceptance.state !== "accepted") return undefined;
  return Math.max(unsettledMs, endpoints?.ready ? 0 : live.createdAtMs + transferMs - nowMs);
}

function keptText({ kind }: LiveRoute): Condition {
  const text = `its ${kind.kind} from before the mode was changed stays, by --migrations-enabled=false`;
  return hostCondition("OldRouteKept", text);
}

function pendingText({ kind, lease }: OwnRoute, live: LiveRoute | undefined): string {
  const what = `the ${kind.kind} of lease ${formatLeaseId(lease)} serves it until`;
  if (live?.acceptance.state === "refused") return `${what} the new route is accepted`;
  return `${what} the new route is in force and a workload behind it is ready`;
}

export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const given = times.filter((each) => each !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

interface CheckedHost extends HostClaim {
  readonly target: DeclaredRoute;
  readonly claims: Iterable<HostClaim>;
  readonly routes: readonly OwnRoute[];
  readonly rules: HostRules;
}

type HostCheck = (input: CheckedHost) => Condition | undefined;

const isValid: HostCheck = ({ target: { host, service } }) =>
  isHostName(host)
    ? undefined
    : hostCondition(
        "HostnameInvalid",
        `service ${goQuote(service)}: has invalid hostname ${goQuote(host.slice(0, 300))}`,
      );

/** Names below the provider's own domain follow from the lease and its service. */
const isNotReserved: HostCheck = ({ target: { host, lease, service }, rules }) => {
  const { ingressDomain } = rules;
  const isOwn = ingressDomain !== undefined && host === staticHost(lease, service, ingressDomain);
  if (isOwn || !isReserved(host, rules)) return undefined;
  return hostCondition("HostnameBlocked", `${notAllowed}: domain ${JSON.stringify(host)} is blocked by this provider`);
};

const isNotBlocked: HostCheck = ({ target: { host }, rules }) => {
  const text = blockedText(host, rules);
  return text === undefined ? undefined : hostCondition("HostnameBlocked", `${notAllowed}: ${text}`);
};

const nameChecks: readonly HostCheck[] = [isValid, isNotReserved, isNotBlocked];

/** Between owners, a name with a route goes first, then the older one. A rejected claim blocks no other. */
const isNotInUse: HostCheck = (input) => {
  const { target } = input;
  for (const claim of input.claims) {
    const other = claim.declared.target;
    if (!other || other.lease.owner === target.lease.owner || !isBefore(claim, input)) continue;
    if (nameChecks.every((check) => check({ ...input, ...claim, target: other }) === undefined))
      return hostCondition("HostnameInUse", `${notAllowed}: host ${JSON.stringify(target.host)} in use`);
  }
  return undefined;
};

/**
 * A name changes owner only through a new ProviderHost. Another owner's route that is younger than the object shows
 * that its spec was rewritten. Kubernetes' times are in seconds, so an equal time counts as younger.
 */
const isOwnerUnchanged: HostCheck = ({ declared, target, routes }) => {
  const other = declared.isChanged
    ? routes.find(({ lease, createdAtMs }) => lease.owner !== target.lease.owner && createdAtMs >= declared.createdAtMs)
    : undefined;
  if (!other) return undefined;
  const inUse = `host ${JSON.stringify(target.host)} in use by ${other.lease.owner}, who has not given it up`;
  return hostCondition("OwnerChanged", `${notAllowed}: ${inUse}`);
};

/** First the check that keeps the route of an owner who has not given the name up. */
const checks: readonly HostCheck[] = [isOwnerUnchanged, ...nameChecks, isNotInUse];

function rejectionOf(input: CheckedHost): Condition | undefined {
  for (const check of checks) {
    const rejection = check(input);
    if (rejection) return rejection;
  }
  return undefined;
}

export function hasRouteSince({ createdAtMs, target }: DeclaredHost, routes: Iterable<OwnRoute>): boolean {
  for (const route of routes)
    if (isRoute(route) && route.lease.owner === target?.lease.owner && route.createdAtMs >= createdAtMs) return true;
  return false;
}

function isBefore(a: HostClaim, b: HostClaim): boolean {
  if (a.isServed !== b.isServed) return a.isServed;
  const [first, second] = [a.declared, b.declared];
  if (first.createdAtMs !== second.createdAtMs) return first.createdAtMs < second.createdAtMs;
  return first.name < second.name;
}
