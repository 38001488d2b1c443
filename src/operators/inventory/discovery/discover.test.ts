import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  discoverIn,
  epyc,
  type MachineFiles,
  nvidiaFiles,
  ordinary,
  pciFiles,
  plantMachine,
  processorFiles,
  xeon,
} from "../../../../test/support/machine-tree.ts";
import { filesFromFacts } from "../../../../test/support/node-facts.ts";
import { readRecording } from "../../../../test/support/recordings.ts";
import { runs } from "../../../../test/support/runs.ts";
import { builtInRegistry } from "../gpu-names/parse-registry.ts";
import { interfaceKind, nameGpu } from "../gpu-names/registry.ts";
import { readHardwareAnswer } from "../hardware.ts";
import { readInterfaces } from "./discover.ts";
import {
  createTree,
  discoveryFileBytes,
  discoveryNameChars,
  discoveryParts,
  discoveryProblemChars,
  discoveryProblems,
} from "./tree.ts";

test("the recorded machine with an H200 is seen as its own tools see it", async () => {
  const hardware = await discoverIn(filesFromFacts(readRecording("node-h200/facts.txt").toString()));
  assert.deepEqual(hardware, {
    architecture: "amd64",
    cpus: [{ id: "0", vendor: "GenuineIntel", model: "Intel(R) Xeon(R) Processor", vcores: 16 }],
    memory: { totalBytes: 131_980_916 * 1024 },
    gpus: [
      {
        address: "0000:00:06.0",
        vendorId: "10de",
        deviceId: "2335",
        driver: "nvidia",
        driverVersion: "580.159.04",
        driverModel: "NVIDIA H200",
        cudaVersion: "13.0",
        computeCapability: "9.0",
        uuid: "GPU-00000000-0000-0000-0000-000000000001",
      },
    ],
    disks: [
      { name: "vda", type: "hdd", sizeBytes: 274_877_906_944 },
      { name: "vdb", type: "hdd", sizeBytes: 318_308_352 },
    ],
    interfaces: [{ name: "eth0", up: true }],
    problems: [],
  });
  const named = hardware.gpus.map((gpu) => nameGpu(builtInRegistry, gpu))[0];
  assert.equal(named?.name, "h200");
  assert.equal(named?.memorySize, "141Gi");
  assert.equal(interfaceKind(named?.interface ?? ""), "sxm");
});

test("AMD GPUs have memory, errors and driver version", async () => {
  const counted = (ue: number) => ({
    mem_info_vram_total: "34342961152\n",
    "ras/umc_err_count": `ue: ${ue}\nce: 12\n`,
    unique_id: "8B0F3C2A11D4E5F6\n",
    product_name: "Instinct MI210\n",
  });
  const { cpus, gpus } = await discoverIn({
    ...ordinary,
    ...processorFiles([{ facts: epyc }]),
    "/sys/module/amdgpu/version": "6.8.5\n",
    // From the MI200 on they are accelerators that show no snapshot.
    ...pciFiles("0000:c1:00.0", { class: "0x120000", id: "1002:740f", driver: "amdgpu", more: counted(0) }),
    ...pciFiles("0000:c2:00.0", { class: "0x038000", id: "1002:738c", driver: "amdgpu", more: counted(3) }),
  });
  assert.equal(cpus[0]?.vendor, "AuthenticAMD");
  assert.deepEqual(gpus[0], {
    address: "0000:c1:00.0",
    vendorId: "1002",
    deviceId: "740f",
    driver: "amdgpu",
    driverVersion: "6.8.5",
    driverModel: "Instinct MI210",
    uuid: "GPU-8b0f3c2a11d4e5f6",
    memoryBytes: 34_342_961_152,
    health: { healthy: true },
  });
  assert.deepEqual(gpus[1]?.health, {
    healthy: false,
    reason: "its memory had 3 errors that could not be corrected",
  });
});

