/** The hostname operator as a whole, on a simulated cluster. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import { Leadership } from "../../src/kube/leadership.ts";
import { providerHostName } from "../../src/kube/objects/provider-host.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { middleware, serversTransport } from "../../src/operators/hostname/backends/backend.ts";
import { gapReportedMs } from "../../src/operators/hostname/hostname-loop.ts";
import { settleMs } from "../../src/operators/hostname/plan.ts";
import { condition } from "../../src/runtime/condition.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { groupOf, hosts, leaseOf, manifestNamespace } from "../support/stages/declaration-stage.ts";
import { controllerKinds, type HostnameStage, openHostnameStage, stateText } from "../support/stages/hostname-stage.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
const host = "a.example.com";
const httpOptions = {
  maxBodySize: 3_000_000,
  readTimeout: 13_000,
  sendTimeout: 20_000,
  nextTries: 5,
  nextTimeout: 2_000,
  nextCases: ["error", "timeout", "503"],
};

function namespacesOf(routes: readonly KubeObject[]): string[] {
  return routes.map(({ metadata }) => metadata.namespace ?? "");
}

/** What a controller of the Gateway API writes. */
function answerRoutes(stage: HostnameStage, status: "True" | "False", message = ""): void {
  const { server } = stage.cluster;
  for (const route of stage.routes(kinds.httpRoute)) {
    const parentRef = { name: "traefik", namespace: "traefik" };
    const conditions = [{ type: "Accepted", status, message, observedGeneration: route.metadata.generation }];
    server.updateStatus(kinds.httpRoute, { ...route, status: { parents: [{ parentRef, conditions }] } }, "traefik");
  }
}

test("a declared host name gets its Ingress, and loses it with its declaration", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  await stage.settled();
  assert.equal(stage.all().length, 1);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
  stage.withdraw(host);
  await stage.settled();
  assert.deepEqual(stage.all(), []);
  assert.equal(operator.states.size, 0);
});

test("a restart with nothing to do writes nothing", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts(host, "*.example.org"));
  for (const each of [host, "*.example.org"]) stage.declare(each, ann);
  const life = stage.start();
  await stage.settled();
  const before = stage.routes();
  assert.equal(before.length, 2);
  await life.stop();
  const { kube } = stage.start();
  await stage.settled(5_000);
  assert.equal(kube.counts.applied, 0);
  assert.deepEqual(stage.routes(), before);
});

test("idle host names cost no requests beyond resumed watches", async (t) => {
  const restOf = async (count: number) => {
    const stage = openHostnameStage(t);
    stage.lease(ann, hosts());
    for (let at = 0; at < count; at++) stage.declare(`h${at}.example.com`, ann);
    stage.start();
    await stage.settled(10_000);
    assert.equal(stage.routes().length, count);
    const { requests } = stage.cluster.counts;
    await stage.settled(600_000);
    return stage.cluster.counts.requests - requests;
  };
  assert.equal(await restOf(50), await restOf(0));
});

for (const name of [host, "*.example.com"]) {
  test(`what is edited of ${name} by hand is put right where it is, and what is deleted is put back`, async (t) => {
    const stage = openHostnameStage(t);
    stage.lease(ann, hosts(name));
    stage.declare(name, ann);
    stage.start();
    await stage.settled();
    const [route] = stage.routes();
    assert.ok(route);
    const { server } = stage.cluster;
    const spec = route["spec"] as { rules: object[] };
    const rules = spec.rules.map((rule) => ({ ...rule, host: "b.example.org" }));
    server.update(kinds.ingress, { ...route, spec: { ...spec, rules } } as KubeObject, "kubectl");
    await stage.settled();
    assert.deepEqual(stage.routes()[0]?.["spec"], spec);
    assert.equal(stage.routes()[0]?.metadata.uid, route.metadata.uid);
    server.delete(kinds.ingress, route.metadata);
    await stage.settled();
    assert.deepEqual(stage.routes()[0]?.["spec"], spec);
  });
}

