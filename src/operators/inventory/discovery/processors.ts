/** The processors that are online, by physical package. */
import { inParallel } from "../../../runtime/in-parallel.ts";
import { discoveryAtOnce } from "./gpus.ts";
import { plainName, readWhole, type Tree } from "./tree.ts";

/** /proc/cpuinfo has under 2 KB per processor, and Linux takes 8,192 of them. */
const discoveryCpuinfoBytes = 16 * 1024 * 1024;

type CpuFacts = ReadonlyMap<string, string>;

const sysfs = "/sys/devices/system/cpu";
const cpuinfo = "/proc/cpuinfo";

export async function readCpuinfo(tree: Tree): Promise<CpuFacts[]> {
  const text = await tree.text(cpuinfo, discoveryCpuinfoBytes);
  if (text === undefined) tree.report(`${cpuinfo}: it cannot be read`);
  return (text ?? "")
    .split(/\n\s*\n/)
    .map(readFacts)
    .filter(({ size }) => size > 0);
}

export async function readPackages(tree: Tree, facts: readonly CpuFacts[]) {
  const byIndex = new Map(facts.map((each) => [readWhole(each.get("processor") ?? ""), each]));
  const processors = await readProcessors(tree, byIndex);
  if (processors.length === 0) tree.report(`no processor was found in ${sysfs} and ${cpuinfo}`);
  const packages = Map.groupBy(processors, ({ packageId }) => packageId);
  return [...packages].map(([id, members]) => {
    // Where the processor's own entry is missing, that of any other of the machine will do.
    const own = members.map(({ index }) => byIndex.get(index)).find((each) => each !== undefined) ?? facts[0];
    return { id, ...describe(own ?? new Map()), vcores: members.length };
  });
}

async function readProcessors(tree: Tree, byIndex: ReadonlyMap<number | undefined, CpuFacts>) {
  const names = (await tree.names(sysfs)).filter((name) => /^cpu\d+$/.test(name));
  const listed = names.map((name) => Number(name.slice(3)));
  const indices = listed.length > 0 ? listed : [...byIndex.keys()].filter((index) => index !== undefined);
  const found = await inParallel(indices, discoveryAtOnce, async (index) => {
    const folder = `${sysfs}/cpu${index}`;
    // The first processor often cannot be taken offline, and then has no such file.
    if ((await tree.text(`${folder}/online`)) === "0") return undefined;
    const packageId =
      (await tree.text(`${folder}/topology/physical_package_id`)) ?? byIndex.get(index)?.get("physical id");
    // Some virtual machines say -1.
    return { index, packageId: `${readWhole(packageId ?? "") ?? 0}` };
  });
  return found.filter((processor) => processor !== undefined);
}

function readFacts(block: string): CpuFacts {
  const facts = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) facts.set(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  return facts;
}

/** Every architecture of Linux has its own keys. */
function describe(facts: CpuFacts) {
  const first = (...keys: string[]) => keys.map((key) => facts.get(key)).find((value) => value);
  return {
    vendor: plainName(first("vendor_id") ?? armVendorOf(facts) ?? ""),
    model: plainName(
      first("model name", "Model Name", "Processor", "cpu model", "uarch", "cpu") ?? armModelOf(facts) ?? "",
    ),
  };
}

/** From the kernel's names to those of Kubernetes. */
const architectures: Readonly<Record<string, string>> = {
  x86_64: "amd64",
  aarch64: "arm64",
  i686: "386",
  armv7l: "arm",
  ppc64le: "ppc64le",
  s390x: "s390x",
  riscv64: "riscv64",
  loongarch64: "loong64",
};

export async function readArchitecture(tree: Tree, facts: readonly CpuFacts[]): Promise<string> {
  const kernel = (await tree.text("/proc/sys/kernel/arch")) ?? "";
  const found = architectures[kernel] ?? guess(facts[0]);
  if (found === undefined) tree.report("neither /proc/sys/kernel/arch nor /proc/cpuinfo has the architecture");
  return found ?? "unknown";
}

/** Kernels before 6.1 do not have it. */
function guess(facts: CpuFacts | undefined): string | undefined {
  // "lm", long mode, is how x86 says 64 bits.
  const flags = facts?.get("flags")?.split(" ");
  if (flags) return flags.includes("lm") ? "amd64" : "386";
  if (facts?.has("CPU implementer")) return Number(facts.get("CPU architecture")) >= 8 ? "arm64" : "arm";
  return facts?.get("isa")?.startsWith("rv64") ? "riscv64" : undefined;
}

/** ARM's /proc/cpuinfo has numbers where others have names; these are those of servers. */
const armVendors: Readonly<Record<string, string>> = {
  "0x41": "ARM",
  "0x43": "Cavium",
  "0x48": "HiSilicon",
  "0x4e": "NVIDIA",
  "0x50": "APM",
  "0x51": "Qualcomm",
  "0x61": "Apple",
  "0x6d": "Microsoft",
  "0xc0": "Ampere",
};

const armModels: Readonly<Record<string, string>> = {
  "0x41 0xd03": "Cortex-A53",
  "0x41 0xd07": "Cortex-A57",
  "0x41 0xd08": "Cortex-A72",
  "0x41 0xd0b": "Cortex-A76",
  "0x41 0xd0c": "Neoverse-N1",
  "0x41 0xd40": "Neoverse-V1",
  "0x41 0xd49": "Neoverse-N2",
  "0x41 0xd4f": "Neoverse-V2",
  "0x41 0xd84": "Neoverse-V3",
  "0x41 0xd8e": "Neoverse-N3",
  "0x43 0x0af": "ThunderX2",
  "0x48 0xd01": "Kunpeng-920",
  "0xc0 0xac3": "Ampere-1",
  "0xc0 0xac4": "Ampere-1a",
};

function armVendorOf(facts: CpuFacts): string | undefined {
  const implementer = facts.get("CPU implementer")?.toLowerCase();
  return implementer && (armVendors[implementer] ?? `implementer ${implementer}`);
}

function armModelOf(facts: CpuFacts): string | undefined {
  const implementer = facts.get("CPU implementer")?.toLowerCase();
  const part = facts.get("CPU part")?.toLowerCase();
  return implementer && part && (armModels[`${implementer} ${part}`] ?? `part ${part}`);
}
