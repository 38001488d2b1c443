/** Events as nodes write them into results. What is none is a TypeError that says so. */
import { isRecord } from "../../runtime/is-record.ts";
import type { AbciAttribute } from "./event-fields.ts";
import type { AbciEvent } from "./events.ts";

export function listIn(value: unknown): unknown[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError("a list is missing");
  return value;
}

export function eventsIn(value: unknown): AbciEvent[] {
  return listIn(value).map((event) => {
    if (!isRecord(event) || typeof event["type"] !== "string") throw new TypeError("an event has no type");
    const attributes = listIn(event["attributes"]);
    // As they came where that is possible: a block may have a hundred thousand of them.
    if (attributes.every(isAttribute)) return { type: event["type"], attributes };
    return { type: event["type"], attributes: attributes.map(attributeOf) };
  });
}

function isAttribute(value: unknown): value is AbciAttribute {
  return isRecord(value) && typeof value["key"] === "string" && typeof value["value"] === "string";
}

function attributeOf(value: unknown): AbciAttribute {
  if (!isRecord(value)) throw new TypeError("an attribute is not an object");
  return { key: String(value["key"]), value: String(value["value"] ?? "") };
}