test("our route without a declaration is removed, and foreign objects stay", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const life = stage.start();
  await stage.settled();
  await life.stop();
  stage.withdraw(host);
  const [route] = stage.routes();
  assert.ok(route);
  const { server } = stage.cluster;
  const { labels = {}, namespace } = route.metadata;
  const like = (metadata: KubeObject["metadata"], manager: string) =>
    server.create(kinds.ingress, { metadata, spec: route["spec"] } as KubeObject, manager);
  server.create(kinds.namespace, { metadata: { name: "elsewhere" } }, "test");
  like({ name: "theirs", namespace: "elsewhere", labels }, "akash-operator-hostname");
  like({ name: "bare", namespace: "elsewhere" }, "kubectl");
  like({ name: "copied", namespace: namespace ?? "", labels }, "kubectl");
  stage.start();
  await stage.settled();
  assert.deepEqual(
    stage
      .routes()
      .map(({ metadata }) => metadata.name)
      .sort(),
    ["bare", "copied", "theirs"],
  );
});

test("a late manifest, Service or port is waited for with a condition", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  const look = () => stateText(operator.states.get(host));
  stage.declare(host, ann);
  await stage.settled(60_000);
  assert.equal(look(), "waiting unknown: ManifestMissing");
  assert.match(JSON.stringify(operator.ignored.view()), /"failure-count":3/);
  stage.lease(ann, groupOf({ externalPort: 81 }), { service: false });
  await stage.settled();
  assert.equal(look(), "waiting unknown: ServiceMissing");
  stage.lease(ann, hosts(host), { service: false });
  await stage.settled();
  assert.match(operator.states.get(host)?.conditions[0]?.message ?? "", /^resource not found: Service web of /);
  stage.lease(ann, hosts(host), { endpoints: false });
  await stage.settled();
  assert.equal(look(), "served unhealthy: EndpointsMissing");
  stage.endpoints(ann, 0, 1);
  await stage.settled();
  assert.equal(look(), "served unhealthy: EndpointsMissing");
  stage.endpoints(ann, 1);
  await stage.settled();
  assert.equal(look(), "served healthy");
  assert.equal(operator.ignored.view(), undefined);
});

test("a terminating namespace is waited for while other names are served", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  stage.lease(ann, hosts(host));
  stage.lease(ben, hosts("b.example.com"));
  stage.cluster.faults.forbid("patch", kinds.ingress);
  stage.declare(host, ann);
  await stage.settled();
  assert.equal(stateText(operator.states.get(host)), "waiting unknown: RouteFailed");
  stage.cluster.faults.clear();
  stage.declare("b.example.com", ben);
  await stage.settled(120_000);
  assert.equal(stage.routes().length, 2);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("a transfer makes the new route first, and removes the old one when the new one has a ready workload", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  stage.lease(ann, hosts(host));
  stage.lease(annToo, hosts(host));
  stage.endpoints(annToo, 0, 1);
  stage.declare(host, ann);
  await stage.settled();
  const least = leastRoutes(stage);
  stage.declare(host, annToo);
  await stage.settled(60_000);
  assert.equal(stage.routes().length, 2);
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: TransferPending, EndpointsMissing");
  stage.endpoints(annToo, 1);
  await stage.settled();
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(annToo)]);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
  assert.equal(least.routes, 1);
  // Its owner has declared it, with or without a workload.
  stage.endpoints(ann, 0);
  stage.declare(host, ann);
  await stage.settled(301_000);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ann)]);
  assert.equal(least.routes, 1);
  assert.deepEqual([operator.counts.transfers, operator.counts.gaps], [2, 0]);
});

