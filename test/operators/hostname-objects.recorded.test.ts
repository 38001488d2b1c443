/** The routes that the network's own operator made, made again from the same declarations, and taken over from it. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { test } from "node:test";
import { type Kind, kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { settleMs } from "../../src/operators/hostname/plan.ts";
import { readJsonRecording } from "../support/recordings.ts";
import { type RecordedLease, recordedLeases } from "../support/samples/recorded-leases.ts";
import { manifestNamespace } from "../support/stages/declaration-stage.ts";
import { controllerKinds, type HostnameStage, openHostnameStage } from "../support/stages/hostname-stage.ts";

const routeKinds = [kinds.ingress, kinds.httpRoute];

function routesIn({ from }: RecordedLease): KubeObject[] {
  const { items = [] } = readJsonRecording<{ items?: KubeObject[] }>(from);
  return items.filter(({ kind = "" }) => routeKinds.some((each) => each.kind === kind));
}

/** Some of the other recordings were made while the provider was in that mode. */
function modeOf(lease: RecordedLease): { readonly ingressMode: "ingress" | "gateway-api"; readonly kind: Kind } {
  const isGateway = routesIn(lease).some(({ kind }) => kind === kinds.httpRoute.kind);
  return { ingressMode: isGateway ? "gateway-api" : "ingress", kind: isGateway ? kinds.httpRoute : kinds.ingress };
}

/** Brings what the provider had made of a lease. */
function bring(stage: HostnameStage, { workload: { lease, group }, objects }: RecordedLease): void {
  stage.lease(lease, group);
  const declared = objects.filter(({ kind }) => kind === kinds.providerHost.kind);
  for (const { metadata, ...object } of declared) {
    const { name, labels = {}, annotations = {} } = metadata;
    const clean = { ...object, metadata: { name, namespace: manifestNamespace, labels, annotations } };
    stage.cluster.server.create(kinds.providerHost, clean, "provider-services");
  }
}

/** The applied object: without server fields and Gateway API defaults. */
function applied({ metadata: { name, namespace, labels, annotations }, ...object }: KubeObject): unknown {
  const text = JSON.stringify(object["spec"])
    .replaceAll('"group":"","kind":"Service",', "")
    .replaceAll(',"weight":1', "");
  return { name, namespace, labels, annotations, spec: sorted(JSON.parse(text)) };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, part]) => [name, sorted(part)]),
  );
}

function byName(objects: readonly KubeObject[]): unknown[] {
  return objects.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).map(applied);
}

async function inOwnStage(t: TestContext, work: (stage: HostnameStage) => Promise<void>): Promise<void> {
  const stage = openHostnameStage(t, { controller: false });
  stage.define(...controllerKinds.gateway);
  await work(stage);
}

test("every recorded declaration becomes the recorded route", async (t) => {
  let count = 0;
  for (const lease of recordedLeases()) {
    const recorded = routesIn(lease);
    if (recorded.length === 0) continue;
    const { ingressMode, kind } = modeOf(lease);
    await inOwnStage(t, async (stage) => {
      bring(stage, lease);
      stage.start({ ingressMode, ingressDomain: "ingress.lab.test" });
      await stage.settled();
      assert.deepEqual(
        byName(stage.routes(kind)),
        byName(recorded.filter((each) => each.kind === kind.kind)),
        lease.from,
      );
      count += recorded.length;
    });
  }
  assert.ok(count > 80, `only ${count} routes were recorded`);
});

