/**
 * Gives several commands in one process, one after the other: starting the program is most of what a command costs. What each
 * said and ended with goes to the parent as a line of JSON.
 */
import { type Command, CommanderError } from "commander";
import { throwOnWrongUsage } from "../../src/cli/commands.ts";
import { describeFailure } from "../../src/cli/fail.ts";
import { leaseShellCommand } from "../../src/cli/lease-shell.ts";
import { leaseEventsCommand, leaseLogsCommand } from "../../src/cli/lease-streams.ts";
import {
  getManifestCommand,
  leaseStatusCommand,
  migrateEndpointsCommand,
  migrateHostnamesCommand,
  sendManifestCommand,
  serviceStatusCommand,
  statusCommand,
} from "../../src/cli/provider-requests.ts";

const commands: Record<string, () => Command> = {
  status: statusCommand,
  "send-manifest": sendManifestCommand,
  "get-manifest": getManifestCommand,
  "lease-status": leaseStatusCommand,
  "service-status": serviceStatusCommand,
  "lease-logs": leaseLogsCommand,
  "lease-events": leaseEventsCommand,
  "lease-shell": leaseShellCommand,
  "migrate-hostnames": migrateHostnamesCommand,
  "migrate-endpoints": migrateEndpointsCommand,
};

export interface Given {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What it must say before it counts; it is given again until then. */
  readonly until?: string;
}

export interface Came {
  readonly said: string;
  readonly failure: string;
  /** What the process would end with; 0 is left out. */
  readonly code?: number;
}

let said = "";
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (text: string | Uint8Array) => {
  said += String(text);
  return true;
};

const deadline = performance.now() + 60_000;
for (const { args, env = {}, until } of JSON.parse(process.argv[2] ?? "[]") as Given[]) {
  Object.assign(process.env, env);
  let came = await give(args);
  while (until !== undefined && !new RegExp(until).test(came.said) && performance.now() < deadline) {
    came = await give(args);
  }
  write(`${JSON.stringify(came)}\n`);
  for (const name of Object.keys(env)) delete process.env[name];
}

async function give([name = "", ...args]: readonly string[]): Promise<Came> {
  said = "";
  const command = commands[name]?.();
  if (!command) throw new Error(`no command ${name}`);
  try {
    await throwOnWrongUsage(command).parseAsync(args, { from: "user" });
    const code = Number(process.exitCode ?? 0);
    process.exitCode = 0;
    return { said, failure: "", ...(code !== 0 && { code }) };
  } catch (thrown) {
    return { said, failure: thrown instanceof CommanderError ? thrown.message : describeFailure(thrown).text };
  }
}