test("where the controller takes no second route for a name, the old one goes first, and the gap is reported", async (t) => {
  const stage = openHostnameStage(t);
  // Ingress-NGINX's admission webhook.
  let failures = 0;
  const through = (kube: Kube): Kube => ({
    ...kube,
    async apply(kind, object, options) {
      const { namespace, name } = object.metadata;
      const twice = stage.routes().find(({ metadata }) => metadata.name === name && metadata.namespace !== namespace);
      if (kind === kinds.ingress && !twice && failures-- > 0) throw new Error("connection reset");
      if (kind !== kinds.ingress || !twice) return kube.apply(kind, object, options);
      const reason = `admission webhook "validate.nginx.ingress.kubernetes.io" denied the request: host "${name}" and path "/" is already defined in ingress ${twice.metadata.namespace}/${name}`;
      throw new ProviderError("AKP_KUBE_REFUSED", { verb: "patch", resource: name, status: 400, reason });
    },
  });
  const { operator } = stage.start({ through });
  stage.lease(ann, hosts(host));
  stage.lease(annToo, hosts(host));
  stage.declare(host, ann);
  await stage.settled();
  // The old one cannot be put back at once either.
  failures = 5;
  stage.declare(host, annToo);
  await stage.settled(60_000);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(annToo)]);
  assert.equal(stateText(operator.states.get(host)), "served healthy: TransferGap");
  assert.deepEqual([operator.counts.transfers, operator.counts.gaps], [1, 1]);
  assert.ok(operator.counts.longestGapMs > 0, "also where the new route does not come at once");
  await stage.settled(gapReportedMs);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("failures of one name stop no other, also of an unreadable one", async (t) => {
  const stage = openHostnameStage(t);
  const through = (kube: Kube): Kube => ({
    ...kube,
    async apply(kind, object, options) {
      if (object.metadata.name === host) throw new Error("on purpose");
      return kube.apply(kind, object, options);
    },
  });
  const { operator } = stage.start({ through });
  const { server } = stage.cluster;
  server.create(kinds.providerHost, { metadata: { name: "odd", namespace: manifestNamespace }, spec: {} }, "somebody");
  stage.lease(ann, hosts(host));
  for (const each of [host, "b.example.com"]) stage.declare(each, ann);
  await stage.settled(60_000);
  assert.equal(stateText(operator.states.get(host)), "waiting unknown: RouteFailed");
  assert.equal(stateText(operator.states.get("b.example.com")), "served healthy");
  assert.equal(stateText(operator.states.get("odd")), "refused unknown: HostnameInvalid");
});

test("no route is removed while declarations cannot be watched", async (t) => {
  const stage = openHostnameStage(t);
  stage.start();
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  await stage.settled();
  stage.cluster.faults.forbid("list", kinds.providerHost);
  stage.cluster.faults.forbid("watch", kinds.providerHost);
  stage.cluster.faults.cutWatches();
  stage.endpoints(ann, 0, 1);
  await stage.settled(120_000);
  assert.equal(stage.routes().length, 1);
  stage.withdraw(host);
  await stage.settled(120_000);
  assert.equal(stage.routes().length, 1);
  stage.cluster.faults.clear();
  await stage.settled(120_000);
  assert.deepEqual(stage.all(), []);
});

/** The fewest routes that there ever were, from now on. */
function leastRoutes(stage: HostnameStage) {
  const least = { routes: stage.routes().length };
  stage.cluster.server.subscribe(() => {
    least.routes = Math.min(least.routes, stage.routes().length);
  });
  return least;
}

test("a name declared later by another owner leads to that owner at once", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts(host));
  stage.lease(ben, hosts(host), { manifest: false });
  stage.declare(host, ann);
  const life = stage.start();
  await stage.settled(2_000);
  await life.stop();
  stage.withdraw(host);
  await stage.settled(2_000);
  stage.declare(host, ben);
  stage.start();
  await stage.settled();
  assert.deepEqual(stage.all(), []);
  stage.lease(ben, hosts(host));
  await stage.settled();
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ben)]);
});

test("a declaration whose owner is rewritten is rejected", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts(host));
  stage.lease(ben, hosts(host));
  // Its route is made within the second, as it is where the operator runs.
  const { operator } = stage.start();
  await stage.settled(2_000);
  stage.declare(host, ann);
  await stage.settled(2_000);
  stage.declare(host, ben);
  await stage.settled();
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ann)]);
  assert.equal(stateText(operator.states.get(host)), "refused unknown: OwnerChanged");
});

test("the first owner keeps the route under an older wildcard when the declaration's owner is rewritten", async (t) => {
  const stage = openHostnameStage(t);
  for (const lease of [ann, ben]) stage.lease(lease, hosts());
  const { operator } = stage.start();
  stage.declare("*.example.com", ann);
  await stage.settled(2_000);
  stage.declare(host, ann);
  await stage.settled(2_000);
  stage.declare(host, ben);
  await stage.settled();
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ann), leaseNamespace(ann)]);
  assert.equal(stateText(operator.states.get(host)), "refused unknown: OwnerChanged");
});

