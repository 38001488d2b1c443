/** Events as nodes write them into results. What is none is a TypeError that says so. */
import { isRecord } from "../../runtime/is-record.ts";
import type { AbciEvent } from "./events.ts";

export function listIn(value: unknown): unknown[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError("a list is missing");
  return value;
}

export function eventsIn(value: unknown): AbciEvent[] {
  return listIn(value).map((event) => {
    if (!isRecord(event) || typeof event["type"] !== "string") throw new TypeError("an event has no type");
    const attributes = listIn(event["attributes"]).map((attribute) => {
      if (!isRecord(attribute)) throw new TypeError("an attribute is not an object");
      return { key: String(attribute["key"]), value: String(attribute["value"] ?? "") };
    });
    return { type: event["type"], attributes };
  });
}
