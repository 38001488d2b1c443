/** A command line that makes no sense, told by commander and ended by us. */
import type { Command, CommanderError } from "commander";
import { exitCodes } from "../runtime/catalogue.ts";

/** What to end with when commander threw: it has said what is wrong, or it was asked for help. */
export function exitCodeOfUsage({ exitCode }: CommanderError): number {
  return exitCode === 0 ? 0 : exitCodes.settings;
}

/** Makes the whole tree of commands throw CommanderError instead of ending the process by itself. */
export function throwOnWrongUsage(command: Command): Command {
  command.exitOverride();
  for (const below of command.commands) throwOnWrongUsage(below);
  return command;
}
