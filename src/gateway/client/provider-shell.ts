/** A command in a tenant's container, run over a provider's gateway: the first byte of each frame says what the rest is. */
import { printable } from "../../market/printable.ts";
import { ProviderError } from "../../runtime/errors.ts";
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
  /** No more is read until the answer resolves. */
  readonly onOutput: (channel: "stdout" | "stderr", bytes: Buffer) => Promise<void> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ProviderShell {
  write(bytes: Uint8Array): Promise<void>;
  endInput(): Promise<void>;
  resize(size: ShellSize): Promise<void>;
  /** The exit code. Rejects where the command could not be run, or the connection ended before it did. */
  readonly exit: Promise<number>;
}

export async function openShell(client: ProviderClient, request: ShellRequest): Promise<ProviderShell> {
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
  // After a result this changes nothing any more.
  stream.ended
    .then((close) => {
      checkClose(close);
      throw failed("the connection ended before the command did");
    })
    .catch(reject);
  exit.then(stream.leave, stream.leave);
  const type = (bytes: Uint8Array) => stream.send(shellFrame(shellCodes.stdin, bytes));
  return {
    write: type,
    endInput: () => type(new Uint8Array()),
    resize: (size) => stream.send(resizeFrame(size)),
    exit,
  };
}

function queryOf({ service, podIndex, command, tty, stdin }: ShellRequest): URLSearchParams {
  const asked = { service, podIndex: String(podIndex), tty: tty ? "1" : "0", stdin: stdin ? "1" : "0" };
  return new URLSearchParams([
    ...Object.entries(asked),
    ...command.map((word, n): [string, string] => [`cmd${n}`, word]),
  ]);
}

async function resultOf(bytes: Buffer): Promise<number> {
  const { exit_code: code, message } = (parseJson(bytes.toString()) ?? {}) as {
    exit_code?: unknown;
    message?: unknown;
  };
  if (message) throw failed(printable(String(message)));
  if (typeof code !== "number") throw failed("its result cannot be read");
  return code;
}

function failed(reason: string): ProviderError {
  return new ProviderError("AKP_LEASE_SHELL_FAILED", { reason });
}
