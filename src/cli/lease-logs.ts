/** `akash-provider lease-logs`: what the containers of a deployment print, of all its leases. */
import type { Command } from "commander";
import { printable } from "../market/printable.ts";
import { lineText, type StreamFlags, showStreams, streamFlags } from "./lease-streams.ts";
import { providerCommand } from "./tenant-flags.ts";

export function leaseLogsCommand(): Command {
  const options = streamFlags("text", "begin with so many of the last lines of each container; -1 for all");
  const text = ({ name, message }: Record<string, unknown>) =>
    `[${printable(String(name))}] ${lineText(String(message))}`;
  return providerCommand("lease-logs", "show what the containers of a deployment print", options).action(
    (flags: StreamFlags, given: Command) => showStreams({ path: "/logs", scope: "logs", text }, flags, given),
  );
}
