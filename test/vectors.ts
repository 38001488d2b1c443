/** Data recorded from the real network. It lies beside the repository, never in it; VECTORS says where. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

const folder = resolve(import.meta.dirname, "..", process.env["VECTORS"] ?? "../shared/vectors");

export const vectorsPresent = existsSync(folder);

export function readVector(path: string): Buffer {
  return readFileSync(join(folder, path));
}

export function readJsonVector<T>(path: string): T {
  return JSON.parse(readVector(path).toString()) as T;
}

/** A test that needs recorded data. Without the data it is skipped, and its name says why. */
export function vectorTest(name: string, run: () => void | Promise<void>): void {
  if (vectorsPresent) test(name, run);
  else test(`${name} (skipped: no recorded data, set VECTORS to its folder)`, { skip: true }, () => undefined);
}
