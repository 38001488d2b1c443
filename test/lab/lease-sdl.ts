/** What the tenants of the lab's leases deploy: a web server that is exposed, with an address of its own too, and something that keeps files. */
import { logsImage, shellImage, webImage } from "../../lab/images.ts";
import { readSdl, type Sdl } from "../../src/market/sdl/sdl.ts";

export { shellImage, webImage } from "../../lab/images.ts";

/** A provider publishes its storage classes on the chain. */
export const attributes = [
  { key: "capabilities/storage/1/class", value: "beta2" },
  { key: "capabilities/storage/1/persistent", value: "true" },
];

export interface Wish {
  /** Of the web server. */
  readonly image?: string;
  /** Of what keeps files. */
  readonly keeperImage?: string;
  readonly host: string;
  /** What the two are called. */
  readonly names?: readonly [web: string, keeper: string];
  /** Whether the first one's image needs a password, and it may read its own logs. */
  readonly extras?: boolean;
}

/** On the chain all of them are the same group. */
export function leaseSdl(wish: Wish): Sdl {
  const { image = webImage, keeperImage = shellImage, host, names = ["web", "keeper"], extras = true } = wish;
  const [web, keeper] = names;
  const more = extras
    ? `
    credentials: { host: registry.invalid, username: me, password: only-a-test }
    params: { permissions: { read: [logs, events] } }`
    : "";
  return readSdl(`
version: "2.1"
endpoints: { public: { kind: ip } }
services:
  ${web}:
    image: ${image}${more}
    expose:
      - { port: 8080, as: 80, accept: [${host}], to: [{ global: true }] }
      - { port: 9000, proto: tcp, to: [{ global: true }] }
      - { port: 9001, proto: tcp, to: [{ global: true, ip: public }] }
  ${keeper}:
    image: ${keeperImage}
    expose: [{ port: 7000, to: [{ service: ${web} }] }]
    params: { storage: { files: { mount: /files } } }
profiles:
  compute:
    web: { resources: { cpu: { units: 0.02 }, memory: { size: 32Mi }, storage: { size: 64Mi } } }
    keeper:
      resources:
        cpu: { units: 0.02 }
        memory: { size: 32Mi }
        storage:
          - size: 64Mi
          - { name: files, size: 64Mi, attributes: { persistent: true, class: beta2 } }
  placement:
    lab: { pricing: { web: { denom: uact, amount: 1000 }, keeper: { denom: uact, amount: 1000 } } }
deployment:
  ${web}: { lab: { profile: web, count: 1 } }
  ${keeper}: { lab: { profile: keeper, count: 1 } }
`);
}

/** Another image of the web server's: it prints lines and serves nothing. */
export const otherImage = logsImage;
