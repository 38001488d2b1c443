/** Conditions and retries when the API server, an ingress controller or another writer fails or interferes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { serversTransport } from "../../src/operators/hostname/backends/backend.ts";
import { putBackAnnotation } from "../../src/operators/hostname/live-route.ts";
import { answerMs, forceAgainMs } from "../../src/operators/hostname/plan.ts";
import { contestedWrites } from "../../src/operators/write-pace.ts";
import { condition } from "../../src/runtime/condition.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { groupOf, hosts, leaseOf } from "../support/stages/declaration-stage.ts";
import { controllerKinds, openHostnameStage, stateText } from "../support/stages/hostname-stage.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
const host = "a.example.com";
const usual = { maxBodySize: 1_048_576, readTimeout: 60_000, sendTimeout: 60_000, nextTries: 3, nextTimeout: 0 };

function namespacesOf(routes: readonly KubeObject[]): string[] {
  return routes.map(({ metadata }) => metadata.namespace ?? "");
}

test("the old route is restored where the controller rejects the new one after its removal", async (t) => {
  const stage = openHostnameStage(t);
  for (const each of [ann, annToo]) stage.lease(each, hosts(host));
  stage.declare(host, ann);
  let [isBroken, isShut, removed] = [false, false, 0];
  const reject = (reason: string) => {
    throw new ProviderError("AKP_KUBE_REFUSED", { verb: "patch", resource: host, status: 400, reason });
  };
  // Ingress-NGINX's webhook checks the host first, and the whole configuration last.
  const through = (kube: Kube): Kube => ({
    ...kube,
    async apply(kind, object, options) {
      const { name, namespace } = object.metadata;
      const other = stage
        .routes()
        .find(({ metadata }) => metadata.name === name && metadata.namespace !== namespace)?.metadata;
      if (kind === kinds.ingress && other)
        reject(`host "${name}" and path "/" is already defined in ingress ${other.namespace}/${name}`);
      if (kind === kinds.ingress && isBroken && (isShut || namespace === leaseNamespace(annToo)))
        reject("nginx: [emerg] could not build server_names_hash");
      return kube.apply(kind, object, options);
    },
    async delete(kind, at, options) {
      removed += 1;
      return kube.delete(kind, at, options);
    },
  });
  const first = stage.start({ through });
  await stage.settled(10_000);
  const [before] = stage.routes();
  isBroken = true;
  // For a moment it takes nothing at all.
  isShut = true;
  stage.declare(host, annToo);
  await stage.settled(1_000);
  assert.deepEqual(stage.routes(), []);
  isShut = false;
  await stage.settled(60_000);
  assert.deepEqual(stage.routes()[0]?.["spec"], before?.["spec"]);
  const { [putBackAnnotation]: why = "", ...annotations } = stage.routes()[0]?.metadata.annotations ?? {};
  assert.deepEqual(annotations, before?.metadata.annotations);
  assert.match(why, /server_names_hash/);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ann)]);
  await first.stop();
  const { operator } = stage.start({ through });
  await stage.settled(60_000);
  for (const { states } of [first.operator, operator]) {
    const [failed] = states.get(host)?.conditions ?? [];
    assert.match(`${failed?.type} ${failed?.message}`, /^RouteFailed .*server_names_hash/);
  }
  assert.equal(removed, 1, "it is not removed again for each try, nor after a restart");
  isBroken = false;
  await stage.settled(2 * forceAgainMs);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(annToo)]);
  assert.equal(stage.routes()[0]?.metadata.annotations?.[putBackAnnotation], undefined);
});

test("a name whose declaration cannot be read during a move is reported as it is", async (t) => {
  const stage = openHostnameStage(t);
  const { faults } = stage.cluster;
  for (const each of [ann, annToo]) stage.lease(each, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start();
  await stage.settled(10_000);
  faults.forbid("delete", kinds.ingress);
  stage.declare(host, annToo);
  await stage.settled(30_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy: RouteFailed");
  faults.forbid("get", kinds.providerHost);
  stage.endpoints(annToo, 0, 1);
  await stage.settled(60_000);
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: RouteFailed, EndpointsMissing");
  faults.clear();
  stage.endpoints(annToo, 1);
  await stage.settled(600_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(annToo)]);
});

test("an old route that cannot be removed is reported and does not block the new owner", async (t) => {
  const stage = openHostnameStage(t);
  for (const each of [ann, ben]) stage.lease(each, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start();
  await stage.settled(10_000);
  stage.cluster.faults.forbid("delete", kinds.ingress);
  stage.withdraw(host);
  await stage.settled(10_000);
  assert.match(stateText(operator.states.get(host)), /RouteFailed/, "it still leads somewhere");
  stage.declare(host, ben);
  await stage.settled(60_000);
  assert.deepEqual(namespacesOf(stage.routes()).sort(), [leaseNamespace(ann), leaseNamespace(ben)].sort());
  const state = operator.states.get(host);
  assert.equal(state?.namespace, leaseNamespace(ben));
  assert.match(stateText(state), /^served .*RouteFailed/);
  stage.cluster.faults.clear();
  await stage.settled(600_000);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ben)]);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
  stage.withdraw(host);
  await stage.settled(10_000);
  assert.equal(operator.states.size, 0);
});

test("objects of a name are removed although another one cannot be", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.traefik, ...controllerKinds.gateway);
  stage.lease(ann, groupOf({ hosts: [host], httpOptions: { ...usual, nextCases: ["error"] } }));
  stage.declare(host, ann);
  const first = stage.start({ ingressProvider: "traefik" });
  await stage.settled(20_000);
  await first.stop();
  const { operator } = stage.start({ ingressMode: "gateway-api", gatewayProvider: "traefik" });
  await stage.settled(20_000);
  assert.equal(stage.routes(kinds.httpRoute).length, 1);
  stage.cluster.faults.forbid("delete", kinds.ingress);
  stage.withdraw(host);
  await stage.settled(60_000);
  // What an Ingress names stays with it: without that it would lead nowhere, and perhaps take the requests of another.
  assert.deepEqual(
    stage.all().map((each) => each.split(" ")[0]),
    ["Ingress", "Middleware", "ServersTransport"],
  );
  assert.match(stateText(operator.states.get(host)), /RouteFailed/);
});

test("an Ingress is unhealthy while its IngressClass is missing", async (t) => {
  const stage = openHostnameStage(t, { classes: [] });
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start();
  await stage.settled(10_000);
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: ClassMissing");
  const { server } = stage.cluster;
  const made = { metadata: { name: "akash-ingress-class" }, spec: { controller: "k8s.io/ingress-nginx" } };
  server.create(kinds.ingressClass, made, "test");
  await stage.settled();
  assert.equal(stateText(operator.states.get(host)), "served healthy");
  server.delete(kinds.ingressClass, made.metadata);
  await stage.settled();
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: ClassMissing");
});

test("the health of an Ingress is unknown until a controller has written its status", async (t) => {
  const stage = openHostnameStage(t, { controller: false });
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start();
  await stage.settled(3_600_000);
  assert.equal(stateText(operator.states.get(host)), "served unknown");
  const [route] = stage.routes();
  assert.ok(route);
  const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
  stage.cluster.server.updateStatus(kinds.ingress, { ...route, status }, "ingress-controller");
  await stage.settled();
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("without permission to read classes, routes are made and their health is unknown", async (t) => {
  const stage = openHostnameStage(t);
  stage.cluster.faults.forbid("list", kinds.ingressClass);
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start();
  await stage.settled(60_000);
  assert.equal(stage.routes().length, 1);
  assert.equal(stateText(operator.states.get(host)), "served unknown");
  stage.cluster.faults.clear();
  await stage.settled(600_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("a route of the Gateway API without a status is not accepted after a while", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.gateway, ...controllerKinds.fabric);
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start({ ingressMode: "gateway-api" });
  await stage.settled(10_000);
  assert.equal(stateText(operator.states.get(host)), "served unknown");
  await stage.settled(answerMs);
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: RouteNotAccepted");
  assert.equal(operator.states.get(host)?.conditions[0]?.message, "no controller has answered");
});

test("a route without its Service or port is unhealthy", async (t) => {
  const stage = openHostnameStage(t);
  const { server } = stage.cluster;
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start();
  await stage.settled();
  const at = { namespace: leaseNamespace(ann), name: "web" };
  const live = server.get(kinds.service, at);
  assert.ok(live);
  const spec = { ...(live["spec"] as object), ports: [{ name: "x", port: 9_999 }] };
  server.update(kinds.service, { ...live, spec } as KubeObject, "kubectl");
  await stage.settled();
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: ServiceMissing");
  server.delete(kinds.service, at);
  server.delete(kinds.endpointSlice, { ...at, name: "web-1" });
  await stage.settled(60_000);
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: ServiceMissing");
  stage.lease(ann, hosts(host));
  await stage.settled();
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("a route contested by another writer is written a few times a minute, and reported", async (t) => {
  const stage = openHostnameStage(t);
  const { server } = stage.cluster;
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  const { operator } = stage.start();
  await stage.settled(3_000);
  const size = "nginx.ingress.kubernetes.io/proxy-body-size";
  let isAtIt = true;
  const revert = () => {
    const [route] = stage.routes();
    const { annotations = {} } = route?.metadata ?? {};
    if (!route || !isAtIt || annotations[size] === "7") return;
    const metadata = { ...route.metadata, annotations: { ...annotations, [size]: "7" } };
    server.update(kinds.ingress, { ...route, metadata }, "policy-controller");
  };
  let isDue = false;
  server.subscribe(() => {
    if (isDue) return;
    isDue = true;
    stage.clock.timer(50, () => {
      isDue = false;
      revert();
    });
  });
  const before = operator.counts.written;
  revert();
  await stage.settled(120_000);
  const written = operator.counts.written - before;
  assert.ok(written <= 3 * contestedWrites, `${written} writes in two minutes`);
  assert.equal(stateText(operator.states.get(host)), "served healthy: RouteContested");
  isAtIt = false;
  await stage.settled(180_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
  assert.notEqual(stage.routes()[0]?.metadata.annotations?.[size], "7");
});

test("0 tries are unlimited in NGINX, and bounded", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, groupOf({ hosts: [host], httpOptions: { ...usual, nextTries: 0, nextCases: ["error"] } }));
  stage.declare(host, ann);
  const { operator } = stage.start();
  await stage.settled();
  const { annotations } = stage.routes()[0]?.metadata ?? {};
  assert.equal(annotations?.["nginx.ingress.kubernetes.io/proxy-next-upstream-tries"], "10");
  assert.deepEqual(operator.states.get(host)?.conditions, [
    condition("OptionNotHonoured", "next_tries 0: it has no end, and 10 is the most"),
  ]);
});

test("Traefik: a failed write of a timeout is reported for all names of its Service", async (t) => {
  const stage = openHostnameStage(t);
  const forbid = (kind: Kind) => stage.cluster.faults.forbid("patch", kind);
  stage.define(...controllerKinds.traefik);
  stage.lease(ann, groupOf({ hosts: [host], httpOptions: { ...usual, readTimeout: 5_000, nextCases: ["error"] } }));
  stage.declare(host, ann);
  forbid(serversTransport);
  const { operator } = stage.start({ ingressProvider: "traefik" });
  await stage.settled(60_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy: OptionNotHonoured");
  assert.match(operator.states.get(host)?.conditions[0]?.message ?? "", /^read_timeout 5000: /);
  stage.cluster.faults.clear();
  await stage.settled(600_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});
