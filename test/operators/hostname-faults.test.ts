/** What must not happen to host names whatever goes wrong around the hostname operator. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../../src/kube/kube.ts";
import { providerHostName } from "../../src/kube/objects/provider-host.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { serversTransport } from "../../src/operators/hostname/backends/backend.ts";
import { transportAnnotation } from "../../src/operators/hostname/backends/traefik.ts";
import { settleMs } from "../../src/operators/hostname/plan.ts";
import { condition } from "../../src/runtime/condition.ts";
import { ProviderError } from "../../src/runtime/errors.ts";
import { groupOf, hosts, leaseOf, manifestNamespace } from "../support/stages/declaration-stage.ts";
import { controllerKinds, type HostnameStage, openHostnameStage, stateText } from "../support/stages/hostname-stage.ts";

const [ann, annToo, ben] = [leaseOf(1, 1), leaseOf(1, 2), leaseOf(2, 1)];
const host = "a.example.com";

function namespacesOf(routes: readonly KubeObject[]): string[] {
  return routes.map(({ metadata }) => metadata.namespace ?? "");
}

for (const [what, next] of [
  ["another owner", ben],
  ["another lease", annToo],
] as const) {
  test(`a copy that has not heard that a name went to ${what} takes no route away when it gets the lead`, async (t) => {
    const stage = openHostnameStage(t);
    const { faults, server } = stage.cluster;
    stage.lease(ann, hosts(host));
    stage.lease(next, hosts(host));
    stage.declare(host, ann);
    const first = stage.start();
    const second = stage.start({ leads: false });
    await stage.settled(3_000);
    // Only the watch event of the declaration is late.
    faults.lagWatches(20_000);
    if (next === ben) stage.withdraw(host);
    stage.declare(host, next);
    faults.lagWatches(0);
    await first.stop();
    const third = stage.start();
    await stage.settled(10_000);
    await third.stop();
    assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(next)]);
    let least = 1;
    server.subscribe(() => {
      least = Math.min(least, namespacesOf(stage.routes()).filter((each) => each === leaseNamespace(next)).length);
    });
    const over = new AbortController();
    void second.operator.lead(over.signal);
    await stage.settled(60_000);
    over.abort();
    assert.equal(least, 1);
    assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(next)]);
  });
}

test("the old route stays where the controller rejects the new one for a third route", async (t) => {
  const stage = openHostnameStage(t);
  const through = (kube: Kube): Kube => ({
    ...kube,
    async apply(kind, object, options) {
      const { namespace, name } = object.metadata;
      if (kind !== kinds.ingress || namespace === leaseNamespace(ann)) return kube.apply(kind, object, options);
      const reason = `admission webhook "validate.nginx.ingress.kubernetes.io" denied the request: host "${name}" and path "/" is already defined in ingress elsewhere/by-hand`;
      throw new ProviderError("AKP_KUBE_REFUSED", { verb: "patch", resource: name, status: 400, reason });
    },
  });
  stage.start({ through });
  stage.lease(ann, hosts(host));
  stage.lease(annToo, hosts(host));
  stage.declare(host, ann);
  await stage.settled();
  stage.declare(host, annToo);
  await stage.settled(30_000);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ann)]);
});

test("a declaration with an edited host name no longer declares the old name", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  const { server } = stage.cluster;
  const wildcard = "*.example.com";
  stage.lease(ann, hosts(wildcard));
  stage.lease(ben, hosts(host));
  stage.declare(wildcard, ann);
  await stage.settled(2_000);
  stage.declare(host, ben);
  await stage.settled();
  assert.equal(stateText(operator.states.get(host)), "refused unknown: HostnameInUse");
  const at = { namespace: manifestNamespace, name: providerHostName(wildcard) };
  const live = server.get(kinds.providerHost, at);
  assert.ok(live);
  const spec = { ...(live["spec"] as object), hostname: "*.example.org" };
  server.update(kinds.providerHost, { ...live, spec } as KubeObject, "kubectl");
  await stage.settled();
  assert.equal(operator.states.get(wildcard), undefined);
  assert.equal(stateText(operator.states.get(at.name)), "refused unknown: HostnameInvalid");
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("a lease leaves the ignore list when its waiting name moves to another lease", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  stage.lease(ann, hosts(host), { manifest: false });
  stage.lease(annToo, hosts(host));
  stage.declare(host, ann);
  await stage.settled(30_000);
  assert.equal(operator.ignored.size, 1);
  stage.declare(host, annToo);
  await stage.settled();
  assert.equal(stateText(operator.states.get(host)), "served healthy");
  assert.equal(operator.ignored.size, 0);
});

test("options of a manifest are validated before they reach the controller's configuration", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  const usual = { maxBodySize: 1_048_576, readTimeout: 60_000, sendTimeout: 60_000, nextTries: 3, nextTimeout: 0 };
  const nextCases = ["error", "503", "timeout;\nproxy_pass http://169.254.169.254"];
  const group = groupOf({ httpOptions: { ...usual, nextCases, proxyBufferSize: 4_294_967_295 } });
  stage.lease(ann, group);
  stage.declare(host, ann);
  await stage.settled();
  const annotations = stage.routes()[0]?.metadata.annotations ?? {};
  assert.equal(annotations["nginx.ingress.kubernetes.io/proxy-next-upstream"], "error http_503");
  assert.equal(annotations["nginx.ingress.kubernetes.io/proxy-buffer-size"], "1048576");
  assert.deepEqual(operator.states.get(host)?.conditions, [
    condition(
      "OptionNotHonoured",
      'next_cases "timeout;\\nproxy_pass http://169.254.169.2": it is none of error, timeout, 500, 502, 503, 504, 403, 404, 429, off',
    ),
    condition("OptionNotHonoured", "proxy_buffer_size 4294967295: 1048576 is the most"),
  ]);
});

/** Until all is well again, nothing more is heard of these. */
function hide(stage: HostnameStage, kind: Kind): void {
  const { faults } = stage.cluster;
  faults.forbid("list", kind);
  faults.forbid("watch", kind);
  faults.cutWatches();
}