test("MIG instances and virtual functions are recognised", async () => {
  const gpu = { class: "0x030200", id: "10de:2330" };
  const instances = "/proc/driver/nvidia/capabilities/gpu1/mig";
  const { gpus, problems } = await discoverIn({
    ...ordinary,
    ...nvidiaFiles({
      version: "580.159.04",
      cards: {
        "0000:01:00.0": "Model: \t NVIDIA H100\nDevice Minor: \t 0\n",
        "0000:02:00.0": "Model: \t NVIDIA H100\nDevice Minor: \t 1\n",
      },
    }),
    ...pciFiles("0000:01:00.0", { ...gpu, driver: "nvidia" }),
    ...pciFiles("0000:02:00.0", { ...gpu, driver: "nvidia" }),
    ...pciFiles("0000:03:00.0", { ...gpu, driver: "vfio-pci" }),
    // A GPU that is not split has the folder, but nothing in it.
    "/proc/driver/nvidia/capabilities/gpu0/mig": "a folder",
    [`${instances}/gi1/ci0/access`]: "DeviceFileMinor: 1\n",
    [`${instances}/gi2/access`]: "DeviceFileMinor: 2\n",
  });
  assert.deepEqual(
    gpus.map(({ driver, migInstances }) => [driver, migInstances]),
    [
      ["nvidia", undefined],
      ["nvidia", 2],
      ["vfio-pci", undefined],
    ],
  );
  assert.deepEqual(problems, []);
});

test("GPUs without a driver are found by their ids", async () => {
  const { gpus, problems } = await discoverIn({
    ...ordinary,
    ...pciFiles("0000:01:00.0", { class: "0x030000", id: "10de:2684" }),
    ...pciFiles("0000:02:00.0", { class: "0x030200", id: "1002:66a1" }),
  });
  assert.deepEqual(gpus, [
    { address: "0000:01:00.0", vendorId: "10de", deviceId: "2684", computeCapability: "8.9" },
    { address: "0000:02:00.0", vendorId: "1002", deviceId: "66a1" },
  ]);
  assert.deepEqual(problems, []);
});

test("GPUs of both vendors in one machine have the facts of their own driver", async () => {
  const { gpus } = await discoverIn({
    ...ordinary,
    ...nvidiaFiles({ version: "550.90.07", cards: { "0000:01:00.0": "Model: \t NVIDIA L40S\nGPU Excluded:\t No\n" } }),
    ...pciFiles("0000:01:00.0", { class: "0x030200", id: "10de:26b9", driver: "nvidia" }),
    ...pciFiles("0000:02:00.0", {
      class: "0x038000",
      id: "1002:738c",
      driver: "amdgpu",
      more: { mem_info_vram_total: "34342961152\n" },
    }),
  });
  assert.deepEqual(
    gpus.map(({ driverVersion, cudaVersion, memoryBytes, health }) => ({
      driverVersion,
      cudaVersion,
      memoryBytes,
      health,
    })),
    [
      { driverVersion: "550.90.07", cudaVersion: "12.4", memoryBytes: undefined, health: undefined },
      // Nothing was said about errors, so nothing is said about health.
      { driverVersion: undefined, cudaVersion: undefined, memoryBytes: 34_342_961_152, health: undefined },
    ],
  );
});

test("eight GPUs are found in the order of the bus", async () => {
  const addresses = ["04", "1b", "2a", "43", "9b", "c2", "d1", "e8"].map((bus) => `0000:${bus}:00.0`);
  const gpu = { class: "0x030200", id: "10de:2330", driver: "nvidia" };
  const { gpus } = await discoverIn(Object.assign({}, ordinary, ...addresses.map((address) => pciFiles(address, gpu))));
  assert.deepEqual(
    gpus.map(({ address }) => address),
    addresses,
  );
});

test("devices of other classes are no GPUs", async () => {
  const { gpus } = await discoverIn({
    ...ordinary,
    // The snapshots of management controllers: ASPEED, Matrox, and an old ATI.
    ...pciFiles("0000:03:00.0", { class: "0x030000", id: "1a03:2000", driver: "ast" }),
    ...pciFiles("0000:04:00.0", { class: "0x030000", id: "102b:0538", driver: "mgag200" }),
    ...pciFiles("0000:05:00.0", { class: "0x030000", id: "1002:515e" }),
    // The sound of a GPU, a switch between GPUs, and a processor's own graphics.
    ...pciFiles("0000:01:00.1", { class: "0x040300", id: "10de:22ba", driver: "snd_hda_intel" }),
    ...pciFiles("0000:06:00.0", { class: "0x068000", id: "10de:22a3", driver: "nvidia-nvswitch" }),
    ...pciFiles("0000:00:02.0", { class: "0x030000", id: "8086:4680", driver: "i915" }),
    // A part of a GPU that is handed to a virtual machine.
    ...pciFiles("0000:07:00.4", { class: "0x030200", id: "10de:20b5", more: { physfn: { link: "../0000:07:00.0" } } }),
  });
  assert.deepEqual(gpus, []);
});

