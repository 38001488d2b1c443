/** Numbers and times as CometBFT writes them into JSON: both as text. What is neither is a TypeError that says so. */
import { parseTime } from "../../runtime/clock.ts";

const mostInt64 = 2n ** 63n - 1n;

export function readHeight(value: unknown): bigint {
  if (typeof value !== "string" || !/^\d{1,19}$/.test(value)) throw new TypeError(`${shown(value)} is not a height`);
  const height = BigInt(value);
  if (height > mostInt64) throw new TypeError(`${value} is not a height`);
  return height;
}

export function readGas(value: unknown): bigint {
  if (typeof value !== "string" || !/^-?\d{1,19}$/.test(value)) throw new TypeError(`${shown(value)} is no gas`);
  return BigInt(value);
}

const timePattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/** "2026-11-15T08:24:11.82854255Z" in nanoseconds since the epoch. */
export function readTimeNs(value: unknown): bigint {
  const [, seconds = "", fraction = ""] = (typeof value === "string" ? timePattern.exec(value) : undefined) ?? [];
  const ms = parseTime(`${seconds}Z`);
  if (Number.isNaN(ms)) throw new TypeError(`${shown(value)} is not a time`);
  return BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

export function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 80);
}
