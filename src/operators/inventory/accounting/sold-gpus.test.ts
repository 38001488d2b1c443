import assert from "node:assert/strict";
import { test } from "node:test";
import { condition } from "../../../runtime/condition.ts";
import type { NamedGpu } from "../inventory.ts";
import { soldGpus } from "./sold-gpus.ts";
import { projectNode } from "./watched-node.ts";

const h100: NamedGpu = { address: "0000:01:00.0", vendorId: "10de", deviceId: "2330", vendor: "nvidia", name: "h100" };
const mi300: NamedGpu = { address: "0000:09:00.0", vendorId: "1002", deviceId: "74a1", vendor: "amd", name: "mi300x" };
const second = { ...h100, address: "0000:02:00.0" };

type Devices = Readonly<Record<string, string>>;

function look(allocatable: Devices, gpus: readonly NamedGpu[], capacity = allocatable) {
  const node = projectNode({ metadata: { name: "a" }, status: { capacity, allocatable } });
  const { gpus: seen, conditions } = soldGpus(node, gpus);
  return { sold: seen.filter(({ notSold }) => notSold === undefined).map(({ address }) => address), conditions };
}

test("one device for each GPU is a GPU, also where some are held back or a processor has graphics of its own", () => {
  const cases: [Record<string, string>, NamedGpu[]][] = [
    [{ "nvidia.com/gpu": "2" }, [h100, second]],
    [{ "nvidia.com/gpu": "1" }, [h100, second]],
    [{ "nvidia.com/gpu": "1", "amd.com/gpu": "1" }, [h100, mi300, { ...mi300, address: "0000:0a:00.0" }]],
    [{ "amd.com/gpu": "1", "amd.com/spx_nps1": "1" }, [mi300]],
    [{}, [h100]],
  ];
  for (const [devices, gpus] of cases) {
    const { sold, conditions } = look(devices, gpus);
    assert.deepEqual([sold, conditions], [gpus.map(({ address }) => address), []]);
  }
});

test("more devices than GPUs are parts of GPUs, and none of that vendor is sold", () => {
  const { sold, conditions } = look({ "nvidia.com/gpu": "8", "amd.com/gpu": "1" }, [h100, second, mi300]);
  assert.deepEqual(sold, [mi300.address]);
  assert.deepEqual(conditions, [
    condition(
      "GpuShared",
      "the nvidia device plugin counts 8 devices on 2 whole GPUs, so a device is a part of a GPU (time slicing, MPS " +
        "or partitions) and none is sold; let it count one device for each GPU",
    ),
  ]);
});

test("slices of GPUs are no GPUs, also when so many are held back that no more are left than there are GPUs", () => {
  const { sold, conditions } = look({ "nvidia.com/gpu": "2" }, [h100, second], { "nvidia.com/gpu": "4" });
  assert.deepEqual(sold, []);
  assert.match(conditions[0]?.message ?? "", /counts 4 devices on 2 whole GPUs/);
});

test("a GPU that fell off the bus takes no other GPU with it", () => {
  for (const [counted, left, gpus] of [
    ["2", "1", [h100]],
    ["3", "2", [h100, second]],
  ] as const) {
    const { sold } = look({ "nvidia.com/gpu": left }, gpus, { "nvidia.com/gpu": counted });
    assert.equal(sold.length, gpus.length);
  }
});

test("where discovery saw no GPU of a vendor, nothing is said of its devices", () => {
  assert.deepEqual(look({ "nvidia.com/gpu": "8" }, [mi300]), { sold: [mi300.address], conditions: [] });
});

test("a GPU with MIG instances is not sold, and the others are", () => {
  const split = { ...second, migInstances: 7 };
  const { sold, conditions } = look({ "nvidia.com/gpu": "1", "nvidia.com/mig-1g.10gb": "7" }, [h100, split]);
  assert.deepEqual(sold, [h100.address]);
  assert.deepEqual(conditions, [
    condition(
      "GpuShared",
      "h100 at 0000:02:00.0 has 7 MIG instances, so it is not sold; nvidia-smi -mig 0 makes it one GPU again",
    ),
  ]);
});

test("where every GPU is one MIG instance, as many devices as GPUs are still not GPUs", () => {
  const split = [h100, second].map((gpu) => ({ ...gpu, migInstances: 1 }));
  assert.deepEqual(look({ "nvidia.com/gpu": "2" }, split).sold, []);
});

test("parts of GPUs under names of their own are not sold, and where one cannot see of which, no GPU is", () => {
  const names = ["nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared", "nvidia.com/mig-2g.20gb.shared"];
  for (const name of names) {
    const { sold, conditions } = look({ "nvidia.com/gpu": "1", [name]: "7" }, [h100, second, mi300]);
    assert.deepEqual(sold, [mi300.address]);
    assert.equal(conditions[0]?.type, "GpuShared");
    assert.ok(conditions[0]?.message.includes(`${name}: 7`), conditions[0]?.message);
  }
  assert.deepEqual(look({ "amd.com/cpx_nps4": "8" }, [mi300, h100]).sold, [h100.address]);
  assert.deepEqual(look({ "nvidia.com/mig-1g.10gb": "0" }, [h100]).conditions, []);
});

