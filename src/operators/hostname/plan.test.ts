/** Each row is one situation of a host name and what is planned for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { leaseOf } from "../../../test/support/stages/declaration-stage.ts";
import type { DesiredObject } from "../../kube/objects/lease-workload.ts";
import { providerHostName } from "../../kube/objects/provider-host.ts";
import type { Owned, OwnedFields } from "../../kube/owned-fields.ts";
import type { LeaseId } from "../../market/ids.ts";
import { leaseNamespace } from "../../market/lease-namespace.ts";
import { createNginxBackend, type RouteBackend } from "./backends/backend.ts";
import { createGatewayBackend } from "./backends/gateway-api.ts";
import { createTraefikBackend } from "./backends/traefik.ts";
import { type DeclaredHost, type Directive, defaultOptions, type RouteOptions } from "./directive.ts";
import type { OwnRoute } from "./live-route.ts";
import { answerMs, forceAgainMs, type ObservedHost, type PlanRules, planHost, proofEveryMs, settleMs } from "./plan.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
const nameOf = new Map([ann, annToo, ben].map((lease, at) => [leaseNamespace(lease), ["ann", "annToo", "ben"][at]]));
const host = "a.example.com";
const nowMs = 10_000_000;
const tls = { secret: undefined, issuer: undefined };
const nginx = createNginxBackend({ ingressClass: "c", tls });
const traefik = createTraefikBackend({ ingressClass: "c", tls });
const gateway = createGatewayBackend({
  ...{ gatewayName: "gw", gatewayNamespace: "gw", gatewayProvider: "nginx", proxyBufferSize: "16k", tls },
});

function declared(lease: LeaseId, given: Partial<DeclaredHost> = {}, name = host): DeclaredHost {
  const target = { host: name, lease, namespace: leaseNamespace(lease), service: "web", externalPort: 80 };
  return { key: name, name: providerHostName(name), createdAtMs: 1_000, isChanged: false, target, ...given };
}

function directive(lease: LeaseId, options: RouteOptions = defaultOptions): Directive {
  return { ...declared(lease).target, options, unsupported: [], longestReadMs: 60_000 } as Directive;
}

/** An object of ours that is as desired. */
function live({ kind, object }: DesiredObject, lease: LeaseId, given: Partial<OwnRoute> = {}): OwnRoute {
  const { name, namespace = "", labels, annotations } = object.metadata;
  const whole = (value: unknown): Owned => ({ is: "whole", value });
  const metadata: Owned = {
    is: "record",
    fields: { labels: whole(labels), ...(annotations && { annotations: whole(annotations) }) },
  };
  const fields: Owned = { is: "record", fields: { metadata, spec: whole(object["spec"]) } };
  const owned: OwnedFields = { uid: "u", resourceVersion: "1", deleting: false, fields };
  return {
    ...{ kind, name, namespace, uid: "u", host, service: undefined, lease, owned },
    ...{ ownedFromBefore: undefined, isDeleting: false, putBackFor: undefined },
    ...{ createdAtMs: 2_000, acceptance: { state: "accepted" } },
    ...given,
  };
}

/** All that a back end makes for a lease, as it is in the cluster. */
function made(
  backend: RouteBackend,
  lease: LeaseId,
  given: Partial<OwnRoute> = {},
  options?: RouteOptions,
): OwnRoute[] {
  const { parts, route, policies } = backend.build(directive(lease, options), () => true);
  return [...parts, route, ...policies].map((each) => live(each, lease, given));
}

interface Row extends Partial<ObservedHost>, Partial<PlanRules> {
  readonly is: string;
  /** The options in the manifest. */
  readonly options?: RouteOptions;
  /** The verdict, the types of its conditions, and what is done: "-Ingress ann" goes first, "~Ingress ann" at last. */
  readonly plan: string;
  readonly recheckMs?: number;
}

const manifestOf = (options: RouteOptions) => ({
  provider: ann.provider,
  services: [{ name: "web", exposes: [{ externalPort: 80, options, unsupported: [] }] }],
});

const serverHas = (has: DeclaredHost | undefined) => new Map([[providerHostName(host), has]]);
const retried = { ...defaultOptions, nextTries: 5 };
const moved = { declared: declared(annToo), confirmed: serverHas(declared(annToo)) };
const orphaned = { declared: undefined, confirmed: serverHas(undefined), routes: made(nginx, ann) };
const silent = { state: "unknown", isSilent: true } as const;

