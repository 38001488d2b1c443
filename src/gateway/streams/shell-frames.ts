/** Binary frames of a shell; the first byte is the type. */
import { goJson } from "../../market/sorted-json.ts";

export const shellCodes = {
  // From us.
  ...{ stdout: 100, stderr: 101, result: 102, failure: 103 },
  // From the tenant.
  ...{ stdin: 104, resize: 105 },
} as const;

export interface ShellSize {
  readonly columns: number;
  readonly rows: number;
}

/** How a command ended: with an exit code, or with an error message. */
export interface ShellResult {
  readonly exitCode: number;
  readonly message?: string | undefined;
}

/** End of input is an empty frame, which the Go provider ignores. After an unknown one nothing is read. */
export type ShellInput =
  | { readonly kind: "stdin"; readonly bytes: Buffer }
  | { readonly kind: "resize"; readonly size: ShellSize }
  | { readonly kind: "endOfInput" | "nothing" | "unknown" };

export function readShellInput(frame: Buffer, isBinary: boolean): ShellInput {
  if (!isBinary || frame.length === 0) return { kind: "nothing" };
  const bytes = frame.subarray(1);
  if (frame[0] === shellCodes.stdin) return bytes.length > 0 ? { kind: "stdin", bytes } : { kind: "endOfInput" };
  if (frame[0] !== shellCodes.resize || bytes.length < 4) return { kind: "unknown" };
  return { kind: "resize", size: { columns: bytes.readUInt16BE(0), rows: bytes.readUInt16BE(2) } };
}

export function shellFrame(code: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(code), bytes]);
}

/** The last frame. */
export function resultFrame({ exitCode: exit_code, message }: ShellResult): Buffer {
  const text = goJson({ exit_code, ...(message !== undefined && { message }) });
  return shellFrame(shellCodes.result, Buffer.from(`${text}\n`));
}

/** The last frame, without a reason. */
export const failureFrame = Buffer.of(shellCodes.failure);

export function resizeFrame({ columns, rows }: ShellSize): Buffer {
  const frame = Buffer.from([shellCodes.resize, 0, 0, 0, 0]);
  frame.writeUInt16BE(columns, 1);
  frame.writeUInt16BE(rows, 3);
  return frame;
}