test("a GPU that virtual machines have is not sold", () => {
  const { sold, conditions } = look({ "nvidia.com/gpu": "1" }, [h100, { ...second, driver: "vfio-pci" }]);
  assert.deepEqual(sold, [h100.address]);
  assert.deepEqual(conditions, [
    condition(
      "GpuPassedThrough",
      "h100 at 0000:02:00.0 is bound to vfio-pci, which hands it to virtual machines, so it is not sold; bind it to " +
        "the driver of its vendor",
    ),
  ]);
});

const t4: NamedGpu = { ...h100, address: "0000:03:00.0", deviceId: "1eb8", name: "t4" };
const unnamed: NamedGpu = { address: "0000:04:00.0", vendorId: "10de", deviceId: "1cb1", vendor: "nvidia" };

test("GPUs of two models under one resource name are not sold, and the models are reported", () => {
  const { sold, conditions } = look({ "nvidia.com/gpu": "2", "amd.com/gpu": "1" }, [h100, t4, mi300]);
  assert.deepEqual(sold, [mi300.address]);
  assert.deepEqual(conditions, [
    condition(
      "GpuMixed",
      "the nvidia device plugin offers h100 and t4 as nvidia.com/gpu, so a pod may get either and none is sold; use one " +
        "kind per node, or let the plugin's configuration (resources.gpus) give the others names of their own",
    ),
  ]);
  assert.match(look({ "nvidia.com/gpu": "2" }, [h100, unnamed]).conditions[0]?.message ?? "", /h100 and 10de:1cb1/);
});

test("GPUs of another model do no harm where the device plugin does not count them as the same", () => {
  const cases: [Devices, readonly NamedGpu[], readonly NamedGpu[]][] = [
    [{ "nvidia.com/gpu": "1", "nvidia.com/tesla-t4": "1" }, [h100, t4], [h100]],
    [{ "nvidia.com/gpu": "2", "nvidia.com/t4": "1" }, [h100, second, t4], [h100, second]],
    // Display adapters that no plugin counts.
    [{ "nvidia.com/gpu": "1" }, [h100, unnamed], [h100, unnamed]],
    [{ "nvidia.com/gpu": "1" }, [h100, { ...t4, driver: "vfio-pci" }], [h100]],
    // As KubeVirt names a GPU that virtual machines have.
    [{ "nvidia.com/gpu": "1", "nvidia.com/GH100_H100_PCIE": "1" }, [h100, { ...second, driver: "vfio-pci" }], [h100]],
  ];
  for (const [devices, gpus, expected] of cases) {
    const { sold, conditions } = look(devices, gpus);
    assert.deepEqual(
      sold,
      expected.map(({ address }) => address),
    );
    assert.ok(conditions.every(({ type }) => type !== "GpuMixed"));
  }
});

const gpu = (deviceId: string, name: string, memorySize: string, kind = "PCIe"): NamedGpu => {
  return { ...h100, address: `0000:${deviceId}:00.0`, deviceId, name, memorySize, interface: kind };
};
const [l4, l40s] = [gpu("27b8", "l4", "24Gi"), gpu("26b9", "l40s", "48Gi")];
const [small, large] = [gpu("20b0", "a100", "40Gi", "SXM4"), gpu("20b2", "a100", "80Gi", "SXM4")];

test("a resource name means the longest model that it contains, and of its kinds those that it names", () => {
  const cases: [Devices, readonly NamedGpu[], readonly NamedGpu[]][] = [
    [{ "nvidia.com/gpu": "1", "nvidia.com/l40s": "1" }, [l4, l40s], [l4]],
    [
      { "nvidia.com/gpu": "1", "nvidia.com/a100": "1" },
      [gpu("2236", "a10", "24Gi"), large],
      [gpu("2236", "a10", "24Gi")],
    ],
    [{ "nvidia.com/gpu": "1", "nvidia.com/a100-sxm4-80gb": "1" }, [small, large], [small]],
  ];
  for (const [devices, gpus, expected] of cases) {
    const { sold, conditions } = look(devices, gpus);
    assert.deepEqual([sold, conditions], [expected.map(({ address }) => address), []]);
  }
});

test("GPUs of one model that differ in memory or interface are not sold under one resource name", () => {
  const { sold, conditions } = look({ "nvidia.com/gpu": "2" }, [small, large]);
  assert.deepEqual([sold, conditions.map(({ type }) => type)], [[], ["GpuMixed"]]);
  assert.match(conditions[0]?.message ?? "", /offers a100 40Gi SXM4 and a100 80Gi SXM4 as nvidia\.com\/gpu/);
  assert.equal(
    look({ "nvidia.com/gpu": "2" }, [gpu("2331", "h100", "80Gi"), gpu("2330", "h100", "80Gi", "SXM5")]).sold.length,
    0,
  );
  assert.equal(look({ "nvidia.com/gpu": "2" }, [small, { ...small, address: "0000:05:00.0" }]).sold.length, 2);
});

test("where a resource name may mean every GPU though others are counted, none is sold and a condition says so", () => {
  const { sold, conditions } = look({ "nvidia.com/gpu": "1", "nvidia.com/a100": "1" }, [small, large]);
  assert.deepEqual([sold, conditions.map(({ type }) => type)], [[], ["GpuMixed"]]);
});
