/** Leases of the shape that those of the recorded gateway had. */
import { readSdl, type Sdl } from "../../src/market/sdl/sdl.ts";

const resources = { cpu: { units: 0.05 }, memory: { size: "16Mi" }, storage: { size: "16Mi" } };
const [image, world] = ["lab.invalid/shell:1", { global: true }];

function sdlOf(
  services: Readonly<
    Record<string, { readonly image?: string; readonly count?: number; readonly expose: readonly unknown[] }>
  >,
): Sdl {
  const endpoints = new Set(JSON.stringify(services).match(/(?<="ip":")\w+/g));
  const names = Object.keys(services);
  const each = <T>(write: (name: string) => T) => Object.fromEntries(names.map((name) => [name, write(name)]));
  return readSdl(
    JSON.stringify({
      version: "2.0",
      ...(endpoints.size > 0 && {
        endpoints: Object.fromEntries([...endpoints].map((name) => [name, { kind: "ip" }])),
      }),
      services: each((name) => ({ image, ...services[name], count: undefined })),
      profiles: {
        compute: each(() => ({ resources })),
        placement: { lab: { pricing: each(() => ({ denom: "uact", amount: 1_000 })) } },
      },
      deployment: each((name) => ({ lab: { profile: name, count: services[name]?.count ?? 1 } })),
    }),
  );
}

/** The one that the recordings call d1: three services, one with host names, one with ports of the nodes. */
export function threeServices(): Sdl {
  return sdlOf({
    api: {
      count: 2,
      expose: [
        { port: 8080, to: [world] },
        { port: 9000, proto: "udp", to: [world] },
        { port: 8081, to: [{ service: "web" }] },
      ],
    },
    long: { expose: [{ port: 80, to: [{ service: "web" }] }] },
    web: { expose: [{ port: 80, as: 80, accept: ["a1.rec.test", "a2.rec.test"], to: [world] }] },
  });
}

/** One service by these names. */
export function oneService(...hosts: readonly string[]): Sdl {
  return sdlOf({ web: { expose: [{ port: 80, as: 80, accept: hosts, to: [world] }] } });
}

/** One of another name, without any. */
export function serviceNamed(name: string): Sdl {
  return sdlOf({ [name]: { expose: [{ port: 80, to: [world] }] } });
}

/** One service on addresses of its own. */
export function onAddresses(...ports: readonly { readonly endpoint: string; readonly port: number }[]): Sdl {
  return sdlOf({ web: { expose: ports.map(({ endpoint: ip, port }) => ({ port, to: [{ ...world, ip }] })) } });
}

/** One of each name, each of an image of its own. */
export function services(...names: readonly string[]): Sdl {
  const expose = [{ port: 80, as: 80, to: [world] }];
  return sdlOf(Object.fromEntries(names.map((name) => [name, { image: `lab.invalid/${name}:1`, expose }])));
}
