/** What a client that knows nothing of us, grpcurl for one, learns from the server itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cluster } from "@akashnetwork/chain-sdk/private-types/provider.akash.v1";
import { createFileRegistry, fromBinary, toJson } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { eventually } from "../../../../test/support/eventually.ts";
import { frame, openGrpcClient } from "../../../../test/support/grpc-client.ts";
import type { Owner } from "../../../../test/support/owner.ts";
import { sampleInventory, sampleNode } from "../../../../test/support/samples/inventory-samples.ts";
import { createVirtualClock } from "../../../../test/support/virtual-clock.ts";
import { realClock } from "../../../runtime/clock.ts";
import { grpcRequestMs } from "../../../runtime/grpc/call.ts";
import { grpcCodes } from "../../../runtime/grpc/grpc-status.ts";
import { silentLog } from "../../../runtime/log.ts";
import { operatorRequestBytes } from "../../serving/grpc.ts";
import { startInventoryGrpc } from "./listeners.ts";
import { createPublisher } from "./publisher.ts";

const versions = ["v1", "v1alpha"];
const info = (version: string) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
const requestFields = { file: 3, symbol: 4, extensionsOf: 6, services: 7 };
const says = { originalRequest: 2, files: 4, services: 6, error: 7 };

async function start(owner: Owner, clock = realClock) {
  const publisher = createPublisher({ clock, log: silentLog, waitingFor: () => "nodes", ageMs: () => 0 });
  owner.after(() => publisher.close());
  const grpc = await startInventoryGrpc(publisher, { host: "127.0.0.1", port: 0, clock, log: silentLog });
  owner.after(() => grpc.close());
  return { publisher, ...openGrpcClient(owner, `http://127.0.0.1:${grpc.port}`) };
}

function request(what: keyof typeof requestFields, name: string): Uint8Array {
  return new BinaryWriter().tag(requestFields[what], WireType.LengthDelimited).string(name).finish();
}

/** The fields of a message by their numbers. */
function fields(message: Uint8Array): Map<number, (Uint8Array | number)[]> {
  const found = new Map<number, (Uint8Array | number)[]>();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const value = wireType === WireType.Varint ? reader.int32() : reader.bytes();
    found.set(number, [...(found.get(number) ?? []), value]);
  }
  return found;
}

const bytesOf = (message: Uint8Array, ...path: number[]): Uint8Array[] =>
  path.reduce((level, number) => level.flatMap((each) => (fields(each).get(number) ?? []) as Uint8Array[]), [message]);
const textsOf = (message: Uint8Array, ...path: number[]) =>
  bytesOf(message, ...path).map((bytes) => Buffer.from(bytes).toString());

/** One question after the other on one call, each when the one before is answered, as grpcurl does. */
async function converse({ open }: Awaited<ReturnType<typeof start>>, version: string, questions: Uint8Array[]) {
  const { stream, messages, ended } = open(info(version), undefined);
  for (const [index, question] of questions.entries()) {
    stream.write(frame(question));
    await eventually("an answer", () => messages.length > index);
  }
  stream.end();
  assert.equal((await ended).status, grpcCodes.OK);
  return messages;
}

for (const version of versions) {
  test(`${version} lists the services and describes them so that their answers can be read`, async (t) => {
    const client = await start(t);
    const [list, ...described] = await converse(client, version, [
      request("services", "*"),
      request("symbol", "akash.inventory.v1.ClusterRPC"),
      request("symbol", "grpc.health.v1.Health.Check"),
      request("file", `grpc/reflection/${version}/reflection.proto`),
    ]);
    assert.ok(list);
    assert.deepEqual(textsOf(list, says.services, 1, 1), [
      "akash.inventory.v1.ClusterRPC",
      "akash.inventory.v1.NodeRPC",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ]);
    const files = described.flatMap((answer) => bytesOf(answer, says.files, 1));
    const file = files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    // It throws where anything does not fit: a type that is not there, a file that is missing.
    const registry = createFileRegistry({ $typeName: FileDescriptorSetSchema.typeName, file: file.toReversed() });
    const method = registry.getService("akash.inventory.v1.ClusterRPC")?.method["queryCluster"];
    assert.deepEqual(
      [method?.input.typeName, method?.output.typeName],
      ["google.protobuf.Empty", "akash.inventory.v1.Cluster"],
    );
    const inventory = sampleInventory([sampleNode("one")]);
    client.publisher.show(inventory);
    const { message } = await client.call("/akash.inventory.v1.ClusterRPC/QueryCluster");
    assert.ok(method);
    // Decoded by the server's own descriptors, it equals the decoding of the network's library.
    const read = toJson(method.output, fromBinary(method.output, message), { useProtoFieldName: true });
    assert.deepEqual(read, Cluster.toJSON(Cluster.decode(message)));
  });
}

test("what is not there is answered with an error, and the conversation goes on", async (t) => {
  const client = await start(t);
  const [symbol, file, extension, list] = await converse(client, "v1", [
    request("symbol", "akash.inventory.v1.Nothing"),
    request("file", "nothing.proto"),
    request("extensionsOf", "akash.inventory.v1.Node"),
    request("services", ""),
  ]);
  for (const answer of [symbol, file, extension]) {
    assert.ok(answer);
    assert.deepEqual(fields(bytesOf(answer, says.error)[0] ?? answer).get(1), [grpcCodes.NotFound]);
  }
  assert.ok(list && bytesOf(list, says.services).length === 1);
});

test("an idle connection is closed, and a malformed one rejected", async (t) => {
  const clock = createVirtualClock();
  const { open } = await start(t, clock);
  const resting = open(info("v1"), undefined);
  resting.stream.write(frame(request("services", "")));
  await eventually("an answer", () => resting.messages.length === 1);
  await clock.advance(grpcRequestMs);
  assert.equal((await resting.ended).status, grpcCodes.DeadlineExceeded);
  await clock.advance(0);
  await eventually("the call to be over on both sides", () => resting.stream.closed);
  const senseless = open(info("v1"), frame(Uint8Array.of(0xff)));
  assert.equal((await senseless.ended).status, grpcCodes.Internal);
  const large = open(info("v1"), frame(request("symbol", "x".repeat(operatorRequestBytes))));
  assert.equal((await large.ended).status, grpcCodes.ResourceExhausted);
});