test("between owners the first of a wildcard and a name below it wins; one owner may have both", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  for (const lease of [ann, annToo, ben]) stage.lease(lease, hosts());
  stage.declare("*.example.com", ann);
  stage.declare("a.example.org", ben);
  await stage.settled(2_000);
  stage.declare("a.example.com", ben);
  stage.declare("x.y.example.com", ben);
  stage.declare("b.example.com", annToo);
  stage.declare("*.example.org", ann);
  await stage.settled(2_000);
  const served = [...operator.states.list()].filter(({ state }) => state === "served").map((state) => state.host);
  assert.deepEqual(served.sort(), ["*.example.com", "a.example.org", "b.example.com"]);
  assert.equal(stage.routes().length, 3);
  assert.deepEqual(operator.states.get("a.example.com")?.conditions, [
    condition("HostnameInUse", 'hostname not allowed: host "a.example.com" in use'),
  ]);
  stage.withdraw("*.example.com");
  await stage.settled();
  assert.equal(stateText(operator.states.get("a.example.com")), "served healthy");
  const wildcard = stage.routes().find(({ metadata }) => metadata.name.startsWith("hashed-"));
  assert.equal(wildcard, undefined);
});

test("hostile host names are rejected in the network's words", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start({
    blockedHosts: ["www.foo.com", ".bar.com", ".cluster.local"],
    ingressDomain: "ingress.example.com",
    publicHost: "provider.example.com",
  });
  stage.lease(ann, hosts());
  const table: Readonly<Record<string, RegExp>> = {
    [`${"a".repeat(250)}.com`]: /has invalid hostname/,
    "Upper.example.com": /^service "web": has invalid hostname "Upper.example.com"$/,
    "bücher.example.com": /has invalid hostname/,
    "a.example.com/../b": /has invalid hostname/,
    "a.example.com:80": /has invalid hostname/,
    "..": /has invalid hostname/,
    "*": /has invalid hostname/,
    "a.*.example.com": /has invalid hostname/,
    "-a.example.com": /has invalid hostname/,
    "10.0.0.1": /has invalid hostname/,
    "www.foo.com": /^hostname not allowed: "www.foo.com" is blocked by this provider$/,
    "x.bar.com": /^hostname not allowed: domain "x.bar.com" is blocked by this provider$/,
    "kubernetes.default.svc.cluster.local": /is blocked by this provider$/,
    "provider.example.com": /is blocked by this provider$/,
    "ingress.example.com": /is blocked by this provider$/,
    "x.ingress.example.com": /is blocked by this provider$/,
    "*.example.com": /is blocked by this provider$/,
    "*.com": /is blocked by this provider$/,
  };
  for (const name of Object.keys(table)) stage.declare(name, ann);
  await stage.settled();
  for (const [name, text] of Object.entries(table)) {
    const state = operator.states.get(name);
    assert.equal(state?.state, "refused", name);
    assert.match(state.conditions[0]?.message ?? "", text, name);
  }
  assert.deepEqual(stage.all(), []);
});

