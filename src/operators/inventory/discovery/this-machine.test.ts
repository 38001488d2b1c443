/** What we read of the machine that runs this test, against what its own tools say. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";
import { discover } from "./discover.ts";

function tool(name: string, ...options: string[]): string {
  return execFileSync(name, options, { encoding: "utf8", env: { ...process.env, LC_ALL: "C" } });
}

/** A test that asks a tool of the system; without the tool it is skipped, and its name says why. */
function toolTest(needs: string, name: string, run: () => Promise<void>): void {
  if (spawnSync(needs, ["-V"]).error === undefined) test(name, run);
  else test(`${name} (skipped: there is no ${needs} here)`, { skip: true }, () => undefined);
}

toolTest("lscpu", "the processors are those of lscpu", async () => {
  const lines = tool("lscpu", "-p=CPU,SOCKET")
    .split("\n")
    .filter((line) => /^\d/.test(line));
  const sockets = Map.groupBy(lines, (line) => line.split(",")[1]);
  const { cpus } = await discover();
  assert.deepEqual(
    cpus.map(({ vcores }) => vcores),
    [...sockets.values()].map(({ length }) => length),
  );
  const described = tool("lscpu");
  const told = (key: string) => new RegExp(`^${key}:\\s*(.*)$`, "m").exec(described)?.[1];
  assert.equal(cpus[0]?.vendor, told("Vendor ID"));
  assert.equal(cpus[0]?.model, told("Model name"));
});

toolTest("free", "the memory is that of free", async () => {
  const total = /^Mem:\s+(\d+)/m.exec(tool("free", "-b"))?.[1];
  assert.equal((await discover()).memory.totalBytes, Number(total));
});

toolTest("lsblk", "the disks are those of lsblk", async () => {
  const columns = "NAME,TYPE,SIZE,ROTA";
  const { blockdevices } = JSON.parse(tool("lsblk", "--bytes", "--nodeps", "--json", "--output", columns)) as {
    blockdevices: { name: string; type: string; size: number; rota: boolean }[];
  };
  const expected = blockdevices
    .filter(({ name, type, size }) => type === "disk" && size > 0 && !name.startsWith("zram"))
    .map(({ name, size, rota }) => ({ name, sizeBytes: size, turns: rota }));
  const { disks } = await discover();
  const seen = disks.map(({ name, sizeBytes, type }) => ({ name, sizeBytes, turns: type === "hdd" }));
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  assert.deepEqual(seen.sort(byName), expected.sort(byName));
});

toolTest("ip", "the interfaces are those that ip knows as no kind of virtual one", async () => {
  const links = JSON.parse(tool("ip", "-json", "-details", "link")) as {
    ifname: string;
    link_type: string;
    operstate: string;
    linkinfo?: { info_kind?: string };
  }[];
  const expected = links
    .filter(({ link_type, linkinfo }) => link_type !== "loopback" && linkinfo?.info_kind === undefined)
    .map(({ ifname, operstate }) => ({ name: ifname, up: operstate === "UP" }));
  const { interfaces } = await discover();
  assert.deepEqual(
    interfaces.map(({ name, up }) => ({ name, up })),
    expected,
  );
});

toolTest("uname", "the architecture is that of uname, in the words of Kubernetes", async () => {
  const words: Record<string, string> = { x86_64: "amd64", aarch64: "arm64" };
  const machine = tool("uname", "-m").trim();
  assert.equal((await discover()).architecture, words[machine] ?? machine);
});
