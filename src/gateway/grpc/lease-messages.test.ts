import assert from "node:assert/strict";
import { test } from "node:test";
import { create, createFileRegistry, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { cell, shop } from "../../../test/support/samples/lease-sdl.ts";
import { protoJson, wireGroups } from "../../../test/support/samples/manifest-wire.ts";
import { type Manifest, manifestHash } from "../../market/manifest.ts";
import { readManifest } from "../../market/manifest-json.ts";
import {
  manifestV2beta3Group,
  manifestV2beta3GroupFile,
  providerLeaseV1ServiceLogsResponse,
} from "../../runtime/grpc/akash-proto.ts";
import { descriptorOf, withImports } from "../../runtime/grpc/proto-file.ts";
import { gatherLogs, logsMessages, manifestText } from "./lease-messages.ts";

const read = (groups: readonly Uint8Array[]) =>
  readManifest(manifestText(groups.map(manifestV2beta3Group.decode)), 1_000_000);

const hashOf = (manifest: Manifest) => Buffer.from(manifestHash(manifest)).toString("hex");

test("what an SDL becomes has the hash of its JSON when it came as protobuf", () => {
  for (const { manifest } of [cell(), shop(), shop({ extras: true })]) {
    const { version, lacks } = read(wireGroups(manifest));
    assert.equal(version(), hashOf(manifest));
    assert.equal(lacks.size, 0);
  }
});

test("what the npm package does not know yet keeps the hash as well, written by our descriptors", () => {
  const [group] = shop().manifest;
  const [page, store] = group?.services ?? [];
  assert.ok(group && page && store);
  const options = page.expose.map((each) => ({
    ...each,
    httpOptions: { ...each.httpOptions, proxyBufferSize: 16_384 },
  }));
  const newer: Manifest = [
    {
      ...group,
      services: [
        { ...page, expose: options },
        { ...store, params: { storage: null, tee: { type: "cpu", attestation: true } } },
      ],
    },
  ];
  const file = withImports(manifestV2beta3GroupFile).map((each) =>
    fromBinary(FileDescriptorProtoSchema, descriptorOf(each)),
  );
  const schema = createFileRegistry(create(FileDescriptorSetSchema, { file })).getMessage(
    "akash.manifest.v2beta3.Group",
  );
  assert.ok(schema);
  const written = protoJson(newer).map((group) => toBinary(schema, fromJson(schema, group as never)));
  assert.equal(read(written).version(), hashOf(newer));
});

test("empty group message → empty group; amount without digits → rejected", () => {
  const service = Buffer.from([0x12, 0x00]);
  const { manifest, lacks } = read([service]);
  assert.deepEqual(
    manifest.map(({ services }) => services.length),
    [1],
  );
  assert.deepEqual([...lacks.values()], ["resources ID must be > 0"]);
  const [bytes] = wireGroups(cell().manifest);
  assert.ok(bytes);
  const spoilt = Buffer.from(Buffer.from(bytes).toString("latin1").replace("100", "1x0"), "latin1");
  assert.notDeepEqual(spoilt, Buffer.from(bytes));
  assert.throws(() => read([spoilt]), { code: "AKP_MANIFEST_UNREADABLE" });
});

const line = (pod: string, text: string) => ({ service: pod.slice(0, 3), pod, text });

function readLogs(message: Uint8Array): string[] {
  const { services } = providerLeaseV1ServiceLogsResponse.decode(message);
  return services.map(({ name, logs }) => `${name}: ${Buffer.from(logs).toString()}`);
}

test("the lines of a batch are together by pod, in their order", () => {
  const lines = [line("web-1", "a"), line("web-1", ""), line("api-1", "b"), line("web-2", "c")];
  assert.deepEqual([...logsMessages(lines, 100)].map(readLogs), [["web: a\n\n", "api: b\n", "web: c\n"]]);
  assert.deepEqual([...logsMessages([], 100)], []);
});

test("long logs continue in the next message", () => {
  const text = "äöü".repeat(50);
  const messages = [...logsMessages([line("web-1", text), line("api-1", "x")], 64)];
  const entries = messages.flatMap((each) => providerLeaseV1ServiceLogsResponse.decode(each).services);
  for (const { logs } of entries) assert.ok(logs.length <= 64);
  const of = (service: string) => Buffer.concat(entries.filter(({ name }) => name === service).map(({ logs }) => logs));
  assert.deepEqual([of("web").toString(), of("api").toString()], [`${text}\n`, "x\n"]);
});

test("short lines by turns from two pods make no message that is too large for its reader", () => {
  const lines = Array.from({ length: 10_000 }, (_, n) => line(`web-${n % 2}`, "x"));
  const messages = [...logsMessages(lines, 10_000)];
  assert.equal(messages.flatMap(readLogs).length, 10_000);
  for (const { length } of messages) assert.ok(length < 11_000, `${length} bytes`);
});

test("too many logs → the last lines of each pod, in equal shares", () => {
  const gathered = gatherLogs(60);
  gathered.add([line("web-2", "quiet")]);
  for (let number = 0; number < 1_000; number += 1) gathered.add([line("web-1", `line ${number}`)]);
  assert.deepEqual(readLogs(gathered.message()), ["web: line 997\nline 998\nline 999\n", "web: quiet\n"]);
});

test("line longer than its share → its end", () => {
  const gathered = gatherLogs(8);
  gathered.add([line("web-1", "0123456789abcdef")]);
  assert.deepEqual(readLogs(gathered.message()), ["web: 9abcdef\n"]);
  assert.deepEqual(readLogs(gatherLogs(8).message()), []);
});