const rows: Row[] = [
  { is: "new name", plan: "served | +Ingress ann" },
  { is: "route as desired", routes: made(nginx, ann), plan: "served" },
  { is: "changed manifest", routes: made(nginx, ann), options: retried, plan: "served | +Ingress ann" },
  { is: "no manifest", manifest: undefined, plan: "waiting ManifestMissing" },
  { is: "no Service", service: undefined, plan: "waiting ServiceMissing" },
  { is: "no Service, and a route", service: undefined, routes: made(nginx, ann), plan: "served ServiceMissing" },
  { is: "unknown kind", isServed: () => false, plan: "waiting KindMissing" },
  { is: "copy without the lead", isLeading: false, plan: "served RouteMissing | +Ingress ann" },
  { is: "failed time-out of the Service", transportFailure: "x", plan: "served OptionNotHonoured | +Ingress ann" },

  { is: "invalid declaration", declared: declared(ann, { target: undefined }), plan: "refused HostnameInvalid" },
  { is: "invalid name", declared: declared(ann, {}, "A"), plan: "refused HostnameInvalid" },
  {
    is: "blocked name",
    hostRules: { blockedHosts: [host], ingressDomain: undefined, publicHost: undefined },
    plan: "refused HostnameBlocked",
  },
  { is: "older claim of another owner", claims: [claim(ben, 500)], plan: "refused HostnameInUse" },
  { is: "younger claim of another owner", claims: [claim(ben, 1_500)], plan: "served | +Ingress ann" },
  { is: "younger claim that is served", claims: [claim(ben, 1_500, true)], plan: "refused HostnameInUse" },
  { is: "older claim of the same owner", claims: [claim(annToo, 500)], plan: "served | +Ingress ann" },
  {
    is: "name in use, and an old route of its owner",
    ...moved,
    ...{ claims: [claim(ben, 500, true)], routes: made(nginx, ann, { createdAtMs: 0 }) },
    plan: "refused HostnameInUse | -Ingress ann",
  },
  {
    is: "declaration rewritten to another owner",
    declared: declared(ben, { isChanged: true }),
    ...{ confirmed: serverHas(declared(ben)), routes: made(nginx, ann) },
    plan: "refused OwnerChanged",
  },
  {
    is: "name given up by another owner",
    declared: declared(ben, { createdAtMs: 3_000 }),
    ...{ confirmed: serverHas(declared(ben)), routes: made(nginx, ann) },
    plan: "served | -Ingress ann +Ingress ben",
  },
  { is: "no proof", unproven: "no record", plan: "refused ProofMissing", recheckMs: proofEveryMs },
  { is: "no proof, and a route", unproven: "no record", routes: made(nginx, ann), plan: "served" },

  {
    is: "moved, and the server has another lease",
    ...moved,
    ...{ confirmed: serverHas(declared(ann)), routes: made(nginx, ann) },
    plan: "stale",
  },
  {
    is: "moved, and the API server is unreachable",
    ...moved,
    ...{ confirmed: new Map(), unconfirmed: new Error("x"), routes: made(nginx, ann) },
    plan: "waiting RouteFailed",
  },
  {
    is: "moved",
    ...{ ...moved, routes: made(nginx, ann) },
    plan: "served TransferPending | +Ingress annToo (instead of ann)",
  },
  {
    is: "moved, and no workload is ready",
    ...{ ...moved, routes: made(nginx, ann), endpoints: { ready: 0, total: 1 } },
    plan: "served TransferPending | +Ingress annToo",
  },
  {
    is: "moved, with both routes",
    ...{ ...moved, routes: [...made(nginx, ann), ...made(nginx, annToo)] },
    plan: "served | ~Ingress ann",
  },
  {
    is: "moved, with both routes, and just written",
    ...{ ...moved, routes: [...made(nginx, ann), ...made(nginx, annToo)], unsettledMs: 700 },
    plan: "served TransferPending",
    recheckMs: 700,
  },
  {
    is: "moved, with both routes, and no workload is ready",
    ...{ ...moved, endpoints: { ready: 0, total: 1 } },
    routes: [...made(nginx, ann), ...made(nginx, annToo, { createdAtMs: nowMs - 1_000 })],
    plan: "served TransferPending",
    recheckMs: 299_000,
  },
  {
    is: "moved five minutes ago, and no workload is ready",
    ...{ ...moved, endpoints: { ready: 0, total: 1 } },
    routes: [...made(nginx, ann), ...made(nginx, annToo, { createdAtMs: nowMs - 300_000 })],
    plan: "served | ~Ingress ann",
  },
  {
    is: "moved, and the old route was put back",
    ...{ ...moved, routes: made(nginx, ann, { putBackFor: "no", createdAtMs: nowMs - 1_000 }) },
    plan: "served RouteFailed,TransferPending",
    recheckMs: forceAgainMs - 1_000,
  },
  {
    is: "moved, and the old route was put back long ago",
    ...{ ...moved, routes: made(nginx, ann, { putBackFor: "no", createdAtMs: nowMs - forceAgainMs }) },
    plan: "served TransferPending | +Ingress annToo (instead of ann)",
  },
  { is: "written against", pauseMs: 900, plan: "served RouteContested", recheckMs: 900 },

  { ...orphaned, is: "undeclared name", plan: "gone RouteFailed | -Ingress ann" },
  { ...orphaned, is: "undeclared name, for a copy without the lead", isLeading: false, plan: "gone" },
  { ...orphaned, is: "undeclared in the cache alone", confirmed: serverHas(declared(ann)), plan: "stale" },
  {
    ...{ ...orphaned, is: "declaration with another host written into it" },
    confirmed: serverHas(declared(ann, { key: "odd", target: undefined })),
    plan: "gone",
  },
  {
    ...{ ...orphaned, is: "undeclared name that was written into the route of another one" },
    routes: made(nginx, ann, { name: "b.example.com" }),
    confirmed: new Map([...serverHas(undefined), ["b.example.com", declared(ann, {}, "b.example.com")]]),
    plan: "gone RouteFailed",
  },

  { is: "Traefik: new name", backend: traefik, plan: "served | +Middleware ann +Ingress ann" },
  {
    is: "Traefik: a route that serves is to name a new Middleware",
    ...{ backend: traefik, routes: made(traefik, ann, {}, { ...defaultOptions, nextTries: 1 }) },
    plan: "served | +Middleware ann",
    recheckMs: settleMs,
  },
  {
    is: "Traefik: the new Middleware is in force",
    backend: traefik,
    routes: [...made(traefik, ann).slice(0, 1), ...made(traefik, ann, {}, { ...defaultOptions, nextTries: 1 })],
    plan: "served | +Ingress ann",
  },
  {
    is: "Traefik: a Middleware that the route named until now",
    ...{ backend: traefik, options: { ...defaultOptions, nextTries: 1 }, unsettledMs: 700 },
    routes: [...made(traefik, ann).slice(0, 1), ...made(traefik, ann, {}, { ...defaultOptions, nextTries: 1 })],
    plan: "served",
    recheckMs: 700,
  },
  {
    is: "Traefik: a Middleware that nothing names",
    ...{ backend: traefik, options: { ...defaultOptions, nextTries: 1 } },
    routes: [...made(traefik, ann).slice(0, 1), ...made(traefik, ann, {}, { ...defaultOptions, nextTries: 1 })],
    plan: "served | ~Middleware ann",
  },

  {
    is: "Gateway API: new name",
    backend: gateway,
    plan: "served | +HTTPRoute ann +ClientSettingsPolicy ann +ProxySettingsPolicy ann",
  },
  {
    is: "Gateway API: no controller has answered",
    ...{ backend: gateway, routes: made(gateway, ann, { acceptance: silent, createdAtMs: nowMs - 1_000 }) },
    plan: "served",
    recheckMs: answerMs - 1_000,
  },
  {
    is: "Gateway API: an Ingress from before, and the new route is not accepted",
    backend: gateway,
    routes: [...made(nginx, ann), ...made(gateway, ann, { acceptance: { state: "refused" } })],
    plan: "served TransferPending",
  },
  {
    is: "Gateway API: an Ingress from before, and the new route is accepted",
    ...{ backend: gateway, routes: [...made(nginx, ann), ...made(gateway, ann)] },
    plan: "served | ~Ingress ann",
  },
  {
    is: "Gateway API: an Ingress from before that is to stay",
    ...{ backend: gateway, removesOldKind: false, routes: [...made(traefik, ann), ...made(gateway, ann)] },
    plan: "served OldRouteKept",
  },
];

