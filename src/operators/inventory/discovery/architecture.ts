/** The machine's architecture, in the words of Kubernetes. */
import type { CpuFacts } from "./processors.ts";
import type { Tree } from "./tree.ts";

/** From the kernel's words. */
const names: Readonly<Record<string, string>> = {
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
  const found = names[kernel] ?? guess(facts[0]);
  if (found === undefined) tree.report("neither /proc/sys/kernel/arch nor /proc/cpuinfo tells the architecture");
  return found ?? "unknown";
}

/** Kernels before 6.1 do not say it; the processor does. */
function guess(facts: CpuFacts | undefined): string | undefined {
  // "lm", long mode, is how x86 says 64 bits.
  const flags = facts?.get("flags")?.split(" ");
  if (flags) return flags.includes("lm") ? "amd64" : "386";
  if (facts?.has("CPU implementer")) return Number(facts.get("CPU architecture")) >= 8 ? "arm64" : "arm";
  return facts?.get("isa")?.startsWith("rv64") ? "riscv64" : undefined;
}