test("an object that claims another object's host name is invalid", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  stage.lease(ann, hosts(host));
  stage.lease(ben, hosts(host));
  stage.declare(host, ann);
  const { server } = stage.cluster;
  const [own] = server.list(kinds.providerHost);
  const forged = { metadata: { name: "z.example.com", namespace: manifestNamespace }, spec: own?.["spec"] };
  server.create(kinds.providerHost, forged as KubeObject, "somebody");
  await stage.settled();
  assert.equal(stage.routes().length, 1);
  assert.equal(stateText(operator.states.get("z.example.com")), "refused unknown: HostnameInvalid");
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("a declaration without the network's label is read like any other", async (t) => {
  const stage = openHostnameStage(t);
  stage.start();
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const { server } = stage.cluster;
  const [own] = [...server.list(kinds.providerHost)];
  assert.ok(own);
  server.update(kinds.providerHost, { ...own, metadata: { ...own.metadata, labels: {} } }, "somebody");
  await stage.settled();
  assert.equal(stage.routes().length, 1);
});

test("from Ingress to the Gateway API: the new route first, the Ingress goes once that is accepted", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const first = stage.start();
  await stage.settled();
  await first.stop();
  const kept = stage.start({ ingressMode: "gateway-api", removesOldKind: false });
  await stage.settled(60_000);
  assert.equal(stateText(kept.operator.states.get(host)), "waiting unknown: KindMissing");
  assert.equal(stage.routes().length, 1);
  stage.define(...controllerKinds.gateway);
  await stage.settled();
  assert.equal(stage.all().length, 2);
  answerRoutes(stage, "True");
  await stage.settled(600_000);
  assert.equal(stage.all().length, 2);
  assert.match(stateText(kept.operator.states.get(host)), /^served healthy: .*OldRouteKept$/);
  await kept.stop();
  const { operator } = stage.start({ ingressMode: "gateway-api" });
  answerRoutes(stage, "False", "no such listener");
  await stage.settled(600_000);
  assert.equal(stage.all().length, 2);
  assert.match(stateText(operator.states.get(host)), /^served unhealthy: .*TransferPending, RouteNotAccepted$/);
  answerRoutes(stage, "True");
  await stage.settled();
  assert.deepEqual([stage.routes().length, stage.routes(kinds.httpRoute).length], [0, 1]);
});

test("Traefik: sizes and tries are Middlewares, the time-out is the Service's, and all of it goes again", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start({ ingressProvider: "traefik", ingressClass: "traefik" });
  stage.lease(ann, groupOf({ hosts: [host], httpOptions }));
  stage.declare(host, ann);
  await stage.settled();
  const optionTypes = () => operator.states.get(host)?.conditions.map(({ message }) => message.split(":")[0]) ?? [];
  assert.equal(stage.routes()[0]?.metadata.annotations, undefined);
  assert.deepEqual(optionTypes().length, 6);
  stage.define(...controllerKinds.traefik);
  await stage.settled(30_000);
  assert.deepEqual(optionTypes(), [
    "max_body_size 3000000",
    "send_timeout 20000",
    "next_timeout 2000",
    "next_cases 503",
  ]);
  const namespace = leaseNamespace(ann);
  const [body, retry] = stage.routes(middleware);
  assert.deepEqual(
    [body?.["spec"], retry?.["spec"]],
    [{ buffering: { maxRequestBodyBytes: 3_000_000 } }, { retry: { attempts: 5 } }],
  );
  const named = [body, retry].map((each) => `${namespace}-${each?.metadata.name}@kubernetescrd`).join();
  const [ingress] = stage.routes();
  assert.deepEqual(ingress?.metadata.annotations, { "traefik.ingress.kubernetes.io/router.middlewares": named });
  const [transport] = stage.routes(serversTransport);
  assert.deepEqual(transport?.["spec"], { forwardingTimeouts: { responseHeaderTimeout: "13000ms" } });
  const service = () => stage.cluster.server.get(kinds.service, { namespace, name: "web" });
  assert.deepEqual(service()?.metadata.annotations, {
    "traefik.ingress.kubernetes.io/service.serverstransport": `${namespace}-${transport?.metadata.name}@kubernetescrd`,
  });
  stage.withdraw(host);
  await stage.settled();
  assert.deepEqual(service()?.metadata.annotations ?? {}, {});
  await stage.settled(settleMs);
  assert.deepEqual(stage.all(), []);
});

