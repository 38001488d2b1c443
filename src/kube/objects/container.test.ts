import assert from "node:assert/strict";
import { test } from "node:test";
import { objectSettings, sampleLease, sampleService } from "../../../test/support/samples/lease-samples.ts";
import { environment } from "./container.ts";

function tenants(env: readonly string[]): Record<string, string | undefined> {
  const variables = environment(
    { lease: sampleLease, service: sampleService({ env }), offer: undefined },
    objectSettings,
  );
  const given = variables.filter(({ name }) => !name.startsWith("AKASH_"));
  assert.equal(new Set(given.map(({ name }) => name)).size, given.length, "each name once");
  return Object.fromEntries(given.map(({ name, value }) => [name, value]));
}

test("a value is all behind the first equals sign, and an empty one is left out", () => {
  assert.deepEqual(tenants(["A=b=c", "B=", "C", "D= e\n"]), { A: "b=c", B: undefined, C: undefined, D: " e\n" });
});

test("a workload is reported who it is, unless the tenant says otherwise", () => {
  const service = sampleService({ env: ["AKASH_OWNER=me"] });
  const variables = environment({ lease: sampleLease, service, offer: undefined }, objectSettings);
  assert.deepEqual(
    variables.map(({ name, value }) => `${name}=${value}`),
    [
      "AKASH_OWNER=me",
      "AKASH_GROUP_SEQUENCE=1",
      "AKASH_DEPLOYMENT_SEQUENCE=12345",
      "AKASH_ORDER_SEQUENCE=1",
      `AKASH_PROVIDER=${sampleLease.provider}`,
      "AKASH_CLUSTER_PUBLIC_HOSTNAME=provider.example.com",
    ],
  );
});

test("of a name given twice the last value counts, and references see what a container would have seen", () => {
  const cases: [string[], Record<string, string | undefined>][] = [
    [["A=1", "A=2"], { A: "2" }],
    [["A=1", "A"], { A: undefined }],
    [["PATH=/a", "PATH=$(PATH):/b"], { PATH: "/a:/b" }],
    [["A=1", "B=$(A)", "A=2", "C=$(A)"], { A: "2", B: "1", C: "2" }],
    [["A=1", "A=$$(A)"], { A: "$$(A)" }],
    [["A=$$1", "A=$(A)"], { A: "$$1" }],
    [["A=1", "A=$(WEB_SERVICE_HOST) $(A"], { A: "$(WEB_SERVICE_HOST) $(A" }],
  ];
  for (const [env, expected] of cases) assert.deepEqual(tenants(env), expected, env.join(" "));
});

test("where no name is given twice, references are left to the cluster", () => {
  assert.deepEqual(tenants(["A=1", "B=$(A)"]), { A: "1", B: "$(A)" });
});

test("values that refer to each other again and again do not grow without end", () => {
  const doubled = ["A=eight by", ...Array<string>(64).fill("A=$(A)$(A)")];
  const copied = [`A=${"a".repeat(100_000)}`, "A=$(A)", ...Array.from({ length: 5_000 }, (_, n) => `B${n}=$(A)`)];
  for (const env of [doubled, copied]) {
    const chars = Object.values(tenants(env)).reduce((sum, value = "") => sum + value.length, 0);
    assert.ok(chars <= 2 * 1024 * 1024, `${chars} signs`);
  }
});

test("a workload is reported its leased addresses by reference, each endpoint once, unless the tenant says otherwise", () => {
  const on = (ip: string, port: number) => ({ ...sampleService().expose[0]!, port, global: true, ip });
  const service = sampleService({
    env: ["AKASH_IP_MINE=none"],
    expose: [on("my-ip", 1), on("my_ip", 2), on("my-ip", 3), on("mine", 4), { ...on("inside", 5), global: false }],
  });
  const variables = environment({ lease: sampleLease, service, offer: undefined }, objectSettings);
  const ref = (key: string) => ({ configMapKeyRef: { name: "akash-addresses", key, optional: true } });
  assert.deepEqual(
    variables.filter(({ name }) => name.startsWith("AKASH_IP_")),
    [
      { name: "AKASH_IP_MINE", value: "none" },
      { name: "AKASH_IP_MY_IP", valueFrom: ref("my-ip") },
    ],
  );
});
