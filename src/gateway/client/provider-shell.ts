/** Runs a command in a tenant's container over a provider's gateway. */
import { printable } from "../../market/printable.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { isRecord } from "../../runtime/is-record.ts";
import { parseJson } from "../../runtime/parse-json.ts";
import { resizeFrame, type ShellSize, shellCodes, shellFrame } from "../streams/shell-frames.ts";
import type { ProviderClient } from "./provider-client.ts";
import { checkClose } from "./provider-stream.ts";

export interface ShellRequest {
  readonly leasePath: string;
  readonly service: string;
  readonly podIndex: number;
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly stdin: boolean;
  /** No more is read until the result resolves. */
  readonly onOutput: (channel: "stdout" | "stderr", bytes: Buffer) => Promise<void> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type ProviderShell = Awaited<ReturnType<typeof openShell>>;

export async function openShell(client: ProviderClient, request: ShellRequest) {
  const { promise: exit, resolve, reject } = Promise.withResolvers<number>();
  const { onOutput, signal } = request;
  const stream = await client.stream({
    path: `${request.leasePath}/shell?${queryOf(request)}`,
    scope: "shell",
    signal,
    onFrame(bytes) {
      const rest = bytes.subarray(1);
      if (bytes[0] === shellCodes.stdout) return onOutput("stdout", rest);
      if (bytes[0] === shellCodes.stderr) return onOutput("stderr", rest);
      if (bytes[0] === shellCodes.result) resultOf(rest).then(resolve, reject);
      if (bytes[0] === shellCodes.failure) reject(failed("unknown error"));
      return undefined;
    },
  });
  // Without effect after a result.
  stream.ended
    .then((close) => {
      checkClose(close);
      throw failed("the connection ended before the command did");
    })
    .catch(reject);
  exit.then(stream.leave, stream.leave);
  const write = (bytes: Uint8Array): Promise<void> => stream.send(shellFrame(shellCodes.stdin, bytes));
  return {
    write,
    endInput: () => write(new Uint8Array()),
    resize: (size: ShellSize): Promise<void> => stream.send(resizeFrame(size)),
    /** The exit code. Rejects where the command could not be run, or the connection ended before it did. */
    exit,
  };
}

function queryOf({ service, podIndex, command, tty, stdin }: ShellRequest): URLSearchParams {
  const words = Object.fromEntries(command.map((word, n) => [`cmd${n}`, word]));
  const flags = { tty: tty ? "1" : "0", stdin: stdin ? "1" : "0" };
  return new URLSearchParams({ service, podIndex: `${podIndex}`, ...flags, ...words });
}

async function resultOf(bytes: Buffer): Promise<number> {
  const result = parseJson(bytes.toString());
  const { exit_code: code, message } = isRecord(result) ? result : {};
  if (message) throw failed(printable(String(message)));
  if (typeof code !== "number") throw failed("its result cannot be read");
  return code;
}

function failed(reason: string): ProviderError {
  return new ProviderError("AKP_LEASE_SHELL_FAILED", { reason });
}