test("unknown endpoints make health unknown and hold up transfers", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  for (const each of [ann, annToo]) stage.lease(each, hosts(host));
  stage.declare(host, ann);
  await stage.settled();
  hide(stage, kinds.endpointSlice);
  for (const each of [ann, annToo]) stage.endpoints(each, 0, 1);
  await stage.settled(60_000);
  assert.equal(stateText(operator.states.get(host)), "served unknown");
  stage.declare(host, annToo);
  await stage.settled(60_000);
  assert.equal(stage.routes().length, 2);
  stage.cluster.faults.clear();
  await stage.settled(120_000);
  assert.equal(stateText(operator.states.get(host)), "served unhealthy: TransferPending, EndpointsMissing");
});

test("health of host names is unknown while the cluster cannot be read", async (t) => {
  const stage = openHostnameStage(t);
  const { operator } = stage.start();
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  await stage.settled();
  hide(stage, kinds.service);
  await stage.settled(60_000);
  assert.equal(stateText(operator.states.get(host)), "served unknown: ClusterUnknown");
  stage.cluster.faults.clear();
  await stage.settled(120_000);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("routes are made without permission to read an unused kind", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.traefik, ...controllerKinds.gateway);
  for (const kind of [...controllerKinds.traefik, ...controllerKinds.gateway]) hide(stage, kind);
  const { operator } = stage.start();
  stage.lease(ann, hosts(host));
  stage.declare(host, ann);
  await stage.settled(60_000);
  assert.equal(operator.waitingFor, undefined);
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("name servers that never answer delay only their owner's names", async (t) => {
  const stage = openHostnameStage(t);
  const resolveTxt = (name: string) =>
    name.endsWith("dead.example") ? new Promise<never>(() => undefined) : Promise.resolve([[ben.owner]]);
  const { operator } = stage.start({ resolveTxt });
  for (const lease of [ann, ben]) stage.lease(lease, hosts());
  for (let at = 0; at < 100; at++) stage.declare(`h${at}.dead.example`, ann);
  await stage.settled(100);
  for (const each of ["good.example", "fine.example"]) stage.declare(each, ben);
  await stage.settled(1_000);
  assert.equal(stateText(operator.states.get("good.example")), "served healthy");
  assert.equal(stateText(operator.states.get("fine.example")), "served healthy");
  await stage.settled(60_000);
  assert.equal(stateText(operator.states.get("h1.dead.example")), "refused unknown: ProofMissing");
});

for (const [what, next, ingressMode] of [
  ["another lease of its owner", annToo, "ingress"],
  ["another mode", ann, "gateway-api"],
] as const) {
  test(`with proofs, a name that is served goes to ${what} without a new proof`, async (t) => {
    const stage = openHostnameStage(t);
    stage.define(...controllerKinds.gateway);
    for (const each of [ann, annToo]) stage.lease(each, hosts(host));
    stage.declare(host, ann);
    const unasked = stage.start();
    await stage.settled(3_000);
    await unasked.stop();
    stage.declare(host, next);
    const { operator } = stage.start({ ingressMode, resolveTxt: async () => [] });
    await stage.settled(60_000);
    assert.equal(operator.states.get(host)?.state, "served");
    const kind = ingressMode === "ingress" ? kinds.ingress : kinds.httpRoute;
    assert.deepEqual(namespacesOf(stage.routes(kind)), [leaseNamespace(next)]);
  });
}

test("a name released and declared by another owner no longer leads to the first lease", async (t) => {
  const stage = openHostnameStage(t);
  for (const each of [ann, annToo]) stage.lease(each, hosts("*.example.com"));
  stage.lease(ben, hosts(host));
  stage.declare("*.example.com", ann);
  const first = stage.start();
  await stage.settled(3_000);
  await first.stop();
  stage.withdraw("*.example.com");
  stage.declare(host, ben);
  await stage.settled(2_000);
  stage.declare("*.example.com", annToo);
  const { operator } = stage.start();
  await stage.settled(10_000);
  assert.equal(stateText(operator.states.get("*.example.com")), "refused unknown: HostnameInUse");
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(ben)]);
});

