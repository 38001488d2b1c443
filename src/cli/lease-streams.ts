/** What `lease-logs` and `lease-events` share: a stream of every lease of a deployment, printed line by line. */
import { once } from "node:events";
import type { Command } from "commander";
import { checkClose } from "../gateway/client/provider-stream.ts";
import { formatLeaseId, type LeaseId } from "../market/ids.ts";
import { printable, printableJson } from "../market/printable.ts";
import { ProviderError } from "../runtime/errors.ts";
import { parseJson } from "../runtime/parse-json.ts";
import { leasePath } from "./provider-requests.ts";
import { withLeases } from "./reach.ts";
import { abortOnSignals } from "./signals.ts";
import {
  type LeaseFlags,
  leaseFlags,
  outputFlag,
  providerCommand,
  servicesFlag,
  switchFlag,
  tailFlag,
} from "./tenant-flags.ts";

export interface StreamFlags extends LeaseFlags {
  readonly service?: string;
  readonly follow: boolean;
  readonly tail: number;
  readonly output: "text" | "json";
}

export const streamFlags = (first: "text" | "json", ofTail: string) => [
  ...leaseFlags(),
  servicesFlag(),
  switchFlag("-f, --follow", "go on with what comes"),
  tailFlag(ofTail),
  outputFlag<"text" | "json">(first, first === "text" ? "json" : "text"),
];

interface Streamed {
  /** Below the lease. */
  readonly path: "/logs" | "/kubeevents";
  readonly scope: "logs" | "events";
  /** One frame as a person reads it. */
  readonly text: (frame: Record<string, unknown>) => string;
}

export function showStreams({ path, scope, text }: Streamed, flags: StreamFlags, given: Command): Promise<void> {
  const { service, follow, tail } = flags;
  const query = new URLSearchParams({
    follow: String(follow),
    ...(tail >= 0 && { tail: String(tail) }),
    ...(service && { service }),
  });
  const signal = abortOnSignals();
  return withLeases(flags, given, async (lease, client) => {
    const name = formatLeaseId(lease);
    const stream = await client.stream({
      path: `${leasePath({ ...flags, ...lease })}${path}?${query}`,
      ...{ scope, signal },
      onFrame(bytes) {
        const frame = frameOf(bytes);
        return writeOutput(flags.output === "text" ? `[${name}]${text(frame)}\n` : jsonLine(frame, lease));
      },
    });
    const end = await stream.ended;
    if (signal.aborted) return;
    checkClose(end);
    // That the lease is closed, for instance: an end like any other, but a person wonders.
    if (end.reason) process.stderr.write(`${name}: ${printable(end.reason)}\n`);
  });
}

function frameOf(bytes: Buffer): Record<string, unknown> {
  const frame = parseJson(bytes.toString());
  if (typeof frame === "object" && frame !== null) return frame as Record<string, unknown>;
  throw new ProviderError("AKP_PROVIDER_ANSWER_UNREADABLE", { reason: "a frame of the stream is no object" });
}

/** As the network's CLI writes it: the number of a deployment may be larger than JavaScript's own, so it is written as a text of it. */
function jsonLine(frame: object, { owner, dseq, gseq, oseq, provider }: LeaseId): string {
  const id = `{"owner":"${owner}","dseq":${dseq},"gseq":${gseq},"oseq":${oseq},"provider":"${provider}"}`;
  const told = JSON.stringify(frame);
  return `${printableJson(`${told.slice(0, -1)}${told === "{}" ? "" : ","}"lease_id":${id}}`)}\n`;
}

/** Undefined while the reader keeps up. */
export function writeOutput(
  text: string | Buffer,
  output: NodeJS.WriteStream = process.stdout,
): Promise<void> | undefined {
  return output.write(text) ? undefined : once(output, "drain").then(() => undefined);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what colours begin with
const colour = /(\u001b\[[\d;]*m|\t)/;

/** A line of a container: on a terminal its colours and tabs stay, and nothing else that would move the cursor. */
export function lineText(text: string, isTerminal = process.stdout.isTTY): string {
  if (!isTerminal) return text;
  const pieces = text.split(colour);
  const shown = pieces.map((piece, n) => (n % 2 === 1 ? piece : printable(piece))).join("");
  return text.includes("\u001b[") ? `${shown}\u001b[0m` : shown;
}

/** `akash-provider lease-logs`: what the containers of a deployment print, of all its leases. */
export function leaseLogsCommand(): Command {
  const options = streamFlags("text", "begin with so many of the last lines of each container; -1 for all");
  const text = ({ name, message }: Record<string, unknown>) =>
    `[${printable(String(name))}] ${lineText(String(message))}`;
  return providerCommand("lease-logs", "show what the containers of a deployment print", options).action(
    (flags: StreamFlags, given: Command) => showStreams({ path: "/logs", scope: "logs", text }, flags, given),
  );
}

/** `akash-provider lease-events`: what happens to the pods of a deployment, as its providers' clusters tell it. */
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
