import assert from "node:assert/strict";
import { test } from "node:test";
import { type MachineFiles, plantMachine } from "../../../../test/support/machine-tree.ts";
import { readDisks } from "./discover.ts";
import { createTree } from "./tree.ts";

/** Folders in /sys/block are links into the tree of devices. */
function diskFiles(name: string, place: string, files: MachineFiles): MachineFiles {
  const folder = `${place}/${name}`;
  const own = Object.entries(files).map(([path, content]) => [`/sys/devices/${folder}/${path}`, content]);
  return { [`/sys/block/${name}`]: { link: `../devices/${folder}` }, ...Object.fromEntries(own) };
}

const size = "1875385008\n";
const sizeBytes = 1_875_385_008 * 512;

test("disk types are distinguished by attachment and rotation", async (t) => {
  const root = plantMachine(t, {
    ...diskFiles("nvme0n1", "pci0000:00/0000:01:00.0/nvme/nvme0", {
      size,
      "queue/rotational": "0\n",
      "device/transport": "pcie\n",
      "device/model": "SAMSUNG MZQL2960HCJR-00A07              \n",
    }),
    ...diskFiles("sda", "pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block", { size, "queue/rotational": "0\n" }),
    // A partition lies inside its disk.
    "/sys/devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1/size": "2048\n",
    ...diskFiles("sdb", "pci0000:00/ata2/host1/target1:0:0/1:0:0:0/block", { size, "queue/rotational": "1\n" }),
  });
  assert.deepEqual(await readDisks(createTree(root)), [
    { name: "nvme0n1", type: "nvme", sizeBytes, model: "SAMSUNG MZQL2960HCJR-00A07" },
    { name: "sda", type: "ssd", sizeBytes },
    { name: "sdb", type: "hdd", sizeBytes },
  ]);
});

test("what only looks like a disk is none", async (t) => {
  const names = [
    "loop0",
    "ram0",
    "zram0",
    "dm-0",
    "md127",
    "sr0",
    "fd0",
    "nbd0",
    "rbd0",
    "drbd0",
    "zd16",
    "mmcblk0boot0",
  ];
  const root = plantMachine(t, {
    ...Object.fromEntries(names.map((name) => [`/sys/block/${name}/size`, size])),
    "/sys/block/sdz/size": "0\n",
    "/sys/block/sdy/size": "99999999999999999999\n",
    "/sys/block/sdx/queue/rotational": "0\n",
    ...diskFiles("vblk0", "virtual/block", { size }),
  });
  assert.deepEqual(await readDisks(createTree(root)), []);
});

test("a volume attached over a network is not the node's own", async (t) => {
  const root = plantMachine(t, {
    ...diskFiles("sdc", "platform/host5/session3/target5:0:0/5:0:0:1/block", { size, "queue/rotational": "1\n" }),
    ...diskFiles("nvme1n1", "virtual/nvme-fabrics/ctl/nvme1", { size, "device/transport": "tcp\n" }),
    ...diskFiles("nvme2n1", "virtual/nvme-subsystem/nvme-subsys2", { size, "device/nvme2/transport": "rdma\n" }),
    // The ways to a local disk are not disks; the disk is.
    ...diskFiles("nvme3c3n1", "pci0000:00/nvme/nvme3", { size, hidden: "1\n", "device/transport": "pcie\n" }),
    ...diskFiles("nvme3n1", "virtual/nvme-subsystem/nvme-subsys3", { size, "device/nvme3/transport": "pcie\n" }),
  });
  assert.deepEqual(await readDisks(createTree(root)), [{ name: "nvme3n1", type: "nvme", sizeBytes }]);
});
