/**
 * JSON patches (RFC 6902) as the server carries them out: all operations or none. Other than the RFC says, a field that is
 * not there may be replaced, and passes a test for null. Moves and copies are not supported.
 */
import { stepsOf } from "../../../../kube/json-fields.ts";
import { isRecord } from "../../../../runtime/is-record.ts";
import { badRequest } from "../objects/rejections.ts";
import { StatusError } from "../objects/status-error.ts";
import { equal } from "./equal.ts";

export function jsonPatch(target: unknown, operations: readonly unknown[]): unknown {
  return operations.reduce(carriedOut, target);
}

function carriedOut(target: unknown, operation: unknown): unknown {
  if (!isRecord(operation) || typeof operation["path"] !== "string") throw badRequest("no operation of a JSON patch");
  const { op, path, value } = operation;
  if (path !== "" && !path.startsWith("/")) throw missed();
  const steps = stepsOf(path);
  switch (op) {
    case "test":
      if (!equal(valueAt(target, steps) ?? null, value)) throw missed();
      return target;
    case "add":
    case "replace":
    case "remove":
      return changed(target, steps, op, value);
    default:
      throw missed();
  }
}

function valueAt(target: unknown, steps: readonly string[]): unknown {
  const last = steps.length - 1;
  return steps.reduce((value, step, at) => {
    return at === last && isRecord(value) && !Object.hasOwn(value, step) ? undefined : partOf(value, step);
  }, target);
}

function partOf(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return value[indexIn(step, value.length - 1)];
  if (!isRecord(value) || !Object.hasOwn(value, step)) throw missed();
  return value[step];
}

function changed(target: unknown, steps: readonly string[], op: "add" | "replace" | "remove", value: unknown): unknown {
  const [step, ...below] = steps;
  if (step === undefined) {
    if (op === "remove") throw missed();
    return value;
  }
  const inner = below.length > 0;
  const next = inner ? changed(partOf(target, step), below, op, value) : value;
  if (Array.isArray(target)) return changedList(target, step, inner ? "replace" : op, next);
  if (!isRecord(target) || (op === "remove" && !Object.hasOwn(target, step))) throw missed();
  const { [step]: _, ...rest } = target;
  return op === "remove" && !inner ? rest : { ...target, [step]: next };
}

function changedList(list: readonly unknown[], step: string, op: "add" | "replace" | "remove", value: unknown) {
  if (op === "add") {
    const at = step === "-" ? list.length : indexIn(step, list.length);
    return list.toSpliced(at, 0, value);
  }
  const at = indexIn(step, list.length - 1);
  return op === "remove" ? list.toSpliced(at, 1) : list.with(at, value);
}

function indexIn(step: string, last: number): number {
  const index = Number(step);
  if (!/^\d+$/.test(step) || index > last) throw missed();
  return index;
}

/** The server says no more than this. */
function missed(): StatusError {
  return new StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {});
}
