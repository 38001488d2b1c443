/** `akash-provider pause` and `resume`: whether the provider bids on what is new. Both last over restarts. */
import type { Command } from "commander";
import type { JsonOf, PauseResponse } from "../bidengine/control-handlers.ts";
import { BadValue } from "../config/formats/format.ts";
import { parseDuration } from "../config/formats/plain.ts";
import type { OperatorSwitch } from "../journal/deadlines.ts";
import { formatTime, parseTime, realClock } from "../runtime/clock.ts";
import { ProviderError } from "../runtime/errors.ts";
import { controlCommand, type OutputOptions, openControlClient, print, printJson } from "./control.ts";

interface PauseOptions extends OutputOptions {
  readonly reason: string;
  readonly from?: string;
  readonly dryRun: boolean;
}

const stays = "what is bid stays bid, and leases run on";

export function pauseCommand(): Command {
  const command = controlCommand("pause", "bid on nothing new, now or from a time on, until `resume`")
    .option("--reason <text>", "why; `why` and `screen` show it", "paused by the operator")
    .option("--from <time>", "when it begins: 2026-12-01T22:00:00Z, or 90m from now")
    .option("--dry-run", "say what would happen, and do nothing", false);
  return command.action(async ({ reason, from, dryRun, json }: PauseOptions, given: Command) => {
    const fromMs = from === undefined ? undefined : timeIn(from, realClock.now());
    const params = { reason, dryRun, ...(fromMs !== undefined && { fromMs }) };
    const answer = await openControlClient(given).request<PauseResponse>("pause", params);
    if (json) return printJson(answer);
    print([paused(answer), ...(answer.before ? [`before, it was paused ${describe(answer.before)}`] : [])]);
  });
}

export function resumeCommand(): Command {
  const command = controlCommand("resume", "bid again after `pause`").option(
    "--dry-run",
    "say what would happen, and do nothing",
    false,
  );
  return command.action(async ({ dryRun, json }: PauseOptions, given: Command) => {
    const answer = await openControlClient(given).request<PauseResponse>("resume", { dryRun });
    if (json) return printJson(answer);
    if (!answer.before) return print(["bidding is not paused: nothing to do"]);
    const said = dryRun ? "dry run: bidding would go on" : "bidding goes on";
    print([`${said}; orders that are open are looked at again`, `it was paused ${describe(answer.before)}`]);
  });
}

function paused({ after, dryRun }: JsonOf<PauseResponse>): string {
  const from = after?.fromMs === undefined ? "" : ` from ${formatTime(after.fromMs)} on`;
  const [said, reason] = [dryRun ? "dry run: bidding would be paused" : "bidding is paused", after?.reason ?? ""];
  return `${said}${from} (${reason}); ${stays}`;
}

function describe({ reason, sinceMs, fromMs }: JsonOf<OperatorSwitch>): string {
  const from = fromMs === undefined ? "" : `, from ${formatTime(fromMs)} on`;
  return `at ${formatTime(sinceMs)}${from} (${reason})`;
}

/** A time of the calendar, or how long from now. */
export function timeIn(text: string, nowMs: number): number {
  const afterMs = parseDuration(text);
  const atMs = afterMs instanceof BadValue ? parseTime(text) : nowMs + afterMs;
  const refuse = (reason: string) => {
    const example = `2026-12-01T22:00:00Z, or 90m from now`;
    return new ProviderError("AKP_VALUE_MALFORMED", { value: text, expected: "a time to come", reason, example });
  };
  // A date without an hour, or an hour without a zone, would mean another time than somebody has in mind.
  if (Number.isNaN(atMs) || (afterMs instanceof BadValue && !/T.*(Z|[+-]\d\d:\d\d)$/.test(text)))
    throw refuse("it is neither a time with a zone nor a duration");
  if (atMs < nowMs) throw refuse("it has passed; leave --from out to pause now");
  return atMs;
}
