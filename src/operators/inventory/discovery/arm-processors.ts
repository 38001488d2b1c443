/** ARM's /proc/cpuinfo has numbers where others have names. These are the ones that servers are made of. */
import type { CpuFacts } from "./processors.ts";

const vendors: Readonly<Record<string, string>> = {
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

/** By vendor and part. */
const models: Readonly<Record<string, string>> = {
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

export function armVendorOf(facts: CpuFacts): string | undefined {
  const implementer = facts.get("CPU implementer")?.toLowerCase();
  return implementer && (vendors[implementer] ?? `implementer ${implementer}`);
}

export function armModelOf(facts: CpuFacts): string | undefined {
  const implementer = facts.get("CPU implementer")?.toLowerCase();
  const part = facts.get("CPU part")?.toLowerCase();
  return implementer && part && (models[`${implementer} ${part}`] ?? `part ${part}`);
}
