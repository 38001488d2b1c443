/** Data recorded from the real network. It lies beside the repository, never in it; VECTORS says where. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
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

/** The paths of all files in a folder and those below it. */
export function listVectors(path: string): string[] {
  const names = readdirSync(join(folder, path), { recursive: true, encoding: "utf8" });
  return names.map((name) => join(path, name)).sort();
}

/** A test that needs recorded data. Without the data it is skipped, and its name says why. */
export function vectorTest(name: string, run: () => void | Promise<void>): void {
  if (vectorsPresent) test(name, run);
  else test(`${name} (skipped: no recorded data, set VECTORS to its folder)`, { skip: true }, () => undefined);
}
