/**
 * The whole way on a real cluster, with processes as an operator starts them: a chain, the inventory operator in its pod,
 * the provider, and a tenant whose order is bid on by what the node really has.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { places } from "../../lab/places.ts";
import { temporaryFolder } from "../folder.ts";
import type { Owner } from "../owner.ts";
import { type Program, startProgram } from "../program.ts";

const providerYaml = `
host: https://provider.example.com:8443
attributes: [{ key: region, value: lab }]
bidpricestrategy: table
`;

function sdl(cpus: number): string {
  return `
version: "2.0"
services:
  web: { image: web, expose: [{ port: 80, to: [{ global: true }] }] }
profiles:
  compute: { one: { resources: { cpu: { units: ${cpus} }, memory: { size: 64Mi }, storage: { size: 64Mi } } } }
  placement: { lab: { attributes: { region: lab }, pricing: { one: { denom: uact, amount: 10000 } } } }
deployment: { web: { lab: { profile: one, count: 1 } } }
`;
}

/** `inventory` is where the inventory operator's gRPC is. */
export async function checkBidding(t: Owner, inventory: string): Promise<void> {
  const folder = temporaryFolder(t);
  const file = (name: string, text?: string) => {
    const path = join(folder, name);
    if (text !== undefined) writeFileSync(path, text);
    return path;
  };
  const chain = startProgram(t, ["chain", "--rpc-port", "0", "--grpc-port", "0", "--keys", file("keys")]);
  await chain.says(/http:\/\/127\.0\.0\.1:\d+/);
  const node = /http:\/\/127\.0\.0\.1:\d+/.exec(chain.said)?.[0] ?? "";
  const give = async (key: string, ...args: string[]): Promise<Program> => {
    const program = startProgram(t, [...args, "--node", node, "--key-file", file(`keys/${key}.key`)]);
    assert.equal(await program.ended(), 0, program.said);
    return program;
  };
  const config = ["--provider-config", file("provider.yaml", providerYaml)];
  await give("provider", "register", ...config);
  const provider = startProgram(t, [
    ...["run", "--node", node, "--key-file", file("keys/provider.key"), "--data-dir", file("data"), ...config],
    ...["--cluster-k8s", "--kubeconfig", places.kubeconfig],
    ...["--inventory-operator-endpoint", inventory],
  ]);
  await give("tenant", "tenant", "create", file("small.yaml", sdl(0.1)), "--dseq", "1");
  await give("tenant", "tenant", "create", file("large.yaml", sdl(300)), "--dseq", "2");
  await provider.says(/bidding on order .*\/1\/1\/1 /, 60_000);
  const why = async (number: number) => {
    const owner = /order=(akash1[^/]+)\//.exec(provider.said)?.[1] ?? "";
    const asking = startProgram(t, ["why", `${owner}/${number}`, "--data-dir", file("data")]);
    assert.equal(await asking.ended(), 0, asking.said);
    return asking.said;
  };
  assert.match(await why(1), /placementExists/);
  assert.match(await why(2), /✗ placementExists.*300 of cpu/);
  assert.match((await give("tenant", "tenant", "lease", "--dseq", "1")).said, /lease/);
  await provider.says(/bid is over .*outcome=won/, 30_000);
  provider.signal("SIGTERM");
  assert.equal(await provider.ended(), 0, provider.said);
}
