/** A .proto file as data, from which the descriptor for reflection is made. */
import { create, type DescFile, toBinary } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_timestamp,
} from "@bufbuild/protobuf/wkt";
import { invariant } from "../invariant.ts";

export interface ProtoFile {
  readonly name: string;
  readonly package: string;
  /** The files whose messages it uses. */
  readonly imports?: readonly ProtoFile[];
  /** Each with its fields: "repeated Node nodes = 1". A message of another package has its qualified name. */
  readonly messages?: Readonly<Record<string, readonly string[]>>;
  /** A nested one has the name of its message before its own: "Endpoint.Kind". */
  readonly enums?: Readonly<Record<string, readonly string[]>>;
  /** Each with its methods: "StreamNode(google.protobuf.Empty) returns (stream Node)". */
  readonly services?: Readonly<Record<string, readonly string[]>>;
  /** Of the well-known files. */
  readonly descriptor?: Uint8Array;
}

export const emptyFile = wellKnown("Empty", file_google_protobuf_empty);
export const timestampFile = wellKnown("Timestamp", file_google_protobuf_timestamp);
export const durationFile = wellKnown("Duration", file_google_protobuf_duration);

function wellKnown(message: string, { proto }: DescFile): ProtoFile {
  return {
    name: `google/protobuf/${message.toLowerCase()}.proto`,
    package: "google.protobuf",
    messages: { [message]: [] },
    descriptor: toBinary(FileDescriptorProtoSchema, proto),
  };
}

/** A file and its imports, each once and after its own imports. */
export function withImports(file: ProtoFile): ProtoFile[] {
  return [...new Set([...(file.imports ?? []).flatMap(withImports), file])];
}

/** A FileDescriptorProto. */
export function descriptorOf(file: ProtoFile): Uint8Array {
  if (file.descriptor) return file.descriptor;
  const { name, package: inPackage, imports = [], messages = {}, enums = {}, services = {} } = file;
  const enumsOf = (holder: string) =>
    Object.entries(enums)
      .filter(([type]) => type.slice(0, Math.max(0, type.lastIndexOf("."))) === holder)
      .map(([type, values]) => ({ name: type.slice(type.lastIndexOf(".") + 1), value: values.map(enumValueOf) }));
  const message = create(FileDescriptorProtoSchema, {
    name,
    package: inPackage,
    syntax: "proto3",
    dependency: imports.map((each) => each.name),
    messageType: Object.entries(messages).map(([type, fields]) => ({
      name: type,
      field: fields.map((field) => fieldOf(field, type, file)),
      nestedType: fields.flatMap((field) => entryOf(field, file)),
      enumType: enumsOf(type),
    })),
    enumType: enumsOf(""),
    service: Object.entries(services).map(([service, methods]) => ({
      name: service,
      method: methods.map((method) => methodOf(method, inPackage)),
    })),
  });
  return toBinary(FileDescriptorProtoSchema, message);
}

/** The qualified names of its services, and of all its symbols. */
export function symbolsOf({ package: inPackage, messages = {}, enums = {}, services = {} }: ProtoFile) {
  const whole = (name: string) => `${inPackage}.${name}`;
  const methods = Object.entries(services).flatMap(([service, all]) =>
    all.map((method) => whole(`${service}.${method.slice(0, method.indexOf("("))}`)),
  );
  const names = Object.keys(services).map(whole);
  const types = [...Object.keys(messages), ...Object.keys(enums)].map(whole);
  return { services: names, all: [...names, ...methods, ...types] };
}

const mapPattern = /^map<(\w+), ([\w.]+)> (\w+) = (\d+)$/;

function fieldOf(text: string, message: string, file: ProtoFile) {
  const map = mapPattern.exec(text);
  const plain = map ? `repeated ${message}.${entryName(map[3] ?? "")} ${map[3]} = ${map[4]}` : text;
  const [, repeated, type = "", name = "", number] = /^(repeated )?([\w.]+) (\w+) = (\d+)$/.exec(plain) ?? [];
  invariant(number !== undefined, `a field of a .proto file: ${text}`);
  const scalar: FieldDescriptorProto_Type | undefined =
    FieldDescriptorProto_Type[type.toUpperCase() as keyof typeof FieldDescriptorProto_Type];
  const whole = map ? `.${file.package}.${type}` : wholeType(type, message, file);
  const named = isEnum(whole, file) ? FieldDescriptorProto_Type.ENUM : FieldDescriptorProto_Type.MESSAGE;
  return {
    name,
    jsonName: name.replace(/_(\w)/g, (_, char: string) => char.toUpperCase()),
    number: Number(number),
    label: repeated ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL,
    type: scalar ?? named,
    ...(scalar === undefined && { typeName: whole }),
  };
}

/** The implicit message of a map entry. */
function entryOf(text: string, file: ProtoFile) {
  const [, key, value, name] = mapPattern.exec(text) ?? [];
  if (name === undefined) return [];
  const fields = [`${key} key = 1`, `${value} value = 2`];
  return [{ name: entryName(name), field: fields.map((each) => fieldOf(each, "", file)), options: { mapEntry: true } }];
}

function entryName(field: string): string {
  return `${field.replace(/(?:^|_)(\w)/g, (_, char: string) => char.toUpperCase())}Entry`;
}

/** With a leading dot: of this message, of this package, or given with its package. */
function wholeType(type: string, message: string, { package: inPackage, enums = {} }: ProtoFile): string {
  return Object.hasOwn(enums, `${message}.${type}`) ? `.${inPackage}.${message}.${type}` : typeName(type, inPackage);
}

function isEnum(whole: string, file: ProtoFile): boolean {
  const { enums = {}, imports = [] } = file;
  return Object.hasOwn(enums, whole.slice(file.package.length + 2)) || imports.some((each) => isEnum(whole, each));
}

function enumValueOf(text: string) {
  const [name = "", number] = text.split(" = ");
  return { name, number: Number(number) };
}

function methodOf(text: string, inPackage: string) {
  const pattern = /^(\w+)\((stream )?([\w.]+)\) returns \((stream )?([\w.]+)\)$/;
  const [, name = "", clientStreams, input = "", serverStreams, output] = pattern.exec(text) ?? [];
  invariant(output !== undefined, `a method of a .proto file: ${text}`);
  return {
    name,
    inputType: typeName(input, inPackage),
    outputType: typeName(output, inPackage),
    clientStreaming: clientStreams !== undefined,
    serverStreaming: serverStreams !== undefined,
  };
}

/** A qualified name has a leading dot. */
function typeName(type: string, inPackage: string): string {
  return type.includes(".") ? `.${type}` : `.${inPackage}.${type}`;
}