test("a failed GPU is reported with its reason", async () => {
  const gone = { config: Buffer.alloc(256, 0xff) };
  const wounded = { config: Buffer.from("de103523", "hex"), aer_dev_fatal: "DLP 2\nSDES 0\nTOTAL_ERR_FATAL 2\n" };
  const sound = { config: Buffer.from("de103523", "hex"), aer_dev_fatal: "DLP 0\nTOTAL_ERR_FATAL 0\n" };
  const gpu = { class: "0x030200", id: "10de:2335", driver: "nvidia" };
  const { gpus } = await discoverIn({
    ...ordinary,
    ...nvidiaFiles({
      version: "580.95.05",
      cards: {
        "0000:01:00.0": "GPU Excluded:\t No\n",
        "0000:02:00.0": "GPU Excluded:\t No\n",
        "0000:03:00.0": "GPU UUID: \t GPU-????????-????-????-????-????????????\nGPU Excluded:\t Yes\n",
        "0000:04:00.0": "GPU Excluded:\t No\n",
      },
    }),
    ...pciFiles("0000:01:00.0", { ...gpu, more: gone }),
    ...pciFiles("0000:02:00.0", { ...gpu, more: wounded }),
    ...pciFiles("0000:03:00.0", { ...gpu, more: sound }),
    ...pciFiles("0000:04:00.0", { ...gpu, more: sound }),
    ...pciFiles("0000:05:00.0", { ...gpu, more: { revision: "0xff\n" } }),
  });
  assert.deepEqual(
    gpus.map(({ health, uuid }) => health?.reason ?? health ?? uuid),
    [
      "it no longer responds on the PCI bus",
      "its PCI link had 2 fatal errors since the node was started",
      "the driver excludes it",
      undefined,
      "it no longer responds on the PCI bus",
    ],
  );
});

test("the driver's version falls back to that of its module, and a new branch has no CUDA version", async () => {
  const { gpus } = await discoverIn({
    ...ordinary,
    ...pciFiles("0000:01:00.0", { class: "0x030200", id: "10de:2335", driver: "nvidia" }),
    "/sys/module/nvidia/version": "999.10.01\n",
  });
  assert.equal(gpus[0]?.driverVersion, "999.10.01");
  assert.equal(gpus[0]?.cudaVersion, undefined);
});

test("unreadable files are reported, and the rest is discovered", async () => {
  const hardware = await discoverIn({
    ...ordinary,
    "/proc/meminfo": "a folder",
    "/sys/block": "not a folder",
    ...pciFiles("0000:01:00.0", { class: "0x030200", id: "10de:2335", more: { vendor: "a folder" } }),
    ...pciFiles("0000:02:00.0", { class: "0x030200", id: "10de:2684" }),
    ...pciFiles("0000:03:00.0", { class: "0x0302", id: "10de:2684" }),
    "/sys/class/net/eth0/device": "a folder",
    "/sys/class/net/eth0/operstate": "x".repeat(discoveryFileBytes + 1),
    "/sys/class/net/bonding_masters": "bond0\n",
  });
  assert.deepEqual(hardware.problems, [
    "/proc/meminfo: it has no MemTotal",
    "/proc/meminfo: it is a folder, not a file",
    "/sys/block: it is a file, not a folder",
    "/sys/bus/pci/devices/0000:01:00.0/vendor: it is a folder, not a file",
    "/sys/bus/pci/devices/0000:01:00.0: its class, vendor or device cannot be read",
    "/sys/bus/pci/devices/0000:03:00.0: its class, vendor or device cannot be read",
    `/sys/class/net/eth0/operstate: it is longer than ${discoveryFileBytes} bytes`,
  ]);
  assert.deepEqual(hardware.memory, { totalBytes: 0 });
  assert.deepEqual(
    hardware.gpus.map(({ deviceId }) => deviceId),
    ["2684"],
  );
  assert.deepEqual(hardware.interfaces, [{ name: "eth0", up: false }]);
});

