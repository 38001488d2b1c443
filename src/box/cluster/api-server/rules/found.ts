/** Gathers what is wrong with an object: the field and the reason are the API server's, the sentence is our own. */
import { isIP } from "node:net";
import { fieldsOf } from "../../../../kube/json-fields.ts";
import { type Fault, type FaultReason, fault } from "../objects/rejections.ts";
import type { Plain } from "../schema/shape.ts";
import { labelValue, portName, qualifiedNameFaults } from "./texts.ts";

export type Found = ReturnType<typeof createFound>;

/** What must hold of a value at a place, beyond its schema. */
export type Rule = (value: Plain, at: string, found: Found) => void;

const mostPort = 65_535;

export function createFound() {
  const faults: Fault[] = [];

  function say(reason: FaultReason, field: string, value?: unknown, why?: string): void {
    faults.push(fault(reason, field, value, why));
  }

  function when(isWrong: boolean, reason: FaultReason, field: string, value?: unknown, why?: string): void {
    if (isWrong) say(reason, field, value, why);
  }

  /** Of a number, where there is one. */
  function within(field: string, value: unknown, least: number, most = Number.POSITIVE_INFINITY): void {
    when(typeof value === "number" && (value < least || value > most), "Invalid", field, value);
  }

  /** Of a text, where there is one. */
  function text(field: string, value: unknown, pattern: RegExp): void {
    when(typeof value === "string" && value !== "" && !pattern.test(value), "Invalid", field, value);
  }

  function qualified(field: string, name: string): void {
    for (let left = qualifiedNameFaults(name); left > 0; left -= 1) say("Invalid", field, name);
  }

  return {
    faults,
    say,
    when,
    within,
    text,
    qualified,
    address: (field: string, value: unknown) => when(!isIP(String(value)), "Invalid", field, value),
    port: (field: string, value: unknown) => within(field, value, 1, mostPort),
    /** A number, or the name of one. */
    portOrName(field: string, value: unknown): void {
      text(field, value, portName);
      within(field, value, 1, mostPort);
    },
    labels(field: string, labels: unknown): void {
      for (const [name, value] of Object.entries(fieldsOf(labels))) {
        qualified(field, name);
        text(field, value, labelValue);
      }
    },
    /** Keys that are not the first of their kind. */
    duplicates(keys: readonly unknown[], fieldOf: (at: number) => string, before: readonly unknown[] = []): void {
      const seen = new Set<unknown>(before);
      keys.forEach((key, at) => {
        when(Boolean(key) && seen.has(key), "Duplicate", fieldOf(at), key);
        seen.add(key);
      });
    },
  };
}
