import assert from "node:assert/strict";
import { test } from "node:test";
import { podRequests, readAllAmounts, wholeAmount } from "./pod-requests.ts";

const mi = 1024n * 1024n;

interface Case {
  readonly name: string;
  readonly spec: Record<string, unknown>;
  readonly status?: Record<string, unknown>;
  /** Thousandths of cpu, bytes of memory and of ephemeral storage. */
  readonly counts: readonly [bigint, bigint, bigint];
}

const requests = (list: Record<string, unknown>) => ({ resources: { requests: list } });
const web = { name: "web", ...requests({ cpu: "500m", memory: "64Mi" }) };
const job = (list: Record<string, unknown>) => ({ name: "job", ...requests(list) });
const sidecar = (name: string, list: Record<string, unknown>) => ({ name, restartPolicy: "Always", ...requests(list) });

const cases: Case[] = [
  {
    name: "a pod that requests nothing counts nothing",
    spec: { containers: [{ name: "web" }] },
    counts: [0n, 0n, 0n],
  },
  {
    name: "containers run side by side, so they add up",
    spec: {
      containers: [web, { name: "log", ...requests({ cpu: "0.25", memory: "1M", "ephemeral-storage": "1Gi" }) }],
    },
    counts: [750n, 64n * mi + 1_000_000n, 1024n * mi],
  },
  {
    name: "parts of a unit are added first and rounded up once",
    spec: { containers: ["a", "b", "c"].map((name) => ({ name, ...requests({ cpu: "400u", memory: "0.4" }) })) },
    counts: [2n, 2n, 0n],
  },
  {
    name: "init containers run one after the other, so the greatest of them counts where it is more than the pod",
    spec: { containers: [web], initContainers: [job({ cpu: "2" }), job({ cpu: "1", memory: "32Mi" })] },
    counts: [2_000n, 64n * mi, 0n],
  },
  {
    name: "a sidecar counts with the containers",
    spec: { containers: [web], initContainers: [sidecar("proxy", { cpu: "100m", memory: "16Mi" })] },
    counts: [600n, 80n * mi, 0n],
  },
  {
    name: "an init container runs beside the sidecars before it, not beside those after it",
    spec: {
      containers: [web],
      initContainers: [sidecar("early", { cpu: "100m" }), job({ cpu: "900m" }), sidecar("late", { cpu: "200m" })],
    },
    counts: [1_000n, 64n * mi, 0n],
  },
  {
    name: "two sidecars are started one after the other and stay",
    spec: {
      containers: [web],
      initContainers: [sidecar("early", { cpu: "100m" }), sidecar("late", { cpu: "200m" }), job({ cpu: "1" })],
    },
    counts: [1_300n, 64n * mi, 0n],
  },
  {
    name: "the overhead of the runtime class comes on top",
    spec: { containers: [web], initContainers: [job({ cpu: "2" })], overhead: { cpu: "250m", memory: "120Mi" } },
    counts: [2_250n, 184n * mi, 0n],
  },
  {
    name: "what the pod requests as a whole replaces cpu and memory of its containers, and nothing else",
    spec: {
      containers: [{ name: "web", ...requests({ cpu: "4", memory: "1Gi", "ephemeral-storage": "1Mi" }) }],
      resources: { requests: { cpu: "1", "ephemeral-storage": "9Mi", "hugepages-2Mi": "4Mi" } },
      overhead: { cpu: "10m" },
    },
    counts: [1_010n, 1024n * mi, mi],
  },
  {
    name: "an emptyDir in memory is no request",
    spec: { containers: [web], volumes: [{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: "1Gi" } }] },
    counts: [500n, 64n * mi, 0n],
  },
  {
    name: "a container that is being shrunk holds what it had until the node has let go of it",
    spec: { containers: [web] },
    status: {
      containerStatuses: [
        {
          name: "web",
          resources: { requests: { cpu: "2", memory: "64Mi" } },
          allocatedResources: { cpu: "1", memory: "96Mi" },
        },
      ],
    },
    counts: [2_000n, 96n * mi, 0n],
  },
  {
    name: "a container that is being grown counts with what it requests",
    spec: { containers: [web] },
    status: { containerStatuses: [{ name: "web", resources: { requests: { cpu: "100m" } } }] },
    counts: [500n, 64n * mi, 0n],
  },
  {
    name: "a resize that the node can never make does not count",
    spec: { containers: [web] },
    status: {
      conditions: [{ type: "PodResizePending", status: "True", reason: "Infeasible" }],
      containerStatuses: [{ name: "web", resources: { requests: { cpu: "100m", memory: "8Mi" } } }],
    },
    counts: [100n, 8n * mi, 0n],
  },
  {
    name: "a resize that the node only puts off does count",
    spec: { containers: [web] },
    status: {
      conditions: [{ type: "PodResizePending", status: "True", reason: "Deferred" }],
      containerStatuses: [{ name: "web", resources: { requests: { cpu: "100m", memory: "8Mi" } } }],
    },
    counts: [500n, 64n * mi, 0n],
  },
  {
    name: "set-aside amounts without what the runtime has set say nothing",
    spec: { containers: [web] },
    status: { containerStatuses: [{ name: "web", allocatedResources: { cpu: "9" } }] },
    counts: [500n, 64n * mi, 0n],
  },
  {
    name: "a sidecar can be resized, an init container cannot",
    spec: { containers: [], initContainers: [sidecar("proxy", { cpu: "100m" }), job({ cpu: "100m" })] },
    status: {
      initContainerStatuses: ["proxy", "job"].map((name) => ({ name, resources: { requests: { cpu: "300m" } } })),
    },
    counts: [400n, 0n, 0n],
  },
];

for (const { name, spec, status = {}, counts } of cases) {
  test(name, () => {
    const amounts = podRequests({ metadata: { name: "p" }, spec, status }, readAllAmounts);
    const whole = (resource: string) => wholeAmount(resource, amounts.get(resource) ?? 0n);
    assert.deepEqual([whole("cpu"), whole("memory"), whole("ephemeral-storage")], counts);
  });
}

test("every resource is counted under its own name", () => {
  const containers = [
    { name: "cuda", ...requests({ cpu: "1", "nvidia.com/gpu": "2" }) },
    { name: "more", ...requests({ "nvidia.com/gpu": 1, "example.com/licence": "1" }) },
  ];
  const amounts = podRequests({ metadata: { name: "p" }, spec: { containers } }, readAllAmounts);
  assert.deepEqual(Object.fromEntries(amounts), {
    cpu: 10n ** 9n,
    "nvidia.com/gpu": 3n * 10n ** 9n,
    "example.com/licence": 10n ** 9n,
  });
});

test("a quantity that the API server would not have let in is rejected", () => {
  for (const cpu of ["lots", "-1"]) {
    const spec = { containers: [{ name: "web", ...requests({ cpu }) }] };
    assert.throws(() => podRequests({ metadata: { name: "p" }, spec }, readAllAmounts));
  }
});

test("an object of any shape is read without harm", () => {
  const odd = [undefined, null, 5, "text", [], { containers: 5 }, { containers: [null, 7, { resources: "x" }] }];
  for (const spec of odd) {
    assert.equal(podRequests({ metadata: { name: "p" }, spec, status: spec }, readAllAmounts).size, 0);
  }
});