test("an empty folder is a machine with nothing, and a few problems", async () => {
  const hardware = await discoverIn({});
  assert.deepEqual(hardware, {
    architecture: "unknown",
    cpus: [],
    memory: { totalBytes: 0 },
    gpus: [],
    disks: [],
    interfaces: [],
    problems: [
      "/proc/cpuinfo: it cannot be read",
      "/proc/meminfo: it has no MemTotal",
      "neither /proc/sys/kernel/arch nor /proc/cpuinfo has the architecture",
      "no processor was found in /sys/devices/system/cpu and /proc/cpuinfo",
    ],
  });
});

test("of a thousand problems the first are reported, with the count of the others", async () => {
  const devices = Array.from({ length: 200 }, (_, index) => `0000:${index.toString(16).padStart(2, "0")}:00.0`);
  const files = devices.map((address) => pciFiles(address, { class: "nonsense", id: "10de:2335" }));
  const { problems } = await discoverIn(Object.assign({}, ordinary, ...files));
  assert.equal(problems.length, discoveryProblems + 1);
  assert.equal(problems.at(-1), "and 150 more");
});

/** Everything a machine may have, to be damaged. */
const whole: MachineFiles = {
  ...ordinary,
  ...processorFiles([{ facts: xeon }, { facts: xeon, packageId: 1 }, { facts: xeon, offline: true }]),
  ...nvidiaFiles({ version: "580.95.05", cards: { "0000:01:00.0": "Model: NVIDIA H200\nGPU Excluded:\t No\n" } }),
  ...pciFiles("0000:01:00.0", { class: "0x030200", id: "10de:2335", driver: "nvidia", more: { config: "dead" } }),
  ...pciFiles("0000:02:00.0", {
    class: "0x120000",
    id: "1002:74a1",
    driver: "amdgpu",
    more: { mem_info_vram_total: "206141652992\n", "ras/umc_err_count": "ue: 0\nce: 0\n" },
  }),
  "/sys/block/nvme0n1/size": "1875385008\n",
  "/sys/block/nvme0n1/device/transport": "pcie\n",
  "/sys/block/sda/size": "1875385008\n",
  "/sys/block/sda/queue/rotational": "1\n",
  "/sys/class/net/eth0/device": "a folder",
  "/sys/class/net/eth0/speed": "25000\n",
  "/sys/class/net/eth0/operstate": "up\n",
};

test("whatever is wrong with its files, a machine is described in sound numbers and short texts", async () => {
  const paths = Object.keys(whole);
  const damage = fc.oneof(
    fc.constant("a folder" as const),
    fc.constant({ link: "nowhere" }),
    fc.constant({ link: "." }),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom("", "-1\n", "99999999999999999999\n", "0x\n", "NaN\n", "x".repeat(100_000)),
    fc.string({ unit: "binary", maxLength: 300 }).map((text) => `Model: ${text}\nMemTotal: ${text} kB\n${text}`),
  );
  const damages = fc.array(fc.tuple(fc.constantFrom(...paths), damage), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(damages, async (list) => {
      const hardware = await discoverIn({ ...whole, ...Object.fromEntries(list) });
      assert.ok(hardware.problems.length <= discoveryProblems + 1);
      inspect(JSON.parse(JSON.stringify(hardware)));
    }),
    { numRuns: runs(10, 500) },
  );
});

function inspect(value: unknown): void {
  if (typeof value === "number") assert.ok(Number.isSafeInteger(value) && value >= 0, `${value}`);
  if (typeof value === "string") assert.ok(value.length <= 256 && !/\p{Cc}/u.test(value), JSON.stringify(value));
  if (typeof value === "object" && value !== null) Object.values(value).forEach(inspect);
}

