/** Processes, mounts and files that are left after `down`. */
import { existsSync } from "node:fs";
import { ourCgroups } from "./cgroups.ts";
import { mountPoints } from "./host.ts";
import { packetTables, podLinks } from "./network.ts";
import { network, places } from "./places.ts";
import { processesOf } from "./processes.ts";

export function leftovers(): string[] {
  const bridge = existsSync(`/sys/class/net/${network.bridge}`) ? [network.bridge] : [];
  return [
    ...(existsSync(places.state) ? [`the folder ${places.state}`] : []),
    ...processesOf(places.state).map(({ pid, program }) => `the process ${pid} (${program})`),
    ...mountPoints().map((point) => `the mount ${point}`),
    ...[...bridge, ...podLinks()].map((link) => `the link ${link}`),
    ...packetTables().map((table) => `the packet rules of ${table}`),
    ...ourCgroups().map((folder) => `the cgroup ${folder}`),
  ];
}
