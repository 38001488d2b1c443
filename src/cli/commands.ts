/** The commands of the program. */
import { Command, type CommanderError } from "commander";
import { exitCodes } from "../runtime/catalogue.ts";
import { description, version } from "./version.ts";

/** In the order of a person's first acquaintance. Loaded one by one: `demo` need not wait for what `tenant` needs. */
const commands: Record<string, () => Promise<Command>> = {
  demo: async () => (await import("./demo.ts")).demoCommand(),
  run: async () => (await import("./run.ts")).runCommand(),
  orders: async () => (await import("./orders.ts")).ordersCommand(),
  why: async () => (await import("./orders.ts")).whyCommand(),
  screen: async () => (await import("./orders.ts")).screenCommand(),
  pause: async () => (await import("./pause.ts")).pauseCommand(),
  resume: async () => (await import("./pause.ts")).resumeCommand(),
  leases: async () => (await import("./leases.ts")).leasesCommand(),
  lease: async () => (await import("./lease.ts")).leaseCommand(),
  conditions: async () => (await import("./control.ts")).conditionsCommand(),
  adopt: async () => (await import("./adopt.ts")).adoptCommand(),
  reconcile: async () => (await import("./reconcile.ts")).reconcileCommand(),
  watch: async () => (await import("./watch.ts")).watchCommand(),
  earnings: async () => (await import("./earnings.ts")).earningsCommand(),
  policies: async () => (await import("./policies.ts")).policiesCommand(),
  operator: async () => (await import("./operator.ts")).operatorCommand(),
  config: async () => (await import("./settings.ts")).configCommand(),
  install: async () => (await import("./register.ts")).installCommand(),
  register: async () => (await import("./register.ts")).registerCommand(),
  chain: async () => (await import("./chain.ts")).chainCommand(),
  events: async () => (await import("./events.ts")).eventsCommand(),
  "sdl-to-manifest": async () => (await import("./sdl.ts")).sdlToManifestCommand(),
  tenant: async () => (await import("./tenant.ts")).tenantCommand(),
  status: async () => (await import("./provider-requests.ts")).statusCommand(),
  "send-manifest": async () => (await import("./provider-requests.ts")).sendManifestCommand(),
  "get-manifest": async () => (await import("./provider-requests.ts")).getManifestCommand(),
  "lease-status": async () => (await import("./provider-requests.ts")).leaseStatusCommand(),
  "service-status": async () => (await import("./provider-requests.ts")).serviceStatusCommand(),
  "lease-logs": async () => (await import("./lease-streams.ts")).leaseLogsCommand(),
  "lease-events": async () => (await import("./lease-streams.ts")).leaseEventsCommand(),
  "lease-shell": async () => (await import("./lease-shell.ts")).leaseShellCommand(),
  "migrate-hostnames": async () => (await import("./provider-requests.ts")).migrateHostnamesCommand(),
  "migrate-endpoints": async () => (await import("./provider-requests.ts")).migrateEndpointsCommand(),
};

/** The program with the command of this name, or with all of them where there is none. */
export async function programFor(name: string): Promise<Command> {
  const program = new Command("akash-provider")
    .description(description)
    .version(version)
    .addHelpText("after", "\nTry it without a chain or a cluster: akash-provider demo");
  const chosen = Object.hasOwn(commands, name) ? commands[name] : undefined;
  for (const load of chosen ? [chosen] : Object.values(commands)) program.addCommand(await load());
  return program;
}

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
