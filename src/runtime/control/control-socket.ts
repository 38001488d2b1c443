/** Where the running provider is asked: a Unix socket in its data directory, which is therefore one to a provider. */
import { lstatSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { z } from "zod";
import { ProviderError, systemCodeOf } from "../errors.ts";
import type { ControlParams } from "../lifecycle.ts";
import type { Log } from "../log.ts";

/** A question is small but for an SDL, of which no more than 256 KiB are read; JSON may double it. */
export const controlRequestBytes = 1024 * 1024;

/** What the system takes of a path: sun_path less the byte that ends it. */
const mostPathBytes = process.platform === "linux" ? 107 : 103;

/** Node and some systems would cut a longer path short, and two providers would meet at the same socket. */
export function controlPath(dataDir: string): string {
  const path = join(dataDir, "control.sock");
  const bytes = Buffer.byteLength(path);
  if (bytes > mostPathBytes)
    throw new ProviderError("AKP_CONTROL_PATH_TOO_LONG", { path, bytes, limit: mostPathBytes });
  return path;
}

/** Removes the socket of a process that died; whatever else is there belongs to somebody and stays. */
export async function clearControlPath(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  const refuse = (reason: string) => new ProviderError("AKP_CONTROL_SOCKET_UNUSABLE", { path, reason });
  if (!found.isSocket()) throw refuse("something else has its name");
  if (await isAnswered(path)) throw refuse("another process answers there");
  rmSync(path, { force: true });
}

/** Whether a process listens there. One that is too busy to take us does, too. */
function isAnswered(path: string): Promise<boolean> {
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

/** Whoever may write to the directory could put a socket of their own in the place of ours. */
export function warnOfOpenFolder(dataDir: string, log: Log): void {
  if ((statSync(dataDir).mode & 0o002) === 0) return;
  log.info("data directory can be written by every user", { path: dataDir, advice: `chmod o-w ${dataDir}` });
}

export function requestTooLarge(): ProviderError {
  const reason = `it has more than ${controlRequestBytes} bytes`;
  return new ProviderError("AKP_QUESTION_REFUSED", { reason });
}

/** What a command asks is a stranger's JSON until it has been looked at. */
export function parseControlParams<T>(shape: z.ZodType<T>, params: ControlParams): T {
  const { data, error } = shape.safeParse(params);
  if (!error) return data;
  const [issue] = error.issues;
  throw new ProviderError("AKP_QUESTION_REFUSED", { reason: `${issue?.path.join(".")}: ${issue?.message}` });
}