test("Traefik: what is named was there before for as long as it gathers changes, and a moved name's old route stays as long", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.traefik);
  stage.start({ ingressProvider: "traefik", ingressClass: "traefik" });
  const at = new Map<string, number>();
  stage.cluster.server.subscribe(({ type, kind, object }) => {
    const { namespace = "", annotations = {} } = object.metadata;
    const isNamed = kind === kinds.service && Object.keys(annotations).length > 0;
    const key = `${isNamed ? "named" : type} ${kind.kind} ${namespace === leaseNamespace(ann) ? "ann" : "annToo"}`;
    if (!at.has(key)) at.set(key, stage.clock.now());
  });
  const between = (one: string, other: string) => (at.get(other) ?? Number.NaN) - (at.get(one) ?? Number.NaN);
  for (const lease of [ann, annToo]) stage.lease(lease, groupOf({ hosts: [host], httpOptions }));
  stage.declare(host, ann);
  await stage.settled(60_000);
  stage.declare(host, annToo);
  await stage.settled(60_000);
  assert.ok(between("added ServersTransport annToo", "named Service annToo") >= settleMs);
  assert.ok(between("added Ingress annToo", "deleted Ingress ann") >= settleMs);
  assert.ok(between("added Ingress annToo", "deleted Middleware ann") >= settleMs);
  // A Middleware more: the Ingress that serves names it once it is in force.
  const [before] = stage.routes();
  stage.lease(annToo, groupOf({ hosts: [host], httpOptions: { ...httpOptions, nextTries: 1 } }));
  await stage.settled(1_000);
  assert.equal(stage.routes(middleware).length, 2, "one that is named no more stays for a while too");
  await stage.settled(settleMs);
  assert.equal(stage.routes(middleware).length, 1);
  stage.lease(annToo, groupOf({ hosts: [host], httpOptions }));
  await stage.settled(1_000);
  assert.equal(stage.routes(middleware).length, 2);
  assert.notDeepEqual(stage.routes()[0]?.metadata.annotations, before?.metadata.annotations);
  await stage.settled(settleMs);
  assert.deepEqual(stage.routes()[0]?.metadata.annotations, before?.metadata.annotations);
});

test("Traefik behind the Gateway API: the size is a filter of the route, and time-outs are a condition", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.gateway, ...controllerKinds.traefik);
  const { operator } = stage.start({ ingressMode: "gateway-api", gatewayProvider: "traefik" });
  stage.lease(ann, groupOf({ hosts: [host], httpOptions }));
  stage.declare(host, ann);
  await stage.settled();
  const [route] = stage.routes(kinds.httpRoute);
  assert.ok(route);
  const { rules } = route["spec"] as { rules: { filters: { extensionRef: { name: string } }[] }[] };
  const filters = rules[0]?.filters.map(({ extensionRef }) => extensionRef.name);
  assert.deepEqual(
    filters,
    stage.routes(middleware).map(({ metadata }) => metadata.name),
  );
  assert.equal(route.metadata.annotations, undefined);
  const messages = operator.states.get(host)?.conditions.map(({ message }) => message) ?? [];
  assert.ok(
    messages.includes("read_timeout 13000: Traefik has no time-outs for routes of the Gateway API"),
    `${messages}`,
  );
});

test("NGINX Gateway Fabric: policies that name the route, where the cluster knows them", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.gateway, ...controllerKinds.fabric);
  const { operator } = stage.start({ ingressMode: "gateway-api" });
  stage.lease(ann, groupOf({ hosts: [host], httpOptions }));
  stage.declare(host, ann);
  await stage.settled();
  const [client] = stage.routes(controllerKinds.fabric[0]);
  const [proxy] = stage.routes(controllerKinds.fabric[1]);
  const target = { group: "gateway.networking.k8s.io", kind: "HTTPRoute", name: providerHostName(host) };
  assert.deepEqual(client?.["spec"], { targetRef: target, body: { maxSize: "2930k" } });
  assert.deepEqual(proxy?.["spec"], {
    targetRefs: [target],
    timeout: { read: "13s", send: "20s" },
    buffering: { bufferSize: "16k", buffers: { number: 8, size: "16k" } },
  });
  const said = operator.states.get(host)?.conditions.map(({ message }) => message.split(" ")[0]);
  assert.deepEqual(said, ["next_tries", "next_timeout", "next_cases"]);
  stage.withdraw(host);
  await stage.settled();
  assert.deepEqual(stage.all(), []);
});

