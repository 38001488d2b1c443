/**
 * Test data of akash-network's chain-sdk (`sdl`, `jwt`) and provider-configs (`gpus.json`), which the repository does not contain.
 * Its tests are in `*.vectors.test.ts`, and are registered only where VECTORS names the folder with it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const folder = process.env["VECTORS"];

export function vectorTest(name: string, run: () => void | Promise<void>): void {
  if (folder) test(name, run);
}

export function readVector(path: string): Buffer {
  return readFileSync(join(folder ?? "", path));
}

export function readJsonVector<T>(path: string): T {
  return JSON.parse(readVector(path).toString()) as T;
}

/** The paths of all files in a folder and those below it. */
export function listVectors(path: string): string[] {
  const names = readdirSync(join(folder ?? "", path), { recursive: true, encoding: "utf8" });
  return names.map((name) => join(path, name)).sort();
}