test("routes of the network's operator are adopted without a write", async (t) => {
  for (const lease of recordedLeases().filter(({ from }) =>
    /\/(host|gateway)-(options|options-off|two)\//.test(from),
  )) {
    const { ingressMode, kind } = modeOf(lease);
    await inOwnStage(t, async (stage) => {
      bring(stage, lease);
      const { server } = stage.cluster;
      for (const { metadata, spec } of routesIn(lease) as (KubeObject & { spec: unknown })[]) {
        const { name, namespace = "", labels = {}, annotations = {} } = metadata;
        server.create(kind, { metadata: { name, namespace, labels, annotations }, spec }, "provider-services");
      }
      const before = stage.routes(kind);
      const first = stage.start({ ingressMode, ingressDomain: "ingress.lab.test" });
      await stage.settled();
      assert.deepEqual(stage.routes(kind), before, lease.from);
      assert.equal(first.kube.counts.applied, 0);
      assert.ok([...first.operator.states.list()].every(({ state }) => state === "served"));
      // A change of the tenant's is one of ours from then on, and leaves nothing of theirs behind.
      await first.stop();
      const [one] = before;
      const life = stage.start({
        ingressMode,
        ingressDomain: "ingress.lab.test",
        ingressClass: "other",
        gatewayName: "other",
      });
      await stage.settled();
      await life.stop();
      const changed = stage.routes(kind).find(({ metadata }) => metadata.name === one?.metadata.name);
      assert.notDeepEqual(changed?.["spec"], one?.["spec"]);
      assert.deepEqual(
        changed?.metadata.managedFields?.map(({ manager }) => manager),
        ["akash-operator-hostname"],
      );
    });
  }
});

interface Steps {
  readonly transfer: {
    readonly before: Readonly<Record<string, string>>;
    readonly after: Readonly<Record<string, string>>;
  };
}

for (const [word, ingressMode, kind] of [
  ["host", "ingress", kinds.ingress],
  ["gateway", "gateway-api", kinds.httpRoute],
] as const) {
  test(`a transfer ends as the recorded one does, without a moment without a route: ${word}`, async (t) => {
    const { transfer } = readJsonRecording<Steps>(`objects/${word}-steps/steps.json`);
    const leases = recordedLeases().filter(({ from }) =>
      new RegExp(`/${word}-(options|options-off|two|dest)/objects.json`).test(from),
    );
    const after = recordedLeases().find(({ from }) => from.endsWith(`/${word}-dest/objects-1.json`));
    assert.ok(after);
    const known = new Set(leases.map(({ workload }) => `${workload.lease.dseq}`));
    const routes = (step: Readonly<Record<string, string>>) =>
      Object.entries(step)
        .filter(([name, text]) => name.startsWith(`${kind.kind}/`) && known.has(/dseq (\d+)/.exec(text)?.[1] ?? ""))
        .map(([name, text]) => `${name.slice(kind.kind.length + 1)} ${/ns (\w+)/.exec(text)?.[1]}`)
        .sort();
    await inOwnStage(t, async (stage) => {
      for (const lease of leases) bring(stage, lease);
      stage.start({ ingressMode, ingressDomain: "ingress.lab.test" });
      await stage.settled();
      const live = () =>
        stage
          .routes(kind)
          .map(({ metadata: { name, namespace } }) => `${name} ${namespace?.slice(0, 6)}`)
          .sort();
      assert.deepEqual(live(), routes(transfer.before));
      const moved = `x.${word === "host" ? "lab" : "gw"}.test`;
      let isGone = false;
      stage.cluster.server.subscribe(() => {
        isGone ||= !stage.routes(kind).some(({ metadata }) => metadata.name === moved);
      });
      stage.lease(after.workload.lease, after.workload.group);
      stage.declare(moved, after.workload.lease);
      await stage.settled();
      if (kind === kinds.httpRoute) accept(stage);
      await stage.settled(settleMs);
      assert.deepEqual(live(), routes(transfer.after));
      assert.equal(isGone, false);
    });
  });
}

function accept(stage: HostnameStage): void {
  for (const route of stage.routes(kinds.httpRoute)) {
    const parentRef = { name: "traefik", namespace: "traefik" };
    const conditions = [{ type: "Accepted", status: "True" }];
    stage.cluster.server.updateStatus(kinds.httpRoute, { ...route, status: { parents: [{ parentRef, conditions }] } });
  }
}