test("a blocked wildcard does not block names of another owner below it", async (t) => {
  const stage = openHostnameStage(t);
  stage.lease(ann, hosts("*.example.com"));
  stage.lease(ben, hosts(host));
  stage.declare("*.example.com", ann);
  await stage.settled(2_000);
  stage.declare(host, ben);
  const { operator } = stage.start({ blockedHosts: ["www.example.com"] });
  await stage.settled();
  assert.equal(stateText(operator.states.get("*.example.com")), "refused unknown: HostnameBlocked");
  assert.equal(stateText(operator.states.get(host)), "served healthy");
});

test("Traefik: the Service of the previous lease keeps its timeout while a route leads to it", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.traefik);
  for (const each of [ann, annToo]) stage.lease(each, hosts(host));
  stage.declare(host, ann);
  stage.start({ ingressProvider: "traefik" });
  await stage.settled(20_000);
  const transport = () => {
    const service = stage.cluster.server.get(kinds.service, { namespace: leaseNamespace(ann), name: "web" });
    return service?.metadata.annotations?.[transportAnnotation];
  };
  stage.endpoints(annToo, 0, 1);
  stage.declare(host, annToo);
  await stage.settled(60_000);
  assert.equal(stage.routes().length, 2);
  assert.notEqual(transport(), undefined);
  stage.endpoints(annToo, 1);
  await stage.settled(60_000);
  assert.deepEqual(namespacesOf(stage.routes()), [leaseNamespace(annToo)]);
  assert.equal(transport(), undefined);
  assert.equal(stage.routes(serversTransport).length, 1);
});

test("a new leader in the middle of a move keeps the old route until the new one is in force", async (t) => {
  const stage = openHostnameStage(t);
  stage.define(...controllerKinds.traefik);
  for (const lease of [ann, annToo]) stage.lease(lease, hosts(host));
  stage.declare(host, ann);
  const first = stage.start({ ingressProvider: "traefik" });
  const second = stage.start({ ingressProvider: "traefik", leads: false });
  await stage.settled(20_000);
  const isServedBy = (lease: typeof ann) =>
    stage.routes().some(({ metadata: { namespace } }) => namespace === leaseNamespace(lease));
  stage.declare(host, annToo);
  while (!isServedBy(annToo)) await stage.clock.advance(50);
  await first.stop();
  const leading = new AbortController();
  t.after(() => leading.abort());
  void second.operator.lead(leading.signal).catch(() => undefined);
  await stage.clock.advance(settleMs - 100);
  assert.ok(isServedBy(ann));
  await stage.settled(20_000);
  assert.deepEqual([isServedBy(ann), isServedBy(annToo)], [false, true]);
});
