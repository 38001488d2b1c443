/** What holds of the objects of any lease, whatever the tenant sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { kinds } from "../src/kube/kinds.ts";
import { serviceLabel } from "../src/kube/objects/lease-labels.ts";
import { leaseObjects } from "../src/kube/objects/lease-objects.ts";
import type { DesiredObject, LeaseWorkload } from "../src/kube/objects/lease-workload.ts";
import { faultsOfManifest } from "../src/market/manifest-rules.ts";
import { createVirtualClock } from "../src/runtime/clock.ts";
import { objectSettings } from "./lease-samples.ts";
import { createOwner } from "./owner.ts";
import { anyChange, anyWorkload, serviceNames } from "./random-workload.ts";
import { runs } from "./runs.ts";
import { simulateKube } from "./simulated-kube.ts";

const settings = { ...objectSettings, overcommit: { cpuPercent: 50, memoryPercent: 20, storagePercent: 5 } };
const us = "akash-provider";

function all(workload: LeaseWorkload): DesiredObject[] {
  const { namespace, policies, credentials, workloads, services } = leaseObjects(workload, settings);
  return [namespace, ...policies, ...credentials, ...workloads, ...services];
}

test("the API server takes every object, and a new process has nothing to write, also when controllers have been at it", async () => {
  const property = fc.asyncProperty(anyWorkload, async (workload) => {
    assert.deepEqual(
      faultsOfManifest([workload.group]).filter((fault) => fault !== "zero global services"),
      [],
    );
    await using owner = createOwner();
    const clock = createVirtualClock();
    const { connect, server } = simulateKube(owner, { clock });
    server.create(kinds.runtimeClass, { metadata: { name: "nvidia" }, handler: "nvidia" }, "test");
    const kube = connect(us);
    for (const { kind, object } of all(workload)) await kube.apply(kind, object);
    await clock.advance(10_000);
    const restarted = connect(us);
    for (const { kind, object } of all(workload)) {
      assert.equal((await restarted.apply(kind, object)).written, false, JSON.stringify(object));
    }
  });
  await fc.assert(property, { numRuns: runs(20, 1_000) });
});

test("the same workload gives the same bytes", () => {
  const property = fc.property(anyWorkload, (workload) => {
    assert.equal(JSON.stringify(all(structuredClone(workload))), JSON.stringify(all(workload)));
  });
  fc.assert(property, { numRuns: runs(40, 5_000) });
});

test("a change in one service, or its end, changes no object of another", () => {
  const [changed] = serviceNames;
  const others = (workload: LeaseWorkload) => all(workload).filter((desired) => serviceOf(desired) !== changed);
  const property = fc.property(anyChange, ([before, after]) => {
    assert.deepEqual(others(after), others(before));
  });
  fc.assert(property, { numRuns: runs(40, 5_000) });
});

test("everything has a limit, and nothing runs with more rights than it needs", () => {
  const property = fc.property(anyWorkload, (workload) => {
    for (const { object } of leaseObjects(workload, settings).workloads) {
      const pod = (object as unknown as { spec: { template: { spec: PodSpec } } }).spec.template.spec;
      const [container] = pod.containers;
      for (const amounts of [container.resources.limits, container.resources.requests]) {
        for (const name of ["cpu", "memory", "ephemeral-storage"]) assert.match(amounts[name] ?? "", /^\d+m?$/);
      }
      assert.equal(container.securityContext.allowPrivilegeEscalation, false);
      assert.equal(container.securityContext.privileged, false);
      assert.equal(pod.securityContext.seccompProfile.type, "RuntimeDefault");
      assert.equal(pod.serviceAccountName, object.metadata.name);
      for (const { emptyDir } of pod.volumes ?? []) assert.match(emptyDir.sizeLimit, /^\d+$/);
    }
  });
  fc.assert(property, { numRuns: runs(40, 5_000) });
});

interface PodSpec {
  readonly serviceAccountName: string;
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
