/** `akash-provider screen`: whether we would bid on an SDL, for how much, and if not, what is missing. */
import type { Command } from "commander";
import type { RecordedDecision } from "../bidengine/decision/decision.ts";
import { readDecision } from "../bidengine/decision/record.ts";
import type { ScreenAnswer } from "../bidengine/questions.ts";
import { parseAddress } from "../market/address.ts";
import { askingCommand, type OutputOptions, openAsker, print, printJson } from "./asking.ts";
import { changeLines, decisionLines } from "./order-text.ts";
import { soundSdlText } from "./sdl.ts";

interface ScreenOptions extends OutputOptions {
  readonly owner: string;
  readonly evidence: boolean;
}

/** For scripts: 0 is a bid on every group. */
const exitOfNo = 2;

export function screenCommand(): Command {
  const command = askingCommand("screen <sdl>", "would we bid on this SDL now, and at what price? Exit code 2 is a no")
    .option("--owner <address>", "the tenant; matters where policies or prices depend on who asks", "")
    .option("--evidence", "show what every check saw, not only those that said no", false);
  return command.action(async (path: string, options: ScreenOptions, given: Command) => {
    const owner = options.owner === "" ? "" : parseAddress(options.owner);
    const asker = openAsker(given);
    // What is wrong with the file itself is said without a provider, and with its name.
    const sdl = soundSdlText(path);
    const { groups } = await asker.ask<ScreenAnswer>("screen", { sdl, owner });
    if (options.json) groups.forEach(printJson);
    const decisions = groups.map(({ name, decision }) => ({ name, decision: readDecision(decision) }));
    if (!options.json) for (const each of decisions) print(groupLines(each, options));
    if (decisions.some(({ decision }) => decision.verdict === "no")) process.exitCode = exitOfNo;
  });
}

interface ScreenedGroup {
  readonly name: string;
  readonly decision: RecordedDecision;
}

function groupLines({ name, decision }: ScreenedGroup, options: ScreenOptions): string[] {
  const [said, ...checks] = decisionLines(decision, options);
  return [`group ${name}: ${said}`, ...checks, ...changeLines(decision, false)];
}
