/**
 * A .proto file as data: messages and methods in the words of the language itself. Of it comes the descriptor by which
 * clients that know nothing of us, like grpcurl, learn what we serve.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  file_google_protobuf_empty,
} from "@bufbuild/protobuf/wkt";
import { invariant } from "../invariant.ts";

export interface ProtoFile {
  readonly name: string;
  readonly package: string;
  /** The files whose messages it uses. */
  readonly imports?: readonly ProtoFile[];
  /** Each with its fields: "repeated Node nodes = 1". A message of another package has its whole name. */
  readonly messages?: Readonly<Record<string, readonly string[]>>;
  readonly enums?: Readonly<Record<string, readonly string[]>>;
  /** Each with its methods: "StreamNode(google.protobuf.Empty) returns (stream Node)". */
  readonly services?: Readonly<Record<string, readonly string[]>>;
  /** Where the descriptor is at hand already. */
  readonly descriptor?: Uint8Array;
}

export const emptyFile: ProtoFile = {
  name: "google/protobuf/empty.proto",
  package: "google.protobuf",
  messages: { Empty: [] },
  descriptor: toBinary(FileDescriptorProtoSchema, file_google_protobuf_empty.proto),
};

/** A FileDescriptorProto. */
export function descriptorOf(file: ProtoFile): Uint8Array {
  if (file.descriptor) return file.descriptor;
  const { name, package: inPackage, imports = [], messages = {}, enums = {}, services = {} } = file;
  const message = create(FileDescriptorProtoSchema, {
    name,
    package: inPackage,
    syntax: "proto3",
    dependency: imports.map((each) => each.name),
    messageType: Object.entries(messages).map(([type, fields]) => ({
      name: type,
      field: fields.map((field) => fieldOf(field, file)),
    })),
    enumType: Object.entries(enums).map(([type, values]) => ({ name: type, value: values.map(enumValueOf) })),
    service: Object.entries(services).map(([service, methods]) => ({
      name: service,
      method: methods.map((method) => methodOf(method, inPackage)),
    })),
  });
  return toBinary(FileDescriptorProtoSchema, message);
}

/** The whole names of its services, and of everything else that somebody may ask for. */
export function symbolsOf({ package: inPackage, messages = {}, enums = {}, services = {} }: ProtoFile) {
  const whole = (name: string) => `${inPackage}.${name}`;
  const methods = Object.entries(services).flatMap(([service, all]) =>
    all.map((method) => whole(`${service}.${method.slice(0, method.indexOf("("))}`)),
  );
  const names = Object.keys(services).map(whole);
  const types = [...Object.keys(messages), ...Object.keys(enums)].map(whole);
  return { services: names, all: [...names, ...methods, ...types] };
}

const scalars: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  int32: FieldDescriptorProto_Type.INT32,
  uint32: FieldDescriptorProto_Type.UINT32,
};

function fieldOf(text: string, { package: inPackage, enums = {} }: ProtoFile) {
  const [, repeated, type = "", name = "", number] = /^(repeated )?([\w.]+) (\w+) = (\d+)$/.exec(text) ?? [];
  invariant(number !== undefined, `a field of a .proto file: ${text}`);
  const scalar = scalars[type];
  const named = Object.hasOwn(enums, type) ? FieldDescriptorProto_Type.ENUM : FieldDescriptorProto_Type.MESSAGE;
  return {
    name,
    jsonName: name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    number: Number(number),
    label: repeated ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL,
    type: scalar ?? named,
    ...(scalar === undefined && { typeName: typeName(type, inPackage) }),
  };
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

/** With a dot before it, a name is whole. */
function typeName(type: string, inPackage: string): string {
  return type.includes(".") ? `.${type}` : `.${inPackage}.${type}`;
}
