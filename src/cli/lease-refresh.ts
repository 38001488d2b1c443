/** `akash-provider lease refresh`: running leases get our newest pod templates, a few at a time. */
import { type Command, Option } from "commander";
import type { JsonOf } from "../bidengine/control-handlers.ts";
import type { LeaseLine } from "../cluster/leases/lease-lines.ts";
import { type Clock, realClock, sleep } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { inParallel } from "../runtime/in-parallel.ts";
import { controlCommand, openControlClient, print, printError, wholeNumber } from "./control.ts";

interface RefreshOptions {
  readonly all: boolean;
  readonly atOnce: number;
}

type Line = Pick<JsonOf<LeaseLine>, "lease" | "kept" | "rolling" | "health">;

interface RefreshDeps {
  leases(): Promise<readonly Line[]>;
  refresh(lease: string): Promise<unknown>;
  readonly clock: Clock;
  readonly show: (line: string) => void;
}

/** Also the first pause: by then a workload that was just written shows that it rolls. */
const lookMs = 2_000;
/** Of a lease that worked before. Its images are on the nodes already, or come from where they came from. */
const readyWithinMs = 10 * 60_000;
/** A template that does not work takes down so many leases at most. */
const mostAtOnce = 50;

const help = `
<lease> is <owner>/<dseq>/<gseq>/<oseq>/<provider>; the last part may be left out.
The pods of services with an older pod template are replaced, each service with at most one pod less than it has. With --all
the next lease follows when one that was healthy is so again; when one is not within ten minutes, no other is begun.`;

export function refreshCommand(): Command {
  const command = controlCommand(
    "refresh [lease]",
    "give running services our newest pod templates, which restarts them",
  )
    .option("--all", "every lease with an older pod template", false)
    .addOption(
      new Option("--at-once <number>", "how many leases at the same time")
        .argParser(wholeNumber(mostAtOnce))
        .default(2),
    )
    .addHelpText("after", help);
  return command.action(async (id: string | undefined, { all, atOnce }: RefreshOptions, given: Command) => {
    if (all === (id !== undefined)) given.error("error: name one lease, or give --all");
    const client = openControlClient(given);
    const deps: RefreshDeps = {
      leases: () => client.request<readonly LeaseLine[]>("leases"),
      refresh: (lease) => client.request("refreshLease", { id: lease }),
      clock: realClock,
      show: (line) => print([line]),
    };
    const lines = await deps.leases();
    const chosen = all
      ? lines.filter(({ kept = [] }) => kept.length > 0)
      : [lines.find(({ lease }) => lease === id || lease.startsWith(`${id}/`)) ?? { lease: `${id}` }];
    if (chosen.length === 0) return printError("no lease has an older pod template");
    await refreshLeases(chosen, atOnce, deps);
  });
}

export async function refreshLeases(chosen: readonly Line[], atOnce: number, deps: RefreshDeps): Promise<void> {
  await inParallel(chosen, atOnce, (line) => refreshLease(line, deps));
}

async function refreshLease({ lease, kept = [], health }: Line, deps: RefreshDeps): Promise<void> {
  const { leases, refresh, clock, show } = deps;
  try {
    await refresh(lease);
  } catch (thrown) {
    if (kept.length === 0 || !ProviderError.is(thrown, "AKP_LEASE_OVER")) throw thrown;
    return show(`${lease}: has ended`);
  }
  show(`${lease}: ${kept.length === 0 ? "has our newest pod templates" : `replacing the pods of ${kept.join(", ")}`}`);
  if (kept.length === 0) return;
  if (health?.state !== "healthy") return show(`${lease}: not waited for, it was not healthy before`);
  const endMs = clock.monotonicMs() + readyWithinMs;
  do {
    await sleep(clock, lookMs);
    const now = (await leases()).find((line) => line.lease === lease);
    if (!now || isReady(now)) return show(`${lease}: ${now ? "ready" : "has ended"}`);
  } while (clock.monotonicMs() < endMs);
  throw new ProviderError("AKP_REFRESH_NOT_READY", { lease, minutes: readyWithinMs / 60_000 });
}

function isReady({ kept = [], rolling = [], health }: Line): boolean {
  return kept.length + rolling.length === 0 && health?.state === "healthy";
}
