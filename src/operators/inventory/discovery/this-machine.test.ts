/** What we read of the machine that runs this test, against what its own tools say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasTool, ipLinks, lsblk, lscpu, memoryBytesOfFree, tool } from "../../../../test/support/machine-tools.ts";
import { discover } from "./discover.ts";

/** Compares with a tool of the system; skipped without the tool, and the name says why. */
function toolTest(needs: string, name: string, run: () => Promise<void>): void {
  if (hasTool(needs)) test(name, run);
  else test(`${name} (skipped: there is no ${needs} here)`, { skip: true }, () => undefined);
}

toolTest("lscpu", "the processors are those of lscpu", async () => {
  const { vcores, vendor, model } = lscpu();
  const { cpus } = await discover();
  assert.deepEqual(
    cpus.map((cpu) => cpu.vcores),
    vcores,
  );
  assert.equal(cpus[0]?.vendor, vendor);
  assert.equal(cpus[0]?.model, model);
});

toolTest("free", "the memory is that of free", async () => {
  assert.equal((await discover()).memory.totalBytes, memoryBytesOfFree());
});

toolTest("lsblk", "the disks are those of lsblk", async () => {
  const { disks } = await discover();
  const seen = disks.map(({ name, sizeBytes, type }) => ({ name, sizeBytes, turns: type === "hdd" }));
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  assert.deepEqual(seen.sort(byName), lsblk());
});

toolTest("ip", "the interfaces are those that ip knows as no kind of virtual one", async () => {
  const { interfaces } = await discover();
  assert.deepEqual(
    interfaces.map(({ name, up }) => ({ name, up })),
    ipLinks(),
  );
});

toolTest("uname", "the architecture is that of uname, in the words of Kubernetes", async () => {
  const words: Record<string, string> = { x86_64: "amd64", aarch64: "arm64" };
  const machine = tool("uname", "-m").trim();
  assert.equal((await discover()).architecture, words[machine] ?? machine);
});
