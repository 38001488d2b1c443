/** The codecs that are made of proto/ read and write what the network's own do. */
import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { GroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import {
  deploymentV1beta4GroupSpec,
  providerLeaseV1ServiceFile,
  providerV1ServiceFile,
} from "../src/runtime/grpc/akash-proto.ts";
import { descriptorOf, withImports } from "../src/runtime/grpc/proto-file.ts";

test("a group is the same in both", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const group = {
    name: "west",
    requirements: { signedBy: { allOf: ["akash1a"], anyOf: [] }, attributes: [{ key: "tier", value: "1" }] },
    resources: [
      {
        resource: {
          id: 1,
          cpu: { units: { val: bytes("1000") }, attributes: [] },
          memory: { quantity: { val: bytes("1073741824") }, attributes: [] },
          storage: [{ name: "data", quantity: { val: bytes("5") }, attributes: [{ key: "class", value: "beta3" }] }],
          gpu: { units: { val: bytes("0") }, attributes: [] },
          endpoints: [{ kind: 2, sequenceNumber: 4_294_967_295 }],
        },
        count: 3,
        price: { denom: "uakt", amount: "1000000000000000000" },
      },
    ],
  };
  // There a decimal is written with its point, which is not on the wire.
  const theirs = structuredClone(group);
  for (const { price } of theirs.resources) price.amount = "1";
  const ours = deploymentV1beta4GroupSpec.encode(group);
  deepEqual(Buffer.from(ours), Buffer.from(GroupSpec.encode(GroupSpec.fromPartial(theirs)).finish()));
  deepEqual(deploymentV1beta4GroupSpec.decode(ours), group);
});

test("every service of ours can be read by a client that has only its descriptors", () => {
  const files = new Set([providerV1ServiceFile, providerLeaseV1ServiceFile].flatMap(withImports));
  const file = [...files].map((each) => fromBinary(FileDescriptorProtoSchema, descriptorOf(each)));
  // It throws where anything does not fit.
  const registry = createFileRegistry({ $typeName: FileDescriptorSetSchema.typeName, file });
  const methods = [
    registry.getService("akash.provider.v1.ProviderRPC"),
    registry.getService("akash.provider.lease.v1.LeaseRPC"),
  ];
  deepEqual(
    methods.map((service) => service?.methods.length),
    [4, 6],
  );
  const storage = registry
    .getMessage("akash.provider.v1.ResourcesMetric")
    ?.fields.find(({ name }) => name === "storage");
  deepEqual(storage?.fieldKind, "map");
  const kind = registry.getMessage("akash.market.v1beta5.EndpointOfferPrice")?.fields[0];
  deepEqual(kind?.fieldKind === "enum" && kind.enum.values.map(({ name }) => name), [
    "SHARED_HTTP",
    "RANDOM_PORT",
    "LEASED_IP",
  ]);
});
