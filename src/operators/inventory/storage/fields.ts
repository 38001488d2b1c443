/** More ways to read objects that others wrote: what is missing or of another shape is absent, and nothing throws. */
import { listOf } from "../../../kube/json-fields.ts";

/** To Kubernetes an empty text is as good as none. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function wordsOf(value: unknown): string[] {
  return listOf(value).filter((entry) => typeof entry === "string");
}

/** A count of bytes or pieces: whole, not negative, and small enough to be exact in JSON. */
export function wholeOf(value: unknown): bigint | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? BigInt(Number(value)) : undefined;
}
