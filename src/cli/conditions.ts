/** `akash-provider conditions`: what an operator should know now. */
import type { Command } from "commander";
import type { Told } from "../bidengine/questions.ts";
import type { HeldCondition } from "../conditions/held-conditions.ts";
import { realClock } from "../runtime/clock.ts";
import { askingCommand, complain, type OutputOptions, openAsker, print, printJson } from "./asking.ts";
import { aligned } from "./columns.ts";
import { showAge } from "./order-text.ts";

export function conditionsCommand(): Command {
  const command = askingCommand("conditions", "show what an operator should know: what is wrong, and since when");
  return command.action(async ({ json }: OutputOptions, given: Command) => {
    const held = await openAsker(given).ask<readonly HeldCondition[]>("conditions");
    if (json) return held.forEach(printJson);
    if (held.length === 0) return complain("nothing is wrong");
    print(conditionRows(held, realClock.now()));
  });
}

export function conditionRows(held: readonly Told<HeldCondition>[], nowMs: number): string[] {
  const cells = held.map(({ type, status, reason, sinceMs, subject = "" }) => {
    return [type, status, reason, showAge(nowMs - sinceMs), subject];
  });
  const [head = "", ...rows] = aligned(["CONDITION", "STATUS", "REASON", "AGE", "SUBJECT"], cells);
  return [head, ...held.flatMap(({ message }, at) => [rows[at] ?? "", `  ${message}`])];
}
