/**
 * Records the types of the simulated API server: the real API server's OpenAPI document, of the kinds in
 * use, without the prose. What is not in it, whether Go writes an empty field back, comes from the Go types.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isForeign } from "../src/box/cluster/api-server/served-kinds.ts";
import { type Kind, kinds } from "../src/kube/kinds.ts";
import { goFieldsOf } from "./go-fields.ts";

type Json = Readonly<Record<string, unknown>>;

/** By the full name of the type, "io.k8s.api.core.v1.Pod". */
export type Definitions = Readonly<Record<string, Json>>;

export const recording = join(import.meta.dirname, "../src/box/cluster/api-server/schema/openapi.json");

/** `get` reads a path of an API server. */
export async function readDefinitions(get: (path: string) => Promise<string>): Promise<Definitions> {
  const wanted = Object.values(kinds).filter((kind) => !isForeign(kind));
  const paths = wanted.map(({ group, version }) => (group === "" ? `api/${version}` : `apis/${group}/${version}`));
  const all: Record<string, Json> = {};
  for (const path of new Set(paths)) {
    const { components } = JSON.parse(await get(`/openapi/v3/${path}`)) as { components: { schemas: Definitions } };
    Object.assign(all, components.schemas);
  }
  const reached = new Set(Object.keys(all).filter((name) => wanted.some((kind) => isOf(all[name], kind))));
  // The loop also visits entries that it adds.
  for (const name of reached) for (const other of refsOf(all[name])) reached.add(other);
  return Object.fromEntries([...reached].sort().map((name) => [name, all[name] ?? {}]));
}

/** One line for each type, so that a new version of Kubernetes is a change that can be read. */
export function writeRecording(definitions: Definitions): void {
  const lines = Object.entries(definitions).map(([name, definition]) => {
    const kept = { ...(plain(definition) as Json), ...goFieldsOf(name, definition) };
    return `${JSON.stringify(shortName(name))}:${JSON.stringify(kept)}`;
  });
  writeFileSync(recording, `{\n${lines.join(",\n")}\n}\n`);
}

/** As recorded, without the additions from Go's types. */
export function plainDefinitions(definitions: Definitions): Definitions {
  return Object.fromEntries(Object.entries(definitions).map(([name, each]) => [shortName(name), plain(each) as Json]));
}

function isOf(definition: Json | undefined, { group, version, kind }: Kind): boolean {
  const of = (definition?.["x-kubernetes-group-version-kind"] ?? []) as readonly Omit<Kind, "plural">[];
  return of.some((each) => each.group === group && each.version === version && each.kind === kind);
}

/** "io.k8s.api.core.v1.Pod" is "core.v1.Pod" for us. */
function shortName(name: string): string {
  return name.split(".").slice(-3).join(".");
}

function refName(ref: unknown): string {
  return String(ref).replace("#/components/schemas/", "");
}

function refsOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.values(value).flatMap(refsOf);
  return "$ref" in value && typeof value.$ref === "string" ? [refName(value.$ref), ...inside] : inside;
}

const kept = new Set(["type", "format", "enum", "default", "required", "items", "additionalProperties"]);
const keptExtensions = /^x-kubernetes-(list-type|list-map-keys|map-type)$/;

/** Without prose, and without the defaults that only say what Go's zero value is. */
function plain(schema: unknown): unknown {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  const { properties, allOf, $ref, ...rest } = schema as Json;
  const ref = $ref ?? (allOf as readonly Json[] | undefined)?.[0]?.["$ref"];
  const entries = Object.entries(rest).filter(([name]) => kept.has(name) || keptExtensions.test(name));
  const fields = Object.entries((properties ?? {}) as Json).map(([name, inner]) => [name, plain(inner)] as const);
  return {
    ...(ref === undefined ? {} : { $ref: shortName(refName(ref)) }),
    ...Object.fromEntries(
      entries
        .filter(([name, value]) => name !== "default" || !isZero(value))
        .map(([name, value]) => [name, name === "items" || name === "additionalProperties" ? plain(value) : value]),
    ),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(fields) }),
  };
}

function isZero(value: unknown): boolean {
  return !value || (typeof value === "object" && Object.keys(value).length === 0);
}
