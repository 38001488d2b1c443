/** The control socket: a Unix socket in the data directory, so one per provider. */
import { lstatSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { z } from "zod";
import { ProviderError, systemCodeOf } from "../errors.ts";
import type { ControlParams } from "../lifecycle.ts";
import type { Log } from "../log.ts";

/** The largest request holds an SDL of 256 KiB; JSON may double it. */
export const controlRequestBytes = 1024 * 1024;

/** What the system takes of a path: sun_path less the byte that ends it. */
const mostPathBytes = process.platform === "linux" ? 107 : 103;

/** Some systems truncate a longer path, and two providers could share a socket. */
export function controlPath(dataDir: string): string {
  const path = join(dataDir, "control.sock");
  const bytes = Buffer.byteLength(path);
  if (bytes > mostPathBytes)
    throw new ProviderError("AKP_CONTROL_PATH_TOO_LONG", { path, bytes, limit: mostPathBytes });
  return path;
}

/** Removes the socket of a process that died, and nothing else. */
export async function clearControlPath(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  const unusable = (reason: string) => new ProviderError("AKP_CONTROL_SOCKET_UNUSABLE", { path, reason });
  if (!found.isSocket()) throw unusable("something else has its name");
  if (await isListening(path)) throw unusable("another process answers there");
  rmSync(path, { force: true });
}

/** Whether a process listens there, also one that is too busy to accept. */
function isListening(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error) => {
      const code = systemCodeOf(error);
      if (code === "ECONNREFUSED" || code === "ENOENT") resolve(false);
      else if (code === "EAGAIN") resolve(true);
      else reject(error);
    });
  });
}

/** A user with write access to the directory could replace the socket. */
export function warnOfOpenFolder(dataDir: string, log: Log): void {
  if ((statSync(dataDir).mode & 0o002) === 0) return;
  log.info("data directory can be written by every user", { path: dataDir, advice: `chmod o-w ${dataDir}` });
}

export function requestTooLarge(): ProviderError {
  const reason = `it has more than ${controlRequestBytes} bytes`;
  return new ProviderError("AKP_QUESTION_REFUSED", { reason });
}

/** Validates the parameters of a request. */
export function parseControlParams<T>(shape: z.ZodType<T>, params: ControlParams): T {
  const { data, error } = shape.safeParse(params);
  if (!error) return data;
  const [issue] = error.issues;
  throw new ProviderError("AKP_QUESTION_REFUSED", { reason: `${issue?.path.join(".")}: ${issue?.message}` });
}
