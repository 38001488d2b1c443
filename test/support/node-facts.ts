/** The recorded facts of a real machine, turned into a tree of files that shows the same. */
import { type MachineFiles, nvidiaFiles, pciFiles, processorFiles } from "./machine-tree.ts";

export function filesFromFacts(text: string): MachineFiles {
  const sections = new Map(
    text.split(/^== /m).map((section) => {
      const [title = "", ...lines] = section.split("\n");
      return [title, lines] as const;
    }),
  );
  const linesOf = (title: string) => sections.get(title) ?? [];
  return {
    "/proc/sys/kernel/arch": `${linesOf("uname")[0]?.split(" ").at(-2)}\n`,
    "/proc/meminfo": linesOf("mem").join("\n"),
    ...cpuFiles(linesOf("cpuinfo")),
    ...Object.assign({}, ...linesOf("pci nvidia").map(pciLine)),
    ...driverFiles(linesOf("proc driver")),
    ...Object.assign({}, ...linesOf("block").map(blockLine)),
    ...Object.assign({}, ...linesOf("net").map(netLine)),
  };
}

function cpuFiles(lines: readonly string[]): MachineFiles {
  const pairs = lines.filter((line) => line.includes(":")).map((line) => line.split(/\s*: /));
  const count = Number(lines.find((line) => /^\d+$/.test(line)));
  return processorFiles(Array.from({ length: count }, () => ({ facts: Object.fromEntries(pairs) })));
}

function pciLine(line: string): MachineFiles {
  const words = /^(\S+) (0x\w+) 0x(\w+) 0x(\w+) 0x(\w+) 0x(\w+) driver=(\S*)$/.exec(line);
  if (!words) return {};
  const [, address = "", code = "", vendor, device, subVendor, subDevice, driver] = words;
  const id = `${vendor}:${device}`;
  return pciFiles(address, { class: code, id, subsystem: `${subVendor}:${subDevice}`, ...(driver ? { driver } : {}) });
}

function driverFiles(lines: readonly string[]): MachineFiles {
  const start = lines.indexOf("information");
  const end = lines.findIndex((line) => line.startsWith("NVRM version"));
  const address = lines.find((line) => /^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d$/.test(line)) ?? "";
  const version = / {2}(\S+) {2}Release Build/.exec(lines[end] ?? "")?.[1] ?? "";
  return nvidiaFiles({ version, cards: { [address]: `${lines.slice(start + 1, end).join("\n")}\n` } });
}

function blockLine(line: string): MachineFiles {
  const words = /^(\S+) size=(\d+) rot=(\d) model=(.*)$/.exec(line);
  if (!words) return {};
  const [, name, size, rotational] = words;
  return { [`/sys/block/${name}/size`]: `${size}\n`, [`/sys/block/${name}/queue/rotational`]: `${rotational}\n` };
}

function netLine(line: string): MachineFiles {
  const words = /^(\S+) speed=(\S*) mtu=\d+ type=(\d+) dev=(\S*) op=(\S+)$/.exec(line);
  if (!words) return {};
  const [, name, speed, type, device, state] = words;
  const folder = `/sys/class/net/${name}`;
  return {
    [`${folder}/operstate`]: `${state}\n`,
    [`${folder}/type`]: `${type}\n`,
    ...(speed ? { [`${folder}/speed`]: `${speed}\n` } : {}),
    ...(device ? { [`${folder}/device`]: { link: device } } : {}),
  };
}
