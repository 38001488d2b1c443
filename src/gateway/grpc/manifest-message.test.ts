import assert from "node:assert/strict";
import { test } from "node:test";
import { create, createFileRegistry, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { cell, shop } from "../../../test/lease-sdl.ts";
import { protoJson, wireGroups } from "../../../test/manifest-wire.ts";
import { type Manifest, manifestHash } from "../../market/manifest.ts";
import { readManifest } from "../../market/manifest-json.ts";
import { manifestV2beta3Group, manifestV2beta3GroupFile } from "../../runtime/grpc/akash-proto.ts";
import { descriptorOf, withImports } from "../../runtime/grpc/proto-file.ts";
import { manifestText } from "./manifest-message.ts";

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

test("a group of nothing is an empty one, whose parts are missing, and an amount that is no digits is refused", () => {
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
