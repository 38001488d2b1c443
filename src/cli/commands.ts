/** The commands of the program. */
import { Command } from "commander";
import { description, version } from "./version.ts";

/** In the order of a person's first acquaintance. Loaded one by one: `demo` need not wait for what `tenant` needs. */
const commands: Record<string, () => Promise<Command>> = {
  demo: async () => (await import("./demo.ts")).demoCommand(),
  run: async () => (await import("./run.ts")).runCommand(),
  orders: async () => (await import("./orders.ts")).ordersCommand(),
  why: async () => (await import("./why.ts")).whyCommand(),
  screen: async () => (await import("./screen.ts")).screenCommand(),
  pause: async () => (await import("./pause.ts")).pauseCommand(),
  resume: async () => (await import("./pause.ts")).resumeCommand(),
  leases: async () => (await import("./leases.ts")).leasesCommand(),
  lease: async () => (await import("./lease.ts")).leaseCommand(),
  conditions: async () => (await import("./conditions.ts")).conditionsCommand(),
  adopt: async () => (await import("./adopt.ts")).adoptCommand(),
  reconcile: async () => (await import("./reconcile.ts")).reconcileCommand(),
  watch: async () => (await import("./watch.ts")).watchCommand(),
  earnings: async () => (await import("./earnings.ts")).earningsCommand(),
  policies: async () => (await import("./policies.ts")).policiesCommand(),
  operator: async () => (await import("./operator.ts")).operatorCommand(),
  config: async () => (await import("./config.ts")).configCommand(),
  install: async () => (await import("./install.ts")).installCommand(),
  register: async () => (await import("./register.ts")).registerCommand(),
  chain: async () => (await import("./chain.ts")).chainCommand(),
  events: async () => (await import("./events.ts")).eventsCommand(),
  "sdl-to-manifest": async () => (await import("./sdl.ts")).sdlToManifestCommand(),
  tenant: async () => (await import("./tenant.ts")).tenantCommand(),
  status: async () => (await import("./status.ts")).statusCommand(),
  "send-manifest": async () => (await import("./send-manifest.ts")).sendManifestCommand(),
  "get-manifest": async () => (await import("./get-manifest.ts")).getManifestCommand(),
  "lease-status": async () => (await import("./lease-status.ts")).leaseStatusCommand(),
  "service-status": async () => (await import("./lease-status.ts")).serviceStatusCommand(),
  "lease-logs": async () => (await import("./lease-logs.ts")).leaseLogsCommand(),
  "lease-events": async () => (await import("./lease-events.ts")).leaseEventsCommand(),
  "lease-shell": async () => (await import("./lease-shell.ts")).leaseShellCommand(),
  "migrate-hostnames": async () => (await import("./migrate.ts")).migrateHostnamesCommand(),
  "migrate-endpoints": async () => (await import("./migrate.ts")).migrateEndpointsCommand(),
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