function claim(lease: LeaseId, createdAtMs: number, isServed = false) {
  return { declared: declared(lease, { createdAtMs }, "*.example.com"), isServed };
}

for (const { is, plan: wanted, recheckMs, options = defaultOptions, ...given } of rows) {
  test(`plan of a host name: ${is}`, () => {
    const { backend = nginx, removesOldKind = true, routes = [] } = given;
    const hostRules = given.hostRules ?? { blockedHosts: [], ingressDomain: undefined, publicHost: undefined };
    const seen: ObservedHost = {
      ...{ host, declared: declared(ann), routes, confirmed: new Map(), unconfirmed: undefined, claims: [] },
      ...{ unproven: undefined, manifest: manifestOf(options), service: { ports: [80] }, transportFailure: undefined },
      ...{ endpoints: { ready: 1, total: 1 }, unsettledMs: 0, pauseMs: 0, isLeading: true, nowMs },
      isServed: () => true,
      live: (kind, namespace, name) =>
        routes.find((each) => each.kind === kind && each.namespace === namespace && each.name === name),
      ...given,
    };
    const plan = planHost(seen, { backend, hostRules, removesOldKind });
    assert.equal(textOf(plan), wanted);
    assert.equal(plan.recheckMs, recheckMs);
  });
}

function textOf({ verdict, conditions, removed, write, replaced }: ReturnType<typeof planHost>): string {
  const at = (namespace = "") => nameOf.get(namespace) ?? namespace;
  const desired = ({ kind, object: { metadata } }: DesiredObject) => `+${kind.kind} ${at(metadata.namespace)}`;
  const instead = write?.conflicting.map(({ namespace }) => ` (instead of ${at(namespace)})`) ?? [];
  const done = [
    ...removed.map(({ kind, namespace }) => `-${kind.kind} ${at(namespace)}`),
    ...(write?.parts.map(desired) ?? []),
    ...(write?.route ? [`${desired(write.route)}${instead.join("")}`] : []),
    ...(write?.policies.map(desired) ?? []),
    ...replaced.map(({ kind, namespace }) => `~${kind.kind} ${at(namespace)}`),
  ];
  const types = conditions.map(({ type }) => type).join(",");
  return [types ? `${verdict} ${types}` : verdict, ...(done.length > 0 ? [done.join(" ")] : [])].join(" | ");
}
