/** Reads API objects without trusting their shape, so that one malformed object does not break its watch. */
import { formatTime } from "../runtime/clock.ts";
import type { KubeObject } from "./kube.ts";

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The elements of a list as records. */
export function recordsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return listOf(value).map(fieldsOf);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Whether the condition of this type is "True". */
export function conditionHolds(conditions: unknown, type: string): boolean {
  return recordsOf(conditions).some((condition) => condition["type"] === type && condition["status"] === "True");
}

/** A JSON pointer (RFC 6901): "/metadata/labels/akash.network~1kept". */
export function pointerTo(...steps: readonly string[]): string {
  return steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** The field names of a JSON pointer. */
export function stepsOf(pointer: string): string[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A Kubernetes MicroTime: "2026-11-15T08:55:00.123000Z". */
export function microTime(ms: number): string {
  return formatTime(ms).replace("Z", "000Z");
}

export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** Of a port of a Service, inside the cluster; undefined without a port of this name. */
export function serviceAddress(
  { metadata, ...service }: KubeObject,
  portName: string,
  clusterDomain: string,
): ServiceAddress | undefined {
  const ports = recordsOf(fieldsOf(service["spec"])["ports"]);
  const port = ports.find(({ name }) => name === portName)?.["port"];
  if (typeof port !== "number") return undefined;
  return { host: `${metadata.name}.${metadata.namespace}.svc.${clusterDomain}`, port };
}
