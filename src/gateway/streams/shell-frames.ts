/** The frames of a shell: all of them binary, the first byte says what the others are. */
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

/** How a command ended: by itself, or, with a message, not as it should have; the code says nothing then. */
export interface ShellResult {
  readonly exitCode: number;
  readonly message?: string | undefined;
}

export type ShellInput =
  | { readonly kind: "stdin"; readonly bytes: Buffer }
  /** No more input comes, while the output still does. Elsewhere in the network such a frame is nothing. */
  | { readonly kind: "endOfInput" }
  | { readonly kind: "resize"; readonly size: ShellSize }
  | { readonly kind: "nothing" }
  /** Nothing that follows it is read. */
  | { readonly kind: "unknown" };

const [nothing, unknown, endOfInput] = [{ kind: "nothing" }, { kind: "unknown" }, { kind: "endOfInput" }] as const;

export function readShellInput(frame: Buffer, isBinary: boolean): ShellInput {
  if (!isBinary || frame.length === 0) return nothing;
  const bytes = frame.subarray(1);
  if (frame[0] === shellCodes.stdin) return bytes.length > 0 ? { kind: "stdin", bytes } : endOfInput;
  if (frame[0] !== shellCodes.resize || bytes.length < 4) return unknown;
  return { kind: "resize", size: { columns: bytes.readUInt16BE(0), rows: bytes.readUInt16BE(2) } };
}

export function shellFrame(code: number, bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(1 + bytes.length);
  frame[0] = code;
  frame.set(bytes, 1);
  return frame;
}

/** Nothing follows it. */
export function resultFrame({ exitCode: exit_code, message }: ShellResult): Buffer {
  const text = goJson({ exit_code, ...(message !== undefined && { message }) });
  return shellFrame(shellCodes.result, Buffer.from(`${text}\n`));
}

/** Nothing follows it, and nothing is said of why. */
export const failureFrame = Buffer.of(shellCodes.failure);

export function resizeFrame({ columns, rows }: ShellSize): Buffer {
  const frame = Buffer.from([shellCodes.resize, 0, 0, 0, 0]);
  frame.writeUInt16BE(columns, 1);
  frame.writeUInt16BE(rows, 3);
  return frame;
}
