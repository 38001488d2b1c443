/** What holds of the objects of any lease, whatever the tenant sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { kinds } from "../../src/kube/kinds.ts";
import { serviceLabel } from "../../src/kube/objects/lease-labels.ts";
import { leaseObjects } from "../../src/kube/objects/lease-objects.ts";
import type { DesiredObject, LeaseWorkload } from "../../src/kube/objects/lease-workload.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { ManifestService } from "../../src/market/manifest.ts";
import { leaseObjectsContract } from "../support/contracts/lease-objects.contract.ts";
import { simulateKube } from "../support/kube/simulated-kube.ts";
import { anyChange, anyWorkload, serviceNames } from "../support/random-workload.ts";
import { runs } from "../support/runs.ts";
import { objectSettings, sampleLease, sampleService, sampleWorkload } from "../support/samples/lease-samples.ts";
import { node } from "../support/stages/simulated-cluster-stage.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

leaseObjectsContract({
  numRuns: runs(20, 1_000),
  async open(owner) {
    const clock = createVirtualClock();
    const { connect, server } = simulateKube(owner, { clock });
    server.create(kinds.runtimeClass, { metadata: { name: "nvidia" }, handler: "nvidia" }, "test");
    return { connect: (name = "akash-provider") => connect(name), settle: () => clock.advance(10_000) };
  },
});

function all(workload: LeaseWorkload): DesiredObject[] {
  const { namespace, policies, credentials, workloads, services } = leaseObjects(workload, objectSettings);
  return [namespace, ...policies, ...credentials, ...workloads, ...services];
}

test("the same workload gives the same bytes", () => {
  const property = fc.property(anyWorkload, (workload) => {
    assert.equal(JSON.stringify(all(structuredClone(workload))), JSON.stringify(all(workload)));
  });
  fc.assert(property, { numRuns: runs(40, 2_000) });
});

test("a change in one service, or its end, changes no object of another", () => {
  const [changed] = serviceNames;
  const others = (workload: LeaseWorkload) => all(workload).filter((desired) => serviceOf(desired) !== changed);
  const property = fc.property(anyChange, ([before, after]) => {
    assert.deepEqual(others(after), others(before));
  });
  fc.assert(property, { numRuns: runs(40, 2_000) });
});

test("everything has a limit, and nothing runs with more rights than it needs", () => {
  const property = fc.property(anyWorkload, (workload) => {
    for (const { object } of leaseObjects(workload, objectSettings).workloads) {
      const pod = (object as unknown as { spec: { template: { spec: PodSpec } } }).spec.template.spec;
      const [container] = pod.containers;
      for (const amounts of [container.resources.limits, container.resources.requests]) {
        for (const name of ["cpu", "memory", "ephemeral-storage"]) assert.match(amounts[name] ?? "", /^\d+m?$/);
      }
      assert.equal(container.securityContext.allowPrivilegeEscalation, false);
      assert.equal(container.securityContext.privileged, false);
      assert.equal(pod.securityContext.seccompProfile.type, "RuntimeDefault");
      assert.ok(["default", object.metadata.name].includes(pod.serviceAccountName));
      assert.equal(pod.automountServiceAccountToken, pod.serviceAccountName !== "default");
      for (const { emptyDir } of pod.volumes ?? []) assert.match(emptyDir.sizeLimit, /^\d+$/);
    }
  });
  fc.assert(property, { numRuns: runs(40, 2_000) });
});

test("a changed image replaces the pods of its service alone, and a permission taken away leaves a service its pods", async (t) => {
  const clock = createVirtualClock();
  const { connect, server } = simulateKube(t, { clock, nodes: [node("one", { labels: { "akash.network": "true" } })] });
  const kube = connect("akash-provider");
  const namespace = leaseNamespace(sampleLease);
  const running = async (...services: ManifestService[]) => {
    for (const { kind, object } of all(sampleWorkload(...services))) await kube.apply(kind, object);
    await clock.advance(60_000);
    const pods = server.list(kinds.pod, { namespace }).filter(({ metadata }) => !metadata.deletionTimestamp);
    assert.ok(pods.every((pod) => (pod["status"] as { phase: string }).phase === "Running"));
    return new Map(pods.map(({ metadata }) => [metadata.labels?.[serviceLabel], metadata.uid]));
  };
  const api = sampleService({ name: "api", params: { storage: null, permissions: { read: ["logs"] } } });
  const web = sampleService({ name: "web" });
  const first = await running(api, web);
  assert.equal(first.size, 2);
  const second = await running(api, { ...web, image: "nginx:2" });
  assert.equal(second.get("api"), first.get("api"));
  assert.notEqual(second.get("web"), first.get("web"));
  const third = await running(sampleService({ name: "api" }), { ...web, image: "nginx:2" });
  assert.notEqual(third.get("api"), second.get("api"));
  assert.equal(third.get("web"), second.get("web"));
  assert.equal(third.size, 2);
});

interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: { readonly seccompProfile: { readonly type: string } };
  readonly containers: readonly [
    {
      readonly resources: Record<"limits" | "requests", Readonly<Record<string, string>>>;
      readonly securityContext: { readonly privileged: boolean; readonly allowPrivilegeEscalation: boolean };
    },
  ];
  readonly volumes?: readonly { readonly emptyDir: { readonly sizeLimit: string } }[];
}

/** Policies say it in what they select. */
function serviceOf({ object }: DesiredObject): string | undefined {
  const { podSelector } = (object["spec"] ?? {}) as { podSelector?: { matchLabels?: Record<string, string> } };
  return object.metadata.labels?.[serviceLabel] ?? podSelector?.matchLabels?.[serviceLabel];
}
