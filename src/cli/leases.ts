/** `akash-provider leases`: what runs for whom, and how it stands. */
import type { Command } from "commander";
import type { JsonOf } from "../bidengine/control-handlers.ts";
import type { SeenUnhealthy } from "../cluster/health/monitoring.ts";
import { type LeaseLine, readLeases } from "../cluster/leases/lease-lines.ts";
import { formatDuration } from "../config/formats/plain.ts";
import { formatTime } from "../runtime/clock.ts";
import { aligned } from "./answer-text.ts";
import { controlCommand, type OutputOptions, openControlClient, print, printError, printJson } from "./control.ts";
import { showAge } from "./order-text.ts";

export function leasesCommand(): Command {
  const command = controlCommand(
    "leases",
    "show our leases: state, health, age, what they use, namespace, host names and leased addresses",
  ).addHelpText(
    "after",
    "\nEnd one of them: akash-provider lease close <lease> --reason <reason> --dry-run\nReplace older pod templates: akash-provider lease refresh <lease>",
  );
  return command.action(async ({ json }: OutputOptions, given: Command) => {
    const leases = await openControlClient(given).requestOrRead("leases", {}, readLeases);
    if (json) return leases.forEach(printJson);
    if (leases.length === 0) return printError("there are no leases");
    print(leaseRows(leases));
    const note = usageNote(leases);
    if (note !== undefined) printError(note);
  });
}

/** The id is never cut: it is what `lease close` is given. What is wrong stands below the lease that it is about. */
export function leaseRows(leases: readonly JsonOf<LeaseLine>[]): string[] {
  const heading = ["LEASE", "AGE", "STATE", "READY", ...usageHeading, "NAMESPACE", "HOSTS", "ADDRESSES"];
  const cells = leases.map((line) => [
    line.lease,
    line.ageMs === undefined ? "" : showAge(line.ageMs),
    line.state,
    readyText(line.health),
    ...usageCells(line),
    line.namespace,
    line.hosts.join(" "),
    (line.addresses ?? []).join(" "),
  ]);
  const [head = "", ...rows] = aligned(heading, cells);
  return [head, ...leases.flatMap((lease, at) => [rows[at] ?? "", ...notesOf(lease)])];
}

/** "2/3" replicas; "?" while unknown. */
function readyText(health: JsonOf<LeaseLine>["health"]): string {
  if (!health) return "";
  if (health.state === "unknown") return "?";
  const sum = (of: "ready" | "wanted") => health.services.reduce((total, service) => total + service[of], 0);
  return `${sum("ready")}/${sum("wanted")}`;
}

function unhealthyText({ observedMs, limitMs, heldBy }: SeenUnhealthy): string {
  const limit = limitMs === undefined ? "" : `; the lease is closed after ${formatDuration(limitMs)} unhealthy`;
  const end = heldBy === undefined ? limit : `; not counted now: ${heldBy}`;
  return `unhealthy for ${formatDuration(Math.floor(observedMs / 1_000) * 1_000)}${end}`;
}

function notesOf({
  why,
  health,
  unwell,
  withheld = [],
  addressless = [],
  hostTroubles = [],
  foreign = [],
  kept = [],
  rolling = [],
  reclaimedAtMs,
}: JsonOf<LeaseLine>): string[] {
  const troubles = health?.troubles ?? [];
  return [
    ...(reclaimedAtMs === undefined ? [] : [`reclaiming until ${formatTime(reclaimedAtMs)}, then it is closed`]),
    ...(why === undefined ? [] : [why]),
    ...troubles.map(({ service, reason, replicas, message }) => {
      const which = replicas > 1 ? `${service} ×${replicas}` : service;
      return `${which}: ${reason}: ${message}`;
    }),
    ...(unwell && health?.state === "unhealthy" ? [unhealthyText(unwell)] : []),
    ...withheld.map((each) => `withheld: ${each}`),
    ...hostTroubles,
    ...addressless.map((each) => `no address yet: ${each}`),
    ...(kept.length === 0 ? [] : [`runs with an older pod template: ${kept.join(", ")}`]),
    ...(rolling.length === 0 ? [] : [`pods are being replaced: ${rolling.join(", ")}`]),
    ...(foreign.length === 0 ? [] : [`left alone, not made by us: ${foreign.join(", ")}`]),
  ].map((line) => `  ${line}`);
}

/** What leases use of what is leased, in columns for a terminal. */
const usageHeading = ["CPU", "MEMORY", "STORAGE"] as const;

type UsageLine = Pick<JsonOf<LeaseLine>, "leased" | "usage">;

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
