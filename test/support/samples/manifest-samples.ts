/** What tenants post on the stage of manifests. */
import { createHash } from "node:crypto";
import { type Manifest, manifestHash } from "../../../src/market/manifest.ts";
import { readSdl } from "../../../src/market/sdl/sdl.ts";
import { sortedJson } from "../../../src/market/sorted-json.ts";
import type { Wish } from "../stages/manifest-stage.ts";

export const secret = "correct-horse-battery-staple";
export const registryPassword = "hunter2-of-the-registry";

interface WebWish {
  readonly image?: string;
  readonly host?: string;
  /** One service in each, all the same. */
  readonly placements?: readonly string[];
}

export function webWish({ image = "web", host, placements = ["west"] }: WebWish = {}): Wish {
  const accept = host === undefined ? "" : `accept: [${host}],`;
  const list = (line: (name: string) => string) => placements.map((name) => `    ${line(name)}`).join("\n");
  const services = placements.map(
    (name) => `  on-${name}:
    image: ${image}
    credentials: { host: registry.example.com, username: me, password: ${registryPassword} }
    env: ["PASSWORD=${secret}"]
    expose: [{ port: 80, ${accept} to: [{ global: true }] }]`,
  );
  return readSdl(`
version: "2.1"
services:
${services.join("\n")}
profiles:
  compute:
    small: { resources: { cpu: { units: 100m }, memory: { size: 128Mi }, storage: { size: 128Mi } } }
  placement:
${list((name) => `${name}: { pricing: { small: { denom: uact, amount: 10000 } } }`)}
deployment:
${list((name) => `on-${name}: { ${name}: { profile: small, count: 1 } }`)}
`);
}

export const bodyOf = (manifest: Manifest) => JSON.stringify(manifest);
export const versionOf = (manifest: Manifest) => Buffer.from(manifestHash(manifest)).toString("hex");
/** Of any JSON, as somebody would reckon it who knows fields that we do not. */
export const hashOfJson = (value: unknown) => createHash("sha256").update(sortedJson(value)).digest();
