/**
 * grpc.reflection in both versions that tools ask for: which services there are, and the descriptors of their files.
 * `grpcurl -plaintext HOST:PORT list` begins here.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { reasonOf } from "../errors.ts";
import { GrpcRefusal, grpcCodes } from "./grpc-status.ts";
import type { GrpcMethod } from "./methods.ts";
import { descriptorOf, type ProtoFile, symbolsOf } from "./proto-file.ts";

export function reflectionMethods(served: readonly ProtoFile[]): [path: string, method: GrpcMethod][] {
  const own = ["v1", "v1alpha"].map(reflectionFile);
  const files = new Map<string, ProtoFile>();
  const withImports = (file: ProtoFile): ProtoFile[] => [file, ...(file.imports ?? []).flatMap(withImports)];
  for (const file of [...served, ...own].flatMap(withImports)) files.set(file.name, file);
  const services = [...files.values()].flatMap((file) => symbolsOf(file).services).sort();
  const bySymbol = new Map([...files.values()].flatMap((file) => symbolsOf(file).all.map((name) => [name, file])));

  function answerTo(request: Uint8Array): Uint8Array {
    const asked = readRequest(request);
    const writer = new BinaryWriter()
      .tag(responseFields.validHost, WireType.LengthDelimited)
      .string(asked.host)
      .tag(responseFields.originalRequest, WireType.LengthDelimited)
      .bytes(request);
    if (asked.what === "services") return writeServices(writer, services).finish();
    const file = asked.what === "file" ? files.get(asked.name) : asked.what === "symbol" && bySymbol.get(asked.name);
    if (!file) return writeError(writer, `there is no ${asked.what} ${asked.name}`).finish();
    // With those it needs, so that nobody has to come back for them.
    return writeFiles(writer, [...new Set(withImports(file))]).finish();
  }

  const info: GrpcMethod = {
    kind: "conversation",
    async *answers(requests) {
      for await (const request of requests) yield answerTo(request);
    },
  };
  return own.flatMap((file) => symbolsOf(file).services.map((name) => [`/${name}/ServerReflectionInfo`, info]));
}

function reflectionFile(version: string): ProtoFile {
  return {
    name: `grpc/reflection/${version}/reflection.proto`,
    package: `grpc.reflection.${version}`,
    messages: {
      ServerReflectionRequest: [
        "string host = 1",
        "string file_by_filename = 3",
        "string file_containing_symbol = 4",
        "ExtensionRequest file_containing_extension = 5",
        "string all_extension_numbers_of_type = 6",
        "string list_services = 7",
      ],
      ExtensionRequest: ["string containing_type = 1", "int32 extension_number = 2"],
      ServerReflectionResponse: [
        "string valid_host = 1",
        "ServerReflectionRequest original_request = 2",
        "FileDescriptorResponse file_descriptor_response = 4",
        "ExtensionNumberResponse all_extension_numbers_response = 5",
        "ListServiceResponse list_services_response = 6",
        "ErrorResponse error_response = 7",
      ],
      FileDescriptorResponse: ["repeated bytes file_descriptor_proto = 1"],
      ExtensionNumberResponse: ["string base_type_name = 1", "repeated int32 extension_number = 2"],
      ListServiceResponse: ["repeated ServiceResponse service = 1"],
      ServiceResponse: ["string name = 1"],
      ErrorResponse: ["int32 error_code = 1", "string error_message = 2"],
    },
    services: {
      ServerReflection: [
        "ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse)",
      ],
    },
  };
}

const requestFields = { host: 1, file: 3, symbol: 4, services: 7 } as const;
const responseFields = { validHost: 1, originalRequest: 2, files: 4, services: 6, error: 7 } as const;

interface Asked {
  readonly host: string;
  readonly what: "file" | "symbol" | "services" | "extension";
  readonly name: string;
}

function readRequest(request: Uint8Array): Asked {
  let asked: Asked = { host: "", what: "extension", name: "" };
  try {
    const reader = new BinaryReader(request);
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      if (number === requestFields.host) asked = { ...asked, host: reader.string() };
      else if (number === requestFields.file) asked = { ...asked, what: "file", name: reader.string() };
      else if (number === requestFields.symbol) asked = { ...asked, what: "symbol", name: reader.string() };
      else if (number === requestFields.services) asked = { ...asked, what: "services", name: reader.string() };
      // Nothing of ours has extensions, which belong to the language before this one.
      else reader.skip(wireType, number);
    }
  } catch (thrown) {
    throw new GrpcRefusal(grpcCodes.InvalidArgument, `this is no ServerReflectionRequest: ${reasonOf(thrown)}`);
  }
  return asked;
}

function writeServices(writer: BinaryWriter, services: readonly string[]): BinaryWriter {
  writer.tag(responseFields.services, WireType.LengthDelimited).fork();
  for (const name of services) {
    writer.tag(1, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).string(name).join();
  }
  return writer.join();
}

function writeFiles(writer: BinaryWriter, files: readonly ProtoFile[]): BinaryWriter {
  writer.tag(responseFields.files, WireType.LengthDelimited).fork();
  for (const file of files) writer.tag(1, WireType.LengthDelimited).bytes(descriptorOf(file));
  return writer.join();
}

function writeError(writer: BinaryWriter, message: string): BinaryWriter {
  writer.tag(responseFields.error, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int32(grpcCodes.NotFound).tag(2, WireType.LengthDelimited).string(message);
  return writer.join();
}
