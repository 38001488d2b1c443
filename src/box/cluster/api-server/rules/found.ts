/** Gathers what is wrong with an object, in the words of the API server. */
import { isIP } from "node:net";
import { isRecord } from "../../../../runtime/is-record.ts";
import {
  duplicate,
  type Fault,
  notThere,
  prohibited,
  required,
  tooLong,
  unsupported,
  wrong,
} from "../objects/refusals.ts";
import type { Plain } from "../schema/shape.ts";
import { labelValue, portName, qualifiedNameFaults, type TextRule, textFault } from "./texts.ts";

export type Found = ReturnType<typeof createFound>;

/** What must hold of a value at a place, beyond its schema. */
export type Rule = (value: Plain, at: string, found: Found) => void;

const mostPort = 65_535;

export function createFound() {
  const faults: Fault[] = [];

  function invalid(field: string, value: unknown, why: string): void {
    faults.push(wrong(field, value, why));
  }

  function within(field: string, value: unknown, least: number, most: number): void {
    if (typeof value !== "number" || (value >= least && value <= most)) return;
    invalid(field, value, `must be between ${least} and ${most}, inclusive`);
  }

  function atLeast(field: string, value: unknown, least: number): void {
    if (typeof value === "number" && value < least) invalid(field, value, `must be greater than or equal to ${least}`);
  }

  /** Where there is one. */
  function text(field: string, value: unknown, rule: TextRule): void {
    const fault = typeof value === "string" && value !== "" ? textFault(value, rule) : undefined;
    if (fault !== undefined) invalid(field, value, fault);
  }

  function qualified(field: string, name: string): void {
    for (const fault of qualifiedNameFaults(name)) invalid(field, name, fault);
  }

  return {
    faults,
    invalid,
    within,
    atLeast,
    text,
    qualified,
    required: (field: string, why?: string) => void faults.push(required(field, why)),
    prohibited: (field: string, why: string) => void faults.push(prohibited(field, why)),
    unsupported: (field: string, value: unknown, values: readonly unknown[]) =>
      void faults.push(unsupported(field, value, values)),
    notThere: (field: string, value: unknown) => void faults.push(notThere(field, value)),
    tooLong: (field: string, most: number) => void faults.push(tooLong(field, most)),
    address(field: string, value: unknown): void {
      if (!isIP(String(value))) invalid(field, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    },
    port: (field: string, value: unknown) => within(field, value, 1, mostPort),
    /** A number, or the name of one. */
    portOrName(field: string, value: unknown): void {
      if (typeof value === "string") text(field, value, portName);
      else within(field, value, 1, mostPort);
    },
    labels(field: string, labels: unknown): void {
      for (const [name, value] of isRecord(labels) ? Object.entries(labels) : []) {
        qualified(field, name);
        text(field, value, labelValue);
      }
    },
    /** Of what has a key, and is not the first that has it. */
    duplicates<T>(
      list: readonly T[],
      keyOf: (each: T) => unknown,
      fieldOf: (at: number) => string,
      before: readonly T[] = [],
    ): void {
      const seen = new Set<unknown>(before.map(keyOf));
      list.forEach((each, at) => {
        const key = keyOf(each);
        if (key === undefined || key === "") return;
        if (seen.has(key)) faults.push(duplicate(fieldOf(at), key));
        seen.add(key);
      });
    },
  };
}
