/** The node's bridge, the fence around the pods, and the removal of every link and packet rule of the lab. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { findProgram, needProgram } from "./machine.ts";
import { network } from "./places.ts";

/** The name of the lab's own packet rules. */
const fence = "akash-provider-lab";

export function makeNetwork(): void {
  makeBridge();
  fencePods();
}

export function removeNetwork(): void {
  removePacketRules();
  removePodLinks();
  if (existsSync(`/sys/class/net/${network.bridge}`)) ip("link", "delete", network.bridge);
}

function makeBridge(): void {
  if (!existsSync(`/sys/class/net/${network.bridge}`)) ip("link", "add", network.bridge, "type", "bridge");
  ip("address", "replace", `${network.node}/24`, "dev", network.bridge);
  ip("link", "set", network.bridge, "up");
}

/** Packets from pods to addresses outside the lab are rejected at once, rather than lost outside. */
function fencePods(): void {
  const table = `table ip ${fence}`;
  const rule = `ip saddr ${network.subnet} ip daddr != ${network.subnet} reject with icmp type admin-prohibited`;
  // Adding and deleting first makes it the same whether or not the table was there.
  const input = `add ${table}
delete ${table}
add ${table}
add chain ip ${fence} forward { type filter hook forward priority filter; }
add rule ip ${fence} forward ${rule}
`;
  execFileSync(needProgram("nft"), ["-f", "-"], { input });
}

function removePacketRules(): void {
  for (const table of packetTables()) execFileSync(needProgram("nft"), ["delete", ...table.split(" ")]);
}

/** Those of the lab's own, whose names begin alike, and kube-proxy's. */
export function packetTables(): string[] {
  const nft = findProgram("nft");
  // Without it no rules were written.
  if (!nft) return [];
  const ours = [`table ip ${fence}`, "table ip kube-proxy", "table ip6 kube-proxy"];
  const tables = execFileSync(nft, ["list", "tables"], { encoding: "utf8" }).split("\n");
  return tables.filter((table) => ours.some((start) => table.startsWith(start)));
}

/** Cables go with their pod's network namespace, which the kernel clears in its own time; this hurries it. */
function removePodLinks(): void {
  for (const link of podLinks()) {
    // It may have gone between the look and this.
    spawnSync(needProgram("ip"), ["link", "delete", link], { stdio: "ignore" });
  }
  const left = podLinks();
  if (left.length > 0) throw new Error(`these links of pods could not be deleted: ${left.join(", ")}`);
}

/** The host's ends of pods' cables. */
export function podLinks(): string[] {
  const addresses = JSON.parse(ip("-json", "address", "show")) as {
    ifname?: string;
    addr_info?: { local?: string }[];
  }[];
  return addresses
    .filter((link) => link.addr_info?.some((info) => info.local === network.podGateway))
    .flatMap((link) => (link.ifname ? [link.ifname] : []));
}

function ip(...args: string[]): string {
  return execFileSync(needProgram("ip"), args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
