/** What the tenants of histories ask for: a shop with a page that the world sees, and a store that keeps its data. */
import { readSdl, type Sdl } from "../../../src/market/sdl/sdl.ts";

export const images = { page: "example.com/page:1", newPage: "example.com/page:2", store: "example.com/store:1" };

interface Shop {
  readonly page?: string;
  readonly store?: string;
  readonly host?: string;
  /** A password for the image of the page, and a permission to read its own logs. */
  readonly extras?: boolean;
}

/**
 * Two services with about everything that there is: the page under a host name, on a port of the nodes in both protocols
 * and on a leased address; the store with a volume and memory for a file system. On the chain they are all the same group.
 */
export function shop(options: Shop = {}): Sdl {
  const { page = images.page, store = images.store, host = "shop.example.com", extras = false } = options;
  return readSdl(
    JSON.stringify({
      version: "2.1",
      endpoints: { front: { kind: "ip" } },
      services: {
        page: {
          image: page,
          env: ["GREETING=hello"],
          expose: [
            { port: 8080, as: 80, accept: [host], to: [{ global: true }] },
            { port: 9000, to: [{ global: true }] },
            { port: 9000, proto: "udp", to: [{ global: true }] },
            { port: 7000, to: [{ global: true, ip: "front" }] },
          ],
          dependencies: [{ service: "store" }],
          ...(extras && {
            credentials: { host: "registry.example.com", username: "me", password: "only-a-test" },
            params: { permissions: { read: ["logs"] } },
          }),
        },
        store: {
          image: store,
          params: { storage: { data: { mount: "/data" }, shm: { mount: "/dev/shm" } } },
          expose: [{ port: 5432, to: [{ service: "page" }] }],
        },
      },
      profiles: {
        compute: {
          page: { resources: { cpu: { units: "100m" }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] } },
          store: {
            resources: {
              cpu: { units: "100m" },
              memory: { size: "64Mi" },
              storage: [
                { size: "64Mi" },
                { name: "data", size: "1Gi", attributes: { persistent: true, class: "beta3" } },
                { name: "shm", size: "16Mi", attributes: { class: "ram" } },
              ],
            },
          },
        },
        placement: {
          box: {
            pricing: { page: { denom: "uact", amount: 10_000 }, store: { denom: "uact", amount: 10_000 } },
          },
        },
      },
      deployment: { page: { box: { profile: "page", count: 1 } }, store: { box: { profile: "store", count: 1 } } },
    }),
  );
}

/** The smallest there is: one container. */
export function cell(image = images.page): Sdl {
  return readSdl(
    JSON.stringify({
      version: "2.1",
      services: { cell: { image, expose: [{ port: 8080, as: 80, to: [{ global: true }] }] } },
      profiles: {
        compute: {
          cell: { resources: { cpu: { units: "100m" }, memory: { size: "64Mi" }, storage: [{ size: "64Mi" }] } },
        },
        placement: { box: { pricing: { cell: { denom: "uact", amount: 10_000 } } } },
      },
      deployment: { cell: { box: { profile: "cell", count: 1 } } },
    }),
  );
}
