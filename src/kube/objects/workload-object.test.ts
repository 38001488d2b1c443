import assert from "node:assert/strict";
import { test } from "node:test";
import {
  objectSettings,
  sampleLease,
  sampleResources,
  sampleService,
} from "../../../test/support/samples/lease-samples.ts";
import { noOvercommit } from "../../market/fit.ts";
import type { UnitResources } from "../../market/group-spec.ts";
import type { ManifestService } from "../../market/manifest.ts";
import type { ObjectSettings } from "./container.ts";
import { claimTemplates } from "./container.ts";
import { podSpec } from "./workload-object.ts";

const gibi = 1_073_741_824n;

function podOf(
  service: Partial<ManifestService>,
  settings: Partial<ObjectSettings> = {},
  GPUs: readonly string[] = [],
) {
  const offer = GPUs.length > 0 ? offerOf(GPUs) : undefined;
  const workload = { lease: sampleLease, service: sampleService(service), offer };
  return podSpec(workload, { ...objectSettings, ...settings }) as unknown as Pod;
}

interface Pod {
  readonly runtimeClassName?: string;
  readonly automountServiceAccountToken: boolean;
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly affinity: {
    readonly nodeAffinity: Readonly<
      Record<
        string,
        { nodeSelectorTerms: { matchExpressions: { key: string; operator: string; values: string[] }[] }[] }
      >
    >;
  };
  readonly containers: readonly [
    {
      readonly resources: Record<"limits" | "requests", Readonly<Record<string, string>>>;
      readonly ports?: readonly object[];
      readonly volumeMounts?: readonly object[];
    },
  ];
  readonly volumes?: readonly object[];
}

function offerOf(GPUs: readonly string[]): UnitResources {
  const nothing = { milli: 0n, bytes: 0n, attributes: [] };
  const attributes = GPUs.map((key) => ({ key, value: "true" }));
  return { id: 1, cpu: nothing, memory: nothing, gpu: { count: 1n, attributes }, storage: [], endpoints: [] };
}

/** "key operator values", for each of the terms. */
function termsOf({ affinity }: Pod): string[][] {
  const { requiredDuringSchedulingIgnoredDuringExecution: required } = affinity.nodeAffinity;
  return (required?.nodeSelectorTerms ?? []).map(({ matchExpressions }) =>
    matchExpressions.map(({ key, operator, values }) => `${key.replace(/^akash.network\//, "")} ${operator} ${values}`),
  );
}

function withVolumes(
  ...volumes: readonly [name: string, bytes: bigint, storageClass?: string, persistent?: boolean][]
) {
  const storage = volumes.map(([name, bytes, storageClass, persistent]) => ({
    name,
    size: { val: `${bytes}` },
    attributes: [
      ...(storageClass ? [{ key: "class", value: storageClass }] : []),
      ...(persistent ? [{ key: "persistent", value: "true" }] : []),
    ],
  }));
  return { ...sampleResources, storage };
}

function withGpus(count: number, ...attributes: readonly string[]) {
  const gpu = { units: { val: `${count}` }, attributes: attributes.map((key) => ({ key, value: "true" })) };
  return { ...sampleResources, gpu };
}

test("limits are what was leased, and requests are less by overcommit", () => {
  const overcommit = { ...noOvercommit, cpuPercent: 1_000, memoryPercent: 100, storagePercent: 300 };
  const resources = withVolumes(["default", gibi]);
  const [{ resources: amounts }] = podOf({ resources }, { overcommit }).containers;
  assert.deepEqual(amounts.limits, { cpu: "100m", memory: "134217728", "ephemeral-storage": `${gibi}` });
  assert.deepEqual(amounts.requests, { cpu: "9m", memory: "67108864", "ephemeral-storage": `${gibi / 4n}` });
});

test("several volumes on the node's disk are one amount, and memory volumes add to the limit of memory", () => {
  const resources = withVolumes(["default", gibi], ["more", gibi], ["shm", gibi, "ram"], ["db", gibi, "beta2", true]);
  const [{ resources: amounts }] = podOf({ resources }).containers;
  assert.equal(amounts.limits["ephemeral-storage"], `${2n * gibi}`);
  assert.equal(amounts.requests["ephemeral-storage"], `${2n * gibi}`);
  assert.equal(amounts.limits["memory"], `${134_217_728n + gibi}`);
  assert.equal(amounts.requests["memory"], "134217728");
});

test("a service that requests none of the node's disk has the default, as a limit and set aside", () => {
  const service = { resources: withVolumes(["db", gibi, "beta2", true]) };
  const amountsOf = (settings: Partial<ObjectSettings> = {}) => {
    const [{ resources }] = podOf(service, settings).containers;
    return [resources.limits["ephemeral-storage"], resources.requests["ephemeral-storage"]];
  };
  assert.deepEqual(amountsOf(), [`${gibi}`, `${gibi}`]);
  const overcommit = { ...noOvercommit, storagePercent: 300, defaultDiskBytes: 2n * gibi };
  assert.deepEqual(amountsOf({ overcommit }), [`${2n * gibi}`, `${gibi / 2n}`]);
});

