/** What leases use of what is leased, in columns for a terminal. */
import type { Told } from "../bidengine/questions.ts";
import type { LeaseLine } from "../cluster/leases/lease-lines.ts";

export const usageHeading = ["CPU", "MEMORY", "STORAGE"] as const;

type UsageLine = Pick<Told<LeaseLine>, "leased" | "usage">;

/** "120m of 500m", "? of 500m" where the first is not known. */
export function usageCells({ leased, usage }: UsageLine): string[] {
  const used = usage && "cpuNano" in usage ? usage : undefined;
  return [
    share(used?.cpuNano, leased?.cpuMilli, showCpuNano, showCpuMilli),
    share(used?.memoryBytes, leased?.memoryBytes, showBytes, showBytes),
    share(used?.storageBytes, leased?.storageBytes, showBytes, showBytes),
  ];
}

/** Why no lease has a figure, where that has one reason. */
export function usageNote(leases: readonly UsageLine[]): string | undefined {
  for (const { usage } of leases) {
    if (usage && "unknown" in usage && usage.unknown !== "not measured") return `usage not known: ${usage.unknown}`;
  }
  return undefined;
}

type Show = (amount: bigint) => string;

function share(used: string | undefined, leased: string | undefined, showUsed: Show, showLeased: Show): string {
  const before = used === undefined ? "?" : showUsed(BigInt(used));
  if (leased === undefined) return used === undefined ? "" : before;
  return `${before} of ${showLeased(BigInt(leased))}`;
}

const nanoPerMilli = 10n ** 6n;

/** A part of a thousandth counts as a whole one: what is used is not nothing. */
function showCpuNano(nano: bigint): string {
  return showCpuMilli((nano + nanoPerMilli - 1n) / nanoPerMilli);
}

/** "370m" below a core, "2.12" from there on. */
function showCpuMilli(milli: bigint): string {
  if (milli < 1_000n) return milli === 0n ? "0" : `${milli}m`;
  const fraction = `${milli % 1_000n}`.padStart(3, "0").replace(/0+$/, "");
  return `${milli / 1_000n}${fraction && `.${fraction}`}`;
}

const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** To a tenth of the largest unit of which there is one: for the eye; programs are given every byte. */
function showBytes(bytes: bigint): string {
  let [at, unit] = [0, 1n];
  while (at < units.length - 1 && bytes >= unit * 1024n) [at, unit] = [at + 1, unit * 1024n];
  const tenths = (bytes * 10n) / unit;
  return `${tenths / 10n}${tenths % 10n === 0n ? "" : `.${tenths % 10n}`}${units[at]}`;
}
