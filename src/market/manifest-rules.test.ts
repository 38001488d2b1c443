import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleService } from "../../test/lease-samples.ts";
import { faultsOfManifest } from "./manifest-rules.ts";

test("a service cannot have the name that the open ports of another have in the cluster", () => {
  const faultsOf = (...names: string[]) =>
    faultsOfManifest([{ name: "dc", services: names.map((name) => sampleService({ name })) }]);
  const taken = (name: string) => [
    `invalid manifest: service "${name}" has the name of the open ports of service "web"`,
  ];
  assert.deepEqual(faultsOf("web", "web-np"), taken("web-np"));
  assert.deepEqual(faultsOf("web", "web-ip-80-tcp"), taken("web-ip-80-tcp"));
  assert.deepEqual(faultsOf("api", "web-np"), []);
  assert.deepEqual(faultsOf("web", "web-npm"), []);
});