test("a volume is mounted where the tenant wants it, on the node's disk too", () => {
  const resources = withVolumes(["default", gibi], ["cache", gibi], ["shm", gibi, "ram"], ["db", gibi, "beta2", true]);
  const mounts = [
    { name: "cache", mount: "/cache", readOnly: false },
    { name: "db", mount: "/db", readOnly: true },
    { name: "shm", mount: "/dev/shm", readOnly: false },
  ];
  const service = { resources, params: { storage: mounts } };
  const pod = podOf(service);
  assert.deepEqual(pod.volumes, [
    { name: "web-cache", emptyDir: { sizeLimit: `${gibi}` } },
    { name: "web-shm", emptyDir: { medium: "Memory", sizeLimit: `${gibi}` } },
  ]);
  assert.deepEqual(pod.containers[0].volumeMounts, [
    { name: "web-cache", mountPath: "/cache" },
    { name: "web-db", mountPath: "/db", readOnly: true },
    { name: "web-shm", mountPath: "/dev/shm" },
  ]);
  const [claim, ...rest] = claimTemplates(sampleService(service)) as { metadata: { name: string } }[];
  assert.equal(claim?.metadata.name, "web-db");
  assert.deepEqual(rest, []);
});

test("the class called default is the cluster's own choice", () => {
  const resources = withVolumes(["db", gibi, "default", true], ["logs", gibi, "beta3", true]);
  const claims = claimTemplates(sampleService({ resources })) as { spec: { storageClassName?: string } }[];
  assert.deepEqual(
    claims.map(({ spec }) => spec.storageClassName),
    [undefined, "beta3"],
  );
});

test("a workload goes where the GPU is that we offered, by its memory and interface too", () => {
  const order = ["vendor/nvidia/model/*", "vendor/nvidia/model/a100/ram/80Gi/interface/sxm"];
  const pod = podOf({ resources: withGpus(2, ...order) }, {}, ["vendor/nvidia/model/a100/ram/80Gi/interface/sxm"]);
  const GPU = "capabilities.gpu.vendor.nvidia.model.a100";
  assert.deepEqual(termsOf(pod), [
    ["akash.network In true", `${GPU} Gt 0`, `${GPU}.ram.80Gi Gt 0`, `${GPU}.interface.sxm Gt 0`],
  ]);
  const [{ resources }] = pod.containers;
  assert.equal(resources.limits["nvidia.com/gpu"], "2");
  assert.equal(resources.requests["nvidia.com/gpu"], "2");
});

test("where our offer is not known any more, any GPU will do that was ordered", () => {
  const pod = podOf({ resources: withGpus(1, "vendor/nvidia/model/a100", "vendor/nvidia/model/h100") });
  assert.deepEqual(
    termsOf(pod),
    ["a100", "h100"].map((model) => ["akash.network In true", `capabilities.gpu.vendor.nvidia.model.${model} Gt 0`]),
  );
  assert.deepEqual(termsOf(podOf({ resources: withGpus(1, "vendor/nvidia/model/*") })), [["akash.network In true"]]);
});

test("a class of storage is requested once, in both readings of its label", () => {
  const resources = withVolumes(["a", gibi, "beta2", true], ["b", gibi, "beta2", true]);
  assert.deepEqual(termsOf(podOf({ resources })), [
    ["akash.network In true", "capabilities.storage.class.beta2 In true,1"],
  ]);
});

test("the operator's sandbox is for all but NVIDIA's GPUs, which need their own runtime", () => {
  const amd = ["vendor/amd/model/mi100"];
  const nvidia = ["vendor/nvidia/model/a100"];
  assert.equal(podOf({}).runtimeClassName, undefined);
  assert.equal(podOf({}, { runtimeClass: "gvisor" }).runtimeClassName, "gvisor");
  assert.equal(podOf({ resources: withGpus(1) }, { runtimeClass: "gvisor" }, amd).runtimeClassName, "gvisor");
  assert.equal(podOf({ resources: withGpus(1) }, { runtimeClass: "gvisor" }, nvidia).runtimeClassName, "nvidia");
  assert.equal(podOf({ resources: withGpus(1) }, {}, nvidia).runtimeClassName, "nvidia");
});

test("only a service with permissions has a service account token", () => {
  const reading = (read: string[]) => podOf({ params: { storage: null, permissions: { read } } });
  assert.equal(podOf({}).automountServiceAccountToken, false);
  assert.equal(reading([]).automountServiceAccountToken, false);
  assert.equal(reading(["logs"]).automountServiceAccountToken, true);
});

test("an image is pulled with the tenant's own secret, else with the operator's", () => {
  const credentials = { host: "registry.example.com", email: "", username: "a", password: "b" };
  assert.equal(podOf({}).imagePullSecrets, undefined);
  assert.deepEqual(podOf({}, { pullSecret: "ours" }).imagePullSecrets, [{ name: "ours" }]);
  assert.deepEqual(podOf({ credentials }, { pullSecret: "ours" }).imagePullSecrets, [{ name: "docker-creds-web" }]);
});
