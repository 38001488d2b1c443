import assert from "node:assert/strict";
import { test } from "node:test";
import {
  discoverIn,
  epyc,
  type MachineFiles,
  ordinary,
  processorFiles,
  xeon,
} from "../../../../test/support/machine-tree.ts";

test("processors are counted by package, and those that are offline are not", async () => {
  const { cpus } = await discoverIn({
    ...ordinary,
    ...processorFiles([
      { facts: epyc, packageId: 0 },
      { facts: epyc, packageId: 0 },
      { facts: epyc, packageId: 1 },
      { facts: epyc, packageId: 1, offline: true },
      { facts: epyc, packageId: 1 },
      { facts: epyc, packageId: 1 },
    ]),
  });
  assert.deepEqual(
    cpus.map(({ id, model, vcores }) => ({ id, model, vcores })),
    [
      { id: "0", model: "AMD EPYC 7763 64-Core Processor", vcores: 2 },
      { id: "1", model: "AMD EPYC 7763 64-Core Processor", vcores: 3 },
    ],
  );
});

const neoverse = { "CPU implementer": "0x41", "CPU architecture": "8", "CPU part": "0xd0c", Features: "fp asimd" };

test("an ARM machine has the names that its numbers stand for", async () => {
  const { architecture, cpus, problems } = await discoverIn({
    "/proc/meminfo": "MemTotal: 1 kB\n",
    ...processorFiles([
      { facts: neoverse, packageId: 36 },
      { facts: neoverse, packageId: 36 },
      { facts: { ...neoverse, "CPU implementer": "0xc0", "CPU part": "0xfff" }, packageId: 37 },
    ]),
  });
  assert.equal(architecture, "arm64");
  assert.deepEqual(cpus, [
    { id: "36", vendor: "ARM", model: "Neoverse-N1", vcores: 2 },
    { id: "37", vendor: "Ampere", model: "part 0xfff", vcores: 1 },
  ]);
  assert.deepEqual(problems, []);
});

test("a machine that does not know its packages has one", async () => {
  const { cpus } = await discoverIn({
    ...ordinary,
    ...processorFiles([
      { facts: xeon, packageId: "-1" },
      { facts: xeon, packageId: "-1" },
    ]),
  });
  assert.deepEqual(
    cpus.map(({ id, vcores }) => ({ id, vcores })),
    [{ id: "0", vcores: 2 }],
  );
});

test("without /sys the processors are those of /proc/cpuinfo", async () => {
  const { cpus } = await discoverIn({
    "/proc/cpuinfo": "processor : 0\nvendor_id : X\nphysical id : 0\n\nprocessor : 1\nvendor_id : Y\nphysical id : 1\n",
  });
  assert.deepEqual(cpus, [
    { id: "0", vendor: "X", model: "", vcores: 1 },
    { id: "1", vendor: "Y", model: "", vcores: 1 },
  ]);
});

test("the architecture is the kernel's word, else the processor's", async () => {
  const cases: [MachineFiles, string][] = [
    [{ "/proc/sys/kernel/arch": "aarch64\n", ...processorFiles([{ facts: xeon }]) }, "arm64"],
    [processorFiles([{ facts: xeon }]), "amd64"],
    [processorFiles([{ facts: { ...xeon, flags: "fpu sse" } }]), "386"],
    [processorFiles([{ facts: { "CPU implementer": "0x41", "CPU architecture": "7" } }]), "arm"],
    [processorFiles([{ facts: { isa: "rv64imafdc" } }]), "riscv64"],
  ];
  for (const [files, expected] of cases) assert.equal((await discoverIn(files)).architecture, expected);
});
