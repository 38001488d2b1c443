import assert from "node:assert/strict";
import { test } from "node:test";
import { type MachineFiles, plantMachine } from "../../../../test/machine-tree.ts";
import { readInterfaces } from "./network-interfaces.ts";
import { createTree } from "./tree.ts";

function netFiles(name: string, files: MachineFiles): MachineFiles {
  return Object.fromEntries(
    Object.entries(files).map(([path, content]) => [`/sys/class/net/${name}/${path}`, content]),
  );
}

const device = "a folder";

test("interfaces with a device behind them are told, with their speed where it is known", async (t) => {
  const root = plantMachine(t, {
    ...netFiles("eth10", { device, operstate: "up\n", speed: "100000\n" }),
    ...netFiles("eth2", { device: { link: "../../../virtio2" }, operstate: "up\n", speed: "-1\n" }),
    ...netFiles("eth3", { device, operstate: "down\n", speed: "4294967295\n" }),
    // Some drivers do not tell their state, but the wire does.
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
