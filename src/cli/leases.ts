/** `akash-provider leases`: what runs for whom, and how it stands. */
import type { Command } from "commander";
import type { Told } from "../bidengine/questions.ts";
import type { SeenUnhealthy } from "../cluster/health/monitoring.ts";
import { type LeaseLine, readLeases } from "../cluster/leases/lease-lines.ts";
import { formatDuration } from "../config/formats/duration.ts";
import { formatTime } from "../runtime/clock.ts";
import { askingCommand, complain, type OutputOptions, openAsker, print, printJson } from "./asking.ts";
import { aligned } from "./columns.ts";
import { showAge } from "./order-text.ts";
import { usageCells, usageHeading, usageNote } from "./usage-text.ts";

export function leasesCommand(): Command {
  const command = askingCommand(
    "leases",
    "show our leases: state, health, age, what they use, namespace, host names and leased addresses",
  ).addHelpText(
    "after",
    "\nEnd one of them: akash-provider lease close <lease> --reason <reason> --dry-run\nReplace older pod templates: akash-provider lease refresh <lease>",
  );
  return command.action(async ({ json }: OutputOptions, given: Command) => {
    const leases = await openAsker(given).askOrRead("leases", {}, readLeases);
    if (json) return leases.forEach(printJson);
    if (leases.length === 0) return complain("there are no leases");
    print(leaseRows(leases));
    const note = usageNote(leases);
    if (note !== undefined) complain(note);
  });
}

/** The id is never cut: it is what `lease close` is given. What is wrong stands below the lease that it is about. */
export function leaseRows(leases: readonly Told<LeaseLine>[]): string[] {
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

/** "2/3" replicas; "?" while nobody knows. */
function readyText(health: Told<LeaseLine>["health"]): string {
  if (!health) return "";
  if (health.state === "unknown") return "?";
  const sum = (of: "ready" | "wanted") => health.services.reduce((total, service) => total + service[of], 0);
  return `${sum("ready")}/${sum("wanted")}`;
}

function unwellText({ observedMs, limitMs, heldBy }: SeenUnhealthy): string {
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
}: Told<LeaseLine>): string[] {
  const troubles = health?.troubles ?? [];
  return [
    ...(reclaimedAtMs === undefined ? [] : [`reclaiming until ${formatTime(reclaimedAtMs)}, then it is closed`]),
    ...(why === undefined ? [] : [why]),
    ...troubles.map(({ service, reason, replicas, message }) => {
      const which = replicas > 1 ? `${service} ×${replicas}` : service;
      return `${which}: ${reason}: ${message}`;
    }),
    ...(unwell && health?.state === "unhealthy" ? [unwellText(unwell)] : []),
    ...withheld.map((each) => `withheld: ${each}`),
    ...hostTroubles,
    ...addressless.map((each) => `no address yet: ${each}`),
    ...(kept.length === 0 ? [] : [`runs with an older pod template: ${kept.join(", ")}`]),
    ...(rolling.length === 0 ? [] : [`pods are being replaced: ${rolling.join(", ")}`]),
    ...(foreign.length === 0 ? [] : [`left alone, not made by us: ${foreign.join(", ")}`]),
  ].map((line) => `  ${line}`);
}
