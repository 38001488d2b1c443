/** What this machine's own tools say about its hardware. */
import { execFileSync, spawnSync } from "node:child_process";

export function tool(name: string, ...options: string[]): string {
  return execFileSync(name, options, { encoding: "utf8", env: { ...process.env, LC_ALL: "C" } });
}

export function hasTool(name: string): boolean {
  return spawnSync(name, ["-V"]).error === undefined;
}

/** The processors as lscpu has them: how many there are in each socket, and what they are. */
export function lscpu() {
  const lines = tool("lscpu", "-p=CPU,SOCKET")
    .split("\n")
    .filter((line) => /^\d/.test(line));
  const sockets = Map.groupBy(lines, (line) => line.split(",")[1]);
  const described = tool("lscpu");
  const told = (key: string) => new RegExp(`^${key}:\\s*(.*)$`, "m").exec(described)?.[1];
  return {
    vcores: [...sockets.values()].map(({ length }) => length),
    vendor: told("Vendor ID"),
    model: told("Model name"),
  };
}

export function memoryBytesOfFree(): number {
  return Number(/^Mem:\s+(\d+)/m.exec(tool("free", "-b"))?.[1]);
}

/** By name. */
export function lsblk(): { name: string; sizeBytes: number; turns: boolean }[] {
  const columns = "NAME,TYPE,SIZE,ROTA";
  const { blockdevices } = JSON.parse(tool("lsblk", "--bytes", "--nodeps", "--json", "--output", columns)) as {
    blockdevices: { name: string; type: string; size: number; rota: boolean }[];
  };
  return blockdevices
    .filter(({ name, type, size }) => type === "disk" && size > 0 && !name.startsWith("zram"))
    .map(({ name, size, rota }) => ({ name, sizeBytes: size, turns: rota }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The interfaces that ip knows as no kind of virtual one. */
export function ipLinks(): { name: string; up: boolean }[] {
  const links = JSON.parse(tool("ip", "-json", "-details", "link")) as {
    ifname: string;
    link_type: string;
    operstate: string;
    linkinfo?: { info_kind?: string };
  }[];
  return links
    .filter(({ link_type, linkinfo }) => link_type !== "loopback" && linkinfo?.info_kind === undefined)
    .map(({ ifname, operstate }) => ({ name: ifname, up: operstate === "UP" }));
}