test("of too many parts the first are reported, with the count", async () => {
  const many = discoveryParts + 1;
  const each = (make: (index: number) => MachineFiles) => Array.from({ length: many }, (_, index) => make(index));
  const hex = (index: number) => index.toString(16).padStart(4, "0");
  const hardware = await discoverIn(
    Object.assign(
      { "/proc/sys/kernel/arch": "x86_64\n", "/proc/meminfo": "MemTotal:       131980916 kB\n" },
      processorFiles(Array.from({ length: many }, (_, packageId) => ({ packageId, facts: xeon }))),
      ...each((index) => pciFiles(`${hex(index)}:00:00.0`, { class: "0x030200", id: "10de:2335" })),
      ...each((index) => ({ [`/sys/block/sd${index}/size`]: "8\n" })),
      ...each((index) => ({ [`/sys/class/net/eth${index}/device`]: { link: "../../../gpu" } })),
    ),
  );
  const { cpus, gpus, disks, interfaces, problems } = hardware;
  assert.deepEqual(
    [cpus, gpus, disks, interfaces].map(({ length }) => length),
    Array.from({ length: 4 }, () => discoveryParts),
  );
  assert.deepEqual(
    problems,
    ["GPUs", "disks", "interfaces", "processors"].map(
      (what) => `${many} ${what} were found, and only the first ${discoveryParts} are reported`,
    ),
  );
  // The operator accepts the largest discovery result.
  assert.deepEqual(readHardwareAnswer(JSON.stringify(hardware), "n1"), hardware);
});

test("texts of a machine are bounded", async () => {
  const long = "9".repeat(60_000);
  const address = "0000:01:00.0";
  const { cpus, gpus, disks, problems } = await discoverIn({
    ...processorFiles([{ facts: { vendor_id: long, "model name": long, flags: `lm ${long}` } }]),
    "/proc/meminfo": `MemTotal: ${long} kB\n`,
    ...pciFiles(address, { class: "0x030200", id: "10de:2335", driver: "nvidia" }),
    ...nvidiaFiles({
      version: `580.${long}`,
      cards: { [address]: `Model: ${long}\nGPU UUID: ${long}\nDevice Minor: ${long}\n` },
    }),
    "/sys/block/sda/size": "8\n",
    "/sys/block/sda/device/model": long,
  });
  const texts = [...cpus, ...gpus, ...disks]
    .flatMap((part) => Object.values(part))
    .filter((value) => typeof value === "string");
  assert.ok(texts.length > 5);
  for (const text of texts) assert.ok(text.length <= discoveryNameChars, text.slice(0, 200));
  for (const problem of problems) assert.ok(problem.length <= discoveryProblemChars, problem.slice(0, 200));
});

function netFiles(name: string, files: MachineFiles): MachineFiles {
  return Object.fromEntries(
    Object.entries(files).map(([path, content]) => [`/sys/class/net/${name}/${path}`, content]),
  );
}

const device = "a folder";

test("interfaces with a device are reported, with their speed if known", async (t) => {
  const root = plantMachine(t, {
    ...netFiles("eth10", { device, operstate: "up\n", speed: "100000\n" }),
    ...netFiles("eth2", { device: { link: "../../../virtio2" }, operstate: "up\n", speed: "-1\n" }),
    ...netFiles("eth3", { device, operstate: "down\n", speed: "4294967295\n" }),
    // Some drivers do not report the link state, but PCIe does.
    ...netFiles("ib0", { device, operstate: "unknown\n", carrier: "1\n", speed: "200000\n" }),
  });
  const tree = createTree(root);
  assert.deepEqual(await readInterfaces(tree), [
    { name: "eth2", up: true },
    { name: "eth3", up: false },
    { name: "eth10", up: true, speedMbps: 100_000 },
    { name: "ib0", up: true, speedMbps: 200_000 },
  ]);
  assert.deepEqual(tree.problems(), []);
});

test("what has no device of its own is no interface of the node", async (t) => {
  const names = ["lo", "veth1234", "docker0", "ifb0", "bond0", "cni0"];
  const virtual = Object.assign({}, ...names.map((name) => netFiles(name, { operstate: "up\n" })));
  const root = plantMachine(t, {
    ...virtual,
    ...netFiles("eth0v3", { operstate: "up\n", "device/physfn": "a folder" }),
    "/sys/class/net/bonding_masters": "bond0\n",
  });
  const tree = createTree(root);
  assert.deepEqual(await readInterfaces(tree), []);
  assert.deepEqual(tree.problems(), []);
});
