/** `akash-provider lease-events`: what happens to the pods of a deployment, as its providers' clusters tell it. */
import type { Command } from "commander";
import { printable } from "../market/printable.ts";
import { type StreamFlags, showStreams, streamFlags } from "./lease-streams.ts";
import { providerCommand } from "./tenant-flags.ts";

export function leaseEventsCommand(): Command {
  const options = streamFlags("json", "sent along, though providers show all of them");
  return providerCommand("lease-events", "show what happens to the pods of a deployment", options).action(
    (flags: StreamFlags, given: Command) =>
      showStreams({ path: "/kubeevents", scope: "events", text: textOf }, flags, given),
  );
}

function textOf({ type, reason, note, object }: Record<string, unknown>): string {
  const { kind, name } = (object ?? {}) as Record<string, unknown>;
  return printable(`[${kind}/${name}] ${type} ${reason}: ${note}`);
}
