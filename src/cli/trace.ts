/** Whether --trace is on. It is asked when the settings themselves may be what is wrong, so it is read on its own. */
import { onOff } from "../config/formats/plain.ts";

export function wantsTrace(args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const at = args.findIndex((arg) => /^--trace(=|$)/.test(arg));
  if (at < 0) return onOff.read(env["AP_TRACE"] || env["AKASH_TRACE"] || "false") === true;
  const [, attached] = (args[at] ?? "").split("=");
  // What follows a bare --trace is its value only if it can be one.
  return onOff.read(attached ?? args[at + 1] ?? "") !== false;
}
