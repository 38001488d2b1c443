/** How Go's encoding/json writes empty fields of Kubernetes' types (omitempty), which only the Go types show. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { moduleFolder } from "./go.ts";

export interface GoFields {
  /** Written even where they hold nothing. */
  readonly "x-go-always"?: readonly string[];
  /** Omitted if empty: "", 0, false, an empty list. Other fields distinguish unset from empty. */
  readonly "x-go-omits-empty"?: readonly string[];
}

/** Of a type by its full name, "io.k8s.api.core.v1.Pod". */
export function goFieldsOf(name: string, { properties = {} }: { readonly properties?: object }): GoFields {
  const words = name.replace(/^io\.k8s\./, "").split(".");
  const type = words.pop() ?? "";
  const [module = "", ...path] = words;
  const fields = fieldsOf(type, join(folderOf(`k8s.io/${module}`), ...path));
  const always: string[] = [];
  const omits: string[] = [];
  for (const [field, schema] of Object.entries(properties)) {
    const found = fields.get(field);
    if (!found) throw new Error(`${name} has no field ${field} in Go`);
    const isStruct = "$ref" in schema || "allOf" in schema;
    const isPointer = found.type.startsWith("*");
    const isOmitted = isStruct && !isPointer ? found.tag.includes(",omitzero") : found.tag.includes(",omit");
    if (!isOmitted && !isPointer) always.push(field);
    else if (isOmitted && !isPointer) omits.push(field);
  }
  return {
    ...(always.length > 0 && { "x-go-always": always }),
    ...(omits.length > 0 && { "x-go-omits-empty": omits }),
  };
}

interface GoField {
  readonly type: string;
  readonly tag: string;
}

/** By their names in JSON, with those of the structs that are part of it. */
function fieldsOf(type: string, folder: string): ReadonlyMap<string, GoField> {
  const [, body = ""] = new RegExp(`^type ${type} struct {\n(.*?)^}`, "ms").exec(sourceOf(folder)) ?? [];
  const fields = new Map<string, GoField>();
  for (const line of body.split("\n")) {
    const [, words = "", tag = ""] = /^\t(\w[\w\s.*[\]]*?)\s*`json:"([^"]*)"/.exec(line) ?? [];
    const [name = "", ...goType] = words.split(/\s+/);
    if (tag.includes("inline")) {
      const [, part = ""] = /(\w+)$/.exec(words) ?? [];
      for (const [each, field] of partOf(part, words, folder)) fields.set(each, field);
    } else if (name) fields.set(tag.split(",")[0] ?? "", { type: goType.join(" "), tag });
  }
  return fields;
}

/** TypeMeta is of another package, all others are neighbours. */
function partOf(part: string, words: string, folder: string): ReadonlyMap<string, GoField> {
  const meta = join(folderOf("k8s.io/apimachinery"), "pkg/apis/meta/v1");
  return fieldsOf(part, words.includes("metav1.") ? meta : folder);
}

const sources = new Map<string, string>();

function sourceOf(folder: string): string {
  const found =
    sources.get(folder) ??
    globSync("*.go", { cwd: folder })
      .filter((file) => !file.endsWith("_test.go"))
      .map((file) => readFileSync(join(folder, file), "utf8"))
      .join("\n");
  sources.set(folder, found);
  return found;
}

const folders = new Map<string, string>();

function folderOf(module: string): string {
  const found = folders.get(module) ?? moduleFolder("kube", module);
  folders.set(module, found);
  return found;
}
