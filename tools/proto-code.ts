/**
 * Makes src/runtime/grpc/akash-proto.ts of the .proto files in proto/: a codec for each message, and each file as data, for
 * clients that ask by reflection what we serve. Reads as much of the language as these files use, and rejects the rest.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "..", "proto");

interface Parsed {
  readonly name: string;
  readonly package: string;
  readonly imports: readonly string[];
  readonly messages: Readonly<Record<string, readonly string[]>>;
  readonly enums: Readonly<Record<string, readonly string[]>>;
  readonly services: Readonly<Record<string, readonly string[]>>;
}

/** Codecs and files that are at hand already. */
const known: Readonly<Record<string, string>> = {
  "google.protobuf.Timestamp": "nanoseconds",
  "google.protobuf.Duration": "nanoseconds",
};
const knownFiles: Readonly<Record<string, string>> = {
  "google/protobuf/empty.proto": "emptyFile",
  "google/protobuf/timestamp.proto": "timestampFile",
  "google/protobuf/duration.proto": "durationFile",
};

const scalars: Readonly<Record<string, (number: string) => string>> = {
  string: (number) => `plain(${number}, text, "")`,
  bytes: (number) => `plain(${number}, bytes, noBytes)`,
  int32: (number) => `int32(${number})`,
  uint32: (number) => `uint32(${number})`,
  int64: (number) => `int64(${number})`,
  uint64: (number) => `uint64(${number})`,
  bool: (number) => `bool(${number})`,
};
const inLists: Readonly<Record<string, string>> = { string: "text", bytes: "bytes" };

export function protoCode(): string {
  const files = globSync("**/*.proto", { cwd: folder })
    .sort()
    .map((name) => parse(name.replaceAll("\\", "/"), readFileSync(join(folder, name), "utf8")));
  const ordered = inOrderOfImports(files);
  const enums = new Set(
    files.flatMap(({ package: inPackage, enums }) => Object.keys(enums).map((each) => `${inPackage}.${each}`)),
  );
  return [
    "/** Made of proto/ by `npm run docs`: what changes here is lost. A codec for each message, then each file as data. */",
    'import { bool, bytes, int32, int64, mapOf, messageOf, nanoseconds, optional, plain, repeated, text, uint32, uint64 } from "../protobuf.ts";',
    'import { durationFile, emptyFile, type ProtoFile, timestampFile } from "./proto-file.ts";',
    "",
    "const noBytes = new Uint8Array();",
    ...ordered.flatMap((file) => codecsOf(file, enums)),
    ...ordered.flatMap(dataOf),
    "",
  ].join("\n");
}

function parse(name: string, source: string): Parsed {
  const unreadable = (line: string) => new Error(`proto/${name}: this is not read: ${line}`);
  const parsed = { name, package: "", imports: [] as string[], messages: {}, enums: {}, services: {} };
  const stack: { kind: "message" | "enum" | "service"; name: string; into: string[] }[] = [];
  for (const line of source.split("\n").map((each) => each.replace(/\/\/.*/, "").trim())) {
    const inside = stack.at(-1);
    const opened = /^(message|enum|service) (\w+) \{(\})?$/.exec(line);
    if (opened) {
      const [, kind, own = "", closed] = opened as unknown as [string, "message" | "enum" | "service", string, string?];
      const whole = inside ? `${inside.name}.${own}` : own;
      const into: string[] = [];
      Object.assign(parsed[`${kind}s`], { [whole]: into });
      if (!closed) stack.push({ kind, name: whole, into });
    } else if (line === "}") stack.pop();
    else if (/^(|syntax = "proto3";)$/.test(line)) continue;
    else if (/^package [\w.]+;$/.test(line)) parsed.package = line.slice("package ".length, -1);
    else if (/^import "[^"]+";$/.test(line)) parsed.imports.push(line.slice('import "'.length, -2));
    else if (inside && line.endsWith(";")) inside.into.push(line.slice(0, -1).replace(/^rpc /, ""));
    else throw unreadable(line);
  }
  return parsed;
}

function inOrderOfImports(files: readonly Parsed[]): Parsed[] {
  const ordered = new Set<Parsed>();
  const add = (file: Parsed) => {
    for (const name of file.imports) {
      const imported = files.find((each) => each.name === name);
      if (imported) add(imported);
      else if (!knownFiles[name]) throw new Error(`proto/${file.name} imports ${name}, which is not there`);
    }
    ordered.add(file);
  };
  files.forEach(add);
  return [...ordered];
}

function codecsOf(file: Parsed, enums: ReadonlySet<string>): string[] {
  const { package: inPackage, messages } = file;
  const done = new Set<string>();
  const lines: string[] = [];
  const wholeName = (type: string) => (type.includes(".") ? type : `${inPackage}.${type}`);
  const codecOf = (type: string) => known[type] ?? identifier(wholeName(type));
  const fieldOf = (text: string, message: string): string => {
    const map = /^map<string, ([\w.]+)> (\w+) = (\d+)$/.exec(text);
    if (map) return `${camel(map[2] ?? "")}: mapOf(${map[3]}, ${codecOf(map[1] ?? "")})`;
    const [, list, type = "", name = "", number = ""] = /^(repeated )?([\w.]+) (\w+) = (\d+)$/.exec(text) ?? [];
    if (number === "") throw new Error(`proto/${file.name}: this is no field: ${text}`);
    const isEnum = [type, `${inPackage}.${type}`, `${inPackage}.${message}.${type}`].some((each) => enums.has(each));
    if (list) return `${camel(name)}: repeated(${number}, ${inLists[type] ?? codecOf(type)})`;
    return `${camel(name)}: ${isEnum ? `int32(${number})` : (scalars[type]?.(number) ?? `optional(${number}, ${codecOf(type)})`)}`;
  };
  const add = (message: string) => {
    if (done.has(message)) return;
    done.add(message);
    const fields = messages[message] ?? [];
    // What it is made of comes before it.
    for (const field of fields) for (const [word] of field.matchAll(/[\w.]+/g)) if (word in messages) add(word);
    const body = fields.map((field) => `  ${fieldOf(field, message)},`);
    lines.push("", `export const ${identifier(`${inPackage}.${message}`)} = messageOf({`, ...body, "});");
  };
  Object.keys(messages).forEach(add);
  return lines;
}

function dataOf({ imports, ...file }: Parsed): string[] {
  const parts = Object.entries(file).filter(([, value]) => typeof value === "string" || Object.keys(value).length > 0);
  const texts = parts.map(([key, value]) => `  ${key}: ${JSON.stringify(value)},`);
  const needed = imports.length > 0 ? [`  imports: [${imports.map(fileIdentifier).join(", ")}],`] : [];
  return ["", `export const ${fileIdentifier(file.name)}: ProtoFile = {`, ...texts, ...needed, "};"];
}

/** "akash.provider.v1.Status" is providerV1Status. */
function identifier(whole: string): string {
  const [first = "", ...rest] = whole.replace(/^akash\.(base\.)?|^k8s\.io\.apimachinery\.pkg\.api\./, "").split(".");
  return first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/** "akash/provider/v1/status.proto" is providerV1StatusFile. */
function fileIdentifier(name: string): string {
  const own = name.replace(/\.proto$/, "").replaceAll("/", ".");
  return knownFiles[name] ?? `${identifier(own)}File`;
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, char: string) => char.toUpperCase());
}
