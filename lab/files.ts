/** Reads files that may be missing, and writes only changed ones. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** ESRCH: a process ended while its file in /proc was being read. */
const absent = ["ENOENT", "ENOTDIR", "ESRCH"];

export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (absent.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** Only root may read: half of these files are keys, and only root needs the other half. */
export function write(path: string, content: string | object): void {
  const text = typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`;
  if (readIfThere(path) === text) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
}
