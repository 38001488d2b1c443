import assert from "node:assert/strict";
import { test } from "node:test";
import { listRecordings, readJsonRecording } from "../../../../test/support/recordings.ts";
import { bidOf, leasePod, orderKey } from "../../../../test/support/stages/reservation-stage.ts";
import type { KubeObject } from "../../../kube/kube.ts";
import { committed } from "../../../market/fit.ts";
import { leaseNamespace } from "../../../market/lease-namespace.ts";
import { projectLeasePod } from "./lease-watches.ts";

const order = orderKey(1);
const running = {
  cpu: "1500m",
  memory: "1Gi",
  gpus: 2,
  volumes: 1,
  node: "a",
  version: "7",
  phase: "Running",
  boundAt: "2026-01-01T00:00:00Z",
};

test("a pod is projected to its lease, node and requests", () => {
  const { facts: _, ...kept } = projectLeasePod(leasePod(order, "web", running));
  assert.deepEqual(kept, {
    uid: "uid-web",
    name: "web",
    namespace: leaseNamespace(bidOf(order)),
    node: "a",
    boundAtMs: Date.UTC(2026, 0, 1),
    requests: { cpuMilli: 1_500n, memoryBytes: 2n ** 30n, gpus: 2n, volumes: 1n },
    version: "7",
    runs: 0,
  });
});

test("a pod that is not bound, has ended or is on its way out stands for nothing", () => {
  const nodeOf = (some: object) => projectLeasePod(leasePod(order, "web", { ...running, ...some })).node;
  assert.deepEqual(
    [nodeOf({ node: undefined }), nodeOf({ phase: "Failed" }), nodeOf({ leaving: true })],
    [undefined, undefined, undefined],
  );
});

test("a pod of whatever shape is read, and what cannot be read counts as nothing", () => {
  const strange: KubeObject[] = [
    { metadata: { name: "a" } },
    { metadata: { name: "b" }, spec: 7, status: "x" },
    leasePod(order, "c", { ...running, cpu: "a lot" }),
  ];
  assert.deepEqual(
    strange.map((pod) => projectLeasePod(pod).requests.cpuMilli),
    [0n, 0n, 0n],
  );
});

/** How much cpu that provider sold beyond what it had. */
const recordedCpuPercent = 1_000;

interface RecordedGroups {
  readonly groups: readonly {
    readonly group_spec: {
      readonly resources: readonly {
        readonly resource: {
          readonly cpu: { readonly units: { readonly val: string } };
          readonly memory: { readonly quantity: { readonly val: string } };
          readonly gpu: { readonly units: { readonly val: string } };
        };
      }[];
    };
  }[];
}

interface RecordedWorkload extends KubeObject {
  readonly spec: { readonly template?: Omit<KubeObject, "metadata"> & { readonly metadata: { labels: object } } };
}

test("the pods that the Go provider makes carry the label, and ask for exactly what is set aside for their unit", () => {
  const paths = listRecordings("objects");
  let seen = 0;
  for (const path of paths.filter((each) => each.endsWith("/groups.json"))) {
    const objects = path.replace("groups.json", "objects.json");
    if (!paths.includes(objects)) continue;
    const units = readJsonRecording<RecordedGroups>(path).groups.flatMap(({ group_spec }) =>
      group_spec.resources.map(({ resource: { cpu, memory, gpu } }) =>
        [committed(BigInt(cpu.units.val), recordedCpuPercent), memory.quantity.val, gpu.units.val].join(),
      ),
    );
    for (const { kind, metadata, spec } of readJsonRecording<{ items: RecordedWorkload[] }>(objects).items) {
      if (kind !== "Deployment" && kind !== "StatefulSet") continue;
      const { labels } = spec.template?.metadata ?? {};
      assert.equal((labels as Record<string, string>)["akash.network"], "true", objects);
      const pod = { ...spec.template, metadata } as KubeObject;
      const { cpuMilli, memoryBytes, gpus } = projectLeasePod(pod).requests;
      assert.ok(units.includes([cpuMilli, memoryBytes, gpus].join()), `${objects} ${metadata.name}: ${units}`);
      seen += 1;
    }
  }
  assert.ok(seen > 30, `${seen} workloads`);
});