test("certificates: a Secret of the lease's namespace, the controller's default, or an issuer", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const tlsOf = async (tls: { secret?: string; issuer?: string }) => {
    const life = stage.start({ tls: { secret: tls.secret, issuer: tls.issuer } });
    await stage.settled();
    await life.stop();
    const [route] = stage.routes();
    assert.ok(route);
    return [(route["spec"] as { tls?: unknown }).tls, route.metadata.annotations?.["cert-manager.io/cluster-issuer"]];
  };
  assert.deepEqual(await tlsOf({ secret: "wild" }), [[{ hosts: [host], secretName: "wild" }], undefined]);
  assert.deepEqual(await tlsOf({ secret: "ingress/wild" }), [[{ hosts: [host] }], undefined]);
  const [tls, issuer] = await tlsOf({ issuer: "letsencrypt" });
  assert.match(JSON.stringify(tls), /^\[\{"hosts":\["a.example.com"\],"secretName":"akash-[0-9a-v]{24}-tls"\}\]$/);
  assert.equal(issuer, "letsencrypt");
  assert.deepEqual(await tlsOf({}), [undefined, undefined]);
});

test("a foreign domain is served once its owner has proven it in the DNS", async (t) => {
  const stage = openHostnameStage(t);
  const records = new Map<string, string>();
  const resolveTxt = async (name: string) => {
    const text = records.get(name);
    if (text === undefined) throw new Error("queryTxt ENOTFOUND");
    return [[text]];
  };
  const { operator } = stage.start({ resolveTxt });
  stage.lease(ann, hosts(host));
  stage.declare("*.example.com", ann);
  await stage.settled();
  assert.equal(stateText(operator.states.get("*.example.com")), "refused unknown: ProofMissing");
  records.set("_akash-challenge.example.com", ben.owner);
  await stage.settled(61_000);
  assert.deepEqual(stage.all(), []);
  records.set("_akash-challenge.example.com", ann.owner);
  await stage.settled(61_000);
  assert.equal(stateText(operator.states.get("*.example.com")), "served healthy");
});

test("a copy without the lead writes nothing and reports states; with the lead it writes", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const waiting = stage.start({ leads: false });
  await stage.settled(60_000);
  assert.deepEqual(stage.all(), []);
  assert.equal(stateText(waiting.operator.states.get(host)), "waiting unknown: RouteMissing");
  const first = stage.start();
  await stage.settled();
  assert.equal(stage.routes().length, 1);
  assert.equal(stateText(waiting.operator.states.get(host)), "served healthy");
  await first.stop();
  stage.withdraw(host);
  await stage.settled(60_000);
  assert.equal(stage.routes().length, 1);
  const ending = new AbortController();
  const leading = waiting.operator.lead(ending.signal);
  await stage.settled();
  assert.deepEqual(stage.all(), []);
  ending.abort();
  await leading;
  assert.equal(waiting.kube.counts.applied, 0);
});

test("a probe that fails is part of a host name's health", async (t) => {
  const stage = openHostnameStage(t);
  let status = 503;
  const { operator } = stage.start({ probe: async () => status });
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  await stage.settled(61_000);
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: ProbeFailed");
  status = 404;
  await stage.settled(61_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("of two copies one leads; when it dies the other takes over within seconds", async (t) => {
  const stage = openHostnameStage(t);
  const { clock, cluster } = stage;
  cluster.server.create(kinds.namespace, { metadata: { name: "akash-services" } }, "test");
  const copies = ["one", "two"].map((identity) => {
    const { operator, kube, stop } = stage.start({ leads: false });
    const at = { namespace: "akash-services", name: "operator-hostname", identity };
    const leadership = new Leadership(at, { kube, clock, log: silentLog });
    const ending = new AbortController();
    const running = leadership.run(ending.signal, operator.lead);
    return { kube, leadership, stop, end: () => ending.abort(), running };
  });
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  await stage.settled(20_000);
  const [leader, other] = copies.toSorted((a, b) => Number(b.leadership.leading) - Number(a.leadership.leading));
  assert.ok(leader && other);
  assert.deepEqual([leader.leadership.leading, other.leadership.leading], [true, false]);
  assert.deepEqual([leader.kube.counts.applied, other.kube.counts.applied], [1, 0]);
  // Killed: it says nothing more, and gives nothing back.
  await leader.stop();
  stage.declare("b.example.com", ann);
  await stage.settled(30_000);
  assert.equal(other.leadership.leading, true);
  assert.equal(stage.routes().length, 2);
  for (const { end } of copies) end();
  await stage.settled(30_000);
  await Promise.all(copies.map(({ running }) => running));
});
